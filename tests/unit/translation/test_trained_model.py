"""A run is loaded only if it is what it says, and takes no more memory than its weights before that is known."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from docaps.errors import CheckpointError, DocapsError, RunError
from docaps.files import read_json, write_json
from docaps.translation import trained_model
from docaps.translation.trained_model import load_trained

FIXTURE = Path(__file__).parents[2] / "fixtures" / "run-0.1" / "document"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURE, tmp_path / "run"))


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The models that are built with values."""
    models: list[Any] = []

    def build(*arguments: Any, **settings: Any) -> Any:
        models.append(arguments)
        return whole(*arguments, **settings)

    whole = trained_model.build_model
    monkeypatch.setattr(trained_model, "build_model", build)
    return models


def change_model(run: Path, **settings: int) -> None:
    description = read_json(run / "run.json", error=DocapsError)
    description["settings"]["system"]["model"].update(settings)
    write_json(run / "run.json", description)


def test_a_run_loads(run: Path, built: list[Any]) -> None:
    load_trained(run)
    assert len(built) == 1


@pytest.mark.parametrize(
    "settings", [{"encoder_layers": 400}, {"decoder_layers": 1000}, {"size": 65536}, {"feed_forward": 2**20}]
)
def test_settings_of_a_larger_model_are_refused_before_it_is_built(
    run: Path, built: list[Any], settings: dict[str, int]
) -> None:
    change_model(run, **settings)
    with pytest.raises(DocapsError, match=r"the weights belong to another model|Input should be less than") as caught:
        load_trained(run)
    assert caught.value.path is not None
    assert caught.value.path.name in ("model.safetensors", "run.json")
    assert built == []


def test_a_large_vocabulary_is_refused_before_the_model_is_built(run: Path, built: list[Any]) -> None:
    path = run / "text" / "vocabulary.json"
    pieces = read_json(path, error=RunError)
    write_json(path, [*pieces, *(f"x{number}" for number in range(300_000))])
    with pytest.raises(CheckpointError, match="the weights belong to another model"):
        load_trained(run)
    assert built == []


def test_tables_that_are_not_stored_are_bounded(run: Path, built: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trained_model, "LARGEST_TABLES", -(run / "model.safetensors").stat().st_size)
    with pytest.raises(CheckpointError, match="bytes beside the weights: they belong to another model"):
        load_trained(run)
    assert built == []


def test_a_model_is_sketched_without_memory(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sketches: list[Any] = []

    def sketch(*arguments: Any, **settings: Any) -> Any:
        sketches.append(whole(*arguments, **settings))
        return sketches[-1]

    whole = trained_model.sketch_model
    monkeypatch.setattr(trained_model, "sketch_model", sketch)
    load_trained(run)
    tensors: list[Tensor] = [*sketches[0].parameters(), *sketches[0].buffers()]
    assert {tensor.device for tensor in tensors} == {torch.device("meta")}
