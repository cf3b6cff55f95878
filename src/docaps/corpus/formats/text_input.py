"""Text input: files and stdin, plain or compressed (gzip, zstd), as lines of decoded text.

A line may be long (a JSON document, a paragraph), but not endless: beyond `LONGEST_LINE` a file without line ends would
be held in memory whole, and it is not a text file. A sentence is shorter: one of a megabyte is an error in the file,
and learning subwords on it would take hours. An endless document on stdin is yielded in parts, early if its next line
is slow to arrive (see `Arrival`).
"""

import contextlib
import gzip
import io
import os
import select
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from docaps.errors import CorpusError

STDIN = Path("-")
"""The path that stands for stdin."""
LONGEST_LINE = 16 * 2**20  # bytes
LONGEST_SENTENCE = 20_000  # characters
SPLIT_IT = "split or remove it (running text: name the format 'text')"
PAUSE_SECONDS = 0.5
READ_SIZE = 4096  # compressed bytes at a time: even the densest unpack to some 100 MB

GZIP_MAGIC = b"\x1f\x8b"
ZSTANDARD_MAGIC = b"\x28\xb5\x2f\xfd"
DAMAGED_GZIP = (EOFError, gzip.BadGzipFile, zlib.error)
FOREIGN = {
    GZIP_MAGIC: "compressed twice",
    ZSTANDARD_MAGIC: "compressed twice",
    b"PK\x03\x04": "a zip archive",
    b"PK\x05\x06": "an empty zip archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Office file (.doc, .xls, .ppt) or an encrypted one",
    b"{\\rtf": "RTF",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\xfd7zXZ\0": "an xz file",
    b"BZh91AY&SY": "a bzip2 file",
    b"%PDF-": "a PDF",
}
TAR_MAGIC, TAR_START, TAR_END = b"ustar", 257, 262


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file, plain or compressed, without line ends and surrounding space."""
    return map(one_line, read_raw_lines(path))


def one_line(text: str) -> str:
    """Replace all white space by single spaces, so that a sentence is one line."""
    return " ".join(text.split())


def check_lengths(lines: Iterable[str], path: Path) -> Iterator[str]:
    """Pass on lines of one sentence each; refuse one that is too long for a sentence."""
    for number, line in enumerate(lines, start=1):
        check_length(line, path, number)
        yield line


def check_length(text: str, path: Path, line: int, advice: str = SPLIT_IT) -> None:
    """Refuse a text that is too long for a sentence."""
    if len(text) > LONGEST_SENTENCE:
        found = f"a sentence of {len(text):,} characters, expected at most {LONGEST_SENTENCE:,}"
        raise CorpusError(f"{found}: {advice}", path=path, line=line)


class DamageError(Exception):
    """Compressed data that cannot be decompressed."""


class _ZstandardFile(io.RawIOBase):
    """Decompress zstd frames one after another; a file that ends within a frame is damaged, as in gzip."""

    def __init__(self, file: io.BufferedReader) -> None:
        import zstandard

        self._file = file
        self._error = zstandard.ZstdError
        self._decompressor = zstandard.ZstdDecompressor()
        self._frame = self._decompressor.decompressobj()
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """Read decompressed bytes into `buffer`; 0 is the end."""
        while not self._ready:
            packed = self._frame.unused_data or self._file.read1(READ_SIZE)
            if not packed and self._frame.eof:
                return 0
            if not packed:
                raise DamageError("it ends too early")
            if self._frame.eof:
                self._frame = self._decompressor.decompressobj()
            try:
                self._ready = self._frame.decompress(packed)
            except self._error as fault:
                raise DamageError(str(fault)) from None
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


def unpack(file: io.BufferedReader) -> BinaryIO:
    """Return a decompressing reader if the first bytes say that the file is compressed, else the file."""
    start = file.peek(4)[:4]
    if start[:2] == GZIP_MAGIC:
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    if start == ZSTANDARD_MAGIC:
        return io.BufferedReader(_ZstandardFile(file), 1 << 16)
    return file


def read_text_file(path: Path) -> str:
    """Read a whole UTF-8 file, plain or compressed, that may be one long line."""
    try:
        with path.open("rb") as file:
            content = unpack(file).read()
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        raise CorpusError("no such file", path=path) from None
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        raise CorpusError("not UTF-8: convert the file to UTF-8 first", path=path, line=line) from None
    except (*DAMAGED_GZIP, DamageError) as fault:
        raise _damaged(fault, path) from None
    except OSError as fault:
        raise CorpusError(f"cannot be read: {fault.strerror}", path=path) from None


def _damaged(fault: Exception, path: Path, line: int | None = None) -> CorpusError:
    """Return the error for a compressed file that is damaged."""
    return CorpusError(f"the compressed file is damaged: {fault}. Get or compress it again", path=path, line=line)


class _DescriptorInput(io.RawIOBase):
    """A file descriptor as a raw file, with an optional time limit for a read."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.timeout: float | None = None
        self.ended = self.paused = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int | None:  # type: ignore[override]
        """Read bytes into `buffer`; 0 is the end, None means that nothing arrived in time."""
        if self.timeout is not None and not select.select([self._descriptor], [], [], self.timeout)[0]:
            self.paused = True
            return None
        data = os.read(self._descriptor, len(buffer))
        buffer[: len(data)] = data
        self.paused, self.ended = False, not data
        return len(data)


