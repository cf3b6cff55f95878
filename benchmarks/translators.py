"""Translators for the decoding benchmark: docaps, CTranslate2 and Hugging Face with the same sizes and random weights.

Each translates sentences of random words into a given number of tokens.
"""

import importlib.util
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.config import DecodingSettings, SystemName, bundled_recipes, load_recipe
from docaps.config.model_settings import ModelSettings
from docaps.corpus.text.vocabulary import BOS, EOS, PAD, SPECIALS, UNK
from docaps.exchange.ctranslate import save_model
from docaps.memory import limit_kernel_caches
from docaps.model.builders import build_model
from docaps.model.checkpoint import weights_of
from docaps.model.fast.calibration import observe, ranges_of
from docaps.model.fast.packing import Ranges, pack
from docaps.model.interface import TranslationModel
from docaps.translation.search import map_in_threads, search

Sentences = Sequence[Sequence[int]]
Translate = Callable[[Sequence[Sentences], int, int], None]
"""Translate batches with a beam of this width, this many batches in parallel."""
CALIBRATION = 8
"""Sentences to calibrate int8 ranges on."""
DTYPES = {"int8": torch.int8, "float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes shared by all translators; by default the paper's."""

    vocabulary: int = 30_000
    layers: int = 4
    size: int = 512
    feed_forward: int = 2048
    heads: int = 8
    tokens: int = 25
    """How many are written, each time."""
    marian: bool = False
    """The form of Opus-MT: swish, and a bias of the output layer; CTranslate2 has the same weights then."""


def is_installed(package: str) -> bool:
    """Return whether a package is installed."""
    return importlib.util.find_spec(package) is not None


def make_docaps(sizes: Sizes, precision: str, system: SystemName) -> Translate:
    """Build our model; in a document model each sentence sees the three before it."""
    limit_kernel_caches()  # as all commands do
    model, _ = build(sizes, system)
    packed = pack(model, DTYPES[precision], calibrate(model, sizes) if precision == "int8" else None)

    def translate(batches: Sequence[Sentences], beam: int, workers: int) -> None:
        list(map_in_threads(lambda batch: _search(packed, batch, beam, sizes), batches, workers))

    return translate


def build(
    sizes: Sizes, system: SystemName, settings_changed: Sequence[str] = ()
) -> tuple[TranslationModel, ModelSettings]:
    """Build a model of random weights, always the same ones, and return its settings too."""
    changes = {
        "size": sizes.size,
        "heads": sizes.heads,
        "feed_forward": sizes.feed_forward,
        "encoder_layers": sizes.layers,
        "decoder_layers": sizes.layers,
        "embeddings": "shared",
        **({"activation": "swish", "output_bias": "true"} if sizes.marian else {}),
    }
    values = [*(f"model.{name}={value}" for name, value in changes.items()), *settings_changed]
    recipe = load_recipe(bundled_recipes()["paper"], values)
    settings = recipe.system("document").model_copy(update={"name": system})
    model = build_model(settings, vocabulary=sizes.vocabulary, seed=1).eval()
    with torch.no_grad():
        model.get_parameter("embeddings.source.weight")[EOS] = 0  # the end token is written only when forced
    return model, settings.model


def _search(model: TranslationModel, sentences: Sentences, beam: int, sizes: Sizes) -> None:
    """Translate a batch into exactly `sizes.tokens` tokens per sentence."""
    longest = max(map(len, sentences))
    settings = DecodingSettings(beam=beam, length_factor=(sizes.tokens - 20 + 0.5) / longest)
    histories = [sentences[max(0, place - 3) : place][::-1] for place in range(len(sentences))]
    windows = [Window([*one, EOS], tuple(history)) for one, history in zip(sentences, histories, strict=True)]
    found = search(model, collate(windows, model.history), settings, scored=False)
    assert all(len(one.tokens) == sizes.tokens - 1 for hypotheses in found for one in hypotheses)


def calibrate(model: TranslationModel, sizes: Sizes) -> Ranges:
    """Calibrate ranges on sentences that are not measured."""
    observed = observe(model)
    _search(observed, random_sentences(CALIBRATION, sizes.tokens - 1, sizes.vocabulary, seed=3), 1, sizes)
    return ranges_of(observed)


def make_ctranslate2(sizes: Sizes, precision: str, threads: int) -> Translate:
    """Build CTranslate2's Transformer by saving and loading its format."""
    import ctranslate2  # noqa: PLC0415

    words = ["<unk>", "<s>", "</s>", *(f"w{number}" for number in range(3, sizes.vocabulary))]
    with tempfile.TemporaryDirectory() as scratch:
        if sizes.marian:
            words = [*SPECIALS, *words[len(SPECIALS) :]]
            model, settings = build(sizes, "transformer")
            save_model(settings, weights_of(model), words, Path(scratch))
        else:
            _save_ctranslate2(sizes, words, Path(scratch))
        translators = {
            workers: ctranslate2.Translator(
                scratch, compute_type=precision, inter_threads=workers, intra_threads=max(1, threads // workers)
            )
            for workers in {1, threads}
        }

    def translate(batches: Sequence[Sentences], beam: int, workers: int) -> None:
        options: dict[str, Any] = {"beam_size": beam, "asynchronous": workers > 1}
        limits = {"min_decoding_length": sizes.tokens, "max_decoding_length": sizes.tokens}
        worded = ([[*(words[word] for word in one), "</s>"] for one in sentences] for sentences in batches)
        begun = [translators[workers].translate_batch(batch, **options, **limits) for batch in worded]
        found = [one.result() if workers > 1 else one for batch in begun for one in batch]
        assert all(len(one.hypotheses[0]) == sizes.tokens for one in found)

    return translate


def _save_ctranslate2(sizes: Sizes, words: Sequence[str], directory: Path) -> None:
    """Write a model with random weights."""
    from ctranslate2.specs import TransformerSpec  # noqa: PLC0415

    spec = TransformerSpec.from_config(sizes.layers, sizes.heads, pre_norm=False)
    generator = np.random.default_rng(1)
    joint = _normal(generator, sizes.vocabulary, sizes.size)
    for side in (spec.encoder, spec.decoder):
        table = side.embeddings[0] if isinstance(side.embeddings, list) else side.embeddings
        table.weight = joint
        side.scale_embeddings = True
        for layer in side.layer:
            _fill_layer(layer, sizes, generator)
    spec.decoder.projection.weight = joint
    spec.register_source_vocabulary(list(words))
    spec.register_target_vocabulary(list(words))
    spec.validate()
    spec.save(str(directory))


def _fill_layer(layer: Any, sizes: Sizes, generator: np.random.Generator) -> None:
    """Give a layer random weights in each of its attentions."""
    _fill_attention(layer.self_attention, [3], sizes.size, generator)
    if hasattr(layer, "attention"):
        _fill_attention(layer.attention, [1, 2], sizes.size, generator)
    _fill_linear(layer.ffn.linear_0, sizes.size, sizes.feed_forward, generator)
    _fill_linear(layer.ffn.linear_1, sizes.feed_forward, sizes.size, generator)
    _fill_norm(layer.ffn.layer_norm, sizes.size)


def _fill_attention(attention: Any, joined: Sequence[int], size: int, generator: np.random.Generator) -> None:
    for linear, times in zip(attention.linear, [*joined, 1], strict=True):
        _fill_linear(linear, size, times * size, generator)
    _fill_norm(attention.layer_norm, size)


def _fill_linear(linear: Any, inputs: int, outputs: int, generator: np.random.Generator) -> None:
    linear.weight, linear.bias = _normal(generator, outputs, inputs), np.zeros(outputs, dtype=np.float32)


def _fill_norm(norm: Any, size: int) -> None:
    norm.gamma, norm.beta = np.ones(size, dtype=np.float32), np.zeros(size, dtype=np.float32)


def _normal(generator: np.random.Generator, rows: int, columns: int) -> Any:
    return (generator.standard_normal((rows, columns)) * columns**-0.5).astype(np.float32)


def make_hugging_face(sizes: Sizes) -> Translate:
    """Build Hugging Face's Marian, which translates with `generate`."""
    from peers import Marian  # noqa: PLC0415
    from peers import Sizes as TrainingSizes  # noqa: PLC0415

    untrained: dict[str, Any] = {"dropout": 0.0, "smoothing": 0.0, "clip": 0.0, "rate": 0.0}
    shared = {name: getattr(sizes, name) for name in ("vocabulary", "layers", "size", "feed_forward", "heads")}
    model: Any = Marian(TrainingSizes(**shared, **untrained)).model.eval()

    def translate_batch(sentences: Sentences, beam: int) -> None:
        source = collate([Window([*one, EOS]) for one in sentences], 0).source
        limits = {"min_new_tokens": sizes.tokens, "max_new_tokens": sizes.tokens}
        with torch.inference_mode():
            found = model.generate(source, attention_mask=(source != PAD).long(), num_beams=beam, **limits)
        assert found.shape[1] >= sizes.tokens

    def translate(batches: Sequence[Sentences], beam: int, workers: int) -> None:
        list(map_in_threads(lambda batch: translate_batch(batch, beam), batches, workers))

    return translate


def random_sentences(count: int, words: int, vocabulary: int, seed: int = 2) -> list[list[int]]:
    """Draw sentences of the same length."""
    generator = np.random.default_rng(seed)
    first = max(PAD, BOS, EOS, UNK) + 1
    drawn: list[list[int]] = generator.integers(first, vocabulary, (count, words)).tolist()
    return drawn
