"""Exporting: a run that reads sentences, or concatenated ones, becomes a model of another program."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from torch import Tensor

from docaps.config import SYSTEMS, DecodingSettings, SystemSettings
from docaps.config.faults import describe_faults
from docaps.config.model_settings import ConcatSettings, ModelSettings
from docaps.corpus.text.codec import Codec, load_codec
from docaps.errors import RunError
from docaps.model.builders import sketch_model
from docaps.model.checkpoint import read_weights
from docaps.runs.directory import Run, open_run


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """A plain Transformer of a run: what other programs can compute, and the text it was trained on."""

    run: Run
    model: ModelSettings
    decoding: DecodingSettings
    codec: Codec
    weights: Mapping[str, Tensor]
    joins_sentences: bool = False
    """Whether it reads earlier sentences in front of a sentence, each followed by the begin mark."""

    def refuse(self, form: str, what: str) -> RunError:
        """Return the error that says why a run cannot have another form."""
        return RunError(f"cannot be exported to {form}: {what}", path=self.run.path)


def read_run(path: Path, form: str) -> ExportedModel:
    """Read a finished run, unless its system has parts that other programs do not have."""
    run = open_run(path)
    stored = run.read().get("settings")
    if not isinstance(stored, Mapping):
        raise RunError("has no settings", path=run.description)
    try:
        system = SystemSettings.model_validate(SystemSettings.complete(stored.get("system", {})))
        decoding = DecodingSettings.model_validate(stored.get("decoding", {}))
    except ValidationError as fault:
        raise RunError(
            f"settings of another version:\n{describe_faults(fault, SystemSettings)}", path=run.description
        ) from None
    if reason := _reason_against(system):
        raise RunError(f"cannot be exported to {form}: {reason}", path=path)
    codec, found = load_codec(run.text), read_weights(run.weights)
    plain = system.for_system("transformer")
    sketch = sketch_model(plain, vocabulary=len(codec.vocabulary)).named_parameters()
    expected = {name: tuple(weight.shape) for name, weight in sketch}
    if expected != {name: tuple(found[name].shape) for name in expected if name in found}:
        raise RunError("the weights belong to another model than the settings in run.json", path=run.weights)
    weights, joins = {name: found[name].float() for name in expected}, SYSTEMS[system.name].context != "none"
    return ExportedModel(run, system.model, decoding, codec, weights, joins)


def _reason_against(system: SystemSettings) -> str:
    """Say why a system cannot be exported; nothing if it is a plain Transformer."""
    known = SYSTEMS[system.name]
    if known.settings is ConcatSettings:
        extra = [name for name in ("shift", "segments") if getattr(system.concat, name)]
        return f"concat.{extra[0]} gives words other positions than a plain Transformer" if extra else ""
    if known.context == "none":
        return ""
    return (
        f"{known.title} (system {system.name!r}) reads {known.sees} with parts of its own, such as capsules, and there "
        "is nothing of the kind. Only sentence models and concat can be exported"
    )
