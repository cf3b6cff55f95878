"""How far `docaps translate` and `docaps prepare` can be shared out, and what the process of the command takes for it.

Growth: the time with one core divided by that with two; for `translate`, also without the start. The text is generated.
The driver is the process of the command: it reads, gives windows to workers, and writes. Its memory is the peak over
collections of small files. Its seconds per sentence and per small file, the speed of a worker, the start and the size
of what is held are measured; the speed on many machines and what limits it are calculated from them. For `prepare`,
seconds of computing are counted, not those of a clock, so that other programs disturb them less. For grids, one look
at all runs is timed, as the command takes it each second.

The model for growth is that of the demo, trained for two steps; a larger one leaves the driver more room. The last line
is JSON. Linux only.
"""

import argparse
import json
import os
import pickle
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from docaps.cluster import HELD
from docaps.config import load_recipe, recipe_path
from docaps.corpus.documents import Document
from docaps.corpus.formats import iterate_documents
from docaps.corpus.minidocs import generate_documents
from docaps.experiments.grid import CorpusSource, Grid, shape
from docaps.experiments.rows import LAYOUTS
from docaps.experiments.scheduling import candidates, describe
from docaps.translation.jobs import SHARD
from docaps.translation.trained_model import load_trained
from docaps.translation.translator import Translator

CORES = 8
"""Of each machine, in the calculation."""
PREPARED = 10
"""How many sentences `prepare` gets for each that is translated."""
MACHINES = (1, 2, 5, 10, 20, 50, 100)
TINY = ("model.size=8", "model.heads=2", "model.feed_forward=8", "model.encoder_layers=1", "model.decoder_layers=1")
SHORT = ("qcn.rounds=2", "decoding.beam=1", "decoding.length_factor=0.1", "decoding.length_margin=2")
STEPS = tuple(f"stage.{stage}.{name}" for stage in ("sentence", "document") for name in ("steps=2", "warmup=0"))
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    """What a command took: seconds, seconds of computing in its own process, and the peak of that one's memory."""

    seconds: float
    own_seconds: float
    own_bytes: int
    all_seconds: float
    """Seconds of computing in its own process and those that it started itself."""


