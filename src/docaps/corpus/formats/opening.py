"""Opening text: files and stdin, plain or compressed, as lines of decoded text.

A line may be long (a JSON document, a paragraph), but not endless: beyond `LONGEST_LINE` a file without line ends would
be held in memory whole, and it is no text file.
"""

import contextlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from docaps.corpus.formats.compression import DamageError, read_line, unpack
from docaps.errors import CorpusError

STDIN = Path("-")
LONGEST_LINE = 16 * 2**20


def read_lines(path: Path) -> Iterator[str]:
    """Go through the lines of a text file, plain or compressed, without line ends and surrounding space."""
    return map(one_line, read_raw_lines(path))


def one_line(text: str) -> str:
    """Put single spaces for all white space, so that a sentence is one line."""
    return " ".join(text.split())


def read_raw_lines(path: Path) -> Iterator[str]:
    """Go through the lines of a text file as they stand there, without their line ends."""
    with _open(path) as file:
        number = 1
        while line := _read_line(file, path, number):
            yield _decode(line, path, number)
            number += 1


@contextlib.contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    """Open a file, or stdin (which stays open), for reading bytes."""
    if path == STDIN:
        with _open_stdin() as stdin:
            yield unpack(stdin)
        return
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise CorpusError("no such file", path=path) from None
    except OSError as fault:
        raise CorpusError(f"cannot be opened: {fault.strerror}", path=path) from None
    with file:
        yield unpack(file)


@contextlib.contextmanager
def _open_stdin() -> Iterator[io.BufferedReader]:
    """Give stdin in a form whose first bytes can be looked at."""
    if sys.stdin is None:
        raise CorpusError("stdin is closed", path=STDIN)
    if isinstance(sys.stdin.buffer, io.BufferedReader):
        yield sys.stdin.buffer
        return
    reader: io.BufferedReader = io.BufferedReader(cast(Any, sys.stdin.buffer))
    try:
        yield reader
    finally:
        reader.detach()


def _read_line(file: BinaryIO, path: Path, number: int) -> bytes:
    """Read one line, or say why it cannot be read."""
    try:
        line = read_line(file, LONGEST_LINE + 1)
    except DamageError as fault:
        raise CorpusError(
            f"the compressed file is damaged: {fault}. Get or compress it again", path=path, line=number
        ) from None
    except OSError as fault:
        raise CorpusError(f"cannot be read: {fault.strerror}", path=path, line=number) from None
    if len(line) > LONGEST_LINE:
        message = f"a line of more than {LONGEST_LINE:,} bytes: expected a text file with line ends"
        raise CorpusError(message, path=path, line=number)
    return line


def _decode(line: bytes, path: Path, number: int) -> str:
    """Turn one line into text, or say where it is not UTF-8."""
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as fault:
        raise CorpusError(
            f"not UTF-8 at byte {fault.start + 1} of the line (0x{line[fault.start]:02x}): convert the file first",
            path=path,
            line=number,
        ) from None
    if "\0" in text:
        raise CorpusError("the line holds a NUL byte: this is no text file", path=path, line=number)
    return text.removesuffix("\n").removesuffix("\r")
