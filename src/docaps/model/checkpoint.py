"""Weights in and out of safetensors files; never pickle."""

from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from docaps.errors import CheckpointError
from docaps.files import replacing
from docaps.model.interface import TranslationModel


def save_weights(model: TranslationModel, path: Path) -> None:
    """Write a model's weights, each shared one once; complete or not at all."""
    with replacing(path) as temporary:
        save_file(_weights(model), temporary)


def load_weights(model: TranslationModel, path: Path) -> None:
    """Fill a model with stored weights, which must fit exactly."""
    report = take_over(model, path)
    if report.new or report.left or report.unfit:
        raise CheckpointError(f"the weights belong to another model: {report}", path=path)


@dataclass(frozen=True, slots=True)
class TakeOver:
    """What happened to the weights when a model was started from another one's."""

    taken: tuple[str, ...]
    new: tuple[str, ...]
    left: tuple[str, ...]
    unfit: tuple[str, ...]

    def __str__(self) -> str:
        parts = [f"{len(self.taken)} tensors taken over"]
        for names, what in ((self.new, "new"), (self.left, "not used"), (self.unfit, "of another shape")):
            if names:
                groups = sorted({name.split(".")[0] for name in names})
                parts.append(f"{len(names)} {what} ({', '.join(groups)})")
        return ", ".join(parts)


def take_over(model: TranslationModel, path: Path) -> TakeOver:
    """Copy the stored weights that fit into a model, and tell which did not."""
    stored = read_weights(path)
    own = _weights(model)
    fitting = {name for name in own.keys() & stored.keys() if own[name].shape == stored[name].shape}
    for name in fitting:
        own[name].copy_(stored[name])
    return TakeOver(
        taken=tuple(sorted(fitting)),
        new=tuple(sorted(own.keys() - stored.keys())),
        left=tuple(sorted(stored.keys() - own.keys())),
        unfit=tuple(sorted((own.keys() & stored.keys()) - fitting)),
    )


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read a file of weights, or say why it cannot be read."""
    try:
        return load_file(path)
    except FileNotFoundError:
        raise CheckpointError("no weights here", path=path) from None
    except (SafetensorError, OSError) as fault:
        raise CheckpointError(f"the weights are damaged: {fault}", path=path) from None


def _weights(model: TranslationModel) -> dict[str, Tensor]:
    """Return the weights by name, detached; a shared one appears once, under its first name."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}
