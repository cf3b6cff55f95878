"""Tiny models, batches and corpora for all tests that need one; nothing here is trained."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from docaps.batches.batch import Batch, collate
from docaps.batches.windows import View, Window
from docaps.config import SYSTEMS as SYSTEM_PARTS
from docaps.config import DecodingSettings, PreparationSettings, Recipe, SystemSettings, systems
from docaps.corpus.preparation import CorpusFiles, prepare
from docaps.corpus.store import Store
from docaps.corpus.text.vocabulary import EOS, PAD, UNK
from docaps.experiments.rows import ROWS
from docaps.model.builders import build_model
from docaps.model.context.states import StatesTransformer
from docaps.model.interface import Prediction, TranslationModel
from docaps.model.layers import DropoutRates
from docaps.translation.trained_model import TrainedModel

SYSTEMS = tuple(SYSTEM_PARTS)
"""Including those of installed plug-ins."""
BUILT_IN = {system.name for system in systems.BUILT_IN}
VOCABULARY = 17
K, M, R, D = 3, 2, 3, 8
VIEW = View(K, translations=True)
"""Earlier sentences and their translations; models read the part they need."""
MODEL = {"encoder_layers": 2, "decoder_layers": 2, "size": D, "feed_forward": 12, "heads": 2}


def settings(
    name: str,
    *,
    norm: str = "pre",
    embeddings: str = "shared",
    positions: bool = False,
    model: Mapping[str, Any] | None = None,
    regulariser: Mapping[str, Any] | None = None,
    tables: Mapping[str, Mapping[str, Any]] | None = None,
    **qcn: Any,
) -> SystemSettings:
    history = {"sentences": K, "positions": positions}
    return SystemSettings.model_validate(
        {
            "name": name,
            "model": {**MODEL, "norm": norm, "embeddings": embeddings, **(model or {})},
            "regulariser": dict(regulariser or {}),
            **(tables or {}),
            "qcn": {"capsules": M, "rounds": R, **qcn, **(tables or {}).get("qcn", {})},
            "history": {**history, **(tables or {}).get("history", {})},
        }
    )


MARIAN: dict[str, Any] = {
    "norm": "post",
    "embeddings": "target",
    "model": {"activation": "swish", "positions": "marian", "output_bias": True, "decoder_layers": 1},
}
"""The form of Marian's models."""
FORMS: dict[str, dict[str, Any]] = {
    "gelu": {"norm": "pre", "model": {"activation": "gelu", "output_bias": True}},
    "unscaled": {"norm": "post", "model": {"scale_embeddings": False}},
    "few-encoder-layers": {"norm": "post", "model": {"encoder_layers": 1, "positions": "marian"}},
}
"""Other forms of the Transformer, one or two at a time."""
OPTIONS: dict[str, dict[str, Any]] = {
    "joint": {"scope": "joint"},
    "positions": {"positions": True},
    "mean": {"query": "mean"},
    "unsquashed": {"squash_words": False},
    "no-p-in-s": {"guide_capsules": False},
    "no-p-in-alpha": {"guide_agreement": False},
    "last": {"gradient": "last"},
    "detached": {"gradient": "detached-votes"},
    "small-capsules": {"capsule_size": 5},
    "small-joint-capsules": {"scope": "joint", "capsule_size": 5},
    "gate": {"gate": True},
    "silent": {"silent": True},
    "normalise": {"normalise": True},
    "one-round": {"rounds": 1},
    "spread": {"spread": 0.5},
    "states": {"reads": "states"},
    "both-sides": {"sides": "both"},
    "current": {"current": True},
    "sharp": {"sharpness": 20.0},
    "learned-sharpness": {"sharpness": "learned"},
    "sharp-last": {"sharpness": 20.0, "gradient": "last"},
    "identity": {"start": "identity"},
    "parts": {"start": "parts"},
    "at-decoder": {"attends": "decoder"},
    "at-both": {"attends": "both"},
    "distances": {"distances": True},
    "flattened": {"regulariser": {"correlation": "flattened"}},
    "regulariser-without-positions": {"regulariser": {"positions": False}},
    "regulariser-without-marks": {"regulariser": {"marks": False}},
    "regulariser-centred": {"regulariser": {"centre": "batch"}},
    "regulariser-difference": {"regulariser": {"negatives": "batch"}},
    "regulariser-infonce": {"regulariser": {"negatives": "infonce"}},
    "regulariser-warm-infonce": {"regulariser": {"negatives": "infonce", "temperature": 0.5}},
}
"""Every option of the method that is not its default, one at a time."""


