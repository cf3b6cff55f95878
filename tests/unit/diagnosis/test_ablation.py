"""Context ablation: documents are scored with every history that applies, and the largest examples are kept."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.invariants import tiny

from docaps import progress
from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.store import Store
from docaps.diagnosis.ablation import AblatedModel, Example, keep_largest, score_histories, split_documents
from docaps.diagnosis.conditions import TRUE, Histories
from docaps.translation.scoring import document_windows, score_documents
from docaps.translation.search import search_windows
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Translator

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


READERS = ("han", "han-decoder", "concat-2-to-2", "concat-n-to-n")
"""Systems that read translations of the history."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


def score(trained: TrainedModel, shown: list[ParallelDocument]) -> list[float]:
    """Score the references with true histories, and the translations of these in the documents shown."""
    model = AblatedModel(trained)
    (chunk,) = split_documents([DOCUMENT, OTHER])
    conditions = [(TRUE, Histories(shown, model.history, seed=1).true)]
    table = model.score(chunk, model.windows(chunk), conditions, progress.Task("score")).likelihoods[TRUE]
    return [-value for value in table[:, 0]]


@pytest.mark.parametrize("name", READERS)
def test_a_model_that_reads_translations_is_shown_those_of_the_history(name: str, store: Store) -> None:
    trained = tiny.trained(store, name)
    expected = [one.log_probability for _, ones in score_documents(trained, [DOCUMENT, OTHER]) for one in ones]
    assert score(trained, [DOCUMENT, OTHER]) == pytest.approx(expected, abs=1e-9)
    bare = [ParallelDocument(one.source, ("",) * len(one.source)) for one in (DOCUMENT, OTHER)]
    assert score(trained, bare)[2] != pytest.approx(expected[2], abs=1e-6)


@pytest.mark.parametrize("name", READERS)
def test_its_own_translations_are_those_of_the_translator(name: str, store: Store) -> None:
    trained = tiny.trained(store, name)
    made = Translator(trained).translate([Document(DOCUMENT.source), Document(OTHER.source)])
    found = AblatedModel(trained).show_translations([DOCUMENT, OTHER], "own")
    assert [one.target for one in found] == [tuple(sentence.text for sentence in sentences) for sentences in made]
    assert [one.source for one in found] == [DOCUMENT.source, OTHER.source]
    assert AblatedModel(trained).show_translations([DOCUMENT], "reference") == [DOCUMENT]


def test_a_model_that_reads_no_translations_makes_none(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Translator, "translate")
    trained = tiny.trained(store, "qcn")
    assert AblatedModel(trained).show_translations([DOCUMENT], "own") == [DOCUMENT]
    other = [ParallelDocument(one.source, ("x",) * len(one.source)) for one in (DOCUMENT, OTHER)]
    assert score(trained, other) == score(trained, [DOCUMENT, OTHER])


@pytest.mark.parametrize("name", READERS)
def test_it_translates_after_the_translations_shown(name: str, store: Store) -> None:
    trained = tiny.trained(store, name)
    model, translator = AblatedModel(trained), Translator(trained)
    histories = Histories([DOCUMENT, OTHER], model.history, seed=1)
    given = [histories.true(0, number) for number in range(3)]
    sources, targets = ([getattr(one, side) for one in given] for side in ("source", "target"))
    found = translator.translate_with_histories(DOCUMENT.source, sources, targets)
    (chunk, *_) = split_documents([DOCUMENT, OTHER])
    texts = model.translate(chunk, [(TRUE, histories.true)], progress.Task("translate"))[TRUE]
    assert texts[:3] == [sentence.text for sentence in found]
    windows = [replace(one, target=None) for one in document_windows(trained, DOCUMENT, 1)]
    for numbers, searched in search_windows(trained, windows, trained.decoding):
        for number, hypotheses in zip(numbers, searched, strict=True):
            assert found[number].score == pytest.approx(hypotheses[0].score, abs=1e-9)
    others = translator.translate_with_histories(DOCUMENT.source, sources, [("er",) * len(one) for one in targets])
    assert others[2].score != pytest.approx(found[2].score, abs=1e-6)


def test_the_decoders_use_of_the_context_is_traced_on_the_references(store: Store) -> None:
    model = AblatedModel(tiny.trained(store, "qcn-target"))
    (chunk,) = split_documents([DOCUMENT, OTHER])
    histories = Histories([DOCUMENT, OTHER], model.history, seed=1)
    found = [trace for traces in model.trace(chunk, model.windows(chunk), histories.true) for trace in traces]
    shares = [dict(zip(one.labels, one.values, strict=True)) for one in found if one.name == "context_share"]
    assert shares[0].keys() == {"decoder layer 1", "decoder layer 2"}
    assert sum(int(values.isfinite().sum()) for by_layer in shares for values in by_layer.values()) == 2 * 3
