"""Speed of `docaps prepare` and of the sacremoses and subword-nmt programs in sequence, on the same sentences.

The sequence: `sacremoses tokenize`, `train-truecase`, `truecase`, then `subword-nmt learn-joint-bpe-and-vocab` and
`apply-bpe`, each with two processes by its own option. Exception: `sacremoses -j 2 truecase` did not terminate, so it
runs with one process per language, both at the same time. The sequence ends with subwords as text; docaps also writes
token ids, vocabulary and hashes, and prepares a development part (the first documents again).

Without `--data` the text is generated; with it, the text is the largest pair of files NAME.en and NAME.de (or .gz) of a
folder, whole or up to `--sentences`. Memory is the sampled peak of docaps and its processes together, with shared pages
counted once (Linux only). The last line is JSON.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import iterate_parallel, write_parallel
from docaps.corpus.minidocs import generate_documents

LANGUAGES = ("en", "de")
PROGRAMS = Path(sys.executable).parent
GENERATED_SENTENCES = 20_000
DEV_DOCUMENTS = 100
SECONDS_BETWEEN_SAMPLES = 0.1
Command = Sequence[str | Path]


def find_pair(folder: Path) -> tuple[Path, Path]:
    """Return the largest pair of files NAME.en and NAME.de of a folder."""
    found = sorted(folder.glob("*.en*"), key=lambda path: path.stat().st_size)
    if not found:
        raise SystemExit(f"{folder}: no files NAME.en and NAME.de, or with .gz")
    return found[-1], folder / found[-1].name.replace(".en", ".de")


def generate(sentences: int) -> Iterator[ParallelDocument]:
    """Yield mini-documents with at least this many sentences."""
    for document in generate_documents(1 + sentences // 4, seed=1):
        yield ParallelDocument(tuple(document.source), tuple(document.target))


def read(folder: Path | None, sentences: int | None) -> Iterator[ParallelDocument]:
    """Yield documents, of a folder or generated, until there are enough sentences."""
    if folder is None:
        sentences = sentences or GENERATED_SENTENCES
    documents = iterate_parallel(*find_pair(folder)) if folder else generate(sentences or 0)
    count = 0
    for document in documents:
        if sentences is not None and count >= sentences:
            return
        count += len(document.source)
        yield document


def write_texts(folder: Path, documents: Sequence[ParallelDocument]) -> int:
    """Write documents for docaps and their sentences for the peers; return the number of sentences per side."""
    for part, found in (("train", documents), ("dev", documents[:DEV_DOCUMENTS])):
        write_parallel(folder / f"{part}.en", folder / f"{part}.de", found)
    for language, side in zip(LANGUAGES, ("source", "target"), strict=True):
        lines = [line for document in documents for line in getattr(document, side)]
        (folder / f"raw.{language}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return sum(len(document.source) for document in documents)


def run_together(folder: Path, steps: Iterable[tuple[Command, str, str]]) -> float:
    """Run commands at the same time, each from a file to a file, and return the seconds until all are done."""
    start = time.perf_counter()
    running = []
    for command, source, target in steps:
        with (folder / source).open("rb") as reading, (folder / target).open("wb") as writing:
            options = {"stdin": reading, "stdout": writing, "stderr": subprocess.DEVNULL}
            running.append((command, subprocess.Popen([*map(str, command)], cwd=folder, **options)))  # type: ignore[call-overload]
    for command, process in running:
        if process.wait():
            raise SystemExit(f"exit code {process.returncode}: {' '.join(map(str, command))}")
    return time.perf_counter() - start


def sacremoses(language: str, processes: int, *arguments: str) -> Command:
    """Return a command of sacremoses."""
    return [PROGRAMS / "sacremoses", "-q", "-l", language, "-j", str(processes), *arguments]


def subword_nmt(*arguments: str) -> Command:
    """Return a command of subword-nmt for two processes."""
    return [PROGRAMS / "subword-nmt", *arguments, "--num-workers", "2"]


def time_chain(folder: Path, merges: int) -> dict[str, float]:
    """Run the peers in sequence and return the seconds of each stage."""
    seconds = dict.fromkeys(("tokenize", "train-truecase", "truecase", "learn-joint-bpe-and-vocab", "apply-bpe"), 0.0)
    for name in LANGUAGES:
        tokenize = sacremoses(name, 2, "tokenize"), f"raw.{name}", f"tok.{name}"
        train = sacremoses(name, 2, "train-truecase", "-m", f"model.{name}"), f"tok.{name}", "output"
        seconds["tokenize"] += run_together(folder, [tokenize])
        seconds["train-truecase"] += run_together(folder, [train])
    cased = [
        (sacremoses(name, 1, "truecase", "-m", f"model.{name}"), f"tok.{name}", f"tc.{name}") for name in LANGUAGES
    ]
    seconds["truecase"] = run_together(folder, cased)
    files = ("--input", "tc.en", "tc.de", "--write-vocabulary", "vocabulary.en", "vocabulary.de", "-o", "codes")
    learn = subword_nmt("learn-joint-bpe-and-vocab", *files, "-s", str(merges))
    seconds["learn-joint-bpe-and-vocab"] = run_together(folder, [(learn, "tc.en", "output")])
    for name in LANGUAGES:
        cut = subword_nmt("apply-bpe", "-c", "codes", "-i", f"tc.{name}", "-o", f"bpe.{name}")
        seconds["apply-bpe"] += run_together(folder, [(cut, f"tc.{name}", "output")])
        if count_lines(folder / f"bpe.{name}") != count_lines(folder / f"raw.{name}"):
            raise SystemExit(f"the chain of programs lost sentences of {name}")
    return seconds


def count_lines(path: Path) -> int:
    """Count the lines of a file."""
    with path.open("rb") as file:
        return sum(1 for _ in file)


def time_docaps(folder: Path, merges: int) -> tuple[float, int | None, list[str]]:
    """Run docaps; return its seconds, its peak memory in bytes and its progress lines."""
    parts = [word for part in ("train", "dev") for word in (f"--{part}", f"{part}.en", f"{part}.de")]
    with tempfile.TemporaryDirectory(dir=folder) as out, (folder / "stages").open("w+", encoding="utf-8") as stages:
        command = [sys.executable, "-m", "docaps", "prepare", *parts, "--merges", str(merges), "--out", out]
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=stages)
        peak = watch_memory(process)
        seconds = time.perf_counter() - start
        stages.seek(0)
        if process.returncode:
            raise SystemExit(stages.read())
        said = [line for line in stages.read().splitlines() if line.endswith(" s)")]
    return seconds, peak, said


def watch_memory(process: subprocess.Popen[bytes]) -> int | None:
    """Wait for a process, and return the peak memory of it and its descendants, in bytes."""
    peak: int | None = None
    while process.poll() is None:
        now = sum(resident_bytes(number) for number in family(process.pid))
        peak = max(peak or 0, now) if now else peak
        time.sleep(SECONDS_BETWEEN_SAMPLES)
    return peak


def family(process: int) -> Iterator[int]:
    """Yield a process and its descendants (only itself if the system does not list them)."""
    yield process
    for table in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = table.read_text().split()
        except OSError:  # it has just ended
            continue
        for child in children:
            yield from family(int(child))


def resident_bytes(process: int) -> int:
    """Return the resident memory of a process, with its share of shared pages."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has just ended, or this is not Linux
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1, help="interleaved repeats; medians are reported")
    parser.add_argument("--data", type=Path, help="folder with real text, NAME.en and NAME.de")
    parser.add_argument("--sentences", type=int, help="about how many sentences a side (default: all, or 20,000)")
    parser.add_argument("--merges", type=int, default=30_000, help="joint BPE merges")
    options = parser.parse_args()
    for program in ("sacremoses", "subword-nmt"):
        if not (PROGRAMS / program).exists():
            raise SystemExit(f"{PROGRAMS / program} is not there: pip install -e '.[dev]'")
    with tempfile.TemporaryDirectory() as name:
        documents = list(read(options.data, options.sentences))
        print(f"{write_texts(Path(name), documents):,} sentence pairs in {len(documents):,} documents")
        print(json.dumps(measure(Path(name), options.merges, options.repeats)))


