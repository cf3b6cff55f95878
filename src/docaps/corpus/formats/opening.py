"""Opening text: files and stdin, plain or compressed, as lines of decoded text.

A line may be long (a JSON document, a paragraph), but not endless: beyond `LONGEST_LINE` a file without line ends would
be held in memory whole, and it is no text file. A sentence is shorter: one of a megabyte is a fault of the file, and
would keep the learning of subwords busy for hours.
"""

import contextlib
import io
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from docaps.corpus.formats.arrival import Arrival
from docaps.corpus.formats.compression import DamageError, name_content, read_line, unpack
from docaps.errors import CorpusError

STDIN = Path("-")
LONGEST_LINE = 16 * 2**20  # bytes
LONGEST_SENTENCE = 20_000  # characters


def read_lines(path: Path) -> Iterator[str]:
    """Go through the lines of a text file, plain or compressed, without line ends and surrounding space."""
    return map(one_line, read_raw_lines(path))


def one_line(text: str) -> str:
    """Put single spaces for all white space, so that a sentence is one line."""
    return " ".join(text.split())


def check_lengths(lines: Iterable[str], path: Path) -> Iterator[str]:
    """Hand on lines that are a sentence each, and refuse one that is too long to be one."""
    for number, line in enumerate(lines, start=1):
        if len(line) > LONGEST_SENTENCE:
            raise too_long(line, path, number)
        yield line


def too_long(text: str, path: Path, line: int) -> CorpusError:
    """Say that a text is too long for a sentence."""
    message = f"a sentence of {len(text):,} characters, expected at most {LONGEST_SENTENCE:,}: split or remove it"
    return CorpusError(f"{message} (running text: name the format 'text')", path=path, line=line)


def read_raw_lines(path: Path, arrival: Arrival | None = None) -> Iterator[str]:
    """Go through the lines of a text file as they stand there, without their line ends.

    Pauses of stdin are noticed by `arrival`.
    """
    with _open(path, arrival) as file:
        number = 1
        while line := _read_line(file, path, number):
            yield _decode(line, path, number)
            number += 1


@contextlib.contextmanager
def _open(path: Path, arrival: Arrival | None) -> Iterator[BinaryIO]:
    """Open a file, or stdin (which stays open), for reading bytes."""
    if path == STDIN:
        with _open_stdin(arrival) as stdin:
            unpacked = _unpack(stdin, path)
            if arrival and unpacked is not stdin:
                arrival.disregard()
            yield unpacked
        return
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise CorpusError("no such file", path=path) from None
    except OSError as fault:
        raise CorpusError(f"cannot be opened: {fault.strerror}", path=path) from None
    with file:
        yield _unpack(file, path)


def _unpack(file: io.BufferedReader, path: Path) -> BinaryIO:
    """Unpack a file if it is compressed, and refuse one that holds no text."""
    try:
        unpacked = unpack(file)
        found = name_content(unpacked)
    except DamageError as fault:
        raise _damaged(fault, path, 1) from None
    if found:
        raise CorpusError(f"this is {found}, not a text file: unpack or convert it first", path=path)
    return unpacked


def _damaged(fault: DamageError, path: Path, line: int) -> CorpusError:
    """Say that a compressed file cannot be unpacked from some line on."""
    return CorpusError(f"the compressed file is damaged: {fault}. Get or compress it again", path=path, line=line)


@contextlib.contextmanager
def _open_stdin(arrival: Arrival | None) -> Iterator[io.BufferedReader]:
    """Give stdin in a form whose first bytes can be looked at."""
    if sys.stdin is None:
        raise CorpusError("stdin is closed", path=STDIN)
    if arrival and isinstance(sys.stdin.buffer, io.BufferedReader):
        yield arrival.open(sys.stdin.fileno())
        return
    if isinstance(sys.stdin.buffer, io.BufferedReader):
        yield sys.stdin.buffer
        return
    reader: io.BufferedReader = io.BufferedReader(cast(Any, sys.stdin.buffer))
    try:
        yield reader
    finally:
        with contextlib.suppress(ValueError):  # stdin is closed already
            reader.detach()


def _read_line(file: BinaryIO, path: Path, number: int) -> bytes:
    """Read one line, or say why it cannot be read."""
    try:
        line = read_line(file, LONGEST_LINE + 1)
    except DamageError as fault:
        raise _damaged(fault, path, number) from None
    except OSError as fault:
        raise CorpusError(f"cannot be read: {fault.strerror}", path=path, line=number) from None
    if len(line) > LONGEST_LINE:
        message = f"a line of more than {LONGEST_LINE:,} bytes: expected a text file with line ends"
        raise CorpusError(message, path=path, line=number)
    return line


def _decode(line: bytes, path: Path, number: int) -> str:
    """Turn one line into text, or say why it is none."""
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as fault:
        raise CorpusError(
            f"not UTF-8 at byte {fault.start + 1} of the line (0x{line[fault.start]:02x}): convert it to UTF-8 first",
            path=path,
            line=number,
        ) from None
    if "\0" in text:
        raise CorpusError("the line holds a NUL byte: remove it, or give a text file", path=path, line=number)
    text = text.removesuffix("\r\n") if text.endswith("\n") else text.removesuffix("\r")
    if number == 1 and "\r" in text and not line.endswith(b"\n"):
        raise CorpusError("its lines end in CR alone: convert them to LF first", path=path, line=number)
    return text.removesuffix("\n")
