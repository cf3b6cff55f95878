"""Scoring of given translations (`docaps score`, `contrast`, `diagnose`) against a plain loop in float32.

The plain loop runs the model on windows sorted by length, 4,000 padded tokens a batch: each translation of a
contrastive item, and each history of a diagnosis, with a sentence and a history of its own. Random weights; random
sentences with lengths like those of Europarl, the system of `--system` with three sentences of history.

score      sentence pairs with their histories
contrast   items of three translations that differ in one word
diagnose   the pairs with all seven histories of a diagnosis (its scores; `--translate` adds its translations, beam 4)

Ratios are of speed, the new way to the plain loop, in turn on the same data, for each precision. `agreement` is how
many decisions of the items are those of the plain loop; with random weights the scores of an item's translations are
close, and a trained model decides more alike. The last line is JSON with the ratios.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray

from docaps.batches.batch import collate
from docaps.batches.windows import View, Window, window_of
from docaps.config import DecodingSettings, bundled_recipes, load_recipe
from docaps.corpus.store import Split
from docaps.corpus.text.codec import Codec
from docaps.corpus.text.vocabulary import EOS, PAD, UNK
from docaps.memory import limit_kernel_caches
from docaps.model.builders import build_model
from docaps.model.fast.calibration import observe, ranges_of
from docaps.model.fast.packing import pack
from docaps.model.interface import TranslationModel
from docaps.translation.scoring import score_tokens, score_windows
from docaps.translation.search import batch_by_length, search_windows
from docaps.translation.trained_model import TrainedModel
from measuring import Work, time_rounds
from sentences import draw_split

PLAIN = "plain loop"
BATCH_TOKENS = 4000
CALIBRATION = 64
"""Pairs to calibrate int8 ranges on."""
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int8": torch.int8}
VARIANTS = 3
Words = NDArray[np.int32]
SHUFFLES = 3


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of a model."""

    layers: int
    size: int
    feed_forward: int
    heads: int
    vocabulary: int


SIZES = {"small": Sizes(3, 256, 1024, 4, 8000), "paper": Sizes(4, 512, 2048, 8, 30_000)}
"""Those of recipes/europarl-small.toml, and the paper's."""


def make_model(sizes: Sizes, system: str) -> TranslationModel:
    """Build a model with random weights."""
    changes = {
        "size": sizes.size,
        "heads": sizes.heads,
        "feed_forward": sizes.feed_forward,
        "encoder_layers": sizes.layers,
        "decoder_layers": sizes.layers,
        "embeddings": '"shared"',
    }
    recipe = load_recipe(bundled_recipes()["paper"], [f"model.{name}={value}" for name, value in changes.items()])
    settings = recipe.system("document").model_copy(update={"name": system})
    return build_model(settings, vocabulary=sizes.vocabulary, seed=1).eval()


@torch.inference_mode()
def score_plainly(model: TranslationModel, windows: Sequence[Window]) -> list[float]:
    """Score each window alone, in float32: a plain loop over batches."""
    scores = [0.0] * len(windows)
    for numbers in batch_by_length(windows, BATCH_TOKENS):
        batch = collate([windows[number] for number in numbers], model.view)
        tokens = model(batch).log_probabilities(batch.translations) * (batch.translations != PAD)
        for number, score in zip(numbers, tokens.sum(dim=1).tolist(), strict=True):
            scores[number] = score
    return scores


@dataclass(frozen=True, slots=True)
class Tasks:
    """What is scored."""

    pairs: list[Window]
    items: list[Window]
    """`VARIANTS` consecutive windows are an item."""
    conditions: list[list[Window]]
    """The pairs with each history of a diagnosis."""


