"""Whatever is in the files of a run, reading them ends in a value or in a message for the user."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.unit.runs.hostile import odd_bytes, odd_files, odd_json, odd_lines

from docaps.corpus.store import Store
from docaps.corpus.text.codec import load_codec
from docaps.errors import DocapsError
from docaps.runs.directory import Run
from docaps.runs.measured_results import read_tables
from docaps.runs.results import read_results
from docaps.runs.training_log import read_metrics
from docaps.translation.trained_model import is_int8_better, load_trained

FIXTURE = Path(__file__).parents[2] / "fixtures" / "run-0.1"
PRECISION = {
    "int8": {"good": True, "sentences_per_second": 3.0},
    "float32": {"sentences_per_second": 2.0},
    "weights": "f00",
}


def read_store(folder: Path) -> None:
    store = Store(folder)
    store.verify()
    for part in ("train", "dev"):
        store.split(part)


READERS: list[tuple[str, str, Callable[[Path], Any]]] = [
    ("document", "run.json", lambda folder: Run(folder).read()),
    ("document", "run.json", load_trained),
    ("document", "run.json", read_results),
    ("document", "results.json", read_results),
    ("document", "counts.json", lambda folder: read_tables(folder / "counts.json")),
    ("document", "text/languages.json", lambda folder: load_codec(folder / "text")),
    ("document", "text/vocabulary.json", lambda folder: load_codec(folder / "text")),
    ("document", "precision.json", lambda folder: is_int8_better(Run(folder))),
    ("document", "metrics.jsonl", lambda folder: list(read_metrics(folder / "metrics.jsonl"))),
    ("prepared", "manifest.json", read_store),
    ("prepared", "text/vocabulary.json", lambda folder: Store(folder).codec),
]
OPTIONAL = ("precision.json", "results.json", "metrics.jsonl")
"""What is not a regular file may count as missing here."""
NAMES = [f"{file} {number}" for number, (_, file, _) in enumerate(READERS)]


@pytest.fixture
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(FIXTURE / request.param, tmp_path / "it"))
    (copy / "precision.json").write_text(json.dumps(PRECISION))
    return copy


def reads_or_refuses(read: Callable[[Path], Any], folder: Path, what: str) -> bool:
    """Return whether the file was refused; any other error fails the test, and says what was in the file."""
    try:
        read(folder)
    except DocapsError:
        return True
    except Exception as fault:
        raise AssertionError(f"{type(fault).__name__} for {what}") from fault
    return False


@pytest.mark.parametrize(("folder", "file", "read"), READERS, ids=NAMES, indirect=["folder"])
def test_odd_values_and_damaged_bytes_are_read_or_refused(folder: Path, file: str, read: Callable[[Path], Any]) -> None:
    path, random = folder / file, Random(file)
    content = path.read_bytes()
    odd = odd_lines if file.endswith(".jsonl") else odd_json
    refused = 0
    for changed in (*odd(content, random, 150), *odd_bytes(content, random, 50)):
        path.write_bytes(changed)
        refused += reads_or_refuses(read, folder, repr(changed[:2000]))
    assert file == "precision.json" or refused > 20


@pytest.mark.parametrize(("folder", "file", "read"), READERS, ids=NAMES, indirect=["folder"])
def test_what_is_no_regular_file_neither_blocks_nor_fills_the_memory(
    folder: Path, file: str, read: Callable[[Path], Any]
) -> None:
    refused = {kind for kind in odd_files(folder / file) if reads_or_refuses(read, folder, kind)}
    assert file in OPTIONAL or refused >= {"pipe", "zero", "full", "terminal", "folder", "loop", "socket", "huge"}
    assert file == "precision.json" or "huge" in refused
