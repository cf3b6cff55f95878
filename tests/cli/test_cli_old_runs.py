"""A run of docaps 0.1 loads, translates, scores and is reported with the numbers that 0.1 printed."""

import json
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cli.calling import docaps, succeed
from tests.invariants import tiny

from docaps.config import SYSTEMS
from docaps.errors import CheckpointError, RunError
from docaps.files import read_json, write_json
from docaps.runs.directory import FORMAT, open_run
from docaps.training.stages import train_recipe
from docaps.translation.trained_model import load_trained

FIXTURE = Path(__file__).parents[1] / "fixtures" / "run-0.1"
EXPECTED: dict[str, Any] = json.loads((FIXTURE / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A copy of the old run and its corpus: a report adds files to the run."""
    return Path(shutil.copytree(FIXTURE, tmp_path / "old"))


def test_a_run_of_0_1_has_no_format_and_is_read_in_the_current_one(old: Path) -> None:
    run = open_run(old / "document")
    assert "format" not in read_json(run.description, error=RunError)
    assert run.read()["format"] == FORMAT
    assert run.read()["versions"]["docaps"] == "0.1.0"


def test_it_translates_as_it_did(old: Path) -> None:
    found = succeed("translate", old / "document", stdin=(old / "source.en").read_text(encoding="utf-8"))
    assert found.out.splitlines() == EXPECTED["translations"]


def test_it_scores_as_it_did(old: Path) -> None:
    header, *lines = succeed("score", old / "document", old / "source.en", old / "reference.de").out.splitlines()
    rows = [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]
    for row, expected in zip(rows, EXPECTED["scores"], strict=True):
        assert (row["document"], row["sentence"], int(row["tokens"])) == (
            expected["document"],
            expected["sentence"],
            expected["tokens"],
        )
        assert float(row["log_probability"]) == pytest.approx(expected["log_probability"], rel=1e-4)
        assert float(row["perplexity"]) == pytest.approx(expected["perplexity"], rel=1e-3)


def test_it_is_reported_as_it_was(old: Path, tmp_path: Path) -> None:
    page, tables = tmp_path / "report.html", tmp_path / "report.md"
    succeed("report", old / "document", "--corpus", old / "prepared", "--out", page, "--markdown", tables)
    assessment = old / "document" / "assessment"
    scores, choices = (read_json(assessment / name, error=RunError) for name in ("scores.json", "contrastive.json"))
    assert scores["bleu"]["score"] == pytest.approx(EXPECTED["bleu"], rel=1e-6)
    assert choices["accuracy"]["all"] == EXPECTED["accuracy"]
    (row,) = [line for line in tables.read_text(encoding="utf-8").splitlines() if line.startswith("| qcn+reg |")]
    assert f" {EXPECTED['dev_perplexity']} " in row
    assert f" {EXPECTED['bleu']:.2f} " in row
    assert f" {100 * EXPECTED['accuracy']:.1f} " in row
    assert page.stat().st_size > 10_000


@pytest.mark.parametrize("name", ["zhang", "han", "san"])
def test_a_rival_of_an_earlier_version_is_loaded_as_it_was_trained(name: str, tmp_path: Path) -> None:
    """Its run.json lacks the settings of the published form, in which it would predict something else, if anything."""
    store, earlier = tiny.prepared(tmp_path), SYSTEMS[name].settings.EARLIER  # type: ignore[union-attr]
    changed = {"system": name, name: dict(earlier)}
    recipe = tiny.recipe(stage__document={**tiny.recipe().stage["document"].model_dump(), **changed})
    _, run = train_recipe(recipe, store, tmp_path / "runs")
    expected = logits(run.path)
    description = read_json(run.description, error=RunError)
    table = description["settings"]["system"][name]
    for key in earlier:
        del table[key]
    write_json(run.description, description)
    assert torch.equal(logits(run.path), expected)
    table |= {key: SYSTEMS[name].settings.model_fields[key].default for key in earlier}  # type: ignore[union-attr]
    write_json(run.description, description)
    refused = pytest.raises(CheckpointError, match="the weights belong to another model")
    with nullcontext() if name == "zhang" else refused:  # whose end mark needs no weights
        assert not torch.equal(logits(run.path), expected)


def logits(run: Path) -> torch.Tensor:
    """What the model of a run predicts for a batch whose word ids are in any vocabulary."""
    return load_trained(run).model(tiny.sample_batch()).logits


def test_a_run_of_a_later_format_is_refused(old: Path) -> None:
    path = old / "document" / "run.json"
    write_json(path, {**read_json(path, error=RunError), "format": FORMAT + 1})
    result = docaps("translate", old / "document", stdin="A house.\n")
    assert (result.code, result.err) == (
        1,
        f"docaps: {path}: run format {FORMAT + 1} is not known to this version, which reads formats 1 to {FORMAT}: "
        "update docaps\n",
    )


def test_a_document_model_of_the_first_release_translates_as_it_did() -> None:
    first = FIXTURE.parent / "run-0.1.0"
    source = (first / "source.en").read_text(encoding="utf-8")
    options = ("--format", "lines", "--precision", "float32")
    expected = (first / "translated.de").read_text(encoding="utf-8")
    assert succeed("translate", first / "document", *options, stdin=source).out == expected
    assert succeed("translate", first / "document", *options, "--no-context", stdin=source).out != expected
