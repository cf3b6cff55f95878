"""Metrics that external programs compute: COMET (`comet-score`) and METEOR 1.5 (Java)."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from docaps.corpus.documents import Document, all_sentences, count_sentences
from docaps.errors import DocapsError
from docaps.evaluation.intervals import Table

COMET = "comet-score"
COMET_SETUP = "python3 -m venv comet && comet/bin/pip install unbabel-comet, then --comet comet/bin/python"
METEOR_VARIABLE = "METEOR_JAR"
_METEOR_FIELDS = 23  # 4 lengths, 4 stages of 4 counts, chunks, and the matched words of both sides


def _write_lines(folder: str, name: str, lines: Iterable[str]) -> str:
    """Write a file with one sentence per line and return its path."""
    path = Path(folder) / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)


def find_comet(name: str) -> str:
    """Return the COMET command: `name` itself, or the command beside the Python that `name` is."""
    found = shutil.which(name)
    if found and Path(name).name.startswith("python"):
        found = shutil.which(str(Path(found).parent / COMET))
    if not found:
        what = f"expected the command {COMET} or a Python beside it"
        raise DocapsError(f"no COMET in '{name}' ({what}): set it up with: {COMET_SETUP}")
    return found


def comet_score(
    command: str, sources: Sequence[Document], hypotheses: Sequence[Document], references: Sequence[Document]
) -> float:
    """Return COMET's mean over all sentences."""
    sides = {"-s": sources, "-t": hypotheses, "-r": references}
    with tempfile.TemporaryDirectory() as folder:
        files = [(flag, _write_lines(folder, f"side{flag}", all_sentences(side))) for flag, side in sides.items()]
        out = Path(folder) / "scores.json"
        words = [command, *(word for file in files for word in file), "--to_json", str(out), "--quiet"]
        result = subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)
        if result.returncode or not out.exists():
            raise DocapsError(f"COMET failed ({command}): {_last_line(result.stderr) or 'no message'}")
        try:
            (rows,) = json.loads(out.read_text(encoding="utf-8")).values()
            scores = [float(row["COMET"]) for row in rows]
        except (ValueError, KeyError, TypeError, AttributeError) as fault:
            raise DocapsError(f"cannot read the output of COMET ({command}): {fault}") from None
    if len(scores) != (count := count_sentences(sources)):
        raise DocapsError(f"COMET scored {len(scores)} sentences instead of {count} ({command})")
    return sum(scores) / count


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1]


def meteor_program() -> Path | None:
    """Return the METEOR program that the environment names, if any."""
    program = Path(name) if (name := os.environ.get(METEOR_VARIABLE)) else None
    if program and not program.is_file():
        message = f"{METEOR_VARIABLE} names no file: give the path of meteor-1.5.jar or unset it"
        raise DocapsError(message, path=program)
    return program


def count_with_meteor(
    program: Path, hypotheses: Sequence[str], references: Sequence[str], language: str, paraphrases: Path | None
) -> Table:
    """Return the program's counts, one row per sentence, in the order of `meteor.counts`."""
    if (java := shutil.which("java")) is None:
        what = "is set, but there is no 'java' on the path: install Java or unset"
        raise DocapsError(f"{METEOR_VARIABLE} {what} {METEOR_VARIABLE}")
    sides = {"hypotheses": hypotheses, "references": references}
    with tempfile.TemporaryDirectory() as folder:
        files = [_write_lines(folder, name, (" ".join(text.split()) for text in side)) for name, side in sides.items()]
        command = [java, "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", str(program.resolve()), *files]
        command += ["-l", language, "-norm", "-ssOut", "-m", "exact stem" + (" paraphrase" if paraphrases else "")]
        command += ["-a", str(paraphrases.resolve())] if paraphrases else []
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = [line.split() for line in result.stdout.splitlines()]
    rows = [[float(field) for field in fields] for fields in lines if len(fields) == _METEOR_FIELDS]
    if result.returncode or len(rows) != len(hypotheses):
        said = _last_line(result.stderr or result.stdout)
        raise DocapsError(f"the METEOR program failed: {said or 'no output'}", path=program)
    return _reorder(np.array(rows))


def _reorder(rows: Table) -> Table:
    """Put the program's columns in the order of `meteor.counts`."""
    words, function, chunks, matched_words = rows[:, 0:2], rows[:, 2:4], rows[:, 20], rows[:, 21:23]
    kinds = np.stack([words - function, function], axis=2)  # (rows, sides, kinds)
    matched = rows[:, 4:16].reshape(-1, 3, 2, 2).swapaxes(2, 3)  # (rows, stages, sides, kinds)
    whole = (chunks == 1) & (matched_words == words).all(axis=1)
    return np.column_stack([kinds.reshape(-1, 4), matched.reshape(-1, 12), np.where(whole, 0, chunks), matched_words])