def make_tasks(model: TranslationModel, count: int, vocabulary: int) -> Tasks:
    """Draw sentence pairs, items and histories."""
    split, generator = draw_split(vocabulary, 20 * count), np.random.default_rng(2)
    pairs = [window_of(split, number, model.view) for number in range(count)]
    items = []
    for number in range(count, count + count // VARIANTS):
        window = window_of(split, number, model.view)
        items += [replace(window, target=target) for target in _vary(np.asarray(window.target), vocabulary, generator)]
    return Tasks(pairs, items, list(_conditions(pairs, split, model.view, generator)))


def _vary(target: Words, vocabulary: int, generator: np.random.Generator) -> list[Words]:
    """Return a translation, and others with another word at one place."""
    place, found = int(generator.integers(len(target) - 1)), []
    for word in generator.choice(np.arange(UNK + 1, vocabulary), VARIANTS, replace=False):
        found.append(target.copy())
        found[-1][place] = word
    return found


def _conditions(
    pairs: Sequence[Window], split: Split, view: View, generator: np.random.Generator
) -> Iterator[list[Window]]:
    """Yield the pairs with their own histories, others', none, and the nearest sentences."""
    yield list(pairs)
    for _ in range(SHUFFLES):
        others = (window_of(split, int(number), view) for number in generator.integers(len(split), size=len(pairs)))
        yield [
            replace(window, history=other.history[: len(window.history)])
            for window, other in zip(pairs, others, strict=True)
        ]
    yield [replace(window, history=()) for window in pairs]
    for nearest in range(1, view.history):
        yield [replace(window, history=window.history[:nearest]) for window in pairs]


def load(model: TranslationModel, precision: str, calibration: Sequence[Window]) -> TrainedModel:
    """Return a model in a precision, as `load_trained` does."""
    packed = None
    if precision == "int8":
        observed = observe(model)
        score_tokens(_as_trained(observed, None, torch.float32), calibration)
        packed = pack(model, torch.int8, ranges_of(observed))
    elif precision != "float32":
        packed = pack(model, DTYPES[precision])
    return _as_trained(model, packed, DTYPES[precision])


def _as_trained(model: TranslationModel, packed: TranslationModel | None, dtype: torch.dtype) -> TrainedModel:
    # Token ids are scored and written: no text is encoded.
    codec, decoding = cast(Codec, None), DecodingSettings(length_factor=1.0, length_margin=2)
    return TrainedModel(model, codec, decoding, torch.device("cpu"), torch.float32, packed, dtype)


def score_all(trained: TrainedModel, conditions: Sequence[Sequence[Window]]) -> None:
    """Score the pairs with all histories at once, as a diagnosis does."""
    score_tokens(trained, [window for windows in conditions for window in windows])


def translate_all(trained: TrainedModel, conditions: Sequence[Sequence[Window]]) -> None:
    """Translate the pairs with each history but the other draws of the shuffled one."""
    for windows in (*conditions[:2], *conditions[1 + SHUFFLES :]):
        list(search_windows(trained, [replace(window, target=None) for window in windows], trained.decoding))


def works_of(task: str, tasks: Tasks, models: dict[str, TrainedModel], translate: bool) -> dict[str, Work]:
    """Return the plain loop over a task, and the new way in each precision."""
    exact = models["float32"]
    if task != "diagnose":
        windows = tasks.pairs if task == "score" else tasks.items
        plainly = partial(score_plainly, exact.model, windows)
        return {PLAIN: plainly} | {name: partial(score_tokens, one, windows) for name, one in models.items()}

    def plain() -> None:
        for windows in tasks.conditions:
            score_plainly(exact.model, windows)
        if translate:
            translate_all(exact, tasks.conditions)

    def fast(trained: TrainedModel) -> None:
        score_all(trained, tasks.conditions)
        if translate:
            translate_all(trained, tasks.conditions)

    return {PLAIN: plain, **{name: partial(fast, one) for name, one in models.items()}}


def agreement(trained: TrainedModel, items: Sequence[Window]) -> tuple[float, float]:
    """Return the share of items decided as by the plain loop, and the mean change of a log-probability."""
    plain, found = (np.array(scores) for scores in (score_plainly(trained.model, items), score_windows(trained, items)))
    choices = [scores.reshape(-1, VARIANTS).argmax(axis=1) for scores in (plain, found)]
    return float((choices[0] == choices[1]).mean()), float(np.abs(found - plain).mean())


def compare(name: str, arguments: argparse.Namespace) -> dict[str, float]:
    """Measure all tasks with a model of one size."""
    sizes = SIZES[name]
    model = make_model(sizes, arguments.system)
    with torch.no_grad():
        model.get_parameter("embeddings.source.weight")[EOS] *= 0.1  # translations should not end at once
    tasks = make_tasks(model, arguments.sentences, sizes.vocabulary)
    models = {precision: load(model, precision, tasks.pairs[:CALIBRATION]) for precision in arguments.precision}
    models.setdefault("float32", load(model, "float32", ()))
    ratios = {}
    for task in arguments.tasks:
        works = works_of(task, tasks, models, arguments.translate)
        found = time_rounds(
            {key: work for key, work in works.items() if key in (PLAIN, *arguments.precision)}, arguments.repeats
        )
        for precision in arguments.precision:
            print(f"{name:<6} {task:<9} {precision:<9} {found.describe(precision, PLAIN)}", flush=True)
            ratios[f"{name}_{task}_{precision}"] = round(found.speed(precision, PLAIN), 3)
    for precision in arguments.precision:
        same, change = agreement(models[precision], tasks.items)
        print(f"{name:<6} agreement {precision:<9} {same:.4f} of the items; log-probabilities change by {change:.5f}")
    return ratios


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), choices=list(SIZES), help="models")
    parser.add_argument("--tasks", nargs="+", default=["score", "contrast", "diagnose"], help="what to measure")
    parser.add_argument("--precision", nargs="+", default=list(DTYPES), choices=list(DTYPES), help="of the new way")
    parser.add_argument("--system", default="qcn", help="the system, as in a recipe")
    parser.add_argument("--sentences", type=int, default=300, help="sentence pairs, and translations of items")
    parser.add_argument("--translate", action="store_true", help="translate in a diagnosis, too")
    parser.add_argument("--repeats", type=int, default=5, help="interleaved repeats, at least 5")
    parser.add_argument("--threads", type=int, default=2, help="threads")
    parser.add_argument("--data", help="ignored; this benchmark needs no text")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    limit_kernel_caches()  # as all commands do
    ratios: dict[str, float] = {}
    for name in arguments.sizes:
        ratios |= compare(name, arguments)
    print(json.dumps(ratios))


if __name__ == "__main__":
    main()
