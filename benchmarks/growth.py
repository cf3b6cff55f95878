"""How cost grows with history length, capsules, vocabulary, document length and threads.

A training step of the QCN at the paper's sizes is timed for histories of 1 to 9 sentences, for 1 to 16 capsules and for
vocabularies of 8,000 to 64,000 words; `docaps.translate` for documents of 10 to 10,000 sentences, with a tiny model,
whose share of the work outside the network is the largest; a training step with one and with two threads. All sizes of
a curve are timed in turn. The exponent of a curve is the slope of seconds over size, both as logarithms: a cost of
a + b n has at most 1. `--figure FILE` draws the curves. The last line is JSON: exponents and the speed-up of threads.
"""

import argparse
import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from docaps.batches.batch import Batch, collate
from docaps.batches.windows import Window
from docaps.config import bundled_recipes, load_recipe
from docaps.corpus.documents import Document
from docaps.corpus.text.vocabulary import EOS, UNK
from docaps.files import write_text_atomically
from docaps.memory import limit_kernel_caches
from docaps.model.builders import build_model, dropout_rates
from docaps.report.drawing.charts import Series, line_chart
from docaps.report.drawing.svg import Panel
from docaps.report.figures import compose
from docaps.training.learner import Learner
from docaps.training.objective import Device
from docaps.translation.trained_model import load_trained
from docaps.translation.translator import Translator
from measuring import Work, time_rounds

TINY_RUN = Path(__file__).parents[1] / "tests" / "fixtures" / "run-0.1.0" / "document"
WORDS = ("the", "cat", "sat", "here", "and", "it", "was", "red", "big", "old", "new")
VOCABULARY, SENTENCES, LENGTH, HISTORY, CAPSULES = 30_000, 32, 25, 3, 4


@dataclass(frozen=True, slots=True)
class Curve:
    """What grows, over which sizes, and the exponent that the algorithm should have at most."""

    title: str
    across: str
    sizes: Sequence[int]
    make: Callable[[int], Work]
    expected: float = 1.0


def make_batch(history: int, vocabulary: int) -> Batch:
    """Draw sentences with histories of so many sentences, all of one length."""
    generator = torch.Generator().manual_seed(1)

    def draw() -> list[int]:
        return [*torch.randint(UNK + 1, vocabulary, (LENGTH - 1,), generator=generator).tolist(), EOS]

    windows = [Window(draw(), tuple(draw() for _ in range(history)), draw()) for _ in range(SENTENCES)]
    return collate(windows, history)


def make_step(*, history: int = HISTORY, capsules: int = CAPSULES, vocabulary: int = VOCABULARY) -> Work:
    """Return a training step of the QCN at the paper's sizes."""
    changes = [f"history.sentences={history}", f"qcn.capsules={capsules}", "model.embeddings=shared"]
    recipe = load_recipe(bundled_recipes()["paper"], changes)
    stage = recipe.stage["document"]
    system = recipe.system("document").model_copy(update={"name": "qcn"})
    model = build_model(system, vocabulary=vocabulary, dropout=dropout_rates(stage), seed=1)
    learner = Learner(model, settings=stage, regulariser_weight=1.0, device=Device(torch.device("cpu"), torch.float32))
    return partial(learner.step, 1, make_batch(history, vocabulary))


def make_translation(sentences: int) -> Work:
    """Return the translation of one document of so many sentences."""
    draw = random.Random(1)
    lines = tuple(" ".join(draw.choices(WORDS, k=8)) + " ." for _ in range(sentences))
    translator = Translator(load_trained(TINY_RUN), warn=lambda _: None)
    return lambda: translator.translate([Document(lines)])


CURVES: Mapping[str, Curve] = {
    "history": Curve(
        "A training step by history", "history sentences", (1, 2, 3, 5, 7, 9), lambda size: make_step(history=size)
    ),
    "capsules": Curve(
        "A training step by capsules", "capsules", (1, 2, 4, 8, 16), lambda size: make_step(capsules=size)
    ),
    "vocabulary": Curve(
        "A training step by vocabulary",
        "words of the vocabulary",
        (8_000, 16_000, 32_000, 64_000),
        lambda size: make_step(vocabulary=size),
    ),
    "document": Curve(
        "Translating one document", "sentences of the document", (10, 100, 1_000, 10_000), make_translation
    ),
}


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Return the slope of the least-squares line through the logarithms."""
    xs, ys = ([math.log(value) for value in values] for values in (sizes, seconds))
    middle_x, middle_y = (sum(values) / len(values) for values in (xs, ys))
    covariance = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True))
    return covariance / sum((x - middle_x) ** 2 for x in xs)


def measure(curve: Curve, most: int | None, repeats: int) -> tuple[list[int], list[float]]:
    """Time all sizes of a curve in turn, or those up to the largest one asked for."""
    sizes = [size for size in curve.sizes if most is None or size <= most]
    found = time_rounds({str(size): curve.make(size) for size in sizes}, repeats)
    return sizes, [found.median(str(size)) for size in sizes]


def compare_threads(repeats: int) -> float:
    """Return how many times as fast a training step is with two threads."""
    step, threads = make_step(), torch.get_num_threads()

    def work(count: int) -> None:
        torch.set_num_threads(count)
        step()

    found = time_rounds({"1 thread": partial(work, 1), "2 threads": partial(work, 2)}, repeats)
    torch.set_num_threads(threads)
    print(f"a training step with {found.describe('2 threads', '1 thread')}", flush=True)
    return found.speed("2 threads", "1 thread")


def draw(curve: Curve, sizes: Sequence[int], seconds: Sequence[float]) -> Panel:
    """Draw a curve."""
    points = [(float(size), 1000 * value) for size, value in zip(sizes, seconds, strict=True)]
    title = f"{curve.title}: ms"
    note = f"exponent {exponent(sizes, seconds):.2f}, expected at most {curve.expected:g}"
    return Panel(title, note, line_chart([Series("", points, 0)], title=title, across=curve.across))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="interleaved repeats, at least 5")
    parser.add_argument("--curves", nargs="+", choices=[*CURVES, "threads"], default=[*CURVES, "threads"])
    parser.add_argument("--most", type=int, help="leave out larger sizes")
    parser.add_argument("--threads", type=int, default=1, help="threads of the curves")
    parser.add_argument("--figure", type=Path, help="draw the curves into this SVG file")
    parser.add_argument("--data", help="accepted for uniformity; this benchmark needs no text")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    limit_kernel_caches()
    ratios, panels = dict[str, float](), list[Panel]()
    for name, curve in ((name, CURVES[name]) for name in arguments.curves if name in CURVES):
        sizes, times = measure(curve, arguments.most, arguments.repeats)
        ratios[f"{name}_exponent"] = exponent(sizes, times)
        found = ", ".join(f"{size:,}: {1000 * one:.0f} ms" for size, one in zip(sizes, times, strict=True))
        panels.append(draw(curve, sizes, times))
        print(f"{curve.across}: {found}; {panels[-1].note}", flush=True)
    if arguments.figure and panels:
        write_text_atomically(arguments.figure, compose(panels, columns=2))
    if "threads" in arguments.curves:
        ratios["two_threads_speedup"] = compare_threads(arguments.repeats)
    print(json.dumps({name: round(ratio, 3) for name, ratio in ratios.items()}))


if __name__ == "__main__":
    main()
