"""Training speed of docaps, Hugging Face Marian and torch.nn.Transformer, at the paper's sizes.

4+4 layers of 512/2048, 8 heads, 30,000 words, 1,500 target tokens a batch, dropout on. Each contestant trains in its
own process, on the same batches, in turn. Speed counts real target tokens. `qcn_keeps` is the speed of the full method
(qcn+reg, with three sentences of history) as a share of the plain Transformer's. `padding` is the share of padding in
the source and target tokens of an epoch of batches.

With `--data` the sentences are those of a prepared corpus, or of the largest pair NAME.en and NAME.de (or .gz) of a
folder; without, their lengths are drawn like Europarl's. Marian needs `pip install docaps[bench]`.
The last line is JSON with the ratios; with `--ours` docaps runs alone, and the line is RESULT with its speed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import torch

from docaps.batches.batch import Batch
from docaps.config import SystemName, bundled_recipes, load_recipe
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
RECIPE = load_recipe(bundled_recipes()["paper"], ["model.embeddings=shared"])  # one table, as the peers have it


def make_our_step(system: SystemName, precision: torch.dtype) -> Step:
    """Build a model of the paper's sizes; return a function that trains it on one batch, as `docaps train` does."""
    limit_kernel_caches()
    keep_pages()
    stage = RECIPE.stage["sentence"]
    chosen = RECIPE.system("document").model_copy(update={"name": system})
    model = build_model(chosen, vocabulary=VOCABULARY, dropout=dropout_rates(stage), seed=1)
    learner = Learner(model, settings=stage, regulariser_weight=1.0, device=Device(CPU, precision))
    return lambda batch: learner.step(1, batch)


def make_step(name: str, precision: torch.dtype) -> Step:
    """Return the training step of any contestant."""
    if name in CONFIGS:
        return make_our_step(CONFIGS[name], precision)
    stage, model = RECIPE.stage["sentence"], RECIPE.model
    sizes = Sizes(
        vocabulary=VOCABULARY,
        layers=model.encoder_layers,
        size=model.size,
        feed_forward=model.feed_forward,
        heads=model.heads,
        dropout=stage.dropout,
        smoothing=stage.label_smoothing,
        clip=stage.clip,
        rate=stage.learning_rate,
    )
    return make_peer_step(name, sizes, precision)


class Contestant:
    """A process that trains one of the models on request."""

    def __init__(self, name: str, arguments: argparse.Namespace, dtype: str) -> None:
        options = {"contestant": name, "dtype": dtype, "tokens": arguments.tokens, "threads": arguments.threads}
        options |= {"batches": arguments.batches} | ({"data": arguments.data} if arguments.data else {})
        command = [sys.executable, __file__, *(f"--{option}={value}" for option, value in options.items())]
        # docaps uses the memory settings of `docaps train`, the peers their defaults.
        environment = {LARGE_PAGES: "1"} | os.environ if name in CONFIGS else None
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, env=environment, text=True, stdin=pipe, stdout=pipe)
        self._read()

    def __enter__(self) -> "Contestant":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def train(self) -> float:
        """Train once on all batches and return the seconds."""
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> float:
        assert self._process.stdout is not None
        return float(self._process.stdout.readline())


def compete(step: Step, batches: Sequence[Batch]) -> None:
    """Run as a contestant: train once to warm up, then once for every line of the input."""
    train = lambda: [step(batch) for batch in batches]  # noqa: E731
    print(seconds(train), flush=True)
    for _ in sys.stdin:
        print(seconds(train), flush=True)


def matmul_peak(precision: torch.dtype) -> float:
    """Return the floating-point operations per second of a large matrix product."""
    left, right = (torch.randn(2048, 2048).to(precision) for _ in range(2))
    product = torch.empty(2048, 2048, dtype=precision)
    best = min(seconds(lambda: torch.mm(left, right, out=product)) for _ in range(20))
    return 2 * 2048**3 / best


