"""A trained model, loaded from its run directory: weights, codec, decoding settings, device and precision."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

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
from docaps.runs.directory import Run, learnt_tags, open_run

LARGEST_TABLES = 2**26
"""Bytes that a model may need beside its weights, such as for tables of positions."""


Formality = Literal["formal", "informal"]
"""How a translation addresses people; also the name of the tag."""


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A model with all that translating and scoring need."""

    model: TranslationModel
    codec: Codec
    decoding: DecodingSettings
    device: torch.device
    precision: torch.dtype
    """Precision of search and scoring, unless there is a packed model."""
    packed: TranslationModel | None = None
    """The model that search and scoring use, in a lower precision, its weights cast once."""
    writes_in: torch.dtype = torch.float32
    """The precision of the packed model."""
    tags: Mapping[str, int] = field(default_factory=dict)
    """The tags that training put in front of sources, with their token ids."""

    def tag(self, formality: Formality) -> int:
        """Return the id of the tag for a form of address; refuse it if the model did not learn any."""
        if formality in self.tags:
            return self.tags[formality]
        marks = self.codec.vocabulary.marks
        reason = (
            "no stage of its training had the setting formality" if formality in marks else "its corpus has no marks"
        )
        raise DocapsError(f"this model cannot choose the form of address: {reason} (formality={formality})")

    @property
    def fastest(self) -> TranslationModel:
        """The model that search and scoring use."""
        return self.packed or self.model

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """Return the context in which search and scoring run."""
        return autocast(self.device, self.precision) if self.packed is None else contextlib.nullcontext()


def load_trained(
    path: Path, precision: TranslationPrecision | torch.dtype = "float32", *, step: int | None = None
) -> TrainedModel:
    """Load the model of a finished run, or that of a step whose weights were kept."""
    run = open_run(path)
    system, decoding = _read_settings(run.read(), run.description)
    codec = load_codec(run.text)
    weights = run.weights if step is None else run.checkpoint(step)
    _check_size(system, len(codec.vocabulary), weights)
    model = build_model(system, vocabulary=len(codec.vocabulary))
    load_weights(model, weights)
    for name, weight in model.named_parameters():
        if not bool(weight.isfinite().all()):
            message = f"the weights '{name}' are not all numbers (NaN): train the run again"
            raise CheckpointError(message, path=weights)
    device = choose_device()
    model.to(device).eval()
    chosen = precision if isinstance(precision, torch.dtype) else _choose_precision(precision, device, run)
    calibrated = chosen == torch.int8 and run.ranges.exists()
    ranges = read_ranges(run.ranges, weights=sha256(run.weights)) if calibrated else None
    packed = None if chosen == torch.float32 else pack(model, chosen, ranges)
    tags = {name: codec.vocabulary.marks[name] for name in learnt_tags(run.read()) if name in codec.vocabulary.marks}
    return TrainedModel(model, codec, decoding, device, torch.float32, packed, chosen, tags)


def _choose_precision(precision: TranslationPrecision, device: torch.device, run: Run) -> torch.dtype:
    return choose_translation_precision(precision, device, int8_checked=precision == "auto" and is_int8_better(run))


def describe_precision(trained: TrainedModel, run: Run) -> str:
    """Return the number format of products, and the ranges that int8 rounds by: results depend on both."""
    name = str(trained.writes_in).removeprefix("torch.")
    ranges = trained.writes_in == torch.int8 and run.ranges.exists()
    return f"{name}, ranges {sha256(run.ranges)[:12]}" if ranges else name


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
