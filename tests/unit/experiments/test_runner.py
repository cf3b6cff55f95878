"""Cells of a grid are trained and measured once, and resumed wherever they were left."""

import errno
import shutil
import threading
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.calling import TINY
from tests.unit.experiments.toy_grid import ROWS, dates, read, toy, work

from docaps import files
from docaps.config import load_recipe, recipe_path
from docaps.errors import RunError
from docaps.evaluation import DRAWS, SEED
from docaps.evaluation.intervals import score_interval
from docaps.experiments import runner
from docaps.experiments.aggregate import aggregate_folder, aggregate_grid
from docaps.experiments.grid import Cell, shape, write_request
from docaps.experiments.measure import metrics_of
from docaps.experiments.rows import LAYOUTS
from docaps.experiments.runner import CellState, run_cell, state_of

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


def test_a_run_without_its_card_gets_it_and_nothing_else(copy: Path) -> None:
    before = dates(copy)
    cards = [copy / "seed-1" / name / "MODEL_CARD.md" for name in ("sentence", "san")]
    for card in cards:
        card.unlink()
    work(toy(copy))
    assert all(card.exists() for card in cards)
    assert dates(copy) == before


@pytest.mark.stress
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
    (bleu,) = (metric for metric in metrics_of("de") if metric.key == "bleu")
    both = np.array([*tables[0], *tables[1]])  # other documents, not the same ones again
    (han,) = (row for row in found["rows"] if row["row"] == "han")
    assert han["documents"]["bleu"] == score_interval(both, bleu.score, draws=DRAWS, seed=SEED)
    assert [one["experiment"] for one in aggregate_folder(tmp_path / "grid")] == ["rivals"]
    (grid.speed(Cell(1, layout.rows["han"]))).unlink()
    assert state_of(grid, Cell(1, layout.rows["han"])) is CellState.UNSCORED


def test_a_cell_that_another_process_runs_is_waited_for_and_not_run_again(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = Cell(1, LAYOUTS["table2"].rows["san"])
    results = (copy / "seed-1" / "san" / "results.json").rename(copy / "elsewhere.json")
    grid = toy(copy)
    monkeypatch.setattr(runner, "train_and_measure", lambda *_: pytest.fail("run again"))
    waiting = threading.Thread(target=run_cell, args=(grid, cell))
    with grid.lock(cell.key):
        assert state_of(grid, cell) is CellState.RUNNING
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        results.rename(copy / "seed-1" / "san" / "results.json")
    waiting.join(10)
    assert not waiting.is_alive()
    assert state_of(grid, cell) is CellState.DONE


def test_without_locks_no_run_is_begun(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell(1, LAYOUTS["table2"].rows["san"])
    grid, path = toy(copy), copy / "locks" / f"{cell.key}.lock"
    precious = copy / "precious.txt"
    precious.write_text("mine", encoding="utf-8")
    path.unlink(missing_ok=True)
    path.symlink_to(precious)
    refused = partial(pytest.raises, RunError, match=r"san\.lock: cannot be locked, so that two processes might train")
    with refused():  # a link is no lock
        run_cell(grid, cell)
    assert not grid.is_running(cell)
    assert precious.read_text(encoding="utf-8") == "mine"
    path.unlink()

    def refuse(*_: Any, **__: Any) -> bool:
        raise OSError(errno.ENOSYS, "no locks")

    monkeypatch.setattr(files, "lock_descriptor", refuse)
    assert not grid.is_running(cell)
    with refused():
        run_cell(grid, cell)
