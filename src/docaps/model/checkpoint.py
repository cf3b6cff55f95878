"""Weights in safetensors files, never pickle; each file stores a digest of its tensors.

A file begins with a header of names, types and shapes: it is compared with the model before any memory is taken.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from docaps.errors import CheckpointError
from docaps.files import open_regular, replacing
from docaps.model.interface import TranslationModel

DIGEST = "sha256"
FOREIGN = {"format"}
"""The only metadata of files of other programs; those have no digest, ours always do."""
RENAMED = {
    f"context.{part}.{kind}": f"context.{part}.linear.{kind}"
    for part in ("query", "words")
    for kind in ("weight", "bias")
}
"""Tensors that docaps 0.1.0 stored under other names."""


LARGEST_HEADER = 2**25
"""Bytes; the header of a model of a thousand layers has a tenth of it."""
Shapes = Mapping[str, tuple[int, ...]]


def load_weights(model: TranslationModel, path: Path) -> None:
    """Load stored weights, which must fit exactly."""
    _refuse_others(fill(model, read_weights(path)), path)


def check_weights(sketch: TranslationModel, path: Path) -> None:
    """Refuse weights that do not fit a model, by their shapes alone; the model may be on the meta device."""
    stored = {RENAMED.get(name, name): shape for name, shape in read_shapes(path).items()}
    _refuse_others(_compare(_shapes_of(weights_of(sketch)), stored), path)


def _refuse_others(report: "TakeOver", path: Path) -> None:
    if report.new or report.left or report.unfit:
        raise CheckpointError(f"the weights belong to another model: {report}", path=path)


@dataclass(frozen=True, slots=True)
class TakeOver:
    """Which weights of another model were taken over, and which were not."""

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


def fill(model: TranslationModel, stored: Mapping[str, Tensor]) -> TakeOver:
    """Copy the given weights that fit into a model; report those that do not."""
    own = weights_of(model)
    report = _compare(_shapes_of(own), _shapes_of(stored))
    for name in report.taken:
        own[name].copy_(stored[name])
    return report


def _shapes_of(tensors: Mapping[str, Tensor]) -> Shapes:
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def _compare(own: Shapes, stored: Shapes) -> TakeOver:
    """Report which weights fit a model."""
    common = own.keys() & stored.keys()
    fitting = {name for name in common if own[name] == stored[name]}
    new, left, unfit = own.keys() - common, stored.keys() - common, common - fitting
    return TakeOver(*(tuple(sorted(names)) for names in (fitting, new, left, unfit)))


def weights_of(model: TranslationModel) -> dict[str, Tensor]:
    """Return the weights by name, detached; a shared one appears once, under its first name."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def read_weights(path: Path) -> dict[str, Tensor]:
    """Read a file of weights; tensors of docaps 0.1.0 get their present names."""
    found = {RENAMED.get(name, name): tensor for name, tensor in read_tensors(path)[0].items()}
    for name, tensor in found.items():
        if not tensor.is_floating_point():
            raise CheckpointError(f"not weights: {name!r} is of the type {tensor.dtype}", path=path)
    return found


def read_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Read the shapes of all tensors of a file, without the tensors."""
    with _opened(path) as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


def write_tensors(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str] | None = None) -> None:
    """Write tensors and notes atomically, with a digest of both, and sync them to disk."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    kept = dict(notes or {})
    try:
        with replacing(path) as temporary:
            save_file(plain, temporary, metadata={**kept, DIGEST: _digest(plain, kept)})
            with temporary.open("rb") as file:
                os.fsync(file.fileno())  # a power cut cannot leave an empty file under the final name
    except (SafetensorError, OSError) as fault:
        raise CheckpointError(f"cannot be written, what was there before is intact: {fault}", path=path) from None


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Read tensors and notes; refuse a file whose digest does not match.

    safetensors opens a file by its name more than once: a file that was replaced in between is read again.
    """
    before = _identity(path)
    try:
        return _read_tensors(path)
    except CheckpointError:
        if _identity(path) in (None, before):
            raise
    return read_tensors(path)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what distinguishes a file from one that replaces it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Open a regular file whose header is not too long; explain what is wrong with it."""
    try:
        with open_regular(path) as file:
            header = int.from_bytes(file.read(8), "little")
            limit = min(LARGEST_HEADER, os.fstat(file.fileno()).st_size)
            if not 2 <= header <= limit:
                raise SafetensorError(f"a header of {header:,} bytes, expected 2 to {limit:,}")
        with safe_open(path, framework="pt") as tensors:
            yield tensors
    except FileNotFoundError:
        raise CheckpointError("no weights here", path=path) from None
    except (SafetensorError, OSError, RuntimeError, MemoryError) as fault:  # torch: RuntimeError for a truncated file
        reason = getattr(fault, "strerror", None) or fault
        raise CheckpointError(f"the weights are damaged: {reason}", path=path) from None


def _read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    with _opened(path) as file:
        notes = dict(file.metadata() or {})
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    expected = notes.pop(DIGEST, None)
    if expected is None and notes.keys() <= FOREIGN:
        return tensors, notes
    if expected != _digest(tensors, notes):
        raise CheckpointError("the weights are damaged: they are not those that were written", path=path)
    return tensors, notes


def _digest(tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> str:
    """Return the SHA-256 of all names, shapes, values and notes."""
    found = hashlib.sha256(repr(sorted(notes.items())).encode())
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()