def of_row(name: str) -> tuple[str, dict[str, dict[str, Any]]]:
    """The system and the tables of a row of experiments."""
    tables: dict[str, dict[str, Any]] = {}
    for key, value in ROWS[name].changes.items():
        table, _, setting = key.partition(".")
        tables.setdefault(table, {})[setting] = value
    return ROWS[name].system, tables


MODES: dict[str, tuple[str, dict[str, dict[str, Any]]]] = {
    "qcn-states": of_row("qcn-states"),
    "qcn-source-states": ("qcn", {"qcn": {"reads": "states"}}),
    "qcn-translations": ("qcn", {"qcn": {"sides": "target"}}),
    "qcn-translations-positions": ("qcn", {"qcn": {"sides": "target"}, "history": {"positions": True}}),
    "qcn-translations-states": ("qcn", {"qcn": {"sides": "target", "reads": "states", "attends": "decoder"}}),
    "qcn-target": of_row("qcn-target"),
    "qcn-both": ("qcn", {"qcn": {"sides": "both", "attends": "both"}}),
    "qcn-both-joint": ("qcn", {"qcn": {"sides": "both", "scope": "joint", "capsule_size": 5}}),
    "qcn-current": ("qcn", {"qcn": {"current": True, "distances": True}}),
    "qcn-current-joint": ("qcn", {"qcn": {"current": True, "scope": "joint"}}),
    "qcn-current-states": ("qcn", {"qcn": {"current": True, "reads": "states", "attends": "both"}}),
    "qcn-current-both": ("qcn", {"qcn": {"current": True, "sides": "both"}, "history": {"positions": True}}),
    "capsnet-both-states": ("capsnet", {"qcn": {"sides": "both", "reads": "states", "normalise": True}}),
    "qcn-shuffled-states": ("qcn-shuffled", {"qcn": {"reads": "states"}}),
    "qcn-shuffled-both": ("qcn-shuffled", {"qcn": {"sides": "both", "reads": "states"}}),
    "zhang-encoder": ("zhang", {"zhang": {"decoder": False}}),
    "zhang-two-layers": ("zhang", {"zhang": {"layers": 2}}),
    "zhang-without-mark": ("zhang", {"zhang": {"end_mark": False}}),
    "zhang-dropout": ("zhang", {"zhang": {"dropout": "all"}}),
    "han-encoder": ("han", {"han": {"side": "encoder"}}),
    "han-decoder": ("han", {"han": {"side": "decoder"}}),
    "han-gradient": ("han", {"han": {"gradient": True}}),
    "han-distances": ("han", {"han": {"distances": True}}),
    "han-linear-queries": ("han", {"han": {"queries": "linear"}}),
    "han-query-gradient": ("han", {"han": {"query_gradient": True}}),
    "han-marks": ("han", {"han": {"marks": True}}),
    "han-raw-summaries": ("han", {"han": {"norm_summaries": False}}),
    "han-raw-output": ("han", {"han": {"norm_output": False}}),
    "han-plain": (
        "han",
        {
            "han": {
                "queries": "linear",
                "query_gradient": True,
                "marks": True,
                "norm_summaries": False,
                "feed_forward_norm": "model",
                "gate_bias": False,
                "norm_output": False,
            }
        },
    ),
    "san-offline": ("san", {"san": {"mode": "offline"}}),
    "san-decoder": ("san", {"san": {"side": "decoder"}}),
    "san-decoder-offline": ("san", {"san": {"side": "decoder", "mode": "offline"}}),
    "san-flat": ("san", {"san": {"attention": "flat"}}),
    "san-flat-sparse": ("san", {"san": {"attention": "flat", "words": "sparsemax"}}),
    "san-sparse-words": ("san", {"san": {"words": "sparsemax"}}),
    "san-soft": ("san", {"san": {"sentences": "softmax"}}),
    "san-reach": ("san", {"san": {"reach": 2, "mode": "offline"}}),
    "san-gradient": ("san", {"san": {"gradient": True, "memory": "current"}}),
    "san-distances": ("san", {"san": {"distances": True}}),
    "san-marks": ("san", {"san": {"marks": True}}),
    "san-bias": ("san", {"san": {"projection_bias": True}}),
    "san-residual": ("san", {"san": {"residual": True}}),
    "san-plain": (
        "san",
        {
            "san": {
                "projection_bias": True,
                "marks": True,
                "residual": True,
                "memory": "current",
                "keys": "last",
                "translations": "given",
            }
        },
    ),
    "san-decoder-last": ("san", {"san": {"side": "decoder", "keys": "last"}}),
    "san-decoder-given": ("san", {"san": {"side": "decoder", "translations": "given"}}),
    "san-decoder-offline-given": ("san", {"san": {"side": "decoder", "mode": "offline", "translations": "given"}}),
    "concat-2-to-2": ("concat", {"concat": {"mode": "2-to-2"}, "history": {"sentences": 1}}),
    "concat-n-to-n": ("concat", {"concat": {"mode": "n-to-n"}}),
    "concat-shift": ("concat", {"concat": {"shift": 4}}),
    "concat-discount": ("concat", {"concat": {"mode": "n-to-n", "discount": 0.1, "shift": 4}}),
    "concat-segments": ("concat", {"concat": {"mode": "n-to-n", "segments": True, "shift": 4, "discount": 0.1}}),
}
"""Every mode of the other systems that is not the default, one or two at a time."""


