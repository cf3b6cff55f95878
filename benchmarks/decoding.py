"""Translation speed of docaps, CTranslate2 and Hugging Face, at the paper's sizes.

4+4 layers of 512/2048, 8 heads, 30,000 words with shared embeddings, random weights; 24 words in, exactly 25 tokens
out. Tasks: a file of sentences with a beam of 4, the same file greedily, and some sentences one at a time, greedily.
Each engine runs in its own process, with its best batch size and with all threads on one batch or one batch per thread
(chosen on a few sentences first); the engines take turns.
`qcn_keeps` is the speed of the QCN with three history sentences, as a share of the sentence model's. The peers need
`pip install docaps[bench]`; the ratio to a missing peer is null.

With --marian: an Opus-MT model's sizes instead (6+6 layers, 58,101 words, swish, an output bias), CTranslate2 with the
same weights, and int8 and bfloat16 of docaps.

The last line is JSON with the ratios, for the fastest of the given precisions.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from measuring import seconds
from sentences import find_corpus, measure_translation_padding
from translators import DTYPES, Sizes, Translate, is_installed, make_ctranslate2, make_docaps, make_hugging_face
from translators import random_sentences as draw

WORDS = 24
BATCHES = {"beam4": (32, 64, 128), "greedy": (64, 128, 256), "single": (1,)}
BEAMS = {"beam4": 4, "greedy": 1, "single": 1}
TRIAL = {"beam4": 128, "greedy": 256, "single": 2}
"""Sentences used to choose a batch size."""
Way = tuple[int, int]
"""Sentences per batch, and batches translated in parallel."""
FEW = 20
"""Sentences that are translated one at a time."""
TITLES = {
    "docaps-int8": "docaps, int8",
    "docaps-bfloat16": "docaps, bfloat16",
    "docaps-float32": "docaps, float32",
    "qcn": "docaps, QCN document decoding",
    "ctranslate2-int8": "CTranslate2, int8",
    "ctranslate2-float32": "CTranslate2, float32",
    "huggingface": "Hugging Face generate, float32",
}


def make_translator(name: str, sizes: Sizes, threads: int, precision: str) -> Translate:
    """Build any contestant."""
    if name == "qcn":
        return make_docaps(sizes, precision, "qcn")
    if name.startswith("docaps"):
        return make_docaps(sizes, name.removeprefix("docaps-"), "transformer")
    if name.startswith("ctranslate2"):
        return make_ctranslate2(sizes, name.removeprefix("ctranslate2-"), threads)
    return make_hugging_face(sizes)


class Contestant:
    """A process that translates on request."""

    def __init__(self, name: str, arguments: argparse.Namespace) -> None:
        options = {"contestant": name, "threads": arguments.threads, "scale": arguments.scale}
        command = [sys.executable, __file__, *(f"--{option}={value}" for option, value in options.items())]
        command += ["--precision", *arguments.precision, *(["--marian"] if arguments.marian else [])]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._threads = arguments.threads
        self._ways: dict[str, Way] = {}
        self._read()

    def __enter__(self) -> "Contestant":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def choose_way(self, task: str, sentences: int) -> Way:
        """Find the fastest batch size and parallelism for a task; each is tried twice, in case of other load."""
        count = min(sentences, TRIAL[task])
        workers = [1] if task == "single" else sorted({1, self._threads})
        ways = [(size, number) for number in workers for size in BATCHES[task] if size * number <= max(count, 1)]
        taken = {way: min(self.ask(task, way, count) for _ in range(2)) for way in ways or [(sentences, 1)]}
        self._ways[task] = min(taken, key=lambda way: taken[way])
        return self._ways[task]

    def work(self, task: str, sentences: int) -> float:
        """Run a task with the best configuration and return the seconds."""
        return self.ask(task, self._ways[task], sentences)

    def ask(self, task: str, way: Way, sentences: int) -> float:
        """Translate sentences in the process and return the seconds."""
        assert self._process.stdin is not None
        print(task, *way, sentences, file=self._process.stdin, flush=True)
        return self._read()

    def _read(self) -> float:
        assert self._process.stdout is not None
        return float(self._process.stdout.readline())


def compete(translate: Translate, vocabulary: int) -> None:
    """Run as a contestant: for every line of the input, translate the requested number of sentences."""
    translate([draw(2, WORDS, vocabulary)], 4, 1)
    print(0.0, flush=True)
    for line in sys.stdin:
        task, batch, workers, count = line.split()
        sentences = draw(int(count), WORDS, vocabulary)
        batches = [sentences[start : start + int(batch)] for start in range(0, int(count), int(batch))]
        print(seconds(lambda: translate(batches, BEAMS[task], int(workers))), flush=True)  # noqa: B023


def compare(task: str, contestants: Mapping[str, Contestant], sentences: int, repeats: int) -> dict[str, float]:
    """Run a task on all contestants in turn; return their sentences per second."""
    best = {name: one.choose_way(task, sentences) for name, one in contestants.items()}
    rounds = [{name: one.work(task, sentences) for name, one in contestants.items()} for _ in range(repeats)]
    speeds = {name: sentences / statistics.median(one[name] for one in rounds) for name in contestants}
    print(f"{task}: {sentences} sentences")
    for name, speed in speeds.items():
        batch, workers = best[name]
        runs = ", ".join(f"{sentences / one[name]:.1f}" for one in rounds)
        print(
            f"  {TITLES[name]:<32}{speed:7.1f} sentences/s   ({workers} x batches of {batch}; runs: {runs})", flush=True
        )
    return speeds


def ratio(speeds: Mapping[str, float], peer: str, ours: str = "docaps") -> float | None:
    """Return the speed of our best relative to a peer; None if either was not measured."""
    found = [speed for name, speed in speeds.items() if name.startswith(ours)]
    return round(max(found) / speeds[peer], 3) if found and peer in speeds else None


def run_all(arguments: argparse.Namespace) -> None:
    """Compare everything and print the ratios."""
    names = [f"docaps-{precision}" for precision in arguments.precision] + ([] if arguments.marian else ["qcn"])
    known = MARIAN_PEERS if arguments.marian else PEERS
    for package, peers in () if arguments.ours else known.items():
        if is_installed(package):
            names += peers
        else:
            print(f"{package} is left out: pip install 'docaps[bench]'")
    speeds: dict[str, dict[str, float]] = {task: {} for task in BATCHES}
    for task in arguments.tasks:
        count = min(FEW, arguments.sentences) if task == "single" else arguments.sentences
        with ExitStack() as stack:
            chosen = [name for name in names if name not in LEFT_OUT[task] or arguments.slow]
            contestants = {name: stack.enter_context(Contestant(name, arguments)) for name in chosen}
            speeds[task] = compare(task, contestants, count, arguments.repeats)
    if arguments.marian:
        print(json.dumps({f"marian_{task}_vs_ctranslate2_int8": ratio(speeds[task], INT8) for task in BATCHES}))
        return
    ratios = {
        "beam4_vs_ctranslate2_int8": ratio(speeds["beam4"], "ctranslate2-int8"),
        "greedy_vs_ctranslate2_int8": ratio(speeds["greedy"], "ctranslate2-int8"),
        "single_vs_ctranslate2_float32": ratio(speeds["single"], "ctranslate2-float32"),
        "qcn_keeps": ratio(speeds["beam4"], f"docaps-{arguments.precision[0]}", "qcn"),
    }
    print_padding(arguments.data)
    print(json.dumps(ratios))


def print_padding(data: Path | None) -> None:
    """Return the share of padding in the batches of a corpus, or of sentences with lengths like Europarl's."""
    with TemporaryDirectory() as scratch:
        corpus = None if data is None else find_corpus(data, Path(scratch))
        shares = {task: measure_translation_padding(corpus, BEAMS[task]) for task in ("beam4", "greedy")}
    print("padding: " + ", ".join(f"{task} {share:.1%}" for task, share in shares.items()))


