"""Weights of Hugging Face's MarianMT: their files, their names, and how they become ours."""

import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from docaps.config import SystemSettings
from docaps.config.model_settings import ModelSettings, Tables
from docaps.errors import CheckpointError
from docaps.exchange.vocabulary_rows import VocabularyRows
from docaps.model.builders import sketch_model
from docaps.model.checkpoint import read_tensors
from docaps.model.layers import sinusoids

OUTPUT_BIAS = "final_logits_bias"
SHARED, ENCODER, DECODER, OUTPUT = (
    *("model.shared.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"),
    "lm_head.weight",
)
TABLES: Mapping[Tables, Mapping[str, tuple[str, ...]]] = {
    "shared": {"embeddings.source.weight": (SHARED, ENCODER, DECODER, OUTPUT)},
    "target": {
        "embeddings.source.weight": (ENCODER, SHARED),
        "embeddings.target.weight": (DECODER, OUTPUT, SHARED),
    },
    "separate": {
        "embeddings.source.weight": (ENCODER, SHARED),
        "embeddings.target.weight": (DECODER, SHARED),
        "embeddings.output.weight": (OUTPUT,),
    },
}
"""Tables of word vectors, and the names that may hold them: one with several uses is stored once, or for each."""
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
NORMS = {"encoder_norm": "model.encoder.layer_norm", "decoder_norm": "model.decoder.layer_norm"}
"""The norms after the last layers, which only models with norms before sub-layers have."""
_MAPS = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
PARTS = {
    **{f"attention.{ours}": f"self_attn.{theirs}" for ours, theirs in _MAPS.items()},
    "attention_residual.norm": "self_attn_layer_norm",
    **{f"source.{ours}": f"encoder_attn.{theirs}" for ours, theirs in _MAPS.items()},
    "source_residual.norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.output": "fc2",
    "feed_forward_residual.norm": "final_layer_norm",
}
"""The parts of a layer."""
POSITION_TOLERANCE = 1e-3
"""How far stored positions may be from computed ones: half precision rounds to a thousandth."""


def published_name(name: str) -> str:
    """Return what a weight of a layer or of a last norm is called there."""
    part, _, kind = name.rpartition(".")
    if part in NORMS:
        return f"{NORMS[part]}.{kind}"
    side, number, inner = part.split(".", 2)
    return f"model.{side}.layers.{number}.{PARTS[inner]}.{kind}"


def read_published(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a file, in float32."""
    found = read_tensors(path)[0] if path.suffix == ".safetensors" else _read_pickled(path)
    for name, tensor in found.items():
        if not tensor.is_floating_point():
            raise CheckpointError(f"not weights: {name!r} is of the type {tensor.dtype}", path=path)
    return {name: tensor.float() for name, tensor in found.items()}


def _read_pickled(path: Path) -> dict[str, Tensor]:
    """Read tensors with torch's weights-only unpickler, which runs no code of the file."""
    try:
        with warnings.catch_warnings(action="ignore"):  # of pickles that torch did not write
            found = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        message = "refused: it is damaged, or holds more than tensors, which could run code"
        raise CheckpointError(message, path=path) from None
    except Exception as fault:  # of damaged files torch raises whatever its parts do: RuntimeError, EOFError, KeyError
        reason = str(fault).splitlines()[0] if str(fault) else type(fault).__name__
        raise CheckpointError(f"the weights are damaged: {reason}", path=path) from None
    if not isinstance(found, dict) or not all(isinstance(tensor, Tensor) for tensor in found.values()):
        raise CheckpointError("not weights: expected tensors by name", path=path)
    return {str(name): tensor for name, tensor in found.items()}


def arrange_weights(
    found: Mapping[str, Tensor], settings: ModelSettings, rows: VocabularyRows, path: Path
) -> dict[str, Tensor]:
    """Return the weights under our names, the tables in our order; refuse what is missing, unfit or not understood."""
    for name in POSITIONS:
        if name in found:
            _check_positions(found[name], name, path)
    sketch = sketch_model(SystemSettings(name="transformer", model=settings), vocabulary=rows.published)
    expected = {name: tuple(weight.shape) for name, weight in sketch.named_parameters()}
    layers = {name: (published_name(name),) for name in expected if not name.startswith("embeddings.")}
    tables = TABLES[settings.embeddings]
    _refuse_unknown(found, layers, path)
    taken = {name: _take(found, names, expected[name], path) for name, names in {**tables, **layers}.items()}
    bias = found.get(OUTPUT_BIAS, torch.zeros(rows.published)).flatten()
    if len(bias) != rows.published:
        raise CheckpointError(f"{OUTPUT_BIAS} has {len(bias):,} numbers, expected {rows.published:,}", path=path)
    arranged = {name: rows.arrange(tensor) if name in tables else tensor for name, tensor in taken.items()}
    return {**arranged, "embeddings.bias": rows.arrange_bias(bias)}


def _refuse_unknown(found: Mapping[str, Tensor], layers: Mapping[str, tuple[str, ...]], path: Path) -> None:
    """Refuse weights that no part of the model would use."""
    known = {*POSITIONS, OUTPUT_BIAS, SHARED, ENCODER, DECODER, OUTPUT}
    known |= {name for names in layers.values() for name in names}
    if others := sorted(found.keys() - known):
        names = ", ".join(others[:3])
        raise CheckpointError(f"{len(others)} weights belong to no part of the model: {names} ...", path=path)


def _take(found: Mapping[str, Tensor], names: tuple[str, ...], shape: tuple[int, ...], path: Path) -> Tensor:
    """Return the first tensor that is there, if it has the expected shape."""
    name = next((name for name in names if name in found), None)
    if name is None:
        raise CheckpointError(f"the weights lack {names[0]!r}: is config.json of another model?", path=path)
    if (own := tuple(found[name].shape)) != shape:
        raise CheckpointError(f"{name!r} has the shape {own}, config.json says {shape}", path=path)
    return found[name]


def _check_positions(stored: Tensor, name: str, path: Path) -> None:
    """Refuse positions other than the sinusoids that the model adds."""
    if stored.ndim != 2 or stored.shape[1] % 2:
        raise CheckpointError(f"{name!r} has the shape {tuple(stored.shape)}", path=path)
    expected = sinusoids(*stored.shape)
    if not torch.allclose(stored, expected, rtol=0.0, atol=POSITION_TOLERANCE):
        raise CheckpointError(f"{name!r} holds other positions than sinusoids: not supported", path=path)
