"""JSON files of strings: every value that is a string is a message, in the order of the file; keys are not touched.

Values under keys that begin with `@`, which describe other strings, are not touched either, but for the code of the
language in `@@locale`.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from docaps.corpus.documents import Document
from docaps.corpus.formats.encoded_text import EncodedText, decode, decode_start
from docaps.corpus.formats.format import FileFormat, OutputDocument, ReadingOptions, WritingOptions, shorten
from docaps.corpus.formats.strings.messages import join_messages, limited, written_messages
from docaps.corpus.formats.strings.string_values import StringValue, add_known, read_values

TOKEN = re.compile(
    r'[ \t\r\n]*(?:(?P<string>"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*+")'
    r"|(?P<literal>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)"
    r"|(?P<sign>[\[\]{}:,])|(?P<end>\Z))"
)
ESCAPED_LETTER = re.compile(r"\\u(?!00[0-7])[0-9A-Fa-f]{4}")
LOCALE = re.compile(r'"@@locale"\s*:\s*"([A-Za-z]{2,3}(?![A-Za-z])[\w-]*)"')
"""The language of a file of Flutter."""
LARGEST = 2**24
DEEPEST = 500
VALUE: tuple[str, ...] = ("string", "literal", "{", "[")
FIRST_VALUE, KEY, FIRST_KEY = (*VALUE, "]"), ("string",), ("string", "}")
AFTER = {"{": (",", "}"), "[": (",", "]")}
NAMES = {"string": "a string", "literal": "a number", "end": "the end of the file"}


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """How a file writes strings: whether characters beyond ASCII, and slashes, are escaped."""

    ascii_only: bool
    slashes: bool

    def format(self, text: str) -> str:
        """Return a text as a JSON string."""
        written = json.dumps(text, ensure_ascii=self.ascii_only)
        return written.replace("/", r"\/") if self.slashes else written


def find_style(text: str) -> JsonStyle:
    """Return how a file writes its strings."""
    slashes = r"\/" in text and re.search(r"(?<!\\)/", text) is None
    return JsonStyle(text.isascii() and ESCAPED_LETTER.search(text) is not None, slashes)


def read_json_strings(content: bytes, options: ReadingOptions) -> Document:
    """Return the document of a file's strings."""
    file = decode(content, options)
    if locale := LOCALE.search(file.text):
        options.check_languages(locale[1], "", file.line_of(locale.start()))
    found = _with_notes(list(limited(find_values(file, options), options)), file)
    values = add_known(found, options, LARGEST, lambda other, own: [*find_values(decode(other, own), own)])
    return join_messages(read_values(values, options), options, "json", file=file, values=values)


def _with_notes(values: Sequence[StringValue], file: EncodedText) -> list[StringValue]:
    """Return the strings of a file of Flutter with the descriptions that it has of them, under `@` and their key."""
    if LOCALE.search(file.text) is None and '"description"' not in file.text:
        return list(values)
    content = json.loads(file.text)
    found: dict[str, str] = {}
    for key, inner in content.items() if isinstance(content, dict) else ():
        if key.startswith("@") and isinstance(inner, dict) and isinstance(inner.get("description"), str):
            found[key[1:]] = inner["description"]
    return [replace(value, note=found.get(str(value.key[0]), "") if value.key else "") for value in values]


def find_values(file: EncodedText, options: ReadingOptions) -> Iterator[StringValue]:
    """Yield the strings of a file that are values; refuse what is not JSON."""
    scanner = _JsonScanner(file, options)
    for token in scanner.tokens():
        if token.lastgroup == "string" and scanner.is_text:
            line = file.line_of(token.start("string"))
            yield StringValue(json.loads(token["string"]), *token.span("string"), line, key=tuple(scanner.key))


