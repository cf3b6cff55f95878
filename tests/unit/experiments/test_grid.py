"""Grids at toy size, in this process: what is done once, what fails alone, what the numbers are."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.cli.calling import TINY

from docaps.config import load_recipe, recipe_path
from docaps.corpus.minidocs import generate_corpus
from docaps.diagnosis import likelihoods
from docaps.diagnosis.contrastive_test import contrast_grid
from docaps.diagnosis.data import Request
from docaps.diagnosis.examination import Wishes
from docaps.diagnosis.run import diagnose_run
from docaps.errors import RunError
from docaps.evaluation.bleu import bleu
from docaps.evaluation.seeds import mean_of
from docaps.experiments import crew as crews
from docaps.experiments import estimates
from docaps.experiments import work as working
from docaps.experiments.crew import Crew, describe, run_grid, take_stock
from docaps.experiments.gathering import DRAWS, SEED, gather, gather_all
from docaps.experiments.grid import Cell, Grid, Source, check_request, read_request, shape, write_request
from docaps.experiments.layouts import LAYOUTS
from docaps.experiments.readings import Reading
from docaps.experiments.work import (
    TRIES,
    State,
    attempt,
    forget_attempts,
    provide_corpus,
    read_attempts,
    state_of,
    work,
)

ROWS = ("transformer", "qcn+reg", "san")


def toy(directory: Path, **changes: Any) -> Grid:
    recipe = shape(load_recipe(recipe_path("minidocs"), [*TINY, "decoding.length_factor=1"]), 2)
    grid = Grid(directory, LAYOUTS["table2"], recipe, Source(None, 30), (1, 2), ROWS)
    return replace(grid, **changes)


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Few documents to measure on."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(working, "generate_corpus", partial(generate_corpus, dev=3, test=4, items=6))
        patch.setattr(working, "PAUSE", 0.01)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished grid; tests only read it."""
    folder = tmp_path_factory.mktemp("grid") / "toy"
    grid = toy(folder)
    write_request(grid)
    work(grid)
    gather(grid)
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "toy")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def dates(folder: Path) -> dict[str, int]:
    names = ("model.safetensors", "results.json", "translations.jsonl")
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for name in names for path in folder.rglob(name)}


def test_every_row_of_the_paper_is_there_and_both_sentence_rows_have_a_second_stage() -> None:
    from docaps.report.paper import TABLE2

    rows = LAYOUTS["table2"].rows
    assert rows.keys() >= TABLE2.keys() | {"capsnet", "qcn-shuffled", "qcn-noise"}
    grid = toy(Path("nowhere"), only=None)
    stages = {row.name: grid.recipe_of(Cell(1, row)).stage[row.name] for row in grid.rows}
    fixed = {name: stage.model_copy(update={"system": "qcn"}) for name, stage in stages.items() if name != "zhang"}
    assert {stage.init_from for stage in stages.values()} == {"sentence"}
    assert len({stage.model_dump_json() for stage in fixed.values()}) == 1  # steps, dropout and all the rest
    assert stages["zhang"].inherited_rate == 0


@pytest.mark.parametrize(
    ("name", "values", "fixed"),
    [
        ("history", range(1, 7), (None, 4, 4)),
        ("capsules", range(1, 9), (3, None, 4)),
        ("rounds", range(1, 7), (3, 4, None)),
    ],
)
def test_figures_move_one_setting_and_hold_the_others(name: str, values: range, fixed: tuple[int | None, ...]) -> None:
    grid = toy(Path("nowhere"), layout=LAYOUTS[name], only=None)
    found = []
    for row in grid.rows:
        recipe = grid.recipe_of(Cell(1, row))
        found.append((recipe.history.sentences, recipe.qcn.capsules, recipe.qcn.rounds))
        assert recipe.stage[row.name].system == "qcn+reg"
    assert found == [tuple(value if one is None else one for one in fixed) for value in values]