class Arrival:
    """Decides when to yield a part of a document: it has `most` sentences, or the first has waited for `seconds`."""

    def __init__(self, most: int, seconds: float = PAUSE_SECONDS) -> None:
        self.most = most
        self._seconds = seconds
        self._watched = True
        self._input: _DescriptorInput | None = None
        self._reader: io.BufferedReader | None = None
        self._since: float | None = None
        self._held = 0

    def grow(self, limit: int) -> None:
        """Double the size of parts, up to a limit: the first part comes soon, later ones are large."""
        self.most = min(2 * self.most, limit)

    def open(self, descriptor: int) -> io.BufferedReader:
        """Return a reader of a file descriptor, such as stdin, whose pauses are noticed."""
        self._input = _DescriptorInput(descriptor)
        self._reader = io.BufferedReader(self._input, 1 << 16)
        return self._reader

    def disregard(self) -> None:
        """Ignore pauses: no reader is waiting, or the input is compressed and arrives in blocks."""
        self._watched = False

    def replay(self, sample: Sequence[str], lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines taken for detection, then the others."""
        for number, line in enumerate(sample, start=1):
            self._held = len(sample) - number
            yield line
        yield from lines

    def enough(self, sentences: int) -> bool:
        """Return whether a part of so many sentences should be yielded now."""
        if sentences < self.most and self._more():
            return False
        self._since = None
        return True

    def _more(self) -> bool:
        """Return whether another line is available, or arrives before the first sentence has waited too long."""
        if not self._watched or self._held or self._reader is None or self._input is None or self._input.ended:
            return True
        if self._input.paused:
            return False
        if self._since is None:
            self._since = time.monotonic()
        self._input.timeout = max(0.0, self._since + self._seconds - time.monotonic())
        try:
            return bool(self._reader.peek(1)) or self._input.ended
        finally:
            self._input.timeout = None


WHOLE = Arrival(1 << 62)
"""For documents that are yielded whole, however long."""


def read_raw_lines(path: Path, arrival: Arrival | None = None) -> Iterator[str]:
    """Yield the lines of a text file without their line ends; `arrival` notices pauses of stdin."""
    with open_input(path, arrival) as file:
        yield from file.lines()


class InputFile:
    """An open file, decompressed, whose first bytes can be looked at before it is read, as lines or whole."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self._start: list[bytes] = []

    def peek(self, size: int) -> bytes:
        """Return the first bytes; fewer if the file has no more, or if its first line is clear."""
        held, worded = 0, False
        while held < size and (line := self._read_line(size - held, 1)):
            self._start.append(line)
            held += len(line)
            if not worded and (first := line.strip()):
                worded = True
                if first == b"<d>" or (first[:1] in (b"{", b"[") and (b'"source"' in first or b'"target"' in first)):
                    break  # documents line by line: there may be no more for some time
        return b"".join(self._start)

    def read(self, limit: int) -> bytes:
        """Return all bytes; refuse more than a limit."""
        content, self._start = b"".join(self._start), []
        with _naming_faults(self._path):
            content += self._file.read(max(0, limit + 1 - len(content)))
        if len(content) > limit:
            message = f"more than {limit:,} bytes, the limit for a file that is read whole: split it"
            raise CorpusError(message, path=self._path)
        return content

    def lines(self) -> Iterator[str]:
        """Yield the lines without their line ends; refuse a file that is not text."""
        self._check_text()
        held, self._start = self._start[::-1], []
        number = 1
        while line := held.pop() if held else self._read_line(LONGEST_LINE + 1, number):
            if not held and not line.endswith(b"\n"):  # the end of the first bytes, or of the file
                line += self._read_line(LONGEST_LINE + 1 - len(line), number)
            if len(line) > LONGEST_LINE:
                message = f"a line of more than {LONGEST_LINE:,} bytes: expected a text file with line ends"
                raise CorpusError(message, path=self._path, line=number)
            yield _decode(line, self._path, number)
            number += 1

    def _check_text(self) -> None:
        """Refuse a file whose first bytes are not text."""
        with _naming_faults(self._path, 1):
            start = b"".join(self._start) or cast(io.BufferedReader, self._file).peek(TAR_END)
        if found := describe_foreign(start):
            message = f"this is {found}, not a text file: unpack or convert it first"
            raise CorpusError(message, path=self._path)

    def _read_line(self, limit: int, number: int) -> bytes:
        """Read a line, or as much of it as allowed."""
        with _naming_faults(self._path, number):
            return self._file.readline(limit) if limit else b""


def describe_foreign(start: bytes) -> str | None:
    """Say what a file is whose first bytes are not text; None if they may be."""
    tar = "a tar archive" if start[TAR_START:TAR_END] == TAR_MAGIC else None
    return next((name for magic, name in FOREIGN.items() if start.startswith(magic)), tar)


@contextlib.contextmanager
def _naming_faults(path: Path, line: int | None = None) -> Iterator[None]:
    """Report faults of reading as those of a file."""
    try:
        yield
    except (*DAMAGED_GZIP, DamageError) as fault:
        raise _damaged(fault, path, line) from None
    except OSError as fault:  # such as for /proc/self/mem
        raise CorpusError(f"cannot be read: {fault.strerror}", path=path) from None


@contextlib.contextmanager
def open_input(path: Path, arrival: Arrival | None = None) -> Iterator[InputFile]:
    """Open a file, or stdin (which stays open), for reading; it is decompressed if needed."""
    if path == STDIN:
        with _open_stdin(arrival) as stdin:
            with _naming_faults(path, 1):
                unpacked = unpack(stdin)
            if arrival and unpacked is not stdin:
                arrival.disregard()
            yield InputFile(unpacked, path)
        return
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise CorpusError("no such file", path=path) from None
    except OSError as fault:
        raise CorpusError(f"cannot be opened: {fault.strerror}", path=path) from None
    with file:
        with _naming_faults(path, 1):
            unpacked = unpack(file)
        yield InputFile(unpacked, path)


@contextlib.contextmanager
def _open_stdin(arrival: Arrival | None) -> Iterator[io.BufferedReader]:
    """Yield stdin as a reader whose first bytes can be peeked at."""
    if sys.stdin is None:
        raise CorpusError("stdin is closed", path=STDIN)
    if isinstance(sys.stdin.buffer, io.BufferedReader):
        yield arrival.open(sys.stdin.fileno()) if arrival else sys.stdin.buffer
        return
    reader: io.BufferedReader = io.BufferedReader(cast(Any, sys.stdin.buffer))
    try:
        yield reader
    finally:
        with contextlib.suppress(ValueError):  # stdin is closed already
            reader.detach()


def _decode(line: bytes, path: Path, number: int) -> str:
    """Decode one line and remove its line end."""
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as fault:
        found = f"not UTF-8 at byte {fault.start + 1} of the line (0x{line[fault.start]:02x})"
        raise CorpusError(f"{found}: convert it to UTF-8 first", path=path, line=number) from None
    if "\0" in text:
        raise CorpusError("the line holds a NUL byte: remove it, or give a text file", path=path, line=number)
    text = text.removesuffix("\r\n") if text.endswith("\n") else text.removesuffix("\r")
    if number == 1 and "\r" in text and not line.endswith(b"\n"):
        raise CorpusError("its lines end in CR alone: convert them to LF first", path=path, line=number)
    return text.removesuffix("\n")
