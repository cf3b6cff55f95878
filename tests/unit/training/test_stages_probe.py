"""A probe runs at every validation and does not change training."""

import io
from pathlib import Path

import pytest
from rich.console import Console
from tests.invariants import tiny

from docaps import progress
from docaps.corpus.store import Store
from docaps.files import sha256
from docaps.model.interface import TranslationModel
from docaps.runs.training_log import read_metrics
from docaps.training.objective import Device, Probe
from docaps.training.stages import train_recipe


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return tiny.prepared(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def calls() -> list[TranslationModel]:
    return []


@pytest.fixture
def probe(calls: list[TranslationModel]) -> Probe:
    """Tells how often it was asked, shows its work, and leaves the model in another mode."""

    def measure(model: TranslationModel, device: Device) -> dict[str, float]:
        calls.extend(progress.track([model.eval()], "measure"))
        return {"calls": len(calls), "history": model.history}

    return measure


def test_its_numbers_join_the_log_at_each_validation(store: Store, tmp_path: Path, probe: Probe) -> None:
    runs = train_recipe(tiny.recipe(), store, tmp_path, probe=probe)
    rows = [row for run in runs for row in read_metrics(run.metrics) if "dev_loss" in row or "calls" in row]
    found = [(row["step"], row["calls"], row["history"], "dev_loss" in row) for row in rows]
    assert found == [(2, 1, 0, True), (3, 2, 0, True), (2, 3, tiny.K, True), (3, 4, tiny.K, True)]


def test_training_is_the_same_with_it(store: Store, tmp_path: Path, probe: Probe) -> None:
    recipe = tiny.recipe(stage__sentence__dropout=0.5)
    (plain,) = train_recipe(recipe, store, tmp_path / "plain", stages=["sentence"])
    (probed,) = train_recipe(recipe, store, tmp_path / "probed", stages=["sentence"], probe=probe)
    assert sha256(probed.weights) == sha256(plain.weights)


def test_a_finished_stage_is_not_measured_again(
    store: Store, tmp_path: Path, probe: Probe, calls: list[TranslationModel]
) -> None:
    for _ in range(2):
        train_recipe(tiny.recipe(), store, tmp_path, stages=["sentence"], probe=probe)
    assert len(calls) == 2


@pytest.mark.parametrize("terminal", [True, False])
def test_it_shows_no_progress_within_that_of_training(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, probe: Probe, terminal: bool
) -> None:
    text = io.StringIO()
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    monkeypatch.setattr(progress.REPORTER, "console", Console(file=text, force_terminal=terminal, width=80))
    train_recipe(tiny.recipe(), store, tmp_path, stages=["sentence"], probe=probe)
    assert "train sentence" in text.getvalue()
    assert "measure" not in text.getvalue()