def mode(name: str, **options: Any) -> SystemSettings:
    """The settings of a mode, or of a system by its own name."""
    system, tables = MODES.get(name, (name, {}))
    return settings(system, tables=tables, **options)


def context_of(system: SystemSettings) -> str:
    return SYSTEM_PARTS[system.name].context


def reads_history(system: SystemSettings) -> bool:
    """Whether the words of the history matter: some systems have none, and one only counts sentences."""
    return context_of(system) not in {"none", "qcn-noise"} and not reads_translations_only(system)


def is_capsules(system: SystemSettings) -> bool:
    return context_of(system) in {"qcn", "capsnet", "qcn-shuffled"}


def reads_translations_only(system: SystemSettings) -> bool:
    """Whether the words of earlier source sentences do not matter, only their translations."""
    return is_capsules(system) and system.qcn.sides == "target" and system.qcn.reads == "embeddings"


def routes_itself(system: SystemSettings) -> bool:
    """Whether a sentence without history has a context, of its own words."""
    return is_capsules(system) and system.qcn.current


def sees_end_mark(system: SystemSettings) -> bool:
    """Whether a sentence without history has a context all the same, an end mark."""
    return context_of(system) == "zhang" and system.zhang.end_mark


def is_plugin(system: SystemSettings) -> bool:
    """Whether another package adds the system; only its author knows whether order and distance should matter."""
    return system.name not in BUILT_IN


def knows_order(system: SystemSettings) -> bool:
    """Whether the order of words in a history sentence matters."""
    if is_capsules(system):
        return reads_history(system) and (system.history.positions or system.qcn.reads == "states")
    return system.history.positions or context_of(system) in {"zhang", "han", "san", "concat"}


def knows_distance(system: SystemSettings) -> bool:
    """Whether the distance of a history sentence matters."""
    context = context_of(system)
    if context in {"han", "san"}:
        return system.han.distances if context == "han" else system.san.distances
    return context not in {"none", "qcn-noise"}


def compares_pairs(system: SystemSettings) -> bool:
    """Whether the regulariser's reward for a pair depends on the other pairs of the batch."""
    return system.regulariser.centre != "none" or system.regulariser.negatives != "none"


def build(
    system: SystemSettings, *, vocabulary: int = VOCABULARY, dropout: DropoutRates | float = 0.0, seed: int = 3
) -> TranslationModel:
    """A model in float64 whose biases and norms are random, too, so that all of them matter."""
    model = build_model(system, vocabulary=vocabulary, dropout=dropout, seed=seed).double().eval()
    generator = torch.Generator().manual_seed(seed + 1)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn(weight.shape, generator=generator, dtype=weight.dtype), alpha=0.2)
        if isinstance(model, StatesTransformer) and model.options.drafts:  # empty drafts would be no context
            model.embeddings.output.weight[EOS] *= 0.1
    return model


def sentence(*words: int) -> list[int]:
    return [*words, EOS]


def sample_windows() -> list[Window]:
    """Windows of different lengths: with a full history, a short one, one with a gap, and none."""
    return [
        Window(sentence(5, 6, 7), ([8, 9], [10, 11, 12], [13]), sentence(14, 15), ([12], [9, 8], [7, 6, 5])),
        Window(sentence(6), (), sentence(16, 5, 6, 7)),
        Window(sentence(7, 8, 9, 10, 11), ([5, 6, 7, 8, 9],), sentence(10), ([11, 12, 13, 14],)),
        Window(sentence(12, 4), ([14, 15], [], [16, 4, UNK]), sentence(12, 13, 14), ([4], [], [5, 16])),
        Window(sentence(15, 16), ([], [], []), sentence(5, 4), ([], [], [])),
    ]