def docaps(*words: str | Path, cores: int | None = None) -> Measured:
    """Run a command, on some cores only if asked to."""
    allowed, before = os.sched_getaffinity(0), children_seconds()
    start = time.perf_counter()
    os.sched_setaffinity(0, sorted(allowed)[:cores])  # the process inherits it
    process = subprocess.Popen(
        [sys.executable, "-m", "docaps", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1", "RAY_USAGE_STATS_ENABLED": "0"},
    )
    os.sched_setaffinity(0, allowed)
    own_seconds, own_bytes = 0.0, 0
    while process.poll() is None:
        own_seconds, own_bytes = read_process(process.pid) or (own_seconds, own_bytes)
        time.sleep(0.05)
    seconds = time.perf_counter() - start
    if process.returncode:
        assert process.stderr
        raise SystemExit(process.stderr.read().decode())
    return Measured(seconds, own_seconds, own_bytes, children_seconds() - before)


def children_seconds() -> float:
    """Return the seconds of computing of all ended children, and of theirs."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def read_process(process: int) -> tuple[float, int] | None:
    """Return the seconds that a process has computed, and the peak of its memory; None if it has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return None
    peak = [int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")]
    return ((int(fields[11]) + int(fields[12])) / TICKS, peak[0]) if peak else None


def read(folder: Path | None, sentences: int) -> list[tuple[str, ...]]:
    """Return documents of about so many sentences: of the largest file NAME.en of a folder, or generated."""
    if folder is None:
        documents: Iterator[tuple[str, ...]] = (
            tuple(one.source) for one in generate_documents(1 + sentences // 4, seed=1)
        )
    else:
        largest = max(folder.glob("*.en*"), key=lambda path: path.stat().st_size)
        documents = (one.sentences for one in iterate_documents(largest))
    found, count = list[tuple[str, ...]](), 0
    for document in documents:
        if count >= sentences:
            break
        found.append(document)
        count += len(document)
    return found


def train(folder: Path, name: str, *settings: str) -> Path:
    """Train a model for two steps, on mini-documents."""
    text, store = folder / "text", folder / "prepared"
    if not store.exists():
        docaps("minidocs", "--documents", "200", "--out", text)
        parts = [word for part in ("train", "dev") for word in (f"--{part}", text / f"{part}.en", text / f"{part}.de")]
        docaps("prepare", "--recipe", "minidocs", *parts, "--out", store)
    chosen = [word for setting in (*STEPS, *settings) for word in ("--set", setting)]
    docaps("train", "minidocs", "--corpus", store, "--out", folder / name, *chosen)
    return folder / name / "document"


def measure_growth(folder: Path, run: Path, documents: Sequence[Sequence[str]], repeats: int) -> dict[str, float]:
    """Measure `translate` with one and two processes."""
    total = write_documents(folder / "big.en", documents)
    found: dict[str, list[float]] = {}
    for number in range(repeats):
        out = folder / f"out{number}"
        for jobs in (1, 2):
            words = ("--jobs", str(jobs), "--overwrite", "--out", out)
            start = docaps("translate", run, folder / "one.en", *words)
            whole = docaps("translate", run, folder / "big.en", *words)
            found.setdefault(f"translate_seconds_{jobs}", []).append(whole.seconds)
            found.setdefault(f"translate_rate_{jobs}", []).append(total / (whole.seconds - start.seconds))
            found.setdefault("start", []).append(start.seconds)
            found.setdefault("driver", []).append((whole.own_seconds - start.own_seconds) / total)
    return {name: statistics.median(values) for name, values in found.items()}


def measure_preparation(folder: Path, documents: Sequence[Sequence[str]], repeats: int) -> dict[str, float]:
    """Measure `prepare` on one and two cores, and what a further sentence pair takes in the driver and in a worker."""
    found: dict[str, list[float]] = {}
    total = write_documents(folder / "all.en", documents)
    half = write_documents(folder / "half.en", documents[: len(documents) // 2])
    for number in range(repeats):
        first, one, two = (
            prepare(folder, f"{name}.en", folder / f"prepared-{name}-{number}-{cores}", cores)
            for name, cores in (("half", 2), ("all", 1), ("all", 2))
        )
        for cores, measured in ((1, one), (2, two)):
            found.setdefault(f"prepare_seconds_{cores}", []).append(measured.seconds)
        own = (two.own_seconds - first.own_seconds) / (total - half)
        found.setdefault("prepare_driver", []).append(own)
        found.setdefault("prepare_worker", []).append((two.all_seconds - first.all_seconds) / (total - half) - own)
    return {name: statistics.median(values) for name, values in found.items()}


def prepare(folder: Path, text: str, store: Path, cores: int) -> Measured:
    """Prepare a file as both sides of the training part."""
    parts = ("--train", folder / text, folder / text, "--dev", folder / "one.en", folder / "one.en")
    return docaps("prepare", *parts, "--merges", "2000", "--out", store, cores=cores)


def write_documents(path: Path, documents: Sequence[Sequence[str]]) -> int:
    """Write documents, and return how many sentences they have."""
    text = "".join("<d>\n" + "".join(f"{one}\n" for one in document) for document in documents)
    path.write_text(text, encoding="utf-8")
    return sum(map(len, documents))


def measure_look(folder: Path, runs: int) -> float:
    """Return the seconds of a look at all runs of a large grid, as the command takes it each second."""
    layout = LAYOUTS["table2"]
    recipe = shape(load_recipe(recipe_path("minidocs")), 2)
    seeds = range(1, 2 + runs // (1 + len(layout.rows)))
    grid = Grid(folder / "grid", layout, recipe, CorpusSource(None, 30), seeds)
    cells = list(grid.cells())
    start = time.perf_counter()
    sum(grid.is_done(cell) for cell in cells)
    list(candidates(grid, ()))
    describe(grid, cells)
    return (time.perf_counter() - start) * runs / len(cells)


def measure_memory(folder: Path, run: Path, counts: Sequence[int], *, ray: bool) -> dict[int, Measured]:
    """Translate collections of so many files of a sentence, and measure the driver."""
    engine = ("--engine", "ray") if ray else ("--jobs", "1")
    found = {}
    for count in counts:
        place = folder / f"files-{count}"
        place.mkdir()
        for number in range(count):
            (place / f"{number:06}.txt").write_text(f"It was warm in {number}.\n", encoding="utf-8")
        found[count] = docaps("translate", run, place, "--out", folder / f"translated-{count}", *engine)
        print(f"{count:,} files: {found[count].own_bytes / 2**20:,.0f} MiB at most in the driver", flush=True)
    return found


def message_bytes(run: Path, documents: Sequence[tuple[str, ...]]) -> int:
    """Return about how many bytes a translated shard takes while it is held."""
    trained = load_trained(run)
    found = Translator(trained, warn=lambda _: None).translate([Document(one) for one in documents])
    size = len(pickle.dumps((documents, found)))
    return size * SHARD // sum(map(len, documents))


def calculate(figures: Mapping[str, float], model_bytes: int, storage: float, collection: int) -> None:
    """Print the speed on many machines, and what limits it."""
    rate, start = figures["translate_rate_1"], figures["start"]
    limit = 1 / figures["driver"]
    print(f"a worker translates {rate:,.0f} sentences/s; the driver reads and writes at most {limit:,.0f} sentences/s")
    print(f"machines of {CORES} cores | sentences/s | limit | load models | hours for {collection:,} | driver holds")
    for machines in MACHINES:
        workers = machines * CORES
        speed = min(workers * rate, limit)
        load = start + 2 * workers * model_bytes / storage  # each worker hashes it, and then loads it
        hours = (load + collection / speed) / 3600
        held = HELD * workers * figures["shard_bytes"] / 2**20
        what = "the driver" if workers * rate > limit else "the workers"
        print(f"{machines} | {speed:,.0f} | {what} | {load:.0f} s | {hours:.2f} | {held:,.0f} MiB")
    print(f"the driver is the limit from {limit / rate:,.0f} workers on")


def calculate_preparation(figures: Mapping[str, float]) -> None:
    """Print how far sentence pairs can be shared out in `prepare`."""
    own, shared = figures["prepare_driver"], figures["prepare_worker"]
    print(f"a sentence pair takes {own * 1e6:,.0f} us in the driver of prepare, {shared * 1e6:,.0f} us in a worker")
    print("machines | sentence pairs/s | limit")
    for machines in MACHINES:
        workers = machines * CORES / shared
        print(f"{machines} | {min(workers, 1 / own):,.0f} | {'the driver' if workers > 1 / own else 'the workers'}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with real text, NAME.en")
    parser.add_argument("--sentences", type=int, default=12_000, help="of the text for growth")
    parser.add_argument("--repeats", type=int, default=3, help="of growth; medians are reported; 0: no growth")
    parser.add_argument("--files", default="1000,10000,100000", help="numbers of small files, with commas between")
    parser.add_argument("--only", nargs="+", choices=("files", "grid", "translate", "prepare"), help="what to measure")
    parser.add_argument("--ray", action="store_true", help="small files go to a local Ray, not to a process")
    parser.add_argument("--storage", type=float, default=1e9, help="bytes per second of the shared storage")
    parser.add_argument("--collection", type=int, default=10**9, help="sentences of the collection in the calculation")
    parser.add_argument("--tiny", action="store_true", help="a tiny model for growth too, to try this script")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps(measure(Path(name), options)))


def measure(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Measure all that the options ask for, and return the figures."""
    (folder / "one.en").write_text("It was warm.\n", encoding="utf-8")
    measures = {"files": files_figures, "grid": grid_figures}
    if options.repeats:
        measures |= {"translate": translation_figures, "prepare": preparation_figures}
    figures: dict[str, float] = {}
    for name in options.only or measures:
        figures |= measures[name](folder, options)
    return {name: round(value, 6) for name, value in figures.items()}


def files_figures(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Measure the driver with small files."""
    figures = {}
    counts = [int(count) for count in options.files.split(",") if count]
    for count, one in measure_memory(folder, train(folder, "tiny", *TINY, *SHORT), counts, ray=options.ray).items():
        figures[f"driver_mib_{count}"] = one.own_bytes / 2**20
        figures[f"driver_seconds_{count}"] = one.own_seconds
    if len(counts) > 1:
        less, more = counts[-2:]
        mib, seconds = (figures[f"driver_{one}_{more}"] - figures[f"driver_{one}_{less}"] for one in ("mib", "seconds"))
        figures["driver_bytes_per_file"] = mib * 2**20 / (more - less)
        figures["driver_seconds_per_file"] = seconds / (more - less)
    return figures


def grid_figures(folder: Path, _: argparse.Namespace) -> dict[str, float]:
    """Measure a look at a grid."""
    return {"look": measure_look(folder, 1000)}


def translation_figures(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Measure the growth of `translate`, and calculate it for many machines."""
    run = train(folder, "tiny", *TINY, *SHORT) if options.tiny else train(folder, "demo")
    documents = read(options.data, options.sentences)
    figures = measure_growth(folder, run, documents, options.repeats)
    figures["shard_bytes"] = message_bytes(run, documents[:10])
    calculate(figures, (run / "model.safetensors").stat().st_size, options.storage, options.collection)
    figures["translate_growth"] = figures["translate_seconds_1"] / figures["translate_seconds_2"]
    figures["translate_growth_without_start"] = figures["translate_rate_2"] / figures["translate_rate_1"]
    return figures


def preparation_figures(folder: Path, options: argparse.Namespace) -> dict[str, float]:
    """Measure the growth of `prepare`, and calculate it for many machines."""
    figures = measure_preparation(folder, read(options.data, PREPARED * options.sentences), options.repeats)
    calculate_preparation(figures)
    figures["prepare_growth"] = figures["prepare_seconds_1"] / figures["prepare_seconds_2"]
    return figures


if __name__ == "__main__":
    main()