def measure(folder: Path, merges: int, repeats: int) -> dict[str, float | None]:
    """Time both in turn, print the stages, and return the comparison."""
    ours, theirs, peaks = [], [], []
    for _ in range(max(1, repeats)):
        before = processor_seconds()
        seconds, peak, said = time_docaps(folder, merges)
        between = processor_seconds()
        print(f"docaps prepare: {seconds:.1f} s ({between - before:.1f} s of processors), {(peak or 0) / 1e9:.2f} GB")
        print(*(f"  {line}" for line in said), sep="\n", flush=True)
        stages = time_chain(folder, merges)
        used = processor_seconds() - between
        print(f"sacremoses and subword-nmt: {sum(stages.values()):.1f} s ({used:.1f} s of processors)")
        print(*(f"  {name}: {found:.1f} s" for name, found in stages.items()), sep="\n", flush=True)
        ours.append(seconds)
        theirs.append(sum(stages.values()))
        peaks.append(peak)
    known = [peak for peak in peaks if peak]
    return {
        "speedup": statistics.median(theirs) / statistics.median(ours),
        "seconds": statistics.median(ours),
        "seconds_of_the_chain": statistics.median(theirs),
        "peak_memory_gb": max(known) / 1e9 if known else None,
    }


def processor_seconds() -> float:
    """Return the processor time of all finished processes: steadier than wall time on a busy machine."""
    found = os.times()
    return found.children_user + found.children_system


if __name__ == "__main__":
    main()
