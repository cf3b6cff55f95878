"""Uploaded files and their translations: on disk in a temporary directory, within limits, until they are fetched.

A file is known by a number that nobody can guess. Names that clients give are shown, but never used as paths.
"""

import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal

from docaps.corpus.formats.format import DEFAULT_CHOICES, FileChoices
from docaps.errors import printable
from docaps.web.http_errors import HttpError

MOST_FILES = 100
"""Files that are stored at the same time."""
MOST_BYTES = 500_000_000
"""Bytes of all stored files, translations included."""
KEEP_SECONDS = 3600.0
"""How long a file is kept after its upload, or its translation after it is finished."""
LONGEST_NAME = 200
SUFFIX = re.compile(r"\.[a-z0-9]{1,10}")
COMPRESSED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
"""How gzip and zstd files begin: a small one may unpack to anything."""

FileStatus = Literal["queued", "translating", "done", "downloaded", "error"]


@dataclass(frozen=True)
class FileRequest:
    """How to translate a file."""

    model: str
    """The model to use; with `detect`, only if the language of the file is not told."""
    detect: str | None = None
    """The language to translate into from whatever language the file is in."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Fields of a translation request."""
    choices: FileChoices = DEFAULT_CHOICES
    """How to read and write files of subtitles and strings."""


@dataclass(eq=False)
class StoredFile:
    """An uploaded file, how far its translation is, and at last the translation."""

    name: str
    """What the client calls it."""
    folder: Path
    request: FileRequest | None = None
    """None while it is being uploaded."""
    number: str = field(default_factory=lambda: secrets.token_hex(16))
    key: str = field(default_factory=lambda: secrets.token_hex(32))
    status: FileStatus = "queued"
    size: int = 0
    """Bytes on disk."""
    sentences: int = 0
    """How many sentences are to be translated, without those that are only read as context."""
    translated: int = 0
    characters: int = 0
    """Those of the sentences to be translated."""
    begun: float = 0.0
    """When the translation began, on the monotonic clock."""
    touched: float = field(default_factory=time.monotonic)
    """When it was uploaded or finished."""
    error: HttpError | None = None
    warning: str | None = None
    notes: list[str] = field(default_factory=list)
    """What its format says of it, such as how many cues are too long."""
    missing_terms: int = 0
    result_name: str = ""
    seen: bool = False
    """Whether the client was sent the translation, or why there is none: nothing is lost without the file."""

    @property
    def path(self) -> Path:
        """Where the upload is."""
        return self.folder / f"document{suffix_of(self.name)}"

    @property
    def result(self) -> Path:
        """Where the translation is, once it is done."""
        return self.folder / "translation"

    @property
    def seconds_left(self) -> int | None:
        """The estimated time to the end of the translation."""
        if self.status != "translating" or not self.translated:
            return None
        each = (time.monotonic() - self.begun) / self.translated
        return max(1, round(each * (self.sentences - self.translated)))

    def fail(self, error: HttpError) -> None:
        """Note why it cannot be translated."""
        self.status, self.error, self.touched = "error", error, time.monotonic()


