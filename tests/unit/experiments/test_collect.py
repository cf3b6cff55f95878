"""Collecting results for a report: what is measured, and that rows of a grid are never measured again."""

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cli.calling import TINY, listing
from tests.unit.experiments.toy_grid import work

from docaps.config import load_recipe, recipe_path
from docaps.corpus.minidocs import generate_corpus
from docaps.corpus.store import open_store
from docaps.errors import RunError
from docaps.experiments import minicorpus
from docaps.experiments.aggregate import aggregate_grid
from docaps.experiments.collect import ReportData, collect, preparing_commands
from docaps.experiments.grid import CorpusSource, Grid, shape, write_request
from docaps.experiments.minicorpus import make_minidocs
from docaps.experiments.rows import LAYOUTS
from docaps.report import build_page
from docaps.runs.results import read_results


def toy(directory: Path, documents: int = 30) -> Grid:
    recipe = shape(load_recipe(recipe_path("minidocs"), [*TINY, "decoding.length_factor=1"]), 2)
    return Grid(directory, LAYOUTS["table2"], recipe, CorpusSource(None, documents), (1,), ("transformer", "qcn"))


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Few documents to measure on."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minicorpus, "generate_corpus", partial(generate_corpus, dev=3, test=4, items=6))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished grid, and a corpus that is not its own; tests only read them."""
    folder = tmp_path_factory.mktemp("pages")
    grid = toy(folder / "grid")
    write_request(grid)
    work(grid)
    aggregate_grid(grid)
    make_minidocs(toy(folder / "other", 31), folder / "other")
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """The grid, once more."""
    return shutil.copytree(made / "grid", tmp_path / "grid")


@pytest.fixture
def other(made: Path) -> Path:
    return made / "other" / "prepared"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def reported(path: Path, corpus: Path | None = None, **options: Any) -> ReportData:
    return collect([path], corpus=corpus, docaps="docaps", **options)


@pytest.mark.parametrize("place", ["seed-1/qcn", "."])
def test_another_corpus_never_replaces_what_a_grid_measured(copy: Path, other: Path, place: str) -> None:
    before = listing(copy / "seed-1")
    with pytest.raises(RunError) as caught:
        reported(copy / place, other)
    said = str(caught.value)
    assert f"a row of the grid {copy}, measured on another corpus than {other}. The grid's numbers are kept" in said
    assert "copy the run out of the grid and report the copy" in said
    assert listing(copy / "seed-1") == before


def test_a_row_is_known_however_its_path_is_written(copy: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy / "seed-1" / "qcn")
    with pytest.raises(RunError, match="a row of the grid"):
        reported(Path(), other)


def test_a_copy_outside_of_the_grid_is_measured_on_the_other_corpus(copy: Path, other: Path, tmp_path: Path) -> None:
    before = listing(copy)
    run = shutil.copytree(copy / "seed-1" / "qcn", tmp_path / "mine" / "qcn")
    (found,) = reported(run, other).results
    assert read(run / "results.json")["data"]["hash"] == open_store(other).hash
    assert found.measured is not None
    assert set(found.measured["parts"]) == {"test"}
    assert listing(copy) == before


def test_the_grids_own_corpus_may_lie_elsewhere(copy: Path, tmp_path: Path) -> None:
    moved = shutil.move(copy / "prepared", tmp_path / "moved")
    before = listing(copy / "seed-1")
    for corpus in (None, Path(moved)):
        (found,) = reported(copy / "seed-1" / "qcn", corpus).results
        assert found.measured is not None
        assert set(found.measured["parts"]) == {"dev", "test"}
    assert listing(copy / "seed-1") == before


def test_a_row_that_is_not_measured_is_left_to_its_grid(copy: Path) -> None:
    run = copy / "seed-1" / "qcn"
    for lost in ("results.json", "counts.json"):
        (run / lost).unlink()
    before = listing(run)
    with pytest.raises(RunError, match="that has not been measured yet: run its `docaps experiment` command first"):
        reported(run)
    assert listing(run) == before
    work(toy(copy))
    assert set(read(run / "results.json")["parts"]) == {"dev", "test"}


def test_a_grids_sentence_model_is_a_run_like_any_other(copy: Path, other: Path) -> None:
    rows = listing(copy / "seed-1" / "qcn")
    for corpus in (None, other):
        (found,) = reported(copy / "seed-1" / "sentence", corpus).results
        assert found.scores is not None
    assert listing(copy / "seed-1" / "qcn") == rows


def test_sentences_are_shown_of_the_corpus_that_was_translated_alone(copy: Path, other: Path) -> None:
    run = copy / "seed-1" / "qcn"
    description = read(run / "run.json")
    found = reported(run, copy / "prepared", places=[(2, 3)]).results[0].routing[0]
    assert (found.document, found.sentence) == ("2", 2)
    description["corpus"]["path"] = str(other)
    (run / "run.json").write_text(json.dumps(description), encoding="utf-8")
    with pytest.raises(RunError, match="not the corpus that the run was measured on, so --sentence cannot show it"):
        reported(run, places=[(1, 1)])


def test_the_page_of_a_grid_has_the_curves_of_its_sentence_models(copy: Path) -> None:
    found = reported(copy)
    assert [run.path for run in found.sentence_models] == [copy / "seed-1" / "sentence"]
    assert [run.name for run in found.results] == ["transformer", "qcn"]
    page = build_page(found.results, title="T", grids=found.grids, sentence_models=found.sentence_models)
    last = found.sentence_models[0].validation[-1]["dev_perplexity"]
    assert f"over training steps. sentence model ends at {last:.3g}" in page
    assert "run sentence" not in page


def test_results_say_how_their_corpus_was_prepared(copy: Path) -> None:
    manifest = read(copy / "prepared" / "manifest.json")
    data = read(copy / "seed-1" / "qcn" / "results.json")["data"]
    assert data["preparation"] == manifest["settings"]
    assert data["command"] is None  # the grid's own command makes its mini-documents
    assert not any("prepare" in command for _, command in reported(copy).commands)


def test_a_corpus_is_prepared_by_one_command_whoever_knows_it(copy: Path, tmp_path: Path) -> None:
    run = copy / "seed-1" / "qcn"
    manifest, results = read(copy / "prepared" / "manifest.json"), read(run / "results.json")
    description = read(run / "run.json")
    description["corpus"]["path"] = str(copy / "prepared")
    (run / "run.json").write_text(json.dumps(description), encoding="utf-8")

    def told() -> list[tuple[str, str]]:
        return preparing_commands([read_results(run), read_results(run)], "python -m docaps")

    (copy / "prepared" / "manifest.json").write_text(json.dumps(manifest | {"command": "docaps prepare --out a"}))
    assert told() == [("Prepare the corpus", "python -m docaps prepare --out a")]
    results["data"]["command"] = "docaps prepare --out b"
    (run / "results.json").write_text(json.dumps(results), encoding="utf-8")
    assert told() == [("Prepare the corpus", "python -m docaps prepare --out b")]
    for key in ("preparation", "command"):  # as an earlier version left it
        del results["data"][key]
    (run / "results.json").write_text(json.dumps(results), encoding="utf-8")
    other = manifest | {"command": "docaps prepare --out c", "hash": "0" * 64}
    (copy / "prepared" / "manifest.json").write_text(json.dumps(other), encoding="utf-8")
    assert told() == []  # not the corpus that the run learnt from
    shutil.rmtree(copy / "prepared")
    assert told() == []
