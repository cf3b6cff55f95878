"""Trials: measured on the development part, compared by perplexity with each history."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.experiments.toy_grid import ROWS, dates, read, toy, work

from docaps.cli.experiment import write_table
from docaps.diagnosis import DiagnosisOptions
from docaps.diagnosis import ablation as likelihoods
from docaps.diagnosis.contrastive_answers import contrast_grid
from docaps.diagnosis.data import DataOptions
from docaps.diagnosis.run import diagnose_run
from docaps.errors import RunError
from docaps.experiments import runner
from docaps.experiments.aggregate import DRAWS, SEED, aggregate_grid
from docaps.experiments.rows import LAYOUTS
from docaps.experiments.runner import CellState, state_of

pytestmark = pytest.mark.usefixtures("small")


def test_a_trial_is_measured_on_the_development_part_alone(copy: Path) -> None:
    grid = toy(copy, layout=LAYOUTS["trials"], seeds=(1,), only=("transformer", "mean"))
    work(grid)
    run = copy / "seed-1" / "mean"
    assert set(read(run / "results.json")["parts"]) == {"dev"}
    assert not (run / "assessment").exists()
    assert not (run / "counts.json").exists()
    found = aggregate_grid(grid)
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
    text = write_table(copy, found)
    assert "Development part; 95 %" in text
    assert f"| mean: query from the mean of the words | {rows['mean']['histories']['true']['perplexity']:.3f}" in text


def test_trials_are_compared_by_perplexity_and_tell_whether_context_is_used(copy: Path) -> None:
    names = ("transformer", "qcn+reg", "mean")
    grid = toy(copy, layout=LAYOUTS["trials"], seeds=(1,), only=names)
    work(grid)
    rows = {row["row"]: row["histories"] for row in aggregate_grid(grid)["rows"]}
    run = copy / "seed-1" / "mean"
    assert SEED == likelihoods.SEED  # the diagnosis draws histories and documents with one
    wishes = DiagnosisOptions(shuffles=1, bleu=False, examples=0, draws=DRAWS, seed=SEED)
    found = diagnose_run(run, DataOptions(part="dev"), wishes, against=copy / "seed-1" / "transformer")
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
    found = aggregate_grid(grid)
    assert found["part"] == "dev"
    assert found["unfinished"] == []
    assert {row["row"] for row in found["rows"]} == {"transformer", "qcn+reg"}
    assert not any("histories" in row for row in found["rows"])
    assert re.search(r"\| qcn\+reg: .* \| – \| – \| – \| \d", write_table(copy, found))
    assert [state_of(grid, cell) for cell in grid.cells()] == [CellState.DONE, CellState.UNSCORED, CellState.UNSCORED]
    work(grid)
    assert [state_of(grid, cell) for cell in grid.cells()] == [CellState.DONE] * 3
    assert dates(copy) == before
    one = {row["row"]: row["histories"] for row in aggregate_grid(grid)["rows"]}["qcn+reg"]  # of one of two seeds
    work(replace(grid, seeds=(1, 2)))
    both = {row["row"]: row["histories"] for row in aggregate_grid(grid)["rows"]}["qcn+reg"]
    assert one.keys() == both.keys() == {"true", "shuffled", "none"}
    assert one["true"]["against"]
    assert one["true"]["perplexity"] != both["true"]["perplexity"]
    assert dates(copy) == before


def test_a_row_that_could_not_be_scored_is_listed(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def score(*_: Any) -> None:
        raise RunError("no luck today")

    monkeypatch.setattr(runner, "measure_likelihoods", score)
    grid = toy(copy, layout=LAYOUTS["trials"], seeds=(1,), only=("transformer",))
    work(grid)
    assert aggregate_grid(grid)["unfinished"] == ["transformer with seed 1 (failed)"]