class _JsonScanner:
    """Checks JSON token by token, without recursion; says of each string whether it is a text."""

    def __init__(self, file: EncodedText, options: ReadingOptions) -> None:
        self._file, self._options = file, options
        self._levels: list[tuple[str, bool]] = []
        """The opening sign of each level, and whether it describes other strings."""
        self._expected: tuple[str, ...] = VALUE
        self._describes = False
        self.is_text = False
        self.key: list[str | int] = []
        """The key or the number of each level."""

    def tokens(self) -> Iterator[re.Match[str]]:
        """Yield all tokens."""
        position = 0
        while True:
            token = TOKEN.match(self._file.text, position)
            if token is None:
                raise self._fault(position, f"found {shorten(repr(self._file.text[position : position + 60].strip()))}")
            kind = "end" if token.lastgroup is None else token.lastgroup
            sign = token["sign"] if kind == "sign" else kind
            if sign not in self._expected:
                found = "its end" if kind == "end" else shorten(repr(token[kind]))
                raise self._fault(token.start(kind), f"found {found}")
            if kind == "end":
                return
            self._enter(sign, token)
            yield token
            position = token.end()

    def _fault(self, position: int, found: str) -> Exception:
        rest = self._file.text[position:]
        line = self._file.line_of(position + len(rest) - len(rest.lstrip(" \t\r\n")))
        expected = " or ".join(NAMES.get(name, name) for name in self._expected)
        return self._options.fault(f"not JSON: expected {expected}, {found}", line)

    def _enter(self, sign: str, token: re.Match[str]) -> None:
        """Note what a token means for those after it."""
        is_key = self._expected in (KEY, FIRST_KEY)
        self.is_text = sign == "string" and not is_key and not self._describes
        inherited = bool(self._levels and self._levels[-1][1])
        if sign in ("{", "["):
            self._levels.append((sign, self._describes))
            self.key.append(0)
            self._expected = FIRST_KEY if sign == "{" else FIRST_VALUE
            if len(self._levels) > DEEPEST:
                message = f"more than {DEEPEST} levels within each other"
                raise self._options.fault(message, self._file.line_of(token.end()))
        elif sign == "string" and is_key:
            self._describes = inherited or token["string"].startswith('"@')
            self.key[-1] = json.loads(token["string"])
            self._expected = (":",)
        elif sign == ":":
            self._expected = VALUE
        elif sign == ",":
            self._expected = KEY if self._levels[-1][0] == "{" else VALUE
            self.key[-1] = 0 if isinstance(self.key[-1], str) else self.key[-1] + 1
        else:
            if sign in ("}", "]"):
                self._describes = self._levels.pop()[1]
                self.key.pop()
            self._expected = AFTER[self._levels[-1][0]] if self._levels else ("end",)


def write_json_strings(item: OutputDocument, options: WritingOptions) -> bytes:
    """Return the file with its strings translated."""
    assert item.document.layout is not None
    details = item.document.layout.details
    file, values = cast(EncodedText, details["file"]), cast(Sequence[StringValue], details["values"])
    if item.translation is None:
        return file.replace(())
    style = find_style(file.text)
    texts = (value.known or text for value, text in zip(values, written_messages(item), strict=True))
    changes = [
        (value.start, value.end, style.format(text))
        for value, text in zip(values, texts, strict=True)
        if text != value.text
    ]
    if locale := LOCALE.search(file.text):
        changes.append((*locale.span(1), options.target_language))
    return file.replace(sorted(changes))


def detect_json_strings(start: bytes, name: str) -> bool:
    """Return whether a file is named as JSON, and is not docaps's own."""
    text = decode_start(start)
    own = re.match(r"\s*\{\s*\"(?:source|target|id|sentences|documents|docaps)\"\s*:", text)
    return name.endswith((".json", ".arb")) and text.lstrip().startswith(("{", "[")) and not own


JSON = FileFormat(
    "json",
    "JSON files of strings",
    (".json", ".arb"),
    detect_json_strings,
    read_json_strings,
    write_json_strings,
    largest=LARGEST,
)
