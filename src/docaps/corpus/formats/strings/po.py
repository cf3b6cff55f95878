"""PO files of gettext: a msgid and its translation, forms for numbers, flags and comments.

Untranslated and fuzzy entries are translated, and marked `fuzzy`; all others are read as context, and so are comments
for translators before an entry. Obsolete entries and all other bytes stay as they are.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from docaps.corpus.formats.encoded_text import EncodedText
from docaps.corpus.formats.format import ReadingOptions, shorten
from docaps.corpus.formats.strings.messages import limited

KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr|domain)(?:\[(\d{1,3})\])?[ \t]*(?=")')
STRING = re.compile(r'[ \t]*"((?:[^"\\]++|\\.)*+)"[ \t]*')
QUOTED = re.compile(r'"((?:[^"\\]++|\\.)*+)"')
LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")
ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))", re.DOTALL)
ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
SPECIAL = {"\\": r"\\", '"': r"\"", **{value: f"\\{name}" for name, value in ESCAPED.items()}}
TO_ESCAPE = re.compile(r'[\\"\n\t\r\a\b\f\v]')
MOST_FORMS = 10
WIDTH = 79
"""Columns of a line that is wrapped."""


@dataclass(slots=True)
class PoString:
    """A value, and the span of it in the file, from its first quotation mark to its last."""

    value: str
    start: int
    end: int


@dataclass(slots=True)
class PoEntry:
    """An entry: its msgid, context and translations by form; where its flags are, or would be put."""

    line: int
    flags_at: int
    flags: tuple[int, int, str] | None = None
    """Start and end of the line of flags after `#,`, and its text."""
    notes: list[str] = field(default_factory=list)
    """Comments for translators."""
    context: PoString | None = None
    source: PoString | None = None
    plural: PoString | None = None
    forms: dict[int, PoString] = field(default_factory=dict)

    @property
    def is_header(self) -> bool:
        """Whether this is the entry that describes the file."""
        return self.source is not None and not self.source.value and self.context is None

    @property
    def is_fuzzy(self) -> bool:
        """Whether the translation is marked as one to be checked."""
        return "fuzzy" in self.flag_names

    @property
    def flag_names(self) -> list[str]:
        """The flags, such as `c-format`."""
        return re.split(r"[,\s]+", self.flags[2]) if self.flags else []


def read_entries(file: EncodedText, options: ReadingOptions) -> list[PoEntry]:
    """Return the entries of a file in order, the header among them; obsolete ones are left out."""
    reader = _PoReader(file, options)
    for line in LINE.finditer(file.text):
        reader.read(line)
    return reader.finish()


class _PoReader:
    """Reads a file line by line."""

    def __init__(self, file: EncodedText, options: ReadingOptions) -> None:
        self._file, self._options = file, options
        self._entries: list[PoEntry] = []
        self._count = limited(count(), options)
        self._entry: PoEntry | None = None
        self._string: PoString | None = None
        self._number = 0

    def read(self, line: re.Match[str]) -> None:
        """Read a line."""
        self._number += 1
        content = line[1].strip()
        if not content:
            self._string = None
        elif content.startswith("#~"):
            self._close()  # with the comments before the obsolete entry
        elif content.startswith("#"):
            self._read_comment(line, content)
        elif content.startswith('"'):
            self._read_continuation(line)
        else:
            self._read_keyword(line)

    def finish(self) -> list[PoEntry]:
        """Return all entries."""
        self._close()
        return self._entries

    def _fault(self, message: str, line: int | None = None) -> Exception:
        return self._options.fault(message, line or self._number)

    def _close(self) -> None:
        """Complete the entry, if there is one."""
        entry, self._entry, self._string = self._entry, None, None
        if entry is None or (entry.source is None and entry.context is None):
            return  # comments alone
        if entry.source is None or not entry.forms:
            missing = "msgid" if entry.source is None else "msgstr"
            raise self._fault(f'an entry without {missing}: add it, if only as {missing} ""', entry.line)
        if (entry.plural is None) != (list(entry.forms) == [-1]):
            expected = "msgstr" if entry.plural is None else "msgstr[0], msgstr[1] ..."
            raise self._fault(
                f"expected {expected} in an entry with{'out' * (entry.plural is None)} msgid_plural", entry.line
            )
        next(self._count)
        self._entries.append(entry)

    def _open(self, line: re.Match[str]) -> PoEntry:
        """Return the entry that a line belongs to, a new one after the msgstr of the last."""
        if self._entry is not None and self._entry.forms:
            self._close()
        if self._entry is None:
            self._entry = PoEntry(self._number, line.start())
        return self._entry

    def _read_comment(self, line: re.Match[str], content: str) -> None:
        entry = self._open(line)
        self._string = None
        if entry.source is not None or entry.context is not None:
            return  # within an entry
        if content.startswith("#,"):
            start = line.start() + line[1].index("#,") + 2
            entry.flags = (start, line.end(1), line[1][start - line.start() :])
        elif content.startswith("#.") and (note := content[2:].strip().removeprefix("TRANSLATORS:").strip()):
            entry.notes.append(note)
        if not content.startswith("#|"):
            entry.flags_at = line.end()

    def _read_keyword(self, line: re.Match[str]) -> None:
        found = KEYWORD.match(self._file.text, line.start() + len(line[1]) - len(line[1].lstrip()), line.end(1))
        if found is None:
            expected = "expected msgid, msgstr, a comment or a string in quotation marks"
            raise self._fault(f"{expected}, found '{shorten(line[1].strip())}'")
        name, index = found[1], found[2]
        value = self._read_string(line, found.end())
        if name == "domain":
            return
        entry = self._open(line) if name in ("msgctxt", "msgid") or self._entry is None else self._entry
        if entry.source is None and entry.context is None:
            entry.line = self._number
        key = int(index) if index else -1
        kinds = {"msgctxt": entry.context, "msgid": entry.source, "msgid_plural": entry.plural}
        taken = kinds[name] if name in kinds else entry.forms.get(key)
        if taken is not None or (name == "msgstr" and entry.source is None):
            raise self._fault(f"{found[0].strip()} {'twice in one entry' if taken else 'without a msgid before it'}")
        if name == "msgctxt":
            entry.context = value
        elif name == "msgid":
            entry.source = value
        elif name == "msgid_plural":
            entry.plural = value
        else:
            entry.forms[key] = value
        self._string = value

    def _read_continuation(self, line: re.Match[str]) -> None:
        if self._string is None:
            raise self._fault(f"a string that continues no msgid or msgstr: '{shorten(line[1].strip())}'")
        before = self._string
        more = self._read_string(line, line.start())
        before.value, before.end = before.value + more.value, more.end

    def _read_string(self, line: re.Match[str], start: int) -> PoString:
        """Return the string that fills the rest of a line."""
        found = STRING.fullmatch(self._file.text, start, line.end(1))
        if found is None:
            raise self._fault(f"a string without its closing quotation mark: '{shorten(line[1].strip())}'")
        return PoString(unescape(found[1]), found.start(1) - 1, found.end(1) + 1)


def unescape(text: str) -> str:
    """Return the value of an escaped string."""

    def decode(found: re.Match[str]) -> str:
        octal, hexadecimal, letter = found.groups()
        if letter:
            return ESCAPED.get(letter, letter)
        return chr(int(octal, 8) if octal else int(hexadecimal, 16))

    return ESCAPE.sub(decode, text)


def format_string(value: str, keyword: str, line_end: str, *, wrapped: bool) -> str:
    """Return a string as a file has it after a keyword: on one line if it fits, else a line for each line of it."""
    escaped = [TO_ESCAPE.sub(lambda found: SPECIAL[found[0]], part) for part in re.findall(r"[^\n]*\n|[^\n]+", value)]
    width = WIDTH - 2 if wrapped else 10**9
    if len(escaped) < 2 and len(keyword) + 1 + sum(map(len, escaped)) <= width:
        return f'"{"".join(escaped)}"'
    lines = [line for part in escaped for line in _wrap(part, width)]
    return line_end.join(['""', *(f'"{line}"' for line in lines)])


def _wrap(text: str, width: int) -> Iterator[str]:
    """Yield an escaped text in lines that end with a space, as long as they fit."""
    line = ""
    for word in re.findall(r"[^ ]* ?", text):
        if line and len(line) + len(word) > width:
            yield line
            line = ""
        line += word
    if line:
        yield line


def is_wrapped(entries: Sequence[PoEntry], file: EncodedText) -> bool:
    """Return whether a file wraps its strings: any goes on in the next line without a line end of its own."""
    strings = (entry.source for entry in entries if entry.source and not entry.is_header)
    chunks = (chunk for one in strings for chunk in QUOTED.findall(file.text, one.start, one.end)[:-1])
    return any(chunk and not chunk.endswith("\\n") for chunk in chunks)
