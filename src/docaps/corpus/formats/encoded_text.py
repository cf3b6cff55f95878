"""The text of a file with its encoding: UTF-8, UTF-16 with a byte-order mark, or the one that the user names.

Decoding and encoding again give the same bytes, so that a format may replace spans of the text and leave all other
bytes as they were.
"""

import codecs
import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from docaps.corpus.formats.format import ReadingOptions

MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
LINE_END = re.compile(r"\r\n|\r|\n")

Replacement = tuple[int, int, str]
"""Start and end of a span of a text, and the text to put there."""


@dataclass(frozen=True)
class EncodedText:
    """A decoded text, the byte-order mark before it and its encoding."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(found.end() for found in LINE_END.finditer(self.text))]

    @property
    def line_end(self) -> str:
        """The first line end of the file."""
        found = LINE_END.search(self.text)
        return found[0] if found else "\n"

    def line_of(self, position: int) -> int:
        """Return the number of the line a character is on."""
        return bisect_right(self._line_starts, position)

    def replace(self, replacements: Iterable[Replacement]) -> bytes:
        """Return the bytes of the file with spans replaced, given in order; all other bytes stay as they are."""
        parts, done = list[str](), 0
        for start, end, new in replacements:
            if start < done:
                raise ValueError(f"the span that begins at {start} overlaps the one before it, which ends at {done}")
            parts += self.text[done:start], new
            done = end
        return self.encode("".join([*parts, self.text[done:]]))

    def encode(self, text: str) -> bytes:
        """Encode a text as the file is encoded; as UTF-8 with a mark if that encoding lacks one of its characters."""
        try:
            return self.mark + text.encode(self.encoding)
        except UnicodeEncodeError:
            return codecs.BOM_UTF8 + text.encode("utf-8")


def decode(content: bytes, options: ReadingOptions, encoding: str | None = None, *, remedy: str = "") -> EncodedText:
    """Decode a file; by its byte-order mark, else in the named encoding, else as UTF-8."""
    mark = next((mark for mark in MARKS if content.startswith(mark)), b"")
    name = MARKS[mark] if mark else encoding or "utf-8"
    try:
        text = content[len(mark) :].decode(name)
        is_kept = mark + text.encode(name) == content
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start + len(mark)) + 1
        found = f"not {name.upper()}: byte 0x{content[fault.start + len(mark)]:02x}"
        raise options.fault(f"{found}; {remedy or 'convert the file to UTF-8 first'}", line) from None
    except (LookupError, UnicodeError):
        raise options.fault(f"'{name}' is no encoding of text files: convert the file to UTF-8 first") from None
    if not is_kept:
        raise options.fault(f"{name.upper()} with a state, which is not read: convert the file to UTF-8 first")
    if (position := text.find("\0")) >= 0:
        line = text.count("\n", 0, position) + 1
        raise options.fault("the line holds a NUL character: remove it, or give a text file", line)
    return EncodedText(text, name, mark)


def is_encoding(name: str) -> bool:
    """Return whether Python knows an encoding of text by this name."""
    try:
        "".encode(name)
    except (LookupError, ValueError):  # such as a name with a NUL
        return False
    return True


def decode_start(start: bytes) -> str:
    """Decode the first bytes of a file, to look at them only."""
    mark = next((mark for mark in MARKS if start.startswith(mark)), b"")
    return start[len(mark) :].decode(MARKS.get(mark, "utf-8"), errors="replace")