CHANGED = {
    "joint": {("qcn", "scope"): "joint"},
    "mean": {("qcn", "query"): "mean"},
    "gate": {("qcn", "gate"): True},
    "positions": {("history", "positions"): True},
    "raw": {("qcn", "normalise"): False},
    "weight-0.1": {("regulariser", "weight"): 0.1},
    "weight-0.3": {("regulariser", "weight"): 0.3},
    "new-3": {("stage", "learning_rate"): 3e-3, ("stage", "inherited_rate"): 1 / 3 * 0.2},
    "new-10": {("stage", "learning_rate"): 1e-2, ("stage", "inherited_rate"): 0.1 * 0.2},
    "routed-1": {("qcn", "rounds"): 1},
    "routed-2": {("qcn", "rounds"): 2},
    "routed-3": {("qcn", "rounds"): 3},
    "silent": {("qcn", "silent"): True},
    "exempt": {("stage", "inherited_exempt"): ["embeddings"]},
    "transformer-longer": {("stage", "steps"): 2000, ("stage", "warmup"): 200},
    "longer": {("stage", "steps"): 2000, ("stage", "warmup"): 200},
}
USUAL = {"weight-0.1": "qcn+reg", "weight-0.3": "qcn+reg", "transformer-longer": "transformer"}


@pytest.mark.parametrize("name", CHANGED)
def test_trials_change_one_thing_and_leave_the_test_part_alone(name: str) -> None:
    grid = Grid(Path("nowhere"), LAYOUTS["trials"], load_recipe(recipe_path("europarl-small")), Source(None, 30))
    rows = grid.layout.rows
    usual = rows[USUAL.get(name, "qcn")]
    one, other = (_settings(grid, row) for row in (usual, rows[name]))
    found = {key: value for key, value in other.items() if one[key] != value}
    assert {
        key: pytest.approx(value) if isinstance(value, float) else value for key, value in CHANGED[name].items()
    } == found
    assert rows[name].trial
    assert not usual.trial


def test_trials_are_all_there() -> None:
    assert LAYOUTS["trials"].rows.keys() == CHANGED.keys() | {"transformer", "qcn", "qcn+reg"}


def _settings(grid: Grid, row: Reading) -> dict[tuple[str, str], Any]:
    values = grid.recipe_of(Cell(1, row)).model_dump()
    values["stage"] = values["stage"][row.name]
    return {
        (table, key): value
        for table in ("qcn", "history", "regulariser", "stage")
        for key, value in values[table].items()
    }


def test_a_trial_is_measured_on_the_development_part_alone(copy: Path) -> None:
    grid = toy(copy, layout=LAYOUTS["trials"], seeds=(1,), only=("transformer", "mean"))
    work(grid)
    run = copy / "seed-1" / "mean"
    assert set(read(run / "results.json")["parts"]) == {"dev"}
    assert not (run / "assessment").exists()
    assert not (run / "counts.json").exists()
    found = gather(grid)
    rows = {row["row"]: row for row in found["rows"]}
    assert found["part"] == "dev"
    assert set(rows) == {"transformer", "qcn+reg", "mean"}
    for name, row in rows.items():
        own = [
            read(copy / f"seed-{seed}" / name / "results.json")["parts"]["dev"] for seed in (1, 2)[: len(row["runs"])]
        ]
        scores = [part["scores"]["bleu"]["score"] for part in own]
        assert row["means"]["bleu"]["mean"] == pytest.approx(np.mean(scores))
    scores = [rows[name]["runs"][0]["dev"]["bleu"] for name in ("mean", "transformer")]
    assert rows["mean"]["against"]["bleu"]["difference"] == pytest.approx(scores[0] - scores[1], abs=0.5)
    contrast_grid(copy, "minidocs", copy / "corpus", {}, keep="mini")
    assert {path.parts[-3] for path in copy.glob("seed-1/*/contrast/mini.own.json")} == {*ROWS}
    text = (copy / "trials.md").read_text(encoding="utf-8")
    assert "Development part; 95 %" in text
    assert f"| mean: query from the mean of the words | {rows['mean']['histories']['true']['perplexity']:.3f}" in text


