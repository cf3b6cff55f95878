"""Writing a folder that `MarianMTModel.from_pretrained` and `MarianTokenizer.from_pretrained` load."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from docaps.config import DecodingSettings
from docaps.corpus.text.sentencepieces import SentencePieces
from docaps.corpus.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK
from docaps.exchange.exporting import ExportedModel, read_run
from docaps.exchange.hugging_face import (
    CONFIG,
    GENERATION,
    LONGEST_MARGIN,
    NO_FACTOR,
    SAFE_WEIGHTS,
    SOURCE,
    TARGET,
    TOKENIZER,
    VOCABULARY,
)
from docaps.exchange.marian_weights import OUTPUT_BIAS, TABLES, published_name
from docaps.exchange.vocabulary_rows import SILENT
from docaps.files import write_json

FORM = "hf"
FILES = (CONFIG, GENERATION, SAFE_WEIGHTS, SOURCE, TARGET, TOKENIZER, VOCABULARY)
NORM_EPSILON = 1e-5
LONGEST = 512
"""Positions, and the longest translation, unless the run allows fewer."""


def write_folder(path: Path, directory: Path) -> None:
    """Write a run as a folder of Hugging Face MarianMT."""
    found = read_run(path, FORM)
    _refuse_other_forms(found)
    rows = _rows(found)
    names = _names(found, rows)
    write_json(directory / VOCABULARY, {name: number for number, name in enumerate(names)})
    target = found.codec.subwords
    source = found.codec.source_subwords or target
    assert isinstance(target, SentencePieces)
    assert isinstance(source, SentencePieces)
    source.save(directory / SOURCE)
    target.save(directory / TARGET)
    numbers = {
        "pad_token_id": len(rows) - 1,
        "eos_token_id": rows.index(EOS),
        "decoder_start_token_id": rows.index(BOS),
        "forced_eos_token_id": rows.index(EOS),
    }
    write_json(directory / CONFIG, {**_config(found), **numbers, "vocab_size": len(rows)})
    write_json(directory / GENERATION, {**_generation(found), **numbers, "bad_words_ids": _never_written(rows)})
    codes = {"source_lang": found.codec.source.code, "target_lang": found.codec.target.code}
    limits = {"model_max_length": _positions(found), "tokenizer_class": "MarianTokenizer", "separate_vocabs": False}
    marks = [SPECIALS[BOS]] if SPECIALS[BOS] in names else []  # read between sentences, and left out of texts
    write_json(directory / TOKENIZER, {**codes, **limits, "additional_special_tokens": marks})
    _write_weights(found, rows, directory / SAFE_WEIGHTS)


def _refuse_other_forms(found: ExportedModel) -> None:
    """Refuse what MarianMT does not have."""
    model, codec = found.model, found.codec
    if model.norm != "post":
        raise found.refuse(FORM, 'MarianMT has norms after sub-layers only (model.norm = "pre"); try ctranslate2')
    if model.positions != "vaswani":
        raise found.refuse(FORM, f'MarianMT has other positions (model.positions = "{model.positions}")')
    if model.norm_epsilon != NORM_EPSILON:
        raise found.refuse(FORM, f"MarianMT's norms add {NORM_EPSILON:g} to the variance (model.norm_epsilon)")
    if codec.kind not in ("sentencepiece", "marian"):
        raise found.refuse(
            FORM, f"MarianTokenizer needs SentencePiece models, and this run has {codec.kind}; try ctranslate2"
        )
    if codec.vocabulary.marks:
        raise found.refuse(FORM, f"MarianTokenizer has no marks ({', '.join(codec.vocabulary.marks)})")


def _rows(found: ExportedModel) -> list[int]:
    """Return our entries in their order: end, unknown, text, and padding last.

    Padding starts translations there if our own padding is never predicted, as in an imported model; but between
    sentences it would not be read: a model that reads several has the begin mark as an entry of its own.
    """
    first, text = [EOS, UNK], range(len(SPECIALS), len(found.codec.vocabulary))
    bias = found.weights.get("embeddings.bias")
    if bias is not None and float(bias[PAD]) <= SILENT / 2 and not found.joins_sentences:
        return [*first, *text, BOS]
    return [*first, *text, BOS, PAD]


def _names(found: ExportedModel, rows: list[int]) -> list[str]:
    """Return the names of entries; the last one is padding."""
    pieces = found.codec.vocabulary.pieces
    return [*(pieces[row] for row in rows[:-1]), SPECIALS[PAD]]


def _never_written(rows: list[int]) -> list[list[int]]:
    """Return the entries that no translation has."""
    return [[number] for number, row in enumerate(rows) if row in (PAD, BOS)]


def _positions(found: ExportedModel) -> int:
    """Return how many positions there are."""
    needed = found.decoding.longest_source + 1
    return needed if needed <= DecodingSettings().longest_source else max(LONGEST, needed)


def _config(found: ExportedModel) -> dict[str, Any]:
    """Describe the architecture."""
    model = found.model
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("ffn_dim", model.feed_forward), ("attention_heads", model.heads))
    }
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "d_model": model.size,
        "encoder_layers": model.encoder_layers,
        "decoder_layers": model.decoder_layers,
        **sides,
        "activation_function": model.activation,
        "scale_embedding": model.scale_embeddings,
        "share_encoder_decoder_embeddings": model.embeddings == "shared",
        "tie_word_embeddings": model.embeddings != "separate",
        "max_position_embeddings": _positions(found),
        "static_position_embeddings": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "is_encoder_decoder": True,
        "dropout": 0.1,
    }


def _generation(found: ExportedModel) -> dict[str, Any]:
    """Return the settings of the search that mean the same there."""
    decoding = found.decoding
    fixed = decoding.length_factor <= NO_FACTOR and decoding.length_margin < LONGEST_MARGIN
    settings: dict[str, Any] = {
        "num_beams": decoding.beam,
        "max_length": decoding.length_margin + 1 if fixed else LONGEST,
    }
    return settings if decoding.length_penalty else {**settings, "length_penalty": 0.0}


def _write_weights(found: ExportedModel, rows: list[int], path: Path) -> None:
    """Write the weights under their names, tables in their order."""
    order = torch.tensor(rows)
    tables = TABLES[found.model.embeddings]
    tensors = {tables[name][0]: tensor[order] for name, tensor in found.weights.items() if name in tables}
    tensors |= {
        published_name(name): tensor for name, tensor in found.weights.items() if not name.startswith("embeddings.")
    }
    bias = found.weights.get("embeddings.bias")
    tensors[OUTPUT_BIAS] = (torch.zeros(len(rows)) if bias is None else bias[order]).unsqueeze(0)
    save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, path, metadata={"format": "pt"})