INT8 = "ctranslate2-int8"
PEERS = {"ctranslate2": [INT8, "ctranslate2-float32"], "transformers": ["huggingface"]}
MARIAN_PEERS = {"ctranslate2": [INT8]}
LEFT_OUT: Mapping[str, Sequence[str]] = {
    "beam4": ("ctranslate2-float32", "huggingface", "docaps-float32"),
    "greedy": ("ctranslate2-float32", "huggingface", "docaps-float32", "qcn"),
    "single": ("qcn",),
}
"""Contestants that are slow or have no ratio: measured only with --slow."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=1000, help="sentences of the file")
    parser.add_argument("--repeats", type=int, default=3, help="interleaved repeats")
    parser.add_argument("--threads", type=int, default=2, help="threads of every engine")
    parser.add_argument("--tasks", nargs="+", default=list(BATCHES), choices=list(BATCHES), help="what to measure")
    parser.add_argument("--ours", action="store_true", help="run docaps alone")
    parser.add_argument("--slow", action="store_true", help="also measure slow contestants")
    parser.add_argument("--precision", nargs="+", choices=DTYPES, help="precisions of docaps (default: int8)")
    parser.add_argument("--marian", action="store_true", help="sizes and form of an Opus-MT model")
    parser.add_argument("--scale", type=int, default=1, help="divide all sizes by this, to test the benchmark")
    parser.add_argument("--data", type=Path, help="prepared corpus, or folder with one: print its padding")
    parser.add_argument("--contestant", choices=TITLES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    arguments.precision = arguments.precision or (["int8", "bfloat16"] if arguments.marian else ["int8"])
    plain = Sizes(vocabulary=58_101, layers=6, marian=True) if arguments.marian else Sizes()
    divided = {name: value // arguments.scale for name, value in asdict(plain).items() if name in SCALED}
    sizes = replace(plain, **divided)
    if arguments.contestant:
        name = arguments.contestant
        compete(make_translator(name, sizes, arguments.threads, arguments.precision[0]), sizes.vocabulary)
    else:
        run_all(arguments)


SCALED = ("vocabulary", "size", "feed_forward")


if __name__ == "__main__":
    main()
