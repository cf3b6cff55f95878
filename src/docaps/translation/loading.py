"""A trained run, loaded: the model, its way with text, and where it runs."""

from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import ValidationError

from docaps.config import DecodingSettings, Precision, SystemSettings, describe_faults
from docaps.corpus.codec import Codec, load_codec
from docaps.errors import CheckpointError, RunError
from docaps.model.checkpoint import load_weights
from docaps.model.interface import TranslationModel
from docaps.model.precision import choose_device, choose_precision
from docaps.model.variants import build_model
from docaps.runs import open_run


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """All that is needed to translate."""

    model: TranslationModel
    codec: Codec
    decoding: DecodingSettings
    device: torch.device
    precision: torch.dtype


def load_trained(path: Path, precision: Precision = "float32") -> TrainedModel:
    """Load the model of a finished run, ready to translate."""
    run = open_run(path)
    system, decoding = _read_settings(run.read(), run.description)
    codec = load_codec(run.text)
    model = build_model(system, vocabulary=len(codec.vocabulary))
    load_weights(model, run.weights)
    _check_weights(model, run.weights)
    device = choose_device()
    model.to(device).eval()
    return TrainedModel(model, codec, decoding, device, choose_precision(precision, device))


def _check_weights(model: TranslationModel, path: Path) -> None:
    """Refuse weights that are no numbers: whatever is made of them is none either."""
    for name, weight in model.named_parameters():
        if not bool(weight.isfinite().all()):
            raise CheckpointError(f"the weights '{name}' are not all numbers (NaN): train the run again", path=path)


def _read_settings(description: dict[str, object], path: Path) -> tuple[SystemSettings, DecodingSettings]:
    """Read the settings a run was trained with."""
    settings = description.get("settings")
    if not isinstance(settings, dict):
        raise RunError("has no settings", path=path)
    try:
        return (
            SystemSettings.model_validate(settings.get("system", {})),
            DecodingSettings.model_validate(settings.get("decoding", {})),
        )
    except ValidationError as fault:
        raise RunError(f"settings of another version:\n{describe_faults(fault, SystemSettings)}", path=path) from None