def sample_batch() -> Batch:
    return collate(sample_windows(), VIEW)


def widened(tensor: Tensor, by: int) -> Tensor:
    """Append padding to the last dimension."""
    return torch.nn.functional.pad(tensor, (0, by), value=PAD)


def lengths(batch: Batch) -> list[int]:
    return (batch.translations != PAD).sum(dim=1).tolist()


def log_probabilities(model: TranslationModel, batch: Batch) -> list[float]:
    """Score the translations of a batch by the model's forward pass."""
    with torch.inference_mode():
        words = torch.log_softmax(model(batch).logits, dim=-1).gather(-1, batch.translations.unsqueeze(-1)).squeeze(-1)
        return (words * (batch.translations != PAD)).sum(dim=1).tolist()  # type: ignore[no-any-return]


def train_mode(model: TranslationModel, batch: Batch) -> Prediction:
    """Predict as in training (the regulariser is active only then); dropout is 0."""
    prediction = model.train()(batch)
    model.eval()
    return prediction


def with_history(batch: Batch, history: Tensor) -> Batch:
    """Another history; where it is shorter or has no words, so do the translations."""
    translations = None if batch.target_history is None else batch.target_history[:, : history.shape[1]]
    return replace(batch, history=history, target_history=translations if history.any() else None)


CORPUS = {
    "train": (
        "<d>\nthe cat sat here\nit was old\nit slept\nthe dog came\nit ran\n<d>\na dog ran\nit was old\n\n"
        "the cat came\n",
        "<d>\ndie Katze saß hier\nsie war alt\nsie schlief\nder Hund kam\ner lief\n<d>\nein Hund lief\ner war alt\n\n"
        "die Katze kam\n",
    ),
    "dev": (
        "<d>\nthe dog sat\nit was old\n\nit came\nit slept here\n<d>\na cat ran\nit slept\n",
        "<d>\nder Hund saß\ner war alt\n\ner kam\ner schlief hier\n<d>\neine Katze lief\nsie schlief\n",
    ),
}


def prepared(directory: Path, contrastive: Path | None = None, merges: int = 60) -> Store:
    """Write and prepare a corpus of two documents."""
    parts = {}
    for part, texts in CORPUS.items():
        parts[part] = (directory / f"{part}.en", directory / f"{part}.de")
        for path, text in zip(parts[part], texts, strict=True):
            path.write_text(text, encoding="utf-8")
    inputs = CorpusFiles(parts, contrastive)
    return prepare(inputs, PreparationSettings(merges=merges, minimum_frequency=1), directory / "prepared")[0]


def trained(store: Store, name: str = "qcn", **decoding: Any) -> TrainedModel:
    """A model with random weights that can read and write the words of a corpus."""
    model = build(mode(name), vocabulary=len(store.codec.vocabulary))
    chosen = DecodingSettings(**{"beam": 2, "length_factor": 0.1, "length_margin": 4, **decoding})
    return TrainedModel(model, store.codec, chosen, torch.device("cpu"), torch.float32)


def recipe(**changes: Any) -> Recipe:
    """Two stages of a few steps: a sentence model, then a document model that starts from it."""
    stage = {"steps": 3, "batch_tokens": 40, "learning_rate": 1e-2, "log_every": 1, "validate_every": 2}
    values: dict[str, Any] = {
        "name": "tiny",
        "precision": "float32",
        "model": {**MODEL},
        "history": {"sentences": K},
        "qcn": {"capsules": M, "rounds": R},
        "decoding": {"beam": 2, "length_factor": 0.1, "length_margin": 4},
        "stage": {
            "sentence": {**stage},
            "document": {**stage, "system": "qcn+reg", "init_from": "sentence"},
        },
    }
    for key, value in changes.items():
        *path, last = key.split("__")
        place = values
        for name in path:
            place = place.setdefault(name, {})
        place[last] = value
    return Recipe.model_validate(values)


def parameter_names(model: TranslationModel, *, containing: Sequence[str]) -> set[str]:
    return {name for name, _ in model.named_parameters() if any(part in name for part in containing)}
