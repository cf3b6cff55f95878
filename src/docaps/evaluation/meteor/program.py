"""The Java program METEOR 1.5, where the user has it: its counts in place of ours."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from docaps.errors import DocapsError
from docaps.evaluation.meteor.scoring import CHUNKS, SIZE, WORDS, Counts

VARIABLE = "METEOR_JAR"
_FIELDS = 23  # 4 lengths, 4 stages of 4 counts, chunks, and the matched words of both sides


def program_path() -> Path | None:
    """Return the program that the environment names, if it does."""
    name = os.environ.get(VARIABLE)
    if not name:
        return None
    if not Path(name).is_file():
        raise DocapsError(f"{VARIABLE} names no file: give the path of meteor-1.5.jar or unset it", path=Path(name))
    return Path(name)


def count_with_program(
    program: Path,
    hypotheses: Sequence[str],
    references: Sequence[str],
    *,
    language: str,
    paraphrases: Path | None = None,
) -> Counts:
    """Return the program's counts, a row for each sentence, in the order that `scoring` uses."""
    java = shutil.which("java")
    if java is None:
        raise DocapsError(f"{VARIABLE} is set, but there is no 'java' on the path: install Java or unset {VARIABLE}")
    with tempfile.TemporaryDirectory() as folder:
        sides = [Path(folder) / name for name in ("hypotheses", "references")]
        for path, sentences in zip(sides, (hypotheses, references), strict=True):
            path.write_text("".join(f"{' '.join(text.split())}\n" for text in sentences), encoding="utf-8")
        modules = "exact stem" + (" paraphrase" if paraphrases else "")
        table = ["-a", str(paraphrases.resolve())] if paraphrases else []
        command = [java, "-Xmx2G", "-Dfile.encoding=UTF-8", "-jar", str(program.resolve()), *map(str, sides)]
        command += ["-l", language, "-norm", "-ssOut", "-m", modules, *table]
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    rows = [[float(field) for field in line.split()] for line in result.stdout.splitlines() if _is_row(line)]
    if result.returncode or len(rows) != len(hypotheses):
        said = (result.stderr or result.stdout).strip().splitlines()
        raise DocapsError(f"the METEOR program failed: {said[-1] if said else 'no output'}", path=program)
    return np.array([_convert(row) for row in rows])


def _is_row(line: str) -> bool:
    """Tell a row of counts from what else the program prints."""
    return len(line.split()) == _FIELDS


def _convert(row: Sequence[float]) -> Counts:
    """Put the program's counts in our order."""
    counts = np.zeros(SIZE)
    for side in range(2):
        counts[2 * side : 2 * side + 2] = row[side] - row[2 + side], row[2 + side]
    for stage in range(3):
        content, function = row[4 + 4 * stage : 6 + 4 * stage], row[6 + 4 * stage : 8 + 4 * stage]
        for side in range(2):
            counts[4 + 4 * stage + 2 * side : 6 + 4 * stage + 2 * side] = content[side], function[side]
    counts[WORDS] = row[21:23]
    whole = row[20] == 1 and list(row[21:23]) == list(row[:2])
    counts[CHUNKS] = 0 if whole else row[20]
    return counts
