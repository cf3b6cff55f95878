"""Input of contrastive sets: JSON records and files of one sentence a line, with errors that name file and line."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from docaps.corpus.formats.format import NO_TEXT, shorten
from docaps.corpus.formats.text_input import check_length, one_line, read_lines, read_text_file
from docaps.errors import CorpusError

_WORD, _SPACE = re.compile(r"\w+"), re.compile(r"[ \t\r\n]*")
LARGEST_NUMBER = 1e300
Value = TypeVar("Value")


def read_sentences(path: Path, *, blank: bool = False) -> list[str]:
    """Read one sentence a line; blank lines only if they are allowed."""
    sentences = list(read_lines(path))
    if not any(sentences) and not (blank and sentences):
        raise CorpusError("the file is empty: expected one sentence a line", path=path)
    for number, sentence in enumerate(sentences, start=1):
        if not sentence and not blank:
            raise CorpusError("a blank line, expected a sentence", path=path, line=number)
        check_length(sentence, path, number, "remove it")
    return sentences


def read_columns(paths: Sequence[Path], *, blank: bool = False) -> list[list[str]]:
    """Read files whose lines belong together; refuse different lengths, at the first line without a partner."""
    columns = [read_sentences(path, blank=blank) for path in paths]
    counts = [len(column) for column in columns]
    short, long = (counts.index(limit(counts)) for limit in (min, max))
    if short != long:
        message = (
            f"no line {counts[short] + 1:,} in {paths[short]}, which has {counts[short]:,} lines and this file "
            f"{counts[long]:,}: expected as many in both; get both files anew"
        )
        raise CorpusError(message, path=paths[long], line=counts[short] + 1)
    return columns


def same_sentence(one: str, other: str) -> bool:
    """Return whether two texts are the same sentence: half of the words are enough, for editions differ in spelling."""
    first, second = (set(_WORD.findall(text.lower())) for text in (one, other))
    return one.split() == other.split() or 2 * len(first & second) >= max(len(first), len(second), 1)


@dataclass(frozen=True, slots=True)
class JsonRecord:
    """A JSON object, and the line on which it begins."""

    values: dict[str, Any]
    path: Path
    line: int

    def fault(self, message: str) -> CorpusError:
        """Return an error at this record."""
        return CorpusError(message, path=self.path, line=self.line)

    def has(self, name: str) -> bool:
        """Return whether a field is there and not null."""
        return self.values.get(name) is not None

    def text(self, name: str) -> str:
        """Return a field that must be a string."""
        return self._get(name, str, "a string")

    def sentence(self, name: str) -> str:
        """Return a field that must be a sentence with words in it."""
        return self._check_sentence(self.text(name), name)

    def sentences(self, name: str, *, blank: bool = False) -> tuple[str, ...]:
        """Return a field that must be a list of sentences; `blank` allows blank ones and an empty list."""
        expected = "a list of strings" if blank else "a non-empty list of strings"
        values = self._get(name, list, expected, lambda v: (v or blank) and all(isinstance(part, str) for part in v))
        return tuple(self._check_sentence(part, name, blank=blank) for part in values)

    def integer(self, name: str) -> int:
        """Return a field that must be an integer, 0 or more."""
        return self._get(name, int, "an integer, 0 or more", lambda value: value >= 0)

    def integers(self, name: str) -> tuple[int, ...]:
        """Return a field that must be a list of integers, 0 or more."""
        expected = "a list of integers, 0 or more"
        return tuple(self._get(name, list, expected, lambda v: all(type(one) is int and one >= 0 for one in v)))

    def number(self, name: str) -> float:
        """Return a field that must be a finite number."""
        kind = int if type(self.values.get(name)) is int else float
        return float(self._get(name, kind, "a finite number", lambda value: abs(value) < LARGEST_NUMBER))

    def records(self, name: str) -> list["JsonRecord"]:
        """Return a field that must be a list of objects."""
        expected = "a non-empty list of objects"
        values = self._get(name, list, expected, lambda v: v and all(isinstance(part, dict) for part in v))
        return [JsonRecord(part, self.path, self.line) for part in values]

    def _get(
        self, name: str, kind: type[Value], expected: str, valid: Callable[[Value], object] = lambda _: True
    ) -> Value:
        """Return a field that must be there and valid."""
        if not self.has(name):
            raise self.fault(f"the field '{name}' is missing")
        value = self.values[name]
        if type(value) is kind and valid(value):  # a bool is no int here
            return value
        raise self.fault(f"the field '{name}' is {shorten(json.dumps(value))}, expected {expected}")

    def _check_sentence(self, text: str, name: str, *, blank: bool = False) -> str:
        """Return a sentence on one line; refuse what is not text, too long or blank."""
        if found := NO_TEXT.search(text):
            raise self.fault(f"the field '{name}' holds the character U+{ord(found[0]):04X}, which is no text")
        check_length(text, self.path, self.line, "remove it")
        if not blank and not text.strip():
            raise self.fault(f"the field '{name}' is blank, expected a sentence")
        return one_line(text)


def parse_record(text: str, path: Path, line: int) -> JsonRecord:
    """Parse a line that is one JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as fault:
        message = f"not JSON ({_reason(fault)}); expected one JSON object a line"
        raise CorpusError(message, path=path, line=line) from None
    return _as_record(value, path, line)


def read_record_list(path: Path) -> list[JsonRecord]:
    """Read a file that is one JSON list of objects."""
    records = [_as_record(value, path, line) for value, line in _list_values(read_text_file(path), path)]
    if not records:
        raise CorpusError("the list is empty: expected a JSON list of objects", path=path)
    return records


def _list_values(text: str, path: Path) -> Iterator[tuple[Any, int]]:
    """Yield the values of a JSON list one by one, each with its line."""
    decoder, line, counted = json.JSONDecoder(), 1, 0

    def line_of(position: int) -> int:
        nonlocal line, counted
        line, counted = line + text.count("\n", counted, position), position
        return line

    def skip(position: int) -> int:
        space = _SPACE.match(text, position)
        return space.end() if space else position

    position, expected = skip(0), "["
    while text[position : position + 1] == expected:
        position, expected = skip(position + 1), ","
        if text[position : position + 1] == "]":
            break
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as fault:
            at = fault.pos if isinstance(fault, json.JSONDecodeError) else position
            raise CorpusError(f"not valid JSON: {_reason(fault)}", path=path, line=line_of(at)) from None
        yield value, line_of(position)
        position = skip(end)
    closed = text[position : position + 1] == "]"
    position = skip(position + 1) if closed else position
    if not closed or position < len(text):
        rest = shorten(text[position : position + 60])
        found = f"found {rest!r}" if position < len(text) else "the file ends too early"
        raise CorpusError(f"not one JSON list of objects: {found}", path=path, line=line_of(position))


def _as_record(value: Any, path: Path, line: int) -> JsonRecord:
    if not isinstance(value, dict):
        found = "a list" if isinstance(value, list) else shorten(json.dumps(value))
        raise CorpusError(f"found {found}, expected a JSON object", path=path, line=line)
    return JsonRecord(value, path, line)


def _reason(fault: Exception) -> str:
    return fault.msg if isinstance(fault, json.JSONDecodeError) else "nested too deeply, or a number too long"
