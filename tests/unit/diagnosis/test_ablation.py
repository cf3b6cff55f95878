"""Context ablation: documents are scored with every history that applies, and the largest examples are kept."""

from pathlib import Path

import numpy as np
import pytest
from tests.invariants import tiny

from docaps.corpus.documents import ParallelDocument
from docaps.diagnosis.ablation import Example, keep_largest, score_histories

DOCUMENT = ParallelDocument(("the cat sat here", "it was old", "it ran"), ("die katze", "sie war alt", "sie lief"))

OTHER = ParallelDocument(("a dog came", "it slept"), ("der hund", "er lief"))


@pytest.mark.parametrize(
    ("name", "documents", "histories"),
    [
        ("transformer", [DOCUMENT, OTHER], {"true"}),
        ("qcn", [DOCUMENT], {"true", "none"}),
        ("qcn", [DOCUMENT, OTHER], {"true", "shuffled", "none"}),
    ],
)
def test_every_document_is_scored_with_every_history_that_applies(
    name: str, documents: list[ParallelDocument], histories: set[str], tmp_path: Path
) -> None:
    trained = tiny.trained(tiny.prepared(tmp_path), name)
    found = score_histories(trained, documents)
    assert found.keys() == histories
    for table in found.values():
        assert table.shape == (len(documents), 2)
        np.testing.assert_array_equal(table[:, 1], found["true"][:, 1])
    for history in histories - {"true"}:
        assert not np.allclose(found[history][:, 0], found["true"][:, 0])


def test_the_largest_examples_are_kept_in_order() -> None:
    shown: list[Example] = []
    none: list[Example] = []
    for number, value in enumerate([0.5, 3.0, -1.0, 2.0, 3.0, 0.0]):
        keep_largest(shown, value, (0, number), {"n": number}, 2)
        keep_largest(none, value, (0, number), {"n": number}, 0)
    assert [record["n"] for _, _, record in shown] == [1, 4]
    assert none == []
