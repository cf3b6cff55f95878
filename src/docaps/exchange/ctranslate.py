"""Writing a model that CTranslate2 loads, and how its text becomes tokens."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from docaps.config.model_settings import ModelSettings
from docaps.corpus.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK
from docaps.errors import DocapsError
from docaps.exchange.exporting import read_run
from docaps.model.layers import sinusoids

FORM = "ctranslate2"
FILES = ("model.bin", "config.json", "shared_vocabulary.json", "text/*")
NEVER = -1e4
"""The output bias of entries that no translation has: CTranslate2 would write them."""
POSITIONS = 2048
Array = NDArray[np.float32]


def write_model(path: Path, directory: Path, *, quantization: str | None = None) -> None:
    """Write a run as a model of CTranslate2, and the codec that makes its tokens (text/)."""
    found = read_run(path, FORM)
    save_model(found.model, found.weights, found.codec.vocabulary.pieces, directory, quantization=quantization)
    found.codec.save(directory / "text")


def save_model(
    model: ModelSettings,
    weights: Mapping[str, Tensor],
    pieces: Sequence[str],
    directory: Path,
    *,
    quantization: str | None = None,
) -> None:
    """Write a plain Transformer of these weights, whose vocabulary begins with our marks."""
    specs, activations = _load_specs()
    spec = specs.from_config(
        (model.encoder_layers, model.decoder_layers),
        model.heads,
        pre_norm=model.norm == "pre",
        activation=activations[model.activation.upper()],
    )
    _fill(spec, model, {name: _array(tensor) for name, tensor in weights.items()})
    spec.register_source_vocabulary(list(pieces))
    spec.register_target_vocabulary(list(pieces))
    spec.config.bos_token = spec.config.decoder_start_token = SPECIALS[BOS]
    spec.config.eos_token, spec.config.unk_token = SPECIALS[EOS], SPECIALS[UNK]
    spec.config.layer_norm_epsilon = model.norm_epsilon
    spec.config.add_source_bos = spec.config.add_source_eos = False
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(directory))


def _load_specs() -> tuple[Any, Any]:
    """Import CTranslate2's specification of a Transformer, and its activations."""
    try:
        from ctranslate2.specs import TransformerSpec
        from ctranslate2.specs.common_spec import Activation
    except ImportError:
        raise DocapsError("exporting to ctranslate2 needs ctranslate2: pip install ctranslate2") from None
    return TransformerSpec, Activation


def _fill(spec: Any, model: ModelSettings, weights: Mapping[str, Array]) -> None:
    """Fill in all weights."""
    source = weights["embeddings.source.weight"]
    target = weights.get("embeddings.target.weight", source)
    positions = _array(sinusoids(POSITIONS, model.size, model.positions))
    for side, name, table in ((spec.encoder, "encoder", source), (spec.decoder, "decoder", target)):
        embeddings = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        embeddings.weight = table
        side.scale_embeddings = model.scale_embeddings
        side.position_encodings.encodings = positions
        if model.norm == "pre":
            _fill_norm(side.layer_norm, weights, f"{name}_norm")
        for number, layer in enumerate(side.layer):
            _fill_layer(layer, weights, f"{name}.{number}")
    bias = weights.get("embeddings.bias", np.zeros(len(target), np.float32)).copy()
    bias[[PAD, BOS]] = NEVER
    spec.decoder.projection.weight = weights.get("embeddings.output.weight", target)
    spec.decoder.projection.bias = bias


def _fill_layer(layer: Any, weights: Mapping[str, Array], name: str) -> None:
    """Fill in the weights of one layer; there, queries, keys and values are one map, those of the source two."""
    own = layer.self_attention
    _fill_linear(own.linear[0], weights, *(f"{name}.attention.{part}" for part in ("query", "key", "value")))
    _fill_linear(own.linear[1], weights, f"{name}.attention.output")
    _fill_norm(own.layer_norm, weights, f"{name}.attention_residual.norm")
    if hasattr(layer, "attention"):
        _fill_linear(layer.attention.linear[0], weights, f"{name}.source.query")
        _fill_linear(layer.attention.linear[1], weights, f"{name}.source.key", f"{name}.source.value")
        _fill_linear(layer.attention.linear[2], weights, f"{name}.source.output")
        _fill_norm(layer.attention.layer_norm, weights, f"{name}.source_residual.norm")
    _fill_linear(layer.ffn.linear_0, weights, f"{name}.feed_forward.inner")
    _fill_linear(layer.ffn.linear_1, weights, f"{name}.feed_forward.output")
    _fill_norm(layer.ffn.layer_norm, weights, f"{name}.feed_forward_residual.norm")


def _fill_linear(linear: Any, weights: Mapping[str, Array], *names: str) -> None:
    linear.weight, linear.bias = (np.concatenate([weights[f"{name}.{kind}"] for name in names]) for kind in KINDS)


def _fill_norm(norm: Any, weights: Mapping[str, Array], name: str) -> None:
    norm.gamma, norm.beta = (weights[f"{name}.{kind}"] for kind in KINDS)


KINDS = ("weight", "bias")


def _array(tensor: Tensor) -> Array:
    return np.ascontiguousarray(tensor.detach().numpy(), dtype=np.float32)
