"""Delivering translations: to stdout as they are made, or to files that appear when they are complete.

While a file is written it is called `NAME.partial`, and `OUT.journal.json` beside the output notes how far it is, after
each window of sentences. A translation that was stopped, or killed, goes on from there: the windows are the same as if
nothing had happened, and so is every byte of the result.
"""

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol, runtime_checkable

from docaps.errors import DocapsError
from docaps.files import naming, read_json, write_json
from docaps.interruption import shielded


@runtime_checkable
class Sink(Protocol):
    """A place for text."""

    muted: bool
    """Whether the text that comes is there already."""

    def begin(self, name: str) -> None:
        """Go to the file of this name."""

    def write(self, text: str) -> None:
        """Take text."""

    def commit(self, windows: int) -> None:
        """Note that so many windows are written."""

    def end(self) -> None:
        """Complete the file."""


class Stream:
    """An open stream such as stdout, in UTF-8 whatever the locale."""

    muted = False

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._file = file

    def begin(self, name: str) -> None:
        """Go on: a stream has no files."""

    def write(self, text: str) -> None:
        """Write a piece of text whole."""
        with shielded():
            self._file.write(encode(text))

    def commit(self, windows: int) -> None:  # noqa: ARG002
        """Let the reader see what is there."""
        self._file.flush()

    def end(self) -> None:
        """Let the reader see the last of it."""
        self._file.flush()


class Journal:
    """What was asked for, how many windows of it are written, and how large the unfinished file was then."""

    def __init__(self, out: Path, request: Mapping[str, Any]) -> None:
        self.path = journal_path(out)
        self._request = dict(request)
        self.windows, self.name, self.size = 0, "", 0

    def load(self) -> None:
        """Take up the work where it was left; refuse work that was begun in another way."""
        found = read_json(self.path, error=DocapsError)
        try:
            request, self.windows, self.name, self.size = (found[key] for key in ("request", "windows", "name", "size"))
        except (KeyError, TypeError):
            raise DocapsError("not a journal of docaps translate: remove it", path=self.path) from None
        others = [key for key in self._request if request.get(key) != self._request[key]]
        if others:
            message = f"the translation was begun with other {' and '.join(others)}: --overwrite starts it over"
            raise DocapsError(message, path=self.path)

    def note(self, windows: int, name: str, size: int) -> None:
        """Write down how far the work is."""
        progress = {"windows": windows, "name": name, "size": size}
        write_json(self.path, {**progress, "request": self._request})


class Files:
    """A file, or a directory of files, each complete under its name or unfinished as `NAME.partial`."""

    def __init__(self, out: Path, journal: Journal, *, directory: bool) -> None:
        self.muted = False
        self._out = out
        self._journal = journal
        self._directory = directory
        self._name = ""
        self._file: BinaryIO | None = None
        self._kept = journal.windows > 0

    @property
    def _path(self) -> Path:
        return self._out / self._name if self._directory else self._out

    def begin(self, name: str) -> None:
        """Go to the file of this name."""
        self._name = name

    def write(self, text: str) -> None:
        """Append text to the unfinished file."""
        if not self.muted:
            with naming(self._path):
                self._opened().write(encode(text))

    def commit(self, windows: int) -> None:
        """Note what is written, once it is on the disk."""
        if self.muted:
            return
        with shielded(), naming(self._path):
            file = self._opened()
            file.flush()
            os.fsync(file.fileno())
            self._journal.note(windows, self._name, file.tell())
            self._kept = True

    def end(self) -> None:
        """Give the file its name, if it is complete now and was not before."""
        if self._file is None and (self.muted or self._journal.name != self._name):
            return
        with shielded(), naming(self._path):
            self._opened().close()
            self._file = None
            partial(self._path).replace(self._path)
            self._kept = True

    def finish(self) -> None:
        """Remove the journal: all is done."""
        self._journal.path.unlink(missing_ok=True)

    def abandon(self) -> None:
        """Leave no trace of work that failed before there was anything to keep."""
        if not self._kept:
            self.close()
            partial(self._path).unlink(missing_ok=True)
            self.finish()

    def close(self) -> None:
        """Let go of an unfinished file."""
        if self._file is not None:
            self._file.close()

    def _opened(self) -> BinaryIO:
        """Open the unfinished file: empty, or as it was when the journal last noted it."""
        if self._file is None:
            place = partial(self._path)
            place.parent.mkdir(parents=True, exist_ok=True)
            goes_on = self._journal.windows > 0 and self._journal.name == self._name
            if goes_on:
                _restore(self._path, self._journal.size)
            self._file = place.open("r+b" if goes_on else "wb")
            self._file.seek(0, os.SEEK_END)
            self._journal.name = "" if goes_on else self._journal.name
        return self._file


def _restore(path: Path, size: int) -> None:
    """Bring back an unfinished file of a known size, from itself or from the finished one it had become."""
    place = partial(path)
    if not place.exists() and path.exists():
        place.write_bytes(path.read_bytes())
    if not place.exists() or place.stat().st_size < size:
        raise DocapsError("is not what the journal says: --overwrite starts the translation over", path=place)
    os.truncate(place, size)


def partial(path: Path) -> Path:
    """Return what a file is called until it is complete."""
    return path.with_name(path.name + ".partial")


def journal_path(out: Path) -> Path:
    """Return where the journal of an output is."""
    return out.parent / f"{out.name}.journal.json"


def encode(text: str) -> bytes:
    """Write text as UTF-8; what no text can hold, as from the name of a file, is spelt out."""
    return text.encode("utf-8", errors="backslashreplace")
