"""Training speed and memory of docaps, Hugging Face Marian and torch.nn.Transformer.

By default at the paper's sizes: 4+4 layers of 512/2048, 8 heads, 30,000 words, 1,500 target tokens a batch, dropout on.
`--sizes small256` has 3+3 layers of 256/1024 and 8,000 words, `small384` 4+4 of 384/1536 and 16,000 words. Each
contestant trains in its own process, on the same batches, in turn. Speed counts real target tokens. `qcn_keeps` is the
speed of the full method (qcn+reg, with three sentences of history) as a share of the plain Transformer's, `_of_peak`
the plain Transformer's products with weights as a share of the speed of a large product, `memory_vs_smallest_peer` its
peak resident size as a share of the smaller peer's. `padding` is the share of padding in the source and target tokens
of an epoch of batches.

With `--data` the sentences are those of a prepared corpus, or of the largest pair NAME.en and NAME.de (or .gz) of a
folder; without, their lengths are drawn like Europarl's. Marian needs `pip install docaps[bench]`.
The last line is JSON with the ratios; with `--ours` docaps runs alone, and the line is RESULT with its speed.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import torch

from docaps.batches.batch import Batch
from docaps.config import Recipe, SystemName, bundled_recipes, load_recipe
from docaps.corpus.text.vocabulary import PAD
from docaps.memory import LARGE_PAGES, keep_pages, limit_kernel_caches
from docaps.model.builders import build_model, dropout_rates
from docaps.model.mixed_precision import has_native_bfloat16
from docaps.training.learner import Learner
from docaps.training.objective import Device
from measuring import seconds
from peers import CPU, Sizes, Step, has_marian, make_peer_step
from sentences import VOCABULARY, find_corpus, make_batches

CONFIGS: Mapping[str, SystemName] = {"base": "transformer", "qcn": "qcn+reg"}
"""Our systems by their names on the command line; the peers are "marian" and "torch"."""
PRECISIONS = {"fp32": torch.float32, "float32": torch.float32, "bf16": torch.bfloat16, "bfloat16": torch.bfloat16}
LAYERS = ("model.encoder_layers={0}", "model.decoder_layers={0}", "model.size={1}", "model.feed_forward={2}")
SMALL: Mapping[str, tuple[tuple[int, int, int], int]] = {
    "small256": ((3, 256, 1024), 4),
    "small384": ((4, 384, 1536), 6),
}
"""Layers, size and feed-forward size, and heads."""
VOCABULARIES = {"paper": VOCABULARY, "small256": 8_000, "small384": 16_000}


def recipe_of(sizes: str) -> Recipe:
    """Return the recipe of the paper with some sizes, and one table of embeddings, as the peers have it."""
    changes = ["model.embeddings=shared"]
    if sizes in SMALL:
        numbers, heads = SMALL[sizes]
        changes += [*(change.format(*numbers) for change in LAYERS), f"model.heads={heads}"]
    return load_recipe(bundled_recipes()["paper"], changes)


def make_our_step(system: SystemName, sizes: str, precision: torch.dtype) -> Step:
    """Build a model; return a function that trains it on one batch, as `docaps train` does."""
    limit_kernel_caches()
    keep_pages()
    recipe = recipe_of(sizes)
    stage = recipe.stage["sentence"]
    chosen = recipe.system("document").model_copy(update={"name": system})
    model = build_model(chosen, vocabulary=VOCABULARIES[sizes], dropout=dropout_rates(stage), seed=1)
    learner = Learner(model, settings=stage, regulariser_weight=1.0, device=Device(CPU, precision))
    return lambda batch: learner.step(1, batch)


def make_step(name: str, sizes: str, precision: torch.dtype) -> Step:
    """Return the training step of any contestant."""
    if name in CONFIGS:
        return make_our_step(CONFIGS[name], sizes, precision)
    recipe = recipe_of(sizes)
    stage, model = recipe.stage["sentence"], recipe.model
    peer_sizes = Sizes(
        vocabulary=VOCABULARIES[sizes],
        layers=model.encoder_layers,
        size=model.size,
        feed_forward=model.feed_forward,
        heads=model.heads,
        dropout=stage.dropout,
        smoothing=stage.label_smoothing,
        clip=stage.clip,
        rate=stage.learning_rate,
    )
    return make_peer_step(name, peer_sizes, precision)


class Contestant:
    """A process that trains one of the models on request."""

    def __init__(self, name: str, arguments: argparse.Namespace, dtype: str) -> None:
        options = {"contestant": name, "dtype": dtype, "tokens": arguments.tokens, "threads": arguments.threads}
        options |= {"batches": arguments.batches, "sizes": arguments.sizes}
        options |= {"data": arguments.data} if arguments.data else {}
        command = [sys.executable, __file__, *(f"--{option}={value}" for option, value in options.items())]
        # docaps uses the memory settings of `docaps train`, the peers their defaults.
        environment = {LARGE_PAGES: "1"} | os.environ if name in CONFIGS else None
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, text=True, stdin=pipe, stdout=pipe)
        self.seconds, self.peak_bytes = self._read()

    def __enter__(self) -> "Contestant":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def train(self) -> float:
        """Train once on all batches and return the seconds."""
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)
        self.seconds, self.peak_bytes = self._read()
        return self.seconds

    def _read(self) -> tuple[float, float]:
        assert self._process.stdout is not None
        taken, peak = map(float, self._process.stdout.readline().split())
        return taken, peak


def compete(step: Step, batches: Sequence[Batch]) -> None:
    """Run as a contestant: train once to warm up, then once for every line of the input; print seconds and memory."""
    train = lambda: [step(batch) for batch in batches]  # noqa: E731
    for taken in chain([seconds(train)], (seconds(train) for _ in sys.stdin)):
        print(taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, flush=True)


def matmul_peak(precision: torch.dtype) -> float:
    """Return the floating-point operations per second of a large matrix product."""
    left, right = (torch.randn(2048, 2048).to(precision) for _ in range(2))
    product = torch.empty(2048, 2048, dtype=precision)
    best = min(seconds(lambda: torch.mm(left, right, out=product)) for _ in range(20))
    return 2 * 2048**3 / best


def products_of(batches: Sequence[Batch], sizes: str) -> float:
    """Count the floating-point operations of the plain Transformer's products with weights, on real tokens."""
    model = recipe_of(sizes).model
    attention, inner = 4 * model.size**2, 2 * model.size * model.feed_forward
    source, target = (
        sum(int((part != PAD).sum()) for part in parts) for parts in zip(*map(_sides, batches), strict=True)
    )
    of_source = model.encoder_layers * (attention + inner) + model.decoder_layers * attention // 2
    of_target = model.decoder_layers * (attention + attention // 2 + inner) + VOCABULARIES[sizes] * model.size
    return 6.0 * (source * of_source + target * of_target)  # forward, and twice as much backward


def _sides(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    return batch.source, batch.translations


@dataclass(frozen=True)
class Compared:
    """What the contestants reached in one number format."""

    speeds: Mapping[str, float]
    """Target tokens per second."""
    memory: Mapping[str, float]
    """Peak resident bytes of the process."""
    of_peak: float
    """The plain Transformer's products with weights, as a share of the speed of a large product."""

    def versus(self, peer: str) -> float | None:
        """Return the plain Transformer's speed as a multiple of a peer's, or of the fastest peer's ("best")."""
        peers = {name: speed for name, speed in self.speeds.items() if name in PEERS}
        found = max(peers.values()) if peer == "best" else peers.get(peer)
        return None if found is None else self.speeds["base"] / found

    @property
    def qcn_keeps(self) -> float:
        """The speed of the full method as a share of the plain Transformer's."""
        return self.speeds["qcn"] / self.speeds["base"]

    @property
    def memory_share(self) -> float:
        """The plain Transformer's memory as a share of the smaller peer's."""
        return self.memory["base"] / min(size for name, size in self.memory.items() if name in PEERS)


def compare(arguments: argparse.Namespace, dtype: str, batches: Sequence[Batch]) -> Compared:
    """Train all contestants in turn, and print what each reached."""
    names = [*CONFIGS, *(["marian"] if has_marian() else []), "torch"]
    with ExitStack() as stack:
        contestants = {name: stack.enter_context(Contestant(name, arguments, dtype)) for name in names}
        rounds = [{name: one.train() for name, one in contestants.items()} for _ in range(max(5, arguments.repeats))]
        memory = {name: one.peak_bytes for name, one in contestants.items()}
    taken = {name: statistics.median(one[name] for one in rounds) for name in names}
    peak, work = matmul_peak(PRECISIONS[dtype]), products_of(batches, arguments.sizes)
    note = "" if dtype == "float32" or has_native_bfloat16(CPU) else ", which this machine emulates"
    print(f"{dtype}{note}: a large product runs at {peak / 1e9:.0f} GFLOP/s")
    speeds = {name: _count_tokens(batches) / found for name, found in taken.items()}
    for name, speed in speeds.items():
        share = " " * 19 if name == "qcn" else f"   {work / taken[name] / peak:4.0%} of the peak"
        print(f"  {TITLES[name]:<28}{speed:7.0f} target tokens/s{share}   {memory[name] / 1e9:.2f} GB", flush=True)
    return Compared(speeds, memory, work / taken["base"] / peak)


TITLES = {
    "base": "docaps, Transformer",
    "qcn": "docaps, QCN + regularisation",
    "marian": "Hugging Face Marian",
    "torch": "torch.nn.Transformer",
}


PEERS = ("marian", "torch")


def _count_tokens(batches: Sequence[Batch]) -> int:
    return sum(int((batch.translations != PAD).sum()) for batch in batches)


def run_ours(arguments: argparse.Namespace, batches: Sequence[Batch]) -> None:
    """Train one of our systems for some seconds and print its speed."""
    rounds, taken = 0, 0.0
    with Contestant(arguments.config, arguments, arguments.dtype) as ours:
        while taken < arguments.seconds:
            taken += ours.train()
            rounds += 1
    tokens = rounds * _count_tokens(batches)
    if arguments.config == "base":
        share = products_of(batches, arguments.sizes) * rounds / taken / matmul_peak(PRECISIONS[arguments.dtype])
        print(f"{share:.0%} of the peak of a large product")
    print("RESULT", json.dumps({"tok_s": round(tokens / taken, 1)}))


def run_all(arguments: argparse.Namespace, batches: Sequence[Batch], padding: float) -> None:
    """Compare all contestants in both number formats and print the ratios."""
    kind = "from the corpus given" if arguments.data else "of random words, lengths like Europarl's"
    print(f"{len(batches)} batches, {_count_tokens(batches)} target tokens, {kind}; padding {padding:.1%}", flush=True)
    if not has_marian():
        print("Hugging Face Marian is left out: pip install 'docaps[bench]'")
    ratios: dict[str, float | None] = {}
    for dtype in ("float32", "bfloat16"):
        found = compare(arguments, dtype, batches)
        ratios |= {f"{dtype}_vs_{peer}": found.versus(peer) for peer in (*PEERS, "best")}
        ratios |= {f"{dtype}_of_peak": found.of_peak, f"{dtype}_memory_vs_smallest_peer": found.memory_share}
        ratios["qcn_keeps" if dtype == "float32" else f"qcn_keeps_{dtype}"] = found.qcn_keeps
    ratios["padding"] = padding
    prefix = "" if arguments.sizes == "paper" else f"{arguments.sizes}_"
    ratios = {f"{prefix}{name}": ratio for name, ratio in ratios.items()}
    print(json.dumps({name: None if ratio is None else round(ratio, 3) for name, ratio in ratios.items()}))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="interleaved repeats, at least 5")
    parser.add_argument("--sizes", choices=VOCABULARIES, default="paper", help="sizes of the models")
    parser.add_argument("--tokens", type=int, default=1500, help="target tokens of a batch")
    parser.add_argument("--batches", type=int, default=3, help="number of distinct batches")
    parser.add_argument("--threads", type=int, default=2, help="threads of torch")
    parser.add_argument("--data", help="a prepared corpus, or a folder with NAME.en and NAME.de (or .gz)")
    parser.add_argument("--ours", action="store_true", help="run docaps alone")
    parser.add_argument("--config", choices=CONFIGS, default="base", help="model to run: Transformer or QCN")
    parser.add_argument("--dtype", choices=PRECISIONS, default="float32", help="number format of products")
    parser.add_argument("--seconds", type=float, default=20, help="how long to run, with --ours")
    parser.add_argument("--contestant", choices=TITLES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as scratch:
        arguments.data = find_corpus(Path(arguments.data), Path(scratch)) if arguments.data else None
        batches, padding = make_batches(
            arguments.data, arguments.tokens, arguments.batches, VOCABULARIES[arguments.sizes]
        )
        if arguments.contestant:
            compete(make_step(arguments.contestant, arguments.sizes, PRECISIONS[arguments.dtype]), batches)
        elif arguments.ours:
            run_ours(arguments, batches)
        else:
            run_all(arguments, batches, padding)


if __name__ == "__main__":
    main()