def test_trials_are_compared_by_perplexity_and_tell_whether_context_is_used(copy: Path) -> None:
    names = ("transformer", "qcn+reg", "mean")
    grid = toy(copy, layout=LAYOUTS["trials"], seeds=(1,), only=names)
    work(grid)
    rows = {row["row"]: row["histories"] for row in gather(grid)["rows"]}
    run = copy / "seed-1" / "mean"
    assert SEED == likelihoods.SEED  # the diagnosis draws histories and documents with one
    wishes = Wishes(shuffles=1, bleu=False, examples=0, draws=DRAWS, seed=SEED)
    found = diagnose_run(run, Request(part="dev"), wishes, against=copy / "seed-1" / "transformer")
    perplexities = {one["condition"]: one["perplexity"] for one in found["conditions"]}
    own = rows["mean"]
    assert {name: one["perplexity"] for name, one in own.items()} == pytest.approx(
        {name: perplexities[name] for name in ("true", "shuffled", "none")}
    )
    assert perplexities["true"] != pytest.approx(perplexities["none"], rel=1e-6)
    assert rows["transformer"] == {"true": {"perplexity": pytest.approx(perplexities["against"]), "against": None}}
    compared = [one for one in found["comparisons"] if one["measure"] == "perplexity"]
    contests = {(one["condition"], one["baseline"]): one for one in compared}
    tests = ("difference", "low", "high", "p_bootstrap", "p_randomisation")
    assert own["true"]["against"] == pytest.approx({key: contests["true", "against"][key] for key in tests})
    turned = contests["true", "none"]
    assert own["none"]["against"]["difference"] == pytest.approx(-turned["difference"])
    assert own["none"]["against"]["low"] == pytest.approx(-turned["high"])
    assert own["none"]["against"]["p_bootstrap"] == pytest.approx(turned["p_bootstrap"])
    assert own["shuffled"]["against"]["difference"] == pytest.approx(
        perplexities["shuffled"] - perplexities["true"], abs=1e-6
    )


def test_a_row_that_lacks_likelihoods_is_shown_and_completed_without_measuring_it_again(copy: Path) -> None:
    grid = toy(copy, layout=LAYOUTS["trials"], seeds=(1,), only=("transformer", "qcn+reg"))
    before = dates(copy)
    found = gather(grid)
    assert found["part"] == "dev"
    assert found["unfinished"] == []
    assert {row["row"] for row in found["rows"]} == {"transformer", "qcn+reg"}
    assert not any("histories" in row for row in found["rows"])
    assert re.search(r"\| qcn\+reg: .* \| – \| – \| – \| \d", grid.table.read_text(encoding="utf-8"))
    assert [state_of(grid, cell) for cell in grid.cells()] == [State.DONE, State.UNSCORED, State.UNSCORED]
    work(grid)
    assert [state_of(grid, cell) for cell in grid.cells()] == [State.DONE] * 3
    assert dates(copy) == before
    one = {row["row"]: row["histories"] for row in gather(grid)["rows"]}["qcn+reg"]  # of one of two seeds
    work(replace(grid, seeds=(1, 2)))
    both = {row["row"]: row["histories"] for row in gather(grid)["rows"]}["qcn+reg"]
    assert one.keys() == both.keys() == {"true", "shuffled", "none"}
    assert one["true"]["against"]
    assert one["true"]["perplexity"] != both["true"]["perplexity"]
    assert dates(copy) == before


def test_likelihoods_alone_do_not_pass_for_translations(copy: Path) -> None:
    run = toy(copy).run(Cell(1, LAYOUTS["table2"].rows["qcn+reg"]))
    scores = read(run.results)["parts"]["dev"]["scores"]
    shutil.rmtree(run.held_out_dev)
    run.held_out_dev.mkdir()
    run.likelihoods.write_text("{}", encoding="utf-8")
    run.results.unlink()
    work(toy(copy))
    assert read(run.results)["parts"]["dev"]["scores"] == scores


