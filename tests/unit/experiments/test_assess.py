"""Assessing a run leaves files that agree with the model, and is done once."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.invariants import tiny

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.corpus.contrastive import ContrastiveItem, write_items
from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.store import Store
from docaps.errors import RunError
from docaps.experiments import assess as assessing
from docaps.experiments.assess import TRACED_SENTENCES, assess, choose_sentences, trace, trace_chosen
from docaps.experiments.measure import measure_test_part
from docaps.files import sha256
from docaps.runs.directory import Run
from docaps.training.stages import train_recipe
from docaps.translation.trained_model import load_trained
from docaps.translation.translator import Translator

ITEM = ContrastiveItem(
    id="1",
    phenomenon="pronoun",
    form="subject",
    distance=1,
    history=("the cat sat here",),
    target_history=("die Katze saß hier",),
    source="it slept",
    right="sie schlief",
    wrong=("er schlief",),
)
LABELS = {0: {4: {"phenomenon": "pronoun", "distance": 1}}}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("corpus")
    write_items(folder / "items.jsonl", [ITEM, ITEM])
    return tiny.prepared(folder, folder / "items.jsonl")


@pytest.fixture(scope="module")
def runs(store: Store, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """A sentence model and a document model, both assessed."""
    sentence, document = train_recipe(tiny.recipe(), store, tmp_path_factory.mktemp("runs"))
    assess(sentence, store, labels=LABELS)
    assess(document, store, labels=LABELS)
    return sentence, document


def read(run: Run, name: str) -> Any:
    return json.loads((run.assessment / name).read_text(encoding="utf-8"))


def documents(*lengths: int) -> list[ParallelDocument]:
    return [ParallelDocument(("a",) * length, ("b",) * length) for length in lengths]


def label(phenomenon: str) -> dict[str, Any]:
    return {"phenomenon": phenomenon, "distance": 1}


def test_labelled_places_are_chosen_from_each_phenomenon_in_turn() -> None:
    labels = {
        0: {3: label("pronoun")},
        1: {3: label("pronoun"), 4: label("ambiguity")},
        2: {5: label("ambiguity")},
        3: {4: label("pronoun")},
        4: {},
    }
    assert choose_sentences(documents(*[6] * 5), labels, 3) == [(1, 4), (0, 3), (2, 5), (3, 4)]


def test_places_without_a_full_history_are_not_chosen() -> None:
    labels = {0: {1: label("pronoun"), 2: label("pronoun")}, 1: {3: label("pronoun")}}
    assert choose_sentences(documents(6, 6), labels, 3) == [(1, 3)]
    assert choose_sentences(documents(3, 2), {}, 3) == []
    assert choose_sentences([], {}, 3) == []


def test_without_labels_each_document_gives_its_first_full_place() -> None:
    assert choose_sentences(documents(2, 5, 4, 9, 4, 8), {}, 3) == [(1, 3), (2, 3), (3, 3), (4, 3)]
    assert len(choose_sentences(documents(*[9] * 9), {}, 3)) == TRACED_SENTENCES


def test_the_assessment_holds_what_the_translator_says(runs: tuple[Run, Run], store: Store) -> None:
    for run in runs:
        raw = store.raw("dev")
        expected = Translator(load_trained(run.path)).translate([Document(document.source) for document in raw])
        lines = (run.assessment / "translations.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
        rows = [json.loads(line) for line in lines]
        assert [row["hypothesis"] for row in rows] == [[one.text for one in document] for document in expected]
        assert [row["source"] for row in rows] == [list(document.source) for document in raw]
        assert [row["reference"] for row in rows] == [list(document.target) for document in raw]
        assert [row["labels"] for row in rows] == [{"4": LABELS[0][4]}, {}]
        scores = read(run, "scores.json")
        assert (scores["set"], scores["documents"], scores["sentences"]) == ("dev", 2, 7)
        assert scores["search"] == {"beam": 2, "length_penalty": 0.6, "precision": "float32"}
        assert read(run, "contrastive.json")["items"] == 2
        assert read(run, "contrastive.json")["chance"]["all"] == 0.5


def test_routing_is_traced_for_context_models_only(runs: tuple[Run, Run]) -> None:
    sentence, document = runs
    assert not (sentence.assessment / "routing.json").exists()
    (traced,) = read(document, "routing.json")
    assert (traced["document"], traced["sentence"], traced["source"]) == ("1", 4, "it slept here")
    assert [entry["distance"] for entry in traced["history"]] == [1, 2, 3]


def test_a_trace_is_what_the_routing_did_with_the_history(runs: tuple[Run, Run], store: Store) -> None:
    trained = load_trained(runs[1].path)
    document = store.raw("dev")[0]
    traced = trace(trained, document, 0, 4, "translation")
    encode = trained.codec.encode_source
    history = tuple(encode(document.source[4 - distance])[:-1] for distance in (1, 2, 3))
    batch = collate([Window(encode(document.source[4]), history)], tiny.K)
    with torch.inference_mode():
        context = trained.model.encode(batch, trace=True).context
    assert context is not None
    assert context.correlation is not None
    assert document.source[2] == ""  # an empty sentence keeps its place
    for place, (entry, words) in enumerate(zip(traced["history"], history, strict=True)):
        assert entry["words"] == trained.codec.pieces(words)
        coupling, correlation = (
            torch.tensor(entry[name]).reshape(tiny.R, tiny.M, len(words)) for name in ("coupling", "pcc")
        )
        if len(words):
            assert (coupling.sum(dim=1) - 1).abs().max() < 2e-4  # rounded to 4 places
            assert coupling[0].unique().tolist() == [1 / tiny.M]
            expected = context.correlation[:, 0, place, :, : len(words)]
            torch.testing.assert_close(correlation, expected, rtol=0, atol=1e-4)
            assert torch.equal(correlation[0, 0], correlation[0, 1])
            assert correlation.abs().max() <= 1


def change_search(run: Run, **settings: object) -> Run:
    """Store other settings of the search in a run."""
    description = run.read()
    description["settings"]["decoding"] |= settings
    run.write(description)
    return run


def test_the_same_assessment_is_not_made_twice(
    runs: tuple[Run, Run], store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object, **named: object) -> None:
        raise AssertionError("translated again")

    run = runs[1]
    before = {path: path.stat().st_mtime_ns for path in run.assessment.iterdir()}
    monkeypatch.setattr(assessing, "translate_part", fail)
    assess(run, store, labels=LABELS)
    assert {path: path.stat().st_mtime_ns for path in run.assessment.iterdir()} == before
    greedy = change_search(Run(shutil.copytree(run.path, tmp_path / "greedy")), beam=1)
    with pytest.raises(AssertionError, match="translated again"):
        assess(greedy, store, labels=LABELS)
    assert {path.name for path in greedy.assessment.iterdir()} == {path.name for path in before}


def test_an_assessment_of_an_older_version_is_not_made_again(
    runs: tuple[Run, Run], store: Store, tmp_path: Path
) -> None:
    run = Run(shutil.copytree(runs[1].path, tmp_path / "run"))
    path = run.assessment / "request.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    del stored["search"]["precision"]  # a setting that it did not know
    path.write_text(json.dumps(stored), encoding="utf-8")
    assess(run, store, labels=LABELS)
    assert read(run, "request.json") == stored
    choices = read(run, "contrastive.json")
    assess(change_search(run, precision="bfloat16"), store, labels=LABELS)
    assert read(run, "scores.json")["search"]["precision"] == "bfloat16"
    assert read(run, "contrastive.json") == choices


def test_new_weights_are_assessed_anew(store: Store, tmp_path: Path) -> None:
    (run,) = train_recipe(tiny.recipe(), store, tmp_path, stages=["sentence"])
    assess(run, store)
    first = read(run, "request.json")
    train_recipe(tiny.recipe(seed=2), store, tmp_path, stages=["sentence"], overwrite=True)
    assert not run.assessment.exists()
    assess(run, store)
    assert read(run, "request.json") != first
    assert read(run, "request.json")["weights"] == sha256(run.weights)


def test_chosen_sentences_are_shown_first_and_once(runs: tuple[Run, Run], store: Store, tmp_path: Path) -> None:
    run = Run(shutil.copytree(runs[1].path, tmp_path / "run"))
    trace_chosen(run, store, [(2, 2), (1, 5), (1, 1)])
    traced = read(run, "routing.json")
    assert [(one["document"], one["sentence"]) for one in traced] == [("2", 1), ("1", 4), ("1", 0)]
    lines = (run.assessment / "translations.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    second = json.loads(lines[1])
    assert (traced[0]["source"], traced[0]["translation"]) == (second["source"][1], second["hypothesis"][1])
    assert not any(entry["words"] for entry in traced[2]["history"])  # the first sentence has none before it
    before = traced
    trace_chosen(run, store, [])
    assert read(run, "routing.json") == before
    trace_chosen(runs[0], store, [(9, 9)])  # no routing, nothing to show


@pytest.mark.parametrize(
    ("place", "fault"),
    [((3, 1), "--sentence 3:1: there are 2 documents"), ((2, 9), "--sentence 2:9: document 2 has 2 sentences")],
)
def test_sentences_that_are_not_there_are_refused(
    runs: tuple[Run, Run], store: Store, place: tuple[int, int], fault: str
) -> None:
    before = read(runs[1], "routing.json")
    with pytest.raises(RunError, match=fault):
        trace_chosen(runs[1], store, [(1, 1), place])
    assert read(runs[1], "routing.json") == before


def test_a_run_of_no_grid_has_all_scores_and_its_data_once_for_each_corpus(
    runs: tuple[Run, Run], store: Store, tmp_path: Path
) -> None:
    run = Run(shutil.copytree(runs[1].path, tmp_path / "run"))
    measure_test_part(run, store)
    found = json.loads(run.results.read_text(encoding="utf-8"))
    assert set(found["parts"]) == {"test"}
    assert found["parts"]["test"]["scores"]["bleu"]["score"] == pytest.approx(read(run, "scores.json")["bleu"]["score"])
    assert found["data"]["hash"] == store.hash
    assert found["machine"]["threads"] == torch.get_num_threads()
    date = run.results.stat().st_mtime_ns
    measure_test_part(run, store)
    assert run.results.stat().st_mtime_ns == date
    run.results.write_text(
        json.dumps({**found, "data": {**found["data"], "hash": "of another corpus"}}), encoding="utf-8"
    )
    measure_test_part(run, store)
    assert json.loads(run.results.read_text(encoding="utf-8")) == found


def test_files_of_others_are_not_replaced_by_an_assessment(runs: tuple[Run, Run], store: Store, tmp_path: Path) -> None:
    run = Run(Path(shutil.copytree(runs[0].path, tmp_path / "run")))
    (run.assessment / "request.json").unlink()
    (run.assessment / "notes.md").write_text("mine")
    with pytest.raises(RunError, match=r"assessment: the directory holds something else \(notes.md\)"):
        assess(run, store, labels=LABELS)
    assert (run.assessment / "notes.md").read_text() == "mine"
