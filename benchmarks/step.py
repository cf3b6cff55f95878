"""A training step of the full method against one of the plain Transformer, at the paper's sizes: speed and memory.

Speed: tokens per second of `qcn+reg` / those of `transformer`, in float32 and bfloat16, on the same batches: the
median over rounds of neighbouring steps. Memory: the additional peak resident size when each sentence has a history of
three sentences of 400 words, and the cost of twice as many capsules. With --readings instead: what each reading of the
history, or those that are named, cost against `qcn` on consecutive sentences of a document or, with --sampling
sentences, on sentences that share no history, as stages with `select` have them. The last line is JSON with the ratios.
"""

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial

import torch

from docaps.batches.batch import Batch, collate
from docaps.batches.windows import View, Window
from docaps.config import StageSettings, SystemName, bundled_recipes, load_recipe
from docaps.corpus.text.vocabulary import EOS, UNK
from docaps.model.builders import build_model, dropout_rates
from docaps.model.mixed_precision import has_native_bfloat16
from docaps.training.learner import Learner
from docaps.training.objective import Device, count_tokens
from measuring import peak_memory, time_rounds

VOCABULARY = 30_000
LENGTH, HISTORY_LENGTH, LONG_HISTORY_LENGTH = 25, 25, 400
PLAIN: SystemName = "transformer"
FULL: SystemName = "qcn+reg"
STATES = "qcn.reads=states"
READINGS: dict[str, tuple[str, ...]] = {
    "states": (STATES,),
    "states-gradient": (STATES, "qcn.gradient_to_states=true"),
    "target": ("qcn.sides=target",),
    "target-states": (STATES, "qcn.sides=target"),
    "both-sides": ("qcn.sides=both",),
    "current": ("qcn.current=true",),
    "current-states": (STATES, "qcn.current=true"),
    "at-decoder": ("qcn.attends=decoder",),
    "at-both": ("qcn.attends=both",),
    "distances": ("qcn.distances=true",),
    "sharp": ("qcn.sharpness=1000.0",),
}
"""What capsules read, who attends to them, and sharp routing: settings of `qcn`."""
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
CPU = torch.device("cpu")
BUDGET = 2.0
"""GB that a long history may add."""


