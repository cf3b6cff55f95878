"""Spooling: what can be read only once (stdin, a pipe) is copied to a file, since preparation reads twice."""

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from docaps.corpus.formats import STDIN
from docaps.errors import CorpusError

Pair = tuple[Path, Path]


@contextlib.contextmanager
def spooled(parts: Mapping[str, Pair]) -> Iterator[dict[str, Pair]]:
    """Give parts whose files can be read twice, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="docaps-") as folder:
        paths = dict.fromkeys(path for pair in parts.values() for path in pair)  # a pipe given twice is read once
        found = {path: _spool(path, Path(folder)) for path in paths}
        yield {name: (found[one], found[other]) for name, (one, other) in parts.items()}


def _spool(path: Path, folder: Path) -> Path:
    """Copy a pipe or stdin to a file of its own; anything else stays where it is."""
    if path != STDIN and (path.is_file() or path.is_dir() or not path.exists()):
        return path
    place = Path(tempfile.mkdtemp(dir=folder)) / ("stdin" if path == STDIN else path.name)
    try:
        with place.open("wb") as file, _open(path) as pipe:
            shutil.copyfileobj(pipe, file)
    except OSError as fault:
        raise CorpusError(f"cannot be copied to {place}: {fault.strerror}", path=path) from None
    return place


def _open(path: Path) -> contextlib.AbstractContextManager[BinaryIO]:
    """Open a pipe, or stdin, which stays open."""
    if path != STDIN:
        return path.open("rb")
    if sys.stdin is None:
        raise CorpusError("stdin is closed", path=path)
    return contextlib.nullcontext(sys.stdin.buffer)
