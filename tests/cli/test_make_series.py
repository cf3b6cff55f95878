"""`make series` from raw text to its report, at toy size, cut into pieces."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

from docaps.corpus.documents import Document
from docaps.corpus.formats import format_documents
from docaps.corpus.minidocs import generate_documents
from docaps.corpus.minidocs.phenomena import choose_phenomena
from docaps.runs.grid_results import read_grids

pytestmark = [pytest.mark.stress, pytest.mark.skipif(sys.platform == "win32", reason="make")]
ROOT = Path(__file__).parents[2]
DOCUMENTS = {
    **{"europarl.big": 400, "europarl.dev": 3, "europarl.test": 3, "scenes.train": 120, "scenes.dev": 3},
    **{"chat.train": 80, "chat.dev": 3, "sutta.train": 10, "debian.train": 10, "ted.dev": 3, "news.dev": 3},
}
STAGE = "steps = 4\nwarmup = 1\nvalidate_every = 2\nsave_every = 1\nlog_every = 1\n"
RECIPE = f"""
name = "tiny-series"
profile = "mixed-small"
[preparation]
merges = 300
[model]
size = 8
heads = 2
feed_forward = 8
encoder_layers = 1
decoder_layers = 1
[qcn]
rounds = 2
capsules = 2
[stage.sentence]
{STAGE}
[stage.document]
{STAGE}
[decoding]
beam = 1
length_factor = 0.1
length_margin = 4
precision = "float32"
"""
MAIN = {"transformer", "qcn-target", "qcn-target-shuffled", "concat-discounted"}


def write_texts(folder: Path) -> None:
    """Write mini-documents under the names of the real texts."""
    folder.mkdir()
    for number, (name, count) in enumerate(DOCUMENTS.items()):
        made = generate_documents(count, 100 + number, choose_phenomena("pronoun,address"))
        for side, language in (("source", "en"), ("target", "de")):
            text = format_documents([Document(getattr(one, side)) for one in made])
            (folder / f"{name}.{language}.gz").write_bytes(gzip.compress(text.encode()))


def write_environment(folder: Path) -> None:
    """Write what the Makefile takes for its virtual environment: the Python of the tests."""
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "docaps").write_text(f'#!/bin/sh\nexec {sys.executable} -m docaps "$@"\n')
    (folder / "bin" / "docaps").chmod(0o755)
    (folder / "bin" / "python").symlink_to(sys.executable)
    (folder / ".ready").touch()


def make(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `make` with everything in a folder."""
    options = [f"VENV={tmp_path}/venv", f"DATA={tmp_path}/data", f"SERIES={tmp_path}/series", "SEEDS=1,2", "JOBS=1"]
    command = ["make", *words, *options, f"RECIPE={tmp_path}/tiny.toml"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def test_the_series_is_made_in_pieces(tmp_path: Path) -> None:
    write_texts(tmp_path / "data")
    write_environment(tmp_path / "venv")
    (tmp_path / "tiny.toml").write_text(RECIPE)
    pieces = 1
    while (result := make(tmp_path, "series", f"PIECE={20 * pieces}s")).returncode:
        assert "Error 75" in result.stderr, result.stderr
        assert "The same command goes on" in result.stderr
        pieces += 1
    assert "The series is complete" in result.stdout
    series = tmp_path / "series"
    (grid,) = read_grids(series / "runs")
    assert {row["row"] for row in grid["rows"] if len(row["runs"]) == 2} == MAIN
    assert len(grid["rows"]) == 11
    assert len(grid["sentence_models"]) == 1
    assert not grid["unfinished"]
    endpoints = grid["endpoints"]
    assert list(endpoints["parts"]) == ["scenes", "chat", "europarl-dev", "ted-dev", "news-dev"]
    assert list(endpoints["items"]) == ["pronouns", "formality"]
    assert all(len(row["checkpoints"]) == 4 for row in endpoints["rows"] if row["row"] != "sentence")
    (other,) = read_grids(series / "europarl" / "runs")
    assert [row["row"] for row in other["rows"]] == ["transformer", "qcn-target"]
    before = {path: path.stat().st_mtime_ns for path in series.rglob("*.safetensors")}
    again = make(tmp_path, "series")
    assert again.returncode == 0, again.stderr
    assert {path: path.stat().st_mtime_ns for path in series.rglob("*.safetensors")} == before
    assert "/15 runs are finished" in make(tmp_path, "series", "ARGS=--dry-run").stdout.replace(" of ", "/")


def test_sizes_are_compared(tmp_path: Path) -> None:
    write_texts(tmp_path / "data")
    write_environment(tmp_path / "venv")
    (tmp_path / "tiny.toml").write_text(RECIPE)
    page = tmp_path / "page.md"
    page.write_text("<!-- begin series-sizes -->\n<!-- end series-sizes -->\n")
    result = make(tmp_path, "series-sizes", "SIZE_TIME=5s", f"INTO={page}")
    assert result.returncode == 0, result.stderr
    sizes = [line.split("|")[1].strip().split("/")[-2] for line in page.read_text().splitlines() if "/sentence" in line]
    assert sorted(sizes) == ["3+3x256", "4+4x320", "6+3x256"]
    missing = make(tmp_path, "series", "DATA=nowhere")
    assert "no europarl.big.en.zst in DIR=" in missing.stdout