def make_batch(tokens: int, history_length: int) -> Batch:
    """Draw sentences of one length until the batch is full; each has a history of its own, with translations."""
    generator = torch.Generator().manual_seed(1)

    def draw(length: int) -> list[int]:
        return [*torch.randint(UNK + 1, VOCABULARY, (length - 1,), generator=generator).tolist(), EOS]

    def draw_history() -> tuple[list[int], ...]:
        return tuple(draw(history_length)[:-1] for _ in range(3))

    windows = [
        Window(draw(LENGTH), draw_history(), draw(LENGTH), draw_history()) for _ in range(tokens // (2 * LENGTH))
    ]
    return collate(windows, View(3, translations=True))


def make_document(tokens: int, _: int = HISTORY_LENGTH, vocabulary: int = VOCABULARY) -> Batch:
    """Draw consecutive sentences, which share histories, with their translations."""
    generator = torch.Generator().manual_seed(1)
    count = tokens // (2 * LENGTH)
    words = torch.randint(UNK + 1, vocabulary, (2, count, LENGTH - 1), generator=generator).tolist()
    windows = []
    for number in range(count):
        seen = range(number - 1, max(-1, number - 4), -1)
        source, target = ([*side[number], EOS] for side in words)
        histories = (tuple(side[one] for one in seen) for side in words)
        windows.append(Window(source, next(histories), target, next(histories)))
    return collate(windows, View(3, translations=True))


SAMPLINGS: dict[str, Callable[[int, int], Batch]] = {"documents": make_document, "sentences": make_batch}
"""What batches consist of: runs of sentences that share their histories, or sentences from everywhere."""


def make_learner(
    system: SystemName, settings: StageSettings, precision: torch.dtype, capsules: int = 4, *changes: str
) -> Learner:
    """Build a model of the paper's sizes, and its learner."""
    recipe = load_recipe(bundled_recipes()["paper"], [f"qcn.capsules={capsules}", *changes])
    chosen = recipe.system("document").model_copy(update={"name": system})
    model = build_model(chosen, vocabulary=VOCABULARY, dropout=dropout_rates(settings), seed=1)
    return Learner(model, settings=settings, regulariser_weight=1.0, device=Device(CPU, precision))


def compare_speed(tokens: int, precision: torch.dtype, repeats: int) -> float:
    """Return tokens per second of the full method as a share of the plain model's."""
    batch = make_batch(tokens, HISTORY_LENGTH)
    stage = load_recipe(bundled_recipes()["paper"]).stage["document"]
    plain, full = (make_learner(system, stage, precision) for system in (PLAIN, FULL))
    found = time_rounds({PLAIN: lambda: plain.step(1, batch), FULL: lambda: full.step(1, batch)}, repeats)
    name = str(precision).removeprefix("torch.")
    print(f"{name:<10} a step of {found.describe(FULL, PLAIN)}{note_on(precision)}", flush=True)
    return found.speed(FULL, PLAIN)


def note_on(precision: torch.dtype) -> str:
    """Return what has to be said of times in this precision."""
    return "" if precision == torch.float32 or has_native_bfloat16(CPU) else ", which this machine emulates"


def compare_readings(
    names: Sequence[str], batch: Batch, precision: torch.dtype, repeats: int, sizes: Sequence[str] = ()
) -> dict[str, float]:
    """Print tokens per second and memory of each reading; return both as shares of those of `qcn`, in turn with it."""
    stage = load_recipe(bundled_recipes()["paper"]).stage["document"]
    targets = count_tokens(batch)
    ratios: dict[str, float] = {}
    usual = make_learner("qcn", stage, precision, 4, *sizes)
    usual_memory = peak_memory(lambda: usual.step(1, batch)) / 1e9
    print(f"{precision!s:<16}{note_on(precision)}\n{'qcn':<16} {usual_memory:.2f} GB", flush=True)
    for name in names:
        learner = make_learner("qcn", stage, precision, 4, *sizes, *READINGS[name])
        memory = peak_memory(partial(learner.step, 1, batch)) / 1e9
        works = {"qcn": partial(usual.step, 1, batch), name: partial(learner.step, 1, batch)}
        found = time_rounds(works, repeats)
        speed, share = found.speed(name, "qcn"), memory / usual_memory
        own, others = (targets / found.median(one) for one in (name, "qcn"))
        print(
            f"{name:<16} {own:6.0f} target tokens/s, qcn {others:6.0f}: "
            f"{speed:.2f} of the speed   {memory:.2f} GB, {share:.2f} of the memory",
            flush=True,
        )
        ratios |= {f"{name}_speed": speed, f"{name}_memory": share}
    return ratios


def measure_readings(arguments: argparse.Namespace) -> dict[str, float]:
    """Compare readings in each precision."""
    batch, names = SAMPLINGS[arguments.sampling](arguments.tokens, HISTORY_LENGTH), arguments.readings or READINGS
    sizes = [f"model.size={512 // arguments.scale}", f"model.feed_forward={2048 // arguments.scale}"]
    ratios: dict[str, float] = {}
    for dtype in arguments.dtypes:
        found = compare_readings(list(names), batch, PRECISIONS[dtype], arguments.repeats, sizes)
        ratios |= {f"{name}_{dtype}": ratio for name, ratio in found.items()}
    return ratios


def resident(system: str, tokens: int, capsules: int = 4) -> float:
    """Return the peak resident size in GB of a process of its own that trains two steps with long histories."""
    command = [sys.executable, __file__, "--memory-of", system, "--tokens", str(tokens), "--capsules", str(capsules)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def train_with_long_history(system: SystemName, tokens: int, capsules: int) -> float:
    """Train two steps and return this process's peak resident size in GB."""
    stage = load_recipe(bundled_recipes()["paper"]).stage["document"]
    learner, batch = make_learner(system, stage, torch.float32, capsules), make_batch(tokens, LONG_HISTORY_LENGTH)
    for step in (1, 2):
        learner.step(step, batch)
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=10, help="interleaved repeats, at least 5")
    parser.add_argument("--tokens", type=int, default=1500, help="source and target tokens of a batch")
    parser.add_argument("--data", help="ignored; this benchmark needs no text")
    parser.add_argument(
        "--readings",
        nargs="*",
        choices=READINGS,
        metavar="NAME",
        help=f"the cost of readings instead: {', '.join(READINGS)}",
    )
    parser.add_argument("--sampling", choices=SAMPLINGS, default="documents", help="of --readings: what a batch is")
    parser.add_argument("--dtypes", nargs="+", choices=PRECISIONS, default=list(PRECISIONS), help="of --readings")
    parser.add_argument("--scale", type=int, default=1, help="of --readings: divide the model's sizes by this")
    parser.add_argument("--memory-of", choices=[PLAIN, FULL], help=argparse.SUPPRESS)
    parser.add_argument("--capsules", type=int, default=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        print(train_with_long_history(arguments.memory_of, arguments.tokens, arguments.capsules))
        return
    print(f"4+4 layers of 512, {VOCABULARY:,} words, batches of {arguments.tokens} tokens, history of 3 x 25 words")
    if arguments.readings is not None:
        ratios = measure_readings(arguments)
        print(json.dumps({name: round(ratio, 3) for name, ratio in ratios.items()}))
        return
    # Memory first: the peak of a child starts at the size of its parent.
    plain, full = (resident(system, arguments.tokens) for system in (PLAIN, FULL))
    doubled = resident(FULL, arguments.tokens, capsules=8)
    sizes = f"{PLAIN} {plain:.2f} GB, {FULL} {full:.2f} GB, {full - plain:.2f} GB more"
    print(f"3 x 400 words of history: {sizes}; with twice the capsules {doubled:.2f} GB", flush=True)
    float32, bfloat16 = (
        compare_speed(arguments.tokens, precision, arguments.repeats) for precision in (torch.float32, torch.bfloat16)
    )
    ratios = {
        "tokens_per_second_float32": float32,
        "tokens_per_second_bfloat16": bfloat16,
        "long_history_gb_of_budget": (full - plain) / BUDGET,
        "memory_doubled_capsules": doubled / full,
    }
    print(json.dumps({name: round(ratio, 3) for name, ratio in ratios.items()}))


if __name__ == "__main__":
    main()