def products_of(batches: Sequence[Batch]) -> float:
    """Count the floating-point operations of the plain Transformer's products with weights, on real tokens."""
    model = RECIPE.model
    attention, inner = 4 * model.size**2, 2 * model.size * model.feed_forward
    source, target = (
        sum(int((part != PAD).sum()) for part in parts) for parts in zip(*map(_sides, batches), strict=True)
    )
    of_source = model.encoder_layers * (attention + inner) + model.decoder_layers * attention // 2
    of_target = model.decoder_layers * (attention + attention // 2 + inner) + VOCABULARY * model.size
    return 6.0 * (source * of_source + target * of_target)  # forward, and twice as much backward


def _sides(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    return batch.source, batch.translations


def compare(arguments: argparse.Namespace, dtype: str, batches: Sequence[Batch]) -> dict[str, float]:
    """Train all contestants in turn; return their tokens per second."""
    names = [*CONFIGS, *(["marian"] if has_marian() else []), "torch"]
    with ExitStack() as stack:
        contestants = {name: stack.enter_context(Contestant(name, arguments, dtype)) for name in names}
        rounds = [{name: one.train() for name, one in contestants.items()} for _ in range(max(5, arguments.repeats))]
    taken = {name: statistics.median(one[name] for one in rounds) for name in names}
    peak, work = matmul_peak(PRECISIONS[dtype]), products_of(batches)
    note = "" if dtype == "float32" or has_native_bfloat16(CPU) else ", which this machine emulates"
    print(f"{dtype}{note}: a large product runs at {peak / 1e9:.0f} GFLOP/s")
    speeds = {name: _count_tokens(batches) / found for name, found in taken.items()}
    for name, speed in speeds.items():
        share = "" if name == "qcn" else f"   {work / taken[name] / peak:4.0%} of the peak"
        print(f"  {TITLES[name]:<28}{speed:7.0f} target tokens/s{share}", flush=True)
    return speeds


TITLES = {
    "base": "docaps, Transformer",
    "qcn": "docaps, QCN + regularisation",
    "marian": "Hugging Face Marian",
    "torch": "torch.nn.Transformer",
}


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
        share = products_of(batches) * rounds / taken / matmul_peak(PRECISIONS[arguments.dtype])
        print(f"{share:.0%} of the peak of a large product")
    print("RESULT", json.dumps({"tok_s": round(tokens / taken, 1)}))


def run_all(arguments: argparse.Namespace, batches: Sequence[Batch], padding: float) -> None:
    """Compare all contestants in both number formats and print the ratios."""
    kind = "from the corpus given" if arguments.data else "of random words, lengths like Europarl's"
    print(f"{len(batches)} batches, {_count_tokens(batches)} target tokens, {kind}; padding {padding:.1%}", flush=True)
    if not has_marian():
        print("Hugging Face Marian is left out: pip install 'docaps[bench]'")
    float32, bfloat16 = (compare(arguments, dtype, batches) for dtype in ("float32", "bfloat16"))
    ratios = {
        "float32_vs_marian": float32["base"] / float32["marian"] if "marian" in float32 else None,
        "bfloat16_vs_marian": bfloat16["base"] / bfloat16["marian"] if "marian" in bfloat16 else None,
        "float32_vs_torch": float32["base"] / float32["torch"],
        "bfloat16_vs_torch": bfloat16["base"] / bfloat16["torch"],
        "qcn_keeps": float32["qcn"] / float32["base"],
        "qcn_keeps_bfloat16": bfloat16["qcn"] / bfloat16["base"],
        "padding": padding,
    }
    print(json.dumps({name: None if ratio is None else round(ratio, 3) for name, ratio in ratios.items()}))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5, help="interleaved repeats, at least 5")
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
        batches, padding = make_batches(arguments.data, arguments.tokens, arguments.batches)
        if arguments.contestant:
            compete(make_step(arguments.contestant, PRECISIONS[arguments.dtype]), batches)
        elif arguments.ours:
            run_ours(arguments, batches)
        else:
            run_all(arguments, batches, padding)


if __name__ == "__main__":
    main()
