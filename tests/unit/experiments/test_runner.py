"""Cells of a grid are run once, resumed, retried once, and blocked by what they start from."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.calling import TINY
from tests.unit.experiments.toy_grid import ROWS, dates, read, toy

from docaps.config import load_recipe, recipe_path
from docaps.errors import RunError
from docaps.experiments import runner
from docaps.experiments.aggregate import _pooled, aggregate_folder, aggregate_grid
from docaps.experiments.grid import Cell, Grid, shape, write_request
from docaps.experiments.minicorpus import provide_corpora
from docaps.experiments.rows import LAYOUTS
from docaps.experiments.runner import CellState, attempt, clear_attempts, read_attempts, state_of, work

pytestmark = pytest.mark.usefixtures("small")


def test_rows_start_from_one_sentence_model_for_each_seed(made: Path) -> None:
    for seed in (1, 2):
        sentence = read(made / f"seed-{seed}" / "sentence" / "run.json")
        for row in ROWS:
            run = read(made / f"seed-{seed}" / row / "run.json")
            assert run["begun_from"] == {"run": "sentence", "created": sentence["created"]}
            assert (run["seed"], run["steps"], run["system"]) == (seed, 2, row)
            assert run["settings"]["stage"]["result"] == "best"  # chosen on the development part
    hashes = {read(path)["corpus"]["hash"] for path in made.rglob("run.json")}
    assert len(hashes) == 1


def test_what_is_finished_is_never_done_again(copy: Path) -> None:
    before = dates(copy)
    work(toy(copy))
    assert dates(copy) == before
    assert all(state_of(toy(copy), cell) is CellState.DONE for cell in toy(copy).cells())


@pytest.mark.parametrize("lost", ["results.json", "assessment", "held-out", "."])
def test_from_wherever_a_run_was_left_it_is_brought_to_the_same_end(copy: Path, lost: str) -> None:
    before, run = dates(copy), copy / "seed-1" / "qcn+reg"
    results = read(run / "results.json")
    (run / "results.json").unlink()
    if lost != "results.json":
        shutil.rmtree(run / lost)
    work(toy(copy))
    again = read(run / "results.json")
    assert [again["parts"][part]["scores"] for part in again["parts"]] == [
        results["parts"][part]["scores"] for part in results["parts"]
    ]
    changed = {path for path, date in dates(copy).items() if before[path] != date}
    assert changed
    assert all(path.startswith("seed-1/qcn+reg/") for path in changed)


def test_a_row_that_fails_is_tried_once_more_and_the_others_go_on(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for row in ("qcn+reg", "san"):
        shutil.rmtree(copy / "seed-1" / row)
    tried = []

    def train(recipe: Any, *arguments: Any, stages: list[str], **options: Any) -> Any:
        tried.append(stages[0])
        if stages[0] == "qcn+reg":
            raise RunError("no luck today")
        return plain_train(recipe, *arguments, stages=stages, **options)

    plain_train = runner.train_recipe
    monkeypatch.setattr(runner, "train_recipe", train)
    grid = toy(copy)
    work(grid)
    assert tried == ["qcn+reg", "san", "qcn+reg"]
    failed = Cell(1, grid.layout.rows["qcn+reg"])
    assert state_of(grid, failed) is CellState.FAILED
    assert [entry["error"] for entry in read_attempts(grid, failed)] == ["no luck today"] * 2
    assert grid.is_done(Cell(1, grid.layout.rows["san"]))
    monkeypatch.undo()
    clear_attempts(grid)
    work(grid)
    assert all(grid.is_done(cell) for cell in grid.cells())
    assert not any(read_attempts(grid, cell) for cell in grid.cells())


def test_sentence_models_and_then_the_rows_that_take_longest_are_begun_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("qcn", "exempt", "longer", "silent")
    grid = toy(tmp_path / "grid", layout=LAYOUTS["trials"], only=names, seeds=(1, 2))
    assert grid.steps_of(Cell(1, None)) < grid.steps_of(Cell(1, grid.layout.rows["longer"]))
    begun = list[str]()
    monkeypatch.setattr(runner, "provide_corpora", lambda _: dict.fromkeys((1, 2)))
    monkeypatch.setattr(runner, "train_and_measure", lambda _, cell, __: begun.append(cell.key))
    monkeypatch.setattr(Grid, "is_done", lambda _, cell: cell.key in begun)
    work(grid)
    rest = [f"seed-{seed}.{row}" for seed in (1, 2) for row in ("qcn", "silent", "exempt")]
    assert begun == ["seed-1.sentence", "seed-2.sentence", "seed-1.longer", "seed-2.longer", *rest]


def test_rows_without_their_sentence_model_are_blocked(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(copy / "seed-1")

    def train(*arguments: Any, **options: Any) -> Any:
        raise ZeroDivisionError("a fault of the program")

    monkeypatch.setattr(runner, "train_recipe", train)
    grid = toy(copy)
    work(grid)
    states = [state_of(grid, cell) for cell in grid.cells()]
    assert states == [CellState.FAILED, *[CellState.BLOCKED] * 3, *[CellState.DONE] * 4]
    assert "Traceback" in read_attempts(grid, Cell(1, None))[0]["error"]


def test_an_interrupted_run_has_not_failed(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell(1, LAYOUTS["table2"].rows["san"])
    shutil.rmtree(copy / "seed-1" / "san")

    def train(*arguments: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "train_recipe", train)
    grid = toy(copy)
    with pytest.raises(KeyboardInterrupt):
        work(grid)
    assert state_of(grid, cell) is CellState.OPEN
    assert read_attempts(grid, cell) == []


def test_a_process_that_dies_again_and_again_in_a_row_does_not_hold_up_the_grid(copy: Path) -> None:
    shutil.rmtree(copy / "seed-1" / "san")
    grid = toy(copy)
    path = grid.attempts(Cell(1, grid.layout.rows["san"]))
    path.write_text(json.dumps([{"at": "", "error": "ended without notice"}] * 2), encoding="utf-8")
    work(grid)
    assert not (copy / "seed-1" / "san").exists()


def test_a_run_without_its_card_gets_it_and_nothing_else(copy: Path) -> None:
    before = dates(copy)
    cards = [copy / "seed-1" / name / "MODEL_CARD.md" for name in ("sentence", "san")]
    for card in cards:
        card.unlink()
    work(toy(copy))
    assert all(card.exists() for card in cards)
    assert dates(copy) == before


def test_a_cell_that_another_process_runs_is_left_alone(copy: Path) -> None:
    cell = Cell(1, LAYOUTS["table2"].rows["san"])
    shutil.rmtree(copy / "seed-1" / "san")
    grid = toy(copy)
    store = provide_corpora(grid)[1]
    with grid.locks.hold(cell.key):
        assert not attempt(grid, cell, store)
        assert state_of(grid, cell) is CellState.RUNNING
    assert attempt(grid, cell, store)


def test_a_row_waits_for_the_row_that_it_starts_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = toy(tmp_path / "grid", layout=LAYOUTS["rivals"], only=("han-joint", "concat-2-to-2"), seeds=(1,))
    begun = list[str]()

    def train(_: Grid, cell: Cell, __: Any) -> None:
        begun.append(cell.name)
        if cell.name == "han-joint-first":
            raise RunError("no luck today")

    monkeypatch.setattr(runner, "provide_corpora", lambda _: {1: None})
    monkeypatch.setattr(runner, "train_and_measure", train)
    monkeypatch.setattr(Grid, "is_done", lambda _, cell: cell.name in begun and cell.name != "han-joint-first")
    work(grid)
    assert begun == ["sentence", "concat-2-to-2", "han-joint-first", "han-joint-first"]
    states = {cell.name: state_of(grid, cell) for cell in grid.cells()}
    assert (states["han-joint-first"], states["han-joint"]) == (CellState.FAILED, CellState.BLOCKED)


def test_rows_compared_by_choices_are_probed_timed_and_have_documents_of_their_seed(tmp_path: Path) -> None:
    layout = replace(LAYOUTS["rivals"], check_every=1)
    recipe = shape(load_recipe(recipe_path("minidocs"), [*TINY, "decoding.length_factor=1"]), 2, 1)
    grid = toy(tmp_path / "grid", layout=layout, recipe=recipe, only=("han",))
    write_request(grid)
    work(grid)
    texts = [(grid.corpus_home(seed) / "corpus" / "train.en").read_bytes() for seed in (1, 2)]
    assert texts[0] != texts[1]
    for seed in (1, 2):
        begun = [read(tmp_path / "grid" / f"seed-{seed}" / row / "run.json") for row in ("han-first", "han")]
        assert [run["begun_from"]["run"] for run in begun] == ["sentence", "han-first"]
        assert [run["settings"]["system"]["han"]["side"] for run in begun] == ["encoder", "joint"]
        assert [run["settings"]["stage"]["init_from"] for run in begun] == ["sentence", "han-first"]
        assert begun[0]["corpus"]["path"] == str(grid.corpus_home(seed) / "prepared")
    found = aggregate_grid(grid)
    assert (found["check_every"], found["items"], found["corpus"]["per_seed"]) == (1, 36, True)
    for row in found["rows"]:
        for run in row["runs"]:
            home = tmp_path / "grid" / run["path"]
            contrastive = read(home / "assessment" / "contrastive.json")
            assert (run["accuracy"], found["chance"]) == (contrastive["accuracy"], contrastive["chance"])
            assert run["parameters"] == read(home / "run.json")["parameters"]
            assert run["speed"] == read(home / "assessment" / "speed.json")["share"] > 0
            assert [step for step, _ in run["curve"]] == [1, 2]
    tables = [read(tmp_path / "grid" / f"seed-{seed}" / "han" / "counts.json")["bleu"] for seed in (1, 2)]
    counts = {s: {"bleu": np.array(t)} for s, t in zip((1, 2), tables, strict=True)}
    pooled = _pooled(grid, "bleu", counts, (1, 2))
    assert pooled.tolist() == [*tables[0], *tables[1]]  # other documents, not the same ones again
    assert [one["experiment"] for one in aggregate_folder(tmp_path / "grid")] == ["rivals"]
    (grid.speed(Cell(1, layout.rows["han"]))).unlink()
    assert state_of(grid, Cell(1, layout.rows["han"])) is CellState.UNSCORED
