"""Scores of a run are those of its translations; training speed is a share of the sentence model's."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.invariants import tiny
from tests.unit.experiments.toy_grid import read, toy, work

from docaps.evaluation.translation_metrics import bleu
from docaps.experiments import measure
from docaps.experiments.grid import (
    Cell,
)
from docaps.experiments.measure import relative_speed
from docaps.experiments.rows import LAYOUTS

pytestmark = pytest.mark.usefixtures("small")


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


def test_likelihoods_alone_do_not_pass_for_translations(copy: Path) -> None:
    run = toy(copy).run(Cell(1, LAYOUTS["table2"].rows["qcn+reg"]))
    scores = read(run.results)["parts"]["dev"]["scores"]
    shutil.rmtree(run.held_out_dev)
    run.held_out_dev.mkdir()
    run.likelihoods.write_text("{}", encoding="utf-8")
    run.results.unlink()
    work(toy(copy))
    assert read(run.results)["parts"]["dev"]["scores"] == scores


def test_files_of_others_are_not_replaced_by_measurements(copy: Path) -> None:
    run = toy(copy).run(Cell(1, LAYOUTS["table2"].rows["qcn+reg"]))
    run.results.unlink()
    shutil.rmtree(run.held_out_dev)
    run.held_out_dev.mkdir()
    (run.held_out_dev / "notes.md").write_text("mine")
    work(toy(copy))
    assert [path.name for path in run.held_out_dev.iterdir()] == ["notes.md"]
    (first, _) = read(copy / "attempts" / "seed-1.qcn+reg.json")
    assert "dev: the directory holds something else (notes.md)" in first["error"]


@pytest.mark.parametrize("system", ["transformer", "han"])
def test_a_system_is_timed_against_the_sentence_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.setattr(measure, "ROUNDS", 1)
    monkeypatch.setattr(measure, "STEPS", 1)
    recipe = tiny.recipe(stage__document__system=system)
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    found = relative_speed(recipe, "document", tiny.prepared(tmp_path))
    assert 0 < found < 100  # whatever the machine does meanwhile
    assert torch.equal(torch.rand(1), expected)  # what is drawn elsewhere is left alone


def test_the_share_is_the_median_of_what_the_system_does_and_the_sentence_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paces = {"transformer": iter([1.0, 100, 200, 100, 100, 50]), "han": iter([9.0, 40, 40, 40, 20, 40])}
    made: dict[int, str] = {}
    plain = measure._Pace.__init__

    def note(pace: measure._Pace, recipe: Any, system: Any, *rest: Any) -> None:
        made[id(pace)] = system.name
        plain(pace, recipe, system, *rest)

    monkeypatch.setattr(measure._Pace, "__init__", note)
    monkeypatch.setattr(measure._Pace, "measure", lambda pace: next(paces[made[id(pace)]]))
    recipe = tiny.recipe(stage__document__system="han")
    assert relative_speed(recipe, "document", tiny.prepared(tmp_path)) == pytest.approx(0.4)
