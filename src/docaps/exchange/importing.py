"""Importing: a published model becomes a run directory like any other."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError
from torch import Tensor

from docaps import progress
from docaps.config import DecodingSettings, SystemSettings
from docaps.config.faults import describe_faults
from docaps.config.model_settings import ModelSettings, Settings
from docaps.corpus.text.codec import Codec
from docaps.corpus.text.languages import check_language
from docaps.errors import CheckpointError, ConfigError, RunError
from docaps.files import replacing_directory, sha256
from docaps.model.checkpoint import write_tensors
from docaps.runs.card import write_card
from docaps.runs.directory import FINISHED, RUN_FILES, Run, now, versions

SYSTEM = "transformer"
_PAIR = re.compile(r"(?:^|-)([a-z]{2,3})-([a-z]{2,3})$")
_CODE = re.compile(r"[a-z]{2,3}")
Built = TypeVar("Built", bound=Settings)


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """A model that was read from the files of another program."""

    form: str
    name: str
    path: Path
    files: tuple[str, ...]
    """The files of the folder that were read."""
    settings: ModelSettings
    decoding: DecodingSettings
    codec: Codec
    weights: Mapping[str, Tensor]

    @property
    def parameters(self) -> int:
        """The number of weights."""
        return sum(tensor.numel() for tensor in self.weights.values())


def build_settings(kind: type[Built], values: Mapping[str, Any], path: Path) -> Built:
    """Return the settings that a published model needs, or say which of them docaps cannot have."""
    try:
        return kind.model_validate(values)
    except ValidationError as fault:
        faults = describe_faults(fault, kind).replace("\n", "; ")
        raise RunError(f"its settings do not fit docaps: {faults}", path=path) from None


def name_ignored(settings: Sequence[str]) -> None:
    """Say which settings of the search were left out."""
    if settings:
        progress.say(f"settings of the search that docaps does not have, left out: {', '.join(settings)}")


def choose_language(given: str | None, said: object, name: str, side: str) -> str:
    """Return the language of a side: as given, or as the model says, or as its name says (opus-mt-en-de)."""
    if given is not None:
        check_language(given)
        return given
    if isinstance(said, str) and _CODE.fullmatch(said):
        return said
    if found := _PAIR.search(name.lower()):
        return found[1 if side == "source" else 2]
    raise ConfigError(f"{name} does not say its {side} language: give it with --{side}-language, such as en")


def write_run(model: PublishedModel, out: Path, *, overwrite: bool = False, command: str = "") -> Run:
    """Write a published model as a finished run, whole or not at all."""
    for name, tensor in model.weights.items():
        if not bool(tensor.isfinite().all()):
            raise CheckpointError(f"the weights of {name!r} are not all numbers (NaN)", path=model.path)
    if out.exists() and not out.is_dir():
        raise RunError("is a file: name a directory with --out", path=out)
    if out.exists() and any(out.iterdir()) and not (overwrite and Run(out).is_ours()):
        what = "give --overwrite to replace it" if Run(out).is_ours() else "and is not a run directory: choose another"
        raise RunError(f"exists already {what}" if "not" in what else f"exists already: {what}", path=out)
    with replacing_directory(out, own=RUN_FILES, error=RunError) as directory:
        run = Run(directory)
        run.write(_describe(model, out.name))
        model.codec.save(run.text)
        write_tensors(run.weights, model.weights)
        write_card(run, command=command)
    return Run(out)


def _describe(model: PublishedModel, name: str) -> dict[str, Any]:
    """Describe the run for run.json."""
    system = SystemSettings(name=SYSTEM, model=model.settings)
    return {
        "name": name,
        "system": SYSTEM,
        "status": FINISHED,
        "created": now(),
        "seed": 0,
        "steps": 0,
        "parameters": model.parameters,
        "precision": "float32",
        "device": "cpu",
        "versions": versions(),
        "settings": {
            "recipe": "imported",
            "system": system.model_dump(),
            "stage": {},
            "decoding": model.decoding.model_dump(),
        },
        "imported": {
            "form": model.form,
            "from": model.name,
            "files": {file: sha256(model.path / file) for file in model.files},
        },
        "history": [{"event": "imported", "at": now()}],
    }