def test_a_row_that_could_not_be_scored_is_told(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def score(*_: Any) -> None:
        raise RunError("no luck today")

    monkeypatch.setattr(working, "measure_likelihoods", score)
    grid = toy(copy, layout=LAYOUTS["trials"], seeds=(1,), only=("transformer",))
    work(grid)
    assert gather(grid)["unfinished"] == ["transformer with seed 1 (failed)"]


def test_rows_are_compared_with_rows_that_are_there() -> None:
    for layout in LAYOUTS.values():
        baselines = {row.baseline for row in layout.rows.values() if row.baseline}
        assert baselines <= layout.rows.keys()
    assert LAYOUTS["trials"].rows["longer"].baseline == "transformer-longer"


def test_a_budget_counts_the_steps_of_rows_that_take_more(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "seconds_per_step", lambda *_: 1.0)
    monkeypatch.setattr(estimates, "count_held_out", lambda _: {})
    usual = toy(copy, layout=LAYOUTS["trials"], seeds=(1,), only=("qcn",))
    assert estimates.steps_within(usual, usual.store(), 100.0, 1) == 50
    longer = replace(usual, only=("longer",))
    assert estimates.steps_within(longer, longer.store(), 100.0, 1) == 20


def test_a_row_with_a_baseline_of_its_own_is_compared_with_that(copy: Path) -> None:
    rows = {name: LAYOUTS["trials"].rows[name] for name in ("transformer", "qcn+reg", "mean")}
    changed = rows | {"qcn+reg": replace(rows["qcn+reg"], baseline="mean")}
    grid = toy(copy, layout=replace(LAYOUTS["trials"], rows=changed), seeds=(1,), only=None)
    work(grid)
    found = {row["row"]: row for row in gather(grid)["rows"]}
    assert {name: row["baseline"] for name, row in found.items()} == {
        "transformer": None,
        "qcn+reg": "mean",
        "mean": "transformer",
    }
    scores = {name: row["runs"][0]["dev"]["bleu"] for name, row in found.items()}
    assert found["qcn+reg"]["against"]["bleu"]["difference"] == pytest.approx(scores["qcn+reg"] - scores["mean"])
    perplexities = {name: row["histories"]["true"]["perplexity"] for name, row in found.items()}
    assert found["qcn+reg"]["histories"]["true"]["against"]["difference"] == pytest.approx(
        perplexities["qcn+reg"] - perplexities["mean"]
    )
    assert "against `transformer` (`qcn+reg`: `mean`); perplexity" in (copy / "trials.md").read_text(encoding="utf-8")


def test_sentence_models_come_first_and_no_worker_waits_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    employed = []
    monkeypatch.setattr(crews, "_employ", lambda grid, jobs, shown: employed.append((len(grid.rows), jobs, len(shown))))
    run_grid(toy(tmp_path / "grid"), jobs=4)
    assert employed == [(0, 2, 8), (3, 4, 8)]


def test_a_sentence_model_that_is_there_takes_no_worker(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(copy / "seed-2")
    employed = []
    monkeypatch.setattr(crews, "_employ", lambda grid, jobs, _: employed.append((len(grid.rows), jobs)))
    run_grid(toy(copy), jobs=4)
    assert employed == [(0, 1), (3, 4)]


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


def test_the_scores_of_a_run_are_those_of_its_translations(made: Path) -> None:
    run = made / "seed-2" / "qcn+reg"
    results = read(run / "results.json")
    for part, folder in (("test", "assessment"), ("dev", "held-out/dev")):
        lines = (run / folder / "translations.jsonl").read_text(encoding="utf-8").splitlines()
        documents = [json.loads(line) for line in lines]
        sides = [[text for document in documents for text in document[side]] for side in ("hypothesis", "reference")]
        expected = bleu(*sides)
        found = results["parts"][part]
        assert found["scores"]["bleu"]["score"] == pytest.approx(expected.score)
        assert found["scores"]["bleu"]["signature"] == expected.signature
        assert set(found["scores"]) == {"bleu", "dbleu", "chrf", "meteor"}
        assert (found["documents"], found["sentences"]) == (len(documents), len(sides[0]))
    assert len(read(run / "counts.json")["bleu"]) == 4
    assert results["data"]["parts"]["test"]["documents"] == 4
    assert results["machine"]["threads"] == 1


def test_the_numbers_of_the_grid_are_those_of_its_runs(made: Path) -> None:
    found = read(made / "table2.json")
    assert (found["seeds"], found["baseline"], [row["row"] for row in found["rows"]]) == (
        [1, 2],
        "transformer",
        [*ROWS],
    )
    for row in found["rows"]:
        for key in ("bleu", "meteor"):
            scores = [
                read(made / run["path"] / "results.json")["parts"]["test"]["scores"][key]["score"]
                for run in row["runs"]
            ]
            assert [run["test"][key] for run in row["runs"]] == scores
            assert row["means"][key]["mean"] == pytest.approx(sum(scores) / 2)
            assert row["means"][key]["low"] <= row["means"][key]["mean"] <= row["means"][key]["high"]
    assert "against" not in found["rows"][0]
    assert set(found["rows"][1]["against"]) == {"bleu", "dbleu", "chrf", "meteor"}


def test_the_difference_to_the_sentence_row_counts_all_seeds_together(made: Path) -> None:
    counts = {row: [read(made / f"seed-{s}" / row / "counts.json")["bleu"] for s in (1, 2)] for row in ROWS[:2]}
    from docaps.evaluation.statistics import bleu_of

    score = {row: bleu_of(np.array(tables).sum(axis=(0, 1))[None], smooth=True)[0] for row, tables in counts.items()}
    found = read(made / "table2.json")["rows"][1]["against"]["bleu"]
    assert found["difference"] == pytest.approx(score["qcn+reg"] - score["transformer"])


def test_what_is_finished_is_never_done_again(copy: Path) -> None:
    before = dates(copy)
    work(toy(copy))
    assert dates(copy) == before
    assert all(state_of(toy(copy), cell) is State.DONE for cell in toy(copy).cells())


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
        return working_train(recipe, *arguments, stages=stages, **options)

    working_train = working.train_recipe
    monkeypatch.setattr(working, "train_recipe", train)
    grid = toy(copy)
    work(grid)
    assert tried == ["qcn+reg", "san", "qcn+reg"]
    failed = Cell(1, grid.layout.rows["qcn+reg"])
    assert state_of(grid, failed) is State.FAILED
    assert [entry["error"] for entry in read_attempts(grid, failed)] == ["no luck today"] * 2
    assert grid.is_done(Cell(1, grid.layout.rows["san"]))
    monkeypatch.undo()
    forget_attempts(grid)
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
    monkeypatch.setattr(working, "provide_corpus", lambda _: None)
    monkeypatch.setattr(working, "carry_out", lambda _, cell, __: begun.append(cell.key))
    monkeypatch.setattr(Grid, "is_done", lambda _, cell: cell.key in begun)
    work(grid)
    rest = [f"seed-{seed}.{row}" for seed in (1, 2) for row in ("qcn", "silent", "exempt")]
    assert begun == ["seed-1.sentence", "seed-2.sentence", "seed-1.longer", "seed-2.longer", *rest]


def test_rows_without_their_sentence_model_are_blocked(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(copy / "seed-1")

    def train(*arguments: Any, **options: Any) -> Any:
        raise ZeroDivisionError("a fault of the program")

    monkeypatch.setattr(working, "train_recipe", train)
    grid = toy(copy)
    work(grid)
    states = [state_of(grid, cell) for cell in grid.cells()]
    assert states == [State.FAILED, *[State.BLOCKED] * 3, *[State.DONE] * 4]
    assert "Traceback" in read_attempts(grid, Cell(1, None))[0]["error"]


def test_being_stopped_is_no_failure(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell(1, LAYOUTS["table2"].rows["san"])
    shutil.rmtree(copy / "seed-1" / "san")

    def train(*arguments: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(working, "train_recipe", train)
    grid = toy(copy)
    with pytest.raises(KeyboardInterrupt):
        work(grid)
    assert state_of(grid, cell) is State.OPEN
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


def test_the_whole_table_and_a_point_of_each_figure_are_made(copy: Path) -> None:
    grid = toy(copy, seeds=(1,), only=None)
    assert not {row.name for row in grid.rows} & {"zhang-all", "han-encoder"}
    work(grid)
    work(toy(copy, seeds=(1,), only=("zhang-all", "han-encoder")))
    for name in ("history", "capsules", "rounds"):
        grid = toy(copy, layout=LAYOUTS[name], seeds=(1,), only=(f"{name}-1",))
        work(grid)
    gather_all(copy)
    assert [row["row"] for row in read(copy / "table2.json")["rows"]] == list(LAYOUTS["table2"].rows)
    assert [row["row"] for row in read(copy / "rounds.json")["rows"]] == ["rounds-1"]
    found = read(copy / "table2.json")
    text = (copy / "table2.md").read_text(encoding="utf-8")
    for row in found["rows"]:
        mean = np.mean([run["dev"]["bleu"] for run in row["runs"]])
        assert f"| {row['row']} | {mean:.2f} |" in text
    scores = read(copy / "seed-1" / "qcn+reg" / "results.json")["parts"]["test"]["scores"]
    assert f"BLEU `{scores['bleu']['signature']}`" in text
    assert found["unfinished"] == []
    assert found["taken"] == {"sentence": [2], "document": [2]}
    assert [model["seed"] for model in found["sentence_models"]] == [1, 2]


def test_what_is_not_finished_is_told(copy: Path) -> None:
    (copy / "seed-1" / "san" / "results.json").unlink()
    (copy / "seed-1.bak").mkdir()
    found = gather(toy(copy))
    assert found["unfinished"] == ["san with seed 1 (to train)"]
    assert "Not finished: san with seed 1 (to train)." in (copy / "table2.md").read_text(encoding="utf-8")
    assert not (copy / "history.json").exists()
    gather_all(copy)
    assert not (copy / "history.json").exists()


class Mortal:
    """A worker that begins something, if there is anything, and dies."""

    def __init__(self, grid: Grid, *, begins: bool) -> None:
        free = [cell for cell in grid.cells() if state_of(grid, cell).waits]
        if begins:
            entries = [*read_attempts(grid, free[0]), {"at": "", "error": "ended without notice"}]
            grid.attempts(free[0]).parent.mkdir(exist_ok=True)
            grid.attempts(free[0]).write_text(json.dumps(entries), encoding="utf-8")

    def poll(self) -> int:
        return -9


@pytest.mark.parametrize("begins", [True, False])
def test_workers_that_die_are_replaced_while_they_get_something_done(
    copy: Path, monkeypatch: pytest.MonkeyPatch, begins: bool
) -> None:
    grid = toy(copy, seeds=(1,), only=("zhang", "han", "concat", "capsnet"))
    crew = Crew(grid, 1)
    monkeypatch.setattr(crew, "_start", lambda _: Mortal(grid, begins=begins))
    crew.hire()
    while crew.check():
        assert crew.started < 50
    states = {state_of(grid, cell) for cell in grid.cells() if cell.row}
    assert states == {State.FAILED if begins else State.OPEN}
    assert crew.started == (4 * TRIES if begins else 1 + TRIES + 1)


def test_the_stock_is_what_is_finished_and_what_is_left_with_its_step(copy: Path) -> None:
    grid = toy(copy)
    cells = list(grid.cells())
    assert take_stock(grid, cells) == "8 of 8 runs are finished"
    (copy / "seed-1" / "san" / "results.json").unlink()  # trained, not measured
    (copy / "seed-2" / "qcn+reg" / "run.json").unlink()
    (copy / "seed-2" / "qcn+reg" / "metrics.jsonl").write_text('{"step": 999, "loss": 3.0}\n{"step": 1200, "dev": 2}\n')
    shutil.rmtree(copy / "seed-2" / "san")
    left = "seed-1.san (at step 2), seed-2.qcn+reg (at step 1,200), seed-2.san"
    assert take_stock(grid, cells) == f"5 of 8 runs are finished; left: {left}"
    assert take_stock(grid, cells[-2:]) == "0 of 2 runs are finished; left: seed-2.qcn+reg (at step 1,200), seed-2.san"
    long = '{"step": 1300, "noise": "' + "x" * 5000 + '"}\n{"step": 1400, "loss": 1.0}\n'
    (copy / "seed-2" / "qcn+reg" / "metrics.jsonl").write_text(long)
    assert "seed-2.qcn+reg (at step 1,400)" in take_stock(grid, cells)


def test_what_is_worked_on_is_told_with_its_step_and_failures_are_counted(copy: Path) -> None:
    grid = toy(copy)
    cells = list(grid.cells())
    assert describe(grid, cells) == ""
    (copy / "seed-1" / "san" / "metrics.jsonl").write_text('{"step": 1, "loss": 3.0}\n')
    (copy / "seed-1" / "san" / "results.json").unlink()
    shutil.rmtree(copy / "seed-1" / "qcn+reg")
    assert describe(grid, cells) == ""  # nobody has them
    with grid.claims.held("seed-1.san"), grid.claims.held("seed-1.qcn+reg"):
        assert describe(grid, cells) == "seed-1.qcn+reg 0/2, seed-1.san 1/2"
    give_up(grid, Cell(1, grid.layout.rows["qcn+reg"]))
    assert describe(grid, cells) == "1 failed"
    shutil.rmtree(copy / "seed-2")
    give_up(grid, Cell(2, None))
    with grid.claims.held("seed-1.san"):
        assert describe(grid, cells) == "seed-1.san 1/2, 5 failed"  # three rows more wait for the sentence model


def give_up(grid: Grid, cell: Cell) -> None:
    """Write down that a cell was tried as often as it may be."""
    path = grid.attempts(cell)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps([{"at": "", "error": "no luck"}] * TRIES), encoding="utf-8")


def test_time_and_disk_are_added_up_for_several_seeds_and_workers() -> None:
    row = LAYOUTS["table2"].rows["qcn"]
    costs = [
        *(estimates.Cost(Cell(seed, None), 1.0, 100.0, 1000, 8000) for seed in (1, 2)),
        *(estimates.Cost(Cell(seed, row), 1.0, seconds, 1000, 9000) for seed in (1, 2) for seconds in (10.0, 30.0)),
    ]
    assert estimates.seconds_in_all(costs, 1) == 2 * 100 + 2 * (10 + 30)
    assert estimates.seconds_in_all(costs, 2) == 100 + (10 + 30)
    assert estimates.seconds_in_all(costs, 9) == 100 + 30  # no worker is faster than the longest run
    assert estimates.disk_in_all(costs, 1) == 6 * 1000 + 9000
    assert estimates.disk_in_all(costs, 2) == 6 * 1000 + 2 * 9000


def test_what_several_workers_take_is_measured_with_their_threads() -> None:
    torch.set_num_threads(4)
    try:
        with estimates.threads_of(2):
            assert torch.get_num_threads() == 2
        assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(1)


def test_of_two_that_begin_a_grid_with_other_settings_the_second_is_refused(tmp_path: Path) -> None:
    first, second = toy(tmp_path / "grid"), toy(tmp_path / "grid", source=Source(None, 31))
    check_request(first)
    check_request(second)  # nothing is there yet
    write_request(first)
    with pytest.raises(RunError, match="a grid with other settings"):
        write_request(second)


def test_what_somebody_else_does_is_left_to_them(copy: Path) -> None:
    cell = Cell(1, LAYOUTS["table2"].rows["san"])
    shutil.rmtree(copy / "seed-1" / "san")
    grid = toy(copy)
    store = provide_corpus(grid)
    with grid.claims.held(cell.key):
        assert not attempt(grid, cell, store)
        assert state_of(grid, cell) is State.RUNNING
    assert attempt(grid, cell, store)


def test_what_is_trained_already_is_not_reckoned_again(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = toy(copy)
    cell = Cell(1, grid.rows[0])
    monkeypatch.setattr(estimates, "seconds_per_step", lambda *_: 3.0)
    (done,) = estimates.estimate(grid, grid.store(), [cell])
    grid.run(cell).metrics.write_text('{"step": 1}\n')
    (begun,) = estimates.estimate(grid, grid.store(), [cell])
    grid.run(cell).metrics.unlink()
    (fresh,) = estimates.estimate(grid, grid.store(), [cell])
    assert [fresh.seconds - one.seconds for one in (fresh, begun, done)] == pytest.approx([0.0, 3.0, 6.0])


def test_of_a_row_that_is_measured_only_its_scoring_is_reckoned(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "seconds_per_step", lambda *_: 1.0)
    monkeypatch.setattr(estimates, "count_held_out", lambda _: {"dev": 100, "test": 1000})
    monkeypatch.setattr(estimates, "SENTENCE_IN_STEPS", 0.5)
    monkeypatch.setattr(estimates, "SCORED_IN_STEPS", 0.25)
    table, trials = toy(copy), toy(copy, layout=LAYOUTS["trials"])

    def seconds(grid: Grid, row: str) -> float:
        (cost,) = estimates.estimate(grid, grid.store(), [Cell(1, grid.layout.rows[row])])
        return cost.seconds

    assert seconds(trials, "qcn+reg") == 25
    assert seconds(table, "qcn+reg") == 0
    assert seconds(trials, "mean") == 2 + 50 + 25  # never translated in the test part
    assert seconds(trials, "qcn") == 2 + 550 + 25
    assert seconds(table, "qcn") == 2 + 550


def test_a_grid_is_what_its_folder_says(copy: Path) -> None:
    recipe, source, extra = read_request(copy)
    grid = Grid(copy, LAYOUTS["history"], recipe, source, (3,), extra=extra)
    check_request(grid)
    assert (source, extra) == (Source(None, 30), {})
    with pytest.raises(RunError, match="a grid with other settings is here: choose another --dir"):
        check_request(toy(copy, source=Source(None, 31)))
    with pytest.raises(RunError, match="exists and is not a grid"):
        check_request(toy(copy.parent))


def test_a_recipe_without_the_two_stages_is_refused() -> None:
    recipe = load_recipe(recipe_path("minidocs"))
    short = recipe.model_copy(update={"stage": {"sentence": recipe.stage["sentence"]}})
    with pytest.raises(RunError, match="no 'document'"):
        shape(short, 5)


def test_means_over_seeds_have_students_interval() -> None:
    from scipy import stats

    values = [31.0, 33.5, 32.2, 30.9]
    low, high = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    found = mean_of(values)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))
    assert mean_of([5.0]).low is None
    many = [float(value) for value in range(40)]
    assert mean_of(many).high == pytest.approx(stats.t.interval(0.95, 39, np.mean(many), stats.sem(many))[1], abs=0.3)


def test_a_report_of_an_unfinished_grid_shows_what_is_there(copy: Path) -> None:
    from docaps.experiments.collect import collect

    (copy / "table2.json").unlink()
    for seed in (1, 2):
        shutil.rmtree(copy / f"seed-{seed}" / "san")
    found = collect([copy], corpus=None, docaps="docaps")
    assert [row["row"] for row in found.grids[0]["rows"]] == ["transformer", "qcn+reg"]
    assert len(found.results) == len(found.commands) == 4
