"""Aggregated numbers are those of the runs: means, intervals, differences."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.unit.experiments.toy_grid import ROWS, read, toy, work

from docaps.cli.experiment import write_table
from docaps.evaluation.intervals import mean_over_seeds
from docaps.experiments.aggregate import aggregate_folder, aggregate_grid
from docaps.experiments.rows import LAYOUTS
from docaps.files import write_json

pytestmark = pytest.mark.usefixtures("small")


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
    from docaps.evaluation.translation_metrics import bleu_of

    score = {row: bleu_of(np.array(tables).sum(axis=(0, 1))[None], smooth=True)[0] for row, tables in counts.items()}
    found = read(made / "table2.json")["rows"][1]["against"]["bleu"]
    assert found["difference"] == pytest.approx(score["qcn+reg"] - score["transformer"])


def test_intervals_have_the_parameters_of_the_target_language(copy: Path) -> None:
    """METEOR weighs the same counts otherwise in English."""
    before = read(copy / "table2.json")["rows"][0]["documents"]["meteor"]
    for path in copy.glob("seed-*/*/results.json"):
        path.write_text(path.read_text(encoding="utf-8").replace('"target_language": "de"', '"target_language": "en"'))
    (after,) = aggregate_folder(copy)
    assert after["rows"][0]["documents"]["meteor"] != before
    assert after["rows"][0]["documents"]["bleu"] == read(copy / "table2.json")["rows"][0]["documents"]["bleu"]


def test_a_run_that_started_elsewhere_than_its_row_is_left_out(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an earlier version, whose row of this name had other stages."""
    said: list[str] = []
    monkeypatch.setattr("docaps.progress.say", said.append)
    path = copy / "seed-1" / "qcn+reg"
    description = read(path / "run.json")
    assert description["begun_from"]["run"] == "sentence"
    write_json(path / "run.json", {**description, "begun_from": {**description["begun_from"], "run": "qcn"}})
    (found,) = aggregate_folder(copy)
    assert {row["row"]: len(row["runs"]) for row in found["rows"]} == {**dict.fromkeys(ROWS, 2), "qcn+reg": 1}
    assert said == [f"{path}: left out, because it started from qcn; today's row starts from sentence"]


def test_a_row_with_a_baseline_of_its_own_is_compared_with_that(copy: Path) -> None:
    rows = {name: LAYOUTS["trials"].rows[name] for name in ("transformer", "qcn+reg", "mean")}
    changed = rows | {"qcn+reg": replace(rows["qcn+reg"], baseline="mean")}
    grid = toy(copy, layout=replace(LAYOUTS["trials"], rows=changed), seeds=(1,), only=None)
    work(grid)
    results = aggregate_grid(grid)
    found = {row["row"]: row for row in results["rows"]}
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
    assert "against `transformer` (`qcn+reg`: `mean`); perplexity" in write_table(copy, results)


def test_the_whole_table_and_a_point_of_each_figure_are_made(copy: Path) -> None:
    grid = toy(copy, seeds=(1,), only=None)
    assert not {row.name for row in grid.rows} & {"zhang-all", "han-encoder"}
    work(grid)
    work(toy(copy, seeds=(1,), only=("zhang-all", "han-encoder")))
    for name in ("history", "capsules", "rounds"):
        grid = toy(copy, layout=LAYOUTS[name], seeds=(1,), only=(f"{name}-1",))
        work(grid)
    assert aggregate_folder(copy) == [
        read(copy / f"{name}.json") for name in ("table2", "history", "capsules", "rounds")
    ]
    assert [row["row"] for row in read(copy / "table2.json")["rows"]] == list(LAYOUTS["table2"].rows)
    assert [row["row"] for row in read(copy / "rounds.json")["rows"]] == ["rounds-1"]
    found = read(copy / "table2.json")
    text = write_table(copy, found)
    assert (copy / "table2.md").read_text(encoding="utf-8") == text
    for row in found["rows"]:
        mean = np.mean([run["dev"]["bleu"] for run in row["runs"]])
        assert f"| {row['row']} | {mean:.2f} |" in text
    scores = read(copy / "seed-1" / "qcn+reg" / "results.json")["parts"]["test"]["scores"]
    assert f"BLEU `{scores['bleu']['signature']}`" in text
    assert found["unfinished"] == []
    assert found["taken"] == {"sentence": [2], "document": [1, 2]}  # han-joint has two halves
    assert [model["seed"] for model in found["sentence_models"]] == [1, 2]


def test_a_slow_command_does_not_write_the_table_of_older_numbers(copy: Path) -> None:
    old = aggregate_grid(toy(copy))
    write_json(copy / "table2.json", {**old, "title": "The numbers of another command"})
    assert "The numbers of another command" in write_table(copy, old)
    assert "The numbers of another command" in (copy / "table2.md").read_text(encoding="utf-8")


def test_unfinished_runs_are_listed(copy: Path) -> None:
    (copy / "seed-1" / "san" / "results.json").unlink()
    (copy / "seed-1.bak").mkdir()
    found = aggregate_grid(toy(copy))
    assert found["unfinished"] == ["san with seed 1 (to train)"]
    assert "Not finished: san with seed 1 (to train)." in write_table(copy, found)
    assert not (copy / "history.json").exists()
    aggregate_folder(copy)
    assert not (copy / "history.json").exists()


def test_a_report_of_an_unfinished_grid_shows_what_is_there(copy: Path) -> None:
    from docaps.experiments.collect import collect

    (copy / "table2.json").unlink()
    for seed in (1, 2):
        shutil.rmtree(copy / f"seed-{seed}" / "san")
    found = collect([copy], corpus=None, docaps="docaps")
    assert [row["row"] for row in found.grids[0]["rows"]] == ["transformer", "qcn+reg"]
    assert len(found.results) == len(found.commands) == 4


def test_means_over_seeds_have_students_interval() -> None:
    from scipy import stats

    values = [31.0, 33.5, 32.2, 30.9]
    low, high = stats.t.interval(0.95, 3, loc=np.mean(values), scale=stats.sem(values))
    found = mean_over_seeds(values)
    assert (found.low, found.high) == (pytest.approx(low, abs=1e-3), pytest.approx(high, abs=1e-3))
    assert mean_over_seeds([5.0]).low is None
    many = [float(value) for value in range(40)]
    assert mean_over_seeds(many).high == pytest.approx(
        stats.t.interval(0.95, 39, np.mean(many), stats.sem(many))[1], abs=0.3
    )
