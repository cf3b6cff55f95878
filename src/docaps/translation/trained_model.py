"""A trained model, loaded from its run directory: weights, codec, decoding settings, device and precision."""

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from pydantic import ValidationError

from docaps.config import SYSTEMS, DecodingSettings, SystemSettings, TranslationPrecision
from docaps.config.faults import describe_faults
from docaps.corpus.text.codec import Codec, load_codec
from docaps.errors import CheckpointError, DocapsError, RunError
from docaps.files import LARGEST_DESCRIPTION, read_json, sha256
from docaps.model.builders import build_model, sketch_model
from docaps.model.checkpoint import check_weights, load_weights
from docaps.model.fast.calibration import read_ranges
from docaps.model.fast.packing import pack
from docaps.model.interface import TranslationModel
from docaps.model.mixed_precision import autocast, choose_device, choose_translation_precision
from docaps.runs.directory import Run, open_run

LARGEST_TABLES = 2**26
"""Bytes that a model may need beside its weights, such as for tables of positions."""


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A model with all that translating and scoring need."""

    model: TranslationModel
    codec: Codec
    decoding: DecodingSettings
    device: torch.device
    precision: torch.dtype
    """Precision of scoring, and of search unless there is a packed model."""
    packed: TranslationModel | None = None
    """The model that search uses, in a lower precision, its weights cast once."""
    writes_in: torch.dtype = torch.float32
    """The precision of the packed model."""

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """Return the context in which the search runs."""
        return autocast(self.device, self.precision) if self.packed is None else contextlib.nullcontext()


def load_trained(path: Path, precision: TranslationPrecision = "float32") -> TrainedModel:
    """Load the model of a finished run."""
    run = open_run(path)
    system, decoding = _read_settings(run.read(), run.description)
    codec = load_codec(run.text)
    _check_size(system, len(codec.vocabulary), run.weights)
    model = build_model(system, vocabulary=len(codec.vocabulary))
    load_weights(model, run.weights)
    for name, weight in model.named_parameters():
        if not bool(weight.isfinite().all()):
            message = f"the weights '{name}' are not all numbers (NaN): train the run again"
            raise CheckpointError(message, path=run.weights)
    device = choose_device()
    model.to(device).eval()
    chosen = choose_translation_precision(precision, device, int8_checked=is_int8_better(run))
    calibrated = chosen == torch.int8 and run.ranges.exists()
    ranges = read_ranges(run.ranges, weights=sha256(run.weights)) if calibrated else None
    packed = None if chosen == torch.float32 else pack(model, chosen, ranges)
    scoring = torch.float32 if chosen == torch.int8 else chosen
    return TrainedModel(model, codec, decoding, device, scoring, packed, chosen)


def _check_size(system: SystemSettings, vocabulary: int, weights: Path) -> None:
    """Refuse settings that do not fit the stored weights before a model of that size is built."""
    try:
        sketch = sketch_model(system, vocabulary=vocabulary)
    except (RuntimeError, TypeError, ValueError):
        if system.name in SYSTEMS.plugins():  # it computes with values when it is built: its weights are compared later
            return
        raise
    check_weights(sketch, weights)
    others = sum(buffer.numel() * buffer.element_size() for buffer in sketch.buffers())
    if others > weights.stat().st_size + LARGEST_TABLES:
        message = f"the settings in run.json need {others:,} bytes beside the weights: they belong to another model"
        raise CheckpointError(message, path=weights)


def is_int8_better(run: Run) -> bool:
    """Return whether `docaps precision` found int8 good enough and faster for these very weights."""
    try:
        exists = run.precision.exists()
        found = read_json(run.precision, error=DocapsError, limit=LARGEST_DESCRIPTION) if exists else {}
        speeds = [float(found[name]["sentences_per_second"]) for name in ("int8", "float32")]
        return bool(found["int8"]["good"]) and speeds[0] > speeds[1] and found["weights"] == sha256(run.weights)
    except (DocapsError, KeyError, TypeError, ValueError):
        return False


def _read_settings(description: dict[str, object], path: Path) -> tuple[SystemSettings, DecodingSettings]:
    """Return the system and decoding settings that a run was trained with."""
    settings = description.get("settings")
    if not isinstance(settings, dict):
        raise RunError("has no settings", path=path)
    try:
        system = SystemSettings.model_validate(SystemSettings.complete(settings.get("system", {})))
        return system, DecodingSettings.model_validate(settings.get("decoding", {}))
    except ValidationError as fault:
        raise RunError(f"settings of another version:\n{describe_faults(fault, SystemSettings)}", path=path) from None
