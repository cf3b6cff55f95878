"""Likelihoods by history: what is scored, and how rows are compared by them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.invariants import tiny

from docaps.corpus.documents import ParallelDocument
from docaps.diagnosis.likelihoods import compare_likelihoods, score_histories

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
def test_every_document_is_scored_with_every_history_that_makes_sense(
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


def test_seeds_are_taken_together_and_a_baseline_has_those_that_both_have() -> None:
    def table(*rows: tuple[float, float]) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
        return {"true": np.array(rows)}

    own = {1: table((2.0, 4.0), (6.0, 4.0)), 2: table((8.0, 8.0), (16.0, 8.0))}
    baseline = {2: table((9.0, 8.0), (17.0, 8.0)), 3: table((0.0, 1.0), (0.0, 1.0))}
    found = compare_likelihoods(own, baseline, draws=100, seed=1)["true"]
    assert found["perplexity"] == pytest.approx(np.exp(32 / 24))
    assert found["against"]["difference"] == pytest.approx(np.exp(24 / 16) - np.exp(26 / 16))
    assert compare_likelihoods(own, {3: baseline[3]}, draws=100, seed=1)["true"]["against"] is None


def test_of_one_document_nothing_is_tested() -> None:
    found = compare_likelihoods(
        {1: {"true": np.array([[2.0, 4.0]]), "none": np.array([[3.0, 4.0]])}}, {}, draws=9, seed=1
    )
    assert found == {
        "true": {"perplexity": pytest.approx(np.exp(0.5)), "against": None},
        "none": {"perplexity": pytest.approx(np.exp(0.75)), "against": None},
    }
