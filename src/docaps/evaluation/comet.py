"""COMET, from an environment of its own: docaps calls its command and reads what it writes."""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from docaps.corpus.documents import Document, all_sentences
from docaps.errors import DocapsError

COMMAND = "comet-score"
SETUP = "set it up with: python3 -m venv comet && comet/bin/pip install unbabel-comet, then --comet comet/bin/python"


def find_comet(wish: str) -> str:
    """Return the COMET command: the one that was named, or the one beside a Python that was named."""
    found = shutil.which(wish)
    if found and Path(wish).name.startswith("python"):
        found = shutil.which(str(Path(found).parent / COMMAND))
    if not found:
        raise DocapsError(f"no COMET in '{wish}' (expected the command {COMMAND} or a Python beside it): {SETUP}")
    return found


def comet_score(
    command: str, sources: Sequence[Document], hypotheses: Sequence[Document], references: Sequence[Document]
) -> float:
    """Return COMET's mean over all sentences."""
    count = sum(1 for _ in all_sentences(sources))
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / name for name in ("source", "translation", "reference")}
        for path, side in zip(paths.values(), (sources, hypotheses, references), strict=True):
            path.write_text("".join(f"{sentence}\n" for sentence in all_sentences(side)), encoding="utf-8")
        out = Path(folder) / "scores.json"
        files = ["-s", paths["source"], "-t", paths["translation"], "-r", paths["reference"], "--to_json", out]
        result = subprocess.run(
            [command, *map(str, files), "--quiet"], capture_output=True, text=True, check=False, cwd=folder
        )
        if result.returncode or not out.exists():
            said = result.stderr.strip().splitlines()
            raise DocapsError(f"COMET failed ({command}): {said[-1] if said else 'no message'}")
        return _mean(out, count, command)


def _mean(path: Path, count: int, command: str) -> float:
    """Average the scores of sentences that COMET wrote."""
    try:
        (rows,) = json.loads(path.read_text(encoding="utf-8")).values()
        scores = [float(row["COMET"]) for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise DocapsError(f"COMET wrote what docaps cannot read ({command}): {fault}") from None
    if len(scores) != count:
        raise DocapsError(f"COMET scored {len(scores)} sentences instead of {count} ({command})")
    return sum(scores) / count
