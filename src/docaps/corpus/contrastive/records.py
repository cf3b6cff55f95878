"""Records of JSON with their place: every fault is told with the file, the line, and what was found."""

import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docaps.corpus.contrastive.lines import check_length
from docaps.corpus.formats.compression import DamageError, unpack
from docaps.corpus.formats.interface import NO_TEXT, shorten
from docaps.corpus.formats.opening import one_line
from docaps.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Record:
    """A JSON object, and the line on which it begins."""

    values: dict[str, Any]
    path: Path
    line: int

    def fault(self, message: str) -> CorpusError:
        """Say what is wrong with the record."""
        return CorpusError(message, path=self.path, line=self.line)

    def has(self, name: str) -> bool:
        """Say whether a field is there; null is as good as nothing."""
        return self.values.get(name) is not None

    def text(self, name: str) -> str:
        """Return a field that must be a string."""
        return self._string(self._need(name), name)

    def sentence(self, name: str) -> str:
        """Return a field that must be a sentence with words in it."""
        return self._sentence(self._need(name), name)

    def sentences(self, name: str, *, blank: bool = False) -> tuple[str, ...]:
        """Return a field that must be a list of sentences; blank ones, or none at all, only if that is allowed."""
        value = self._need(name)
        if not isinstance(value, list) or not (value or blank) or not all(isinstance(part, str) for part in value):
            raise self._unexpected(name, "a list of strings" if blank else "a non-empty list of strings")
        return tuple(self._sentence(part, name, blank=blank) for part in value)

    def integer(self, name: str) -> int:
        """Return a field that must be an integer, 0 or more."""
        value = self._need(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise self._unexpected(name, "an integer, 0 or more")
        return value

    def records(self, name: str) -> list["Record"]:
        """Return a field that must be a list of objects."""
        value = self._need(name)
        if not isinstance(value, list) or not value or not all(isinstance(part, dict) for part in value):
            raise self._unexpected(name, "a non-empty list of objects")
        return [Record(part, self.path, self.line) for part in value]

    def _need(self, name: str) -> Any:
        if not self.has(name):
            raise self.fault(f"the field '{name}' is missing")
        return self.values[name]

    def _string(self, value: Any, name: str) -> str:
        if not isinstance(value, str):
            raise self._unexpected(name, "a string")
        return value

    def _sentence(self, value: Any, name: str, *, blank: bool = False) -> str:
        text = self._string(value, name)
        if found := NO_TEXT.search(text):
            raise self.fault(f"the field '{name}' holds the character U+{ord(found[0]):04X}, which is no text")
        check_length(text, self.path, self.line)
        if not blank and not text.strip():
            raise self.fault(f"the field '{name}' is blank, expected a sentence")
        return one_line(text)

    def _unexpected(self, name: str, expected: str) -> CorpusError:
        return self.fault(f"the field '{name}' is {shorten(json.dumps(self.values[name]))}, expected {expected}")


def parse_record(text: str, path: Path, line: int) -> Record:
    """Read one JSON object that stands on a line of its own."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise CorpusError(
            f"not JSON ({_reason(fault)}); expected one JSON object a line", path=path, line=line
        ) from None
    return _as_record(value, path, line)


def read_record_list(path: Path) -> list[Record]:
    """Read a file that is one JSON list of objects, each with the line on which it begins."""
    text = _read_text(path)
    records = [_as_record(value, path, line) for value, line in _list_values(text, path)]
    if not records:
        raise CorpusError("the list is empty: expected a JSON list of objects", path=path)
    return records


def _list_values(text: str, path: Path) -> Iterator[tuple[Any, int]]:
    """Go through the values of a JSON list, one by one, so that the line of each is known."""
    decoder, line, counted = json.JSONDecoder(), 1, 0

    def line_of(place: int) -> int:
        nonlocal line, counted
        line, counted = line + text.count("\n", counted, place), place
        return line

    place, mark = _skip(text, 0), "["
    while place < len(text) and text[place] == mark:
        place, mark = _skip(text, place + 1), ","
        if text[place : place + 1] == "]":
            break
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as fault:
            at = fault.pos if isinstance(fault, json.JSONDecodeError) else place
            raise CorpusError(f"not valid JSON: {_reason(fault)}", path=path, line=line_of(at)) from None
        yield value, line_of(place)
        place = _skip(text, end)
    closed = text[place : place + 1] == "]"
    place = _skip(text, place + 1) if closed else place
    if not closed or place < len(text):
        found = f"found {shorten(text[place : place + 60])!r}" if place < len(text) else "the file ends too early"
        raise CorpusError(f"not one JSON list of objects: {found}", path=path, line=line_of(place))


def _skip(text: str, place: int) -> int:
    """Return the place of the next character that is no white space."""
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    return place


def _as_record(value: Any, path: Path, line: int) -> Record:
    if not isinstance(value, dict):
        found = "a list" if isinstance(value, list) else shorten(json.dumps(value))
        raise CorpusError(f"found {found}, expected a JSON object", path=path, line=line)
    return Record(value, path, line)


def _reason(fault: Exception) -> str:
    return fault.msg if isinstance(fault, json.JSONDecodeError) else "nested too deeply, or a number too long"


def _read_text(path: Path) -> str:
    """Read a whole file, plain or compressed: it may be one long line, so it is not read by lines."""
    try:
        with path.open("rb") as file:
            content = unpack(file).read()
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        raise CorpusError("no such file", path=path) from None
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        raise CorpusError("not UTF-8: convert the file to UTF-8 first", path=path, line=line) from None
    except (EOFError, gzip.BadGzipFile, zlib.error, DamageError) as fault:
        raise CorpusError(f"the compressed file is damaged: {fault}. Get or compress it again", path=path) from None
    except OSError as fault:
        raise CorpusError(f"cannot be read: {fault.strerror}", path=path) from None