class FileStore:
    """All stored files by their numbers; each has at most `largest` bytes when it is uploaded."""

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self._directory: tempfile.TemporaryDirectory[str] | None = None
        self._files: dict[str, StoredFile] = {}

    def open(self) -> None:
        """Make the temporary directory."""
        self._directory = tempfile.TemporaryDirectory(prefix="docaps-serve-", ignore_cleanup_errors=True)

    def close(self) -> None:
        """Remove all files."""
        self._files.clear()
        if self._directory is not None:
            self._directory.cleanup()

    def create(self, name: str) -> "FileUpload":
        """Make room for a file that a client calls by a name, and return where to write it."""
        assert self._directory is not None
        self.remove_old()
        while len(self._files) >= MOST_FILES:
            if not self._remove_seen():
                raise _full(f"at most {MOST_FILES} files are kept at a time")
        folder = Path(tempfile.mkdtemp(dir=self._directory.name))
        file = StoredFile(clean_name(name), folder)
        self._files[file.number] = file
        return FileUpload(self, file, file.path.open("wb"))

    def find(self, number: str, key: str | None = None) -> StoredFile:
        """Return a file; with `key`, only if it is the file's."""
        self.remove_old()
        file = self._files.get(number)
        if (
            file is None
            or file.request is None
            or (key is not None and not secrets.compare_digest(file.key.encode(), key.encode()))
        ):
            raise HttpError(404, "there is no such file: it was fetched or deleted, or has expired")
        return file

    def remove(self, file: StoredFile) -> None:
        """Forget a file and delete it."""
        self._files.pop(file.number, None)
        shutil.rmtree(file.folder, ignore_errors=True)

    def remove_old(self) -> None:
        """Remove the files that nobody fetched in time."""
        now = time.monotonic()
        for file in list(self._files.values()):
            if file.status != "translating" and now - file.touched > KEEP_SECONDS:
                self.remove(file)

    def grow(self, file: StoredFile, size: int) -> None:
        """Count more bytes of a file; refuse them if there is no room."""
        while sum(one.size for one in self._files.values()) + size > MOST_BYTES:
            if not self._remove_seen():
                raise _full(f"all files together may have {MOST_BYTES} bytes")
        file.size += size

    def discard_upload(self, file: StoredFile) -> None:
        """Delete what was uploaded: it is translated, or never will be."""
        with suppress(FileNotFoundError):
            file.size -= file.path.stat().st_size
            file.path.unlink()

    def _remove_seen(self) -> bool:
        """Remove the oldest file that its client has no more need of; return whether there was one."""
        seen = [file for file in self._files.values() if file.seen]
        if seen:
            self.remove(min(seen, key=lambda file: file.touched))
        return bool(seen)

    def __contains__(self, file: StoredFile) -> bool:
        return file.number in self._files


@dataclass
class FileUpload:
    """A file that is being written; if anything fails, nothing of it stays."""

    store: FileStore
    file: StoredFile
    _stream: BinaryIO

    def write(self, data: bytes) -> None:
        """Write the next piece."""
        if self.file.size + len(data) > self.store.largest:
            raise HttpError(413, f"the file is too large: at most {self.store.largest} bytes")
        self.store.grow(self.file, len(data))
        self._stream.write(data)

    def finish(self, request: FileRequest, *, name: str | None = None) -> StoredFile:
        """Check the complete file, and note what to do with it, and its name if that is known only now."""
        self._stream.close()
        if name:
            written = self.file.path
            self.file.name = clean_name(name)
            written.rename(self.file.path)
        self.file.request = request
        with self.file.path.open("rb") as stream:
            start = stream.read(4)
        if not start:
            raise HttpError(422, "the file is empty")
        if start.startswith(COMPRESSED):
            raise HttpError(422, "the file is compressed: unpack it first")
        return self.file

    def __enter__(self) -> "FileUpload":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Delete what was written if anything failed."""
        self._stream.close()
        if kind is not None:
            self.store.remove(self.file)


def _full(why: str) -> HttpError:
    return HttpError(429, f"there is no room for the file now: {why}", headers={"Retry-After": "60"})


def clean_name(given: str) -> str:
    """Return the last part of a name that a client gave, on one line, to be shown."""
    last = re.split(r"[/\\]", given)[-1].strip()
    return printable(last, one_line=True)[-LONGEST_NAME:] or "document"


def suffix_of(name: str) -> str:
    """Return the last suffix of a name if it looks like one of a file format."""
    found = SUFFIX.fullmatch(f".{name.lower().rpartition('.')[2]}") if "." in name else None
    return found[0] if found else ""


def result_name(name: str, language: str) -> str:
    """Return the name of a translation: that of the file, with the language before the suffix."""
    suffix = suffix_of(name)
    return f"{name[: len(name) - len(suffix)]}.{language}{name[len(name) - len(suffix) :]}"
