"""Markdown: paragraphs, headings, list items and table cells; emphasis, links, code and the like are marks.

A parser (CommonMark with tables and strikethrough) finds the blocks and what is in them; the marks are then found in
the text of each block, in the order of the parser's tokens. A translation is one line, however the text was wrapped.
Front matter, code blocks, HTML blocks and definitions of links stay as they are.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING

from docaps import progress
from docaps.corpus.documents import Document, InlineMark
from docaps.corpus.formats.format import FileFormat, OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.markdown_masks import MASK, MaskedText
from docaps.corpus.formats.passages import Passage, PassageBuilder, fill, join_passages, replace_passages
from docaps.errors import CorpusError

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_TITLE = r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\((?:\\.|[^()\\])*\))"""
_INNER = r"(?:\\.|[^\s()\\]|\((?:\\.|[^\s()\\]|\([^\s()]*\))*\))*"
TARGET = re.compile(rf"\]\(\s*(?:<(?:\\.|[^<>\n\\])*>|{_INNER})(?:\s+{_TITLE})?\s*\)", re.DOTALL)
REFERENCE = re.compile(r"\]\[(?:\\.|[^\[\]\\])*\]")
SIGN = re.compile(r"[*_`\[\]<|&\\~\n]")
MOST_SIGNS = 300_000
"""Signs that may be markup, of which each costs the parser as much as hundreds of letters; a line end counts, too."""
SOFT_BREAK, HARD_BREAK = re.compile(r"[ \t]*\n[ \t]*"), re.compile(r"(?:\\|[ \t]*)\n[ \t]*")
TAG = re.compile(r"<(/?)([A-Za-z][\w-]*)[^>]*?(/?)>")
SPECIAL = re.compile(
    MASK.pattern
    + r"|^\[[ xX]\](?=\s)|^\[![A-Z]+\]|^:{3,}.*$|\[\^[^\]\s]+\]:?|\{\{.*?\}\}|\{%.*?%\}|\{:? ?[#.][^}\s][^}]*\}"
    r"|https?://[^\s<>\"')\]]+|\b[\w.+-]+@[\w-]+\.[\w.-]+\w|:[a-z][a-z0-9_+-]*:",
    re.MULTILINE,
)
"""What is no text, though a parser of CommonMark takes it for text: tasks, footnotes, templates, addresses."""
ESCAPED = re.compile(
    r"[\\`\[\]]|\*(?! )|(?<! )\*|(?<!\w)_|_(?!\w)|~(?=~)|<(?=[A-Za-z/!?])|&(?=#?\w+;)|(?<=\s)#+$", re.MULTILINE
)
EMPHASIS = re.compile(r"(?:[*_]+|~~)\Z")
OTHER_SIGN = str.maketrans("*_", "_*")
LINE_START = re.compile(r"\A(?:()(#{1,6}(?:\s|$)|[-+](?:\s|$)|>|~~~|=+\s*$|-+\s*$|:::)|(\d{1,9})([.)](?:\s|$)))")
"""What would make a block of another kind of a line: a heading, a quote, an item of a list."""


@cache
def _parser() -> "MarkdownIt":
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        raise CorpusError("Markdown needs markdown-it-py: pip install 'docaps[files]'") from None
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")


class _MismatchError(Exception):
    """A token that is not found where it should be."""


class _BlockReader:
    """Reads the inline tokens of a block as text and marks, by following them through the block's text."""

    def __init__(self, text: str, prefixes: Sequence[str]) -> None:
        self.builder = PassageBuilder()
        self._text, self._prefixes = text, prefixes
        self._position = self._line = self._pairs = 0
        self._labels: list[int] = []  # where the texts of open links and images begin

    def read(self, tokens: Sequence["Token"]) -> PassageBuilder:
        """Read all tokens of the block."""
        self._read(tokens)
        if self._text[self._position :].strip():
            raise _MismatchError
        return self.builder

    def _read(self, tokens: Sequence["Token"]) -> None:
        waiting = list(tokens)[::-1]
        while waiting:
            token = waiting.pop()
            if token.type == "link_open" and token.info == "auto":
                while waiting.pop().type != "link_close":
                    pass
                self._add_mark(self._text.find(">", self._position) + 1)
            elif token.type == "image":
                self._image(token)
            elif token.nesting:
                self._pair(token)
            else:
                self._leaf(token)

    def _leaf(self, token: "Token") -> None:
        """Read a token without others in it."""
        match token.type:
            case "text":
                self._add_text(token.content)
            case "text_special":
                self._take(token.markup)
                self.builder.add_text(token.content)
            case "softbreak":
                self._match(SOFT_BREAK)
                self._line += 1
                self.builder.add_text(" ")
            case "hardbreak":
                raw = self._match(HARD_BREAK)
                self._line += 1
                self.builder.add_space(raw.partition("\n")[0] + "\n" + self._prefixes[self._line])
            case "code_inline":
                end = re.compile(rf"(?<!`){token.markup}(?!`)").search(self._text, self._position + len(token.markup))
                self._add_mark(end.end() if end else 0)
            case "html_inline":
                self._tag(token.content)
            case _:
                raise _MismatchError

    def _add_text(self, text: str) -> None:
        self._take(text)
        done = 0
        for match in SPECIAL.finditer(text):
            self.builder.add_text(text[done : match.start()])
            self.builder.add_mark(match[0])
            done = match.end()
        self.builder.add_text(text[done:])

    def _tag(self, raw: str) -> None:
        self._take(raw)
        raw, self._pairs = raw.replace("\n", " "), self._pairs + 1
        tag = TAG.fullmatch(raw)
        if tag and tag[2].lower() == "br":
            self.builder.add_space(raw)
        elif tag is None or tag[3]:
            self.builder.add_mark(raw)
        else:
            (self.builder.add_end if tag[1] else self.builder.add_start)(tag[2].lower(), raw, self._pairs)

    def _pair(self, token: "Token") -> None:
        """Read the beginning or the end of emphasis or a link."""
        self._pairs += 1
        name = token.tag
        if token.nesting > 0:
            raw = self._take("[" if name == "a" else token.markup)
            self._labels += [self._position] if name == "a" else []
            self.builder.add_start(f"<{name}>", raw, self._pairs)
        else:
            raw = self._link_end() if name == "a" else self._take(token.markup)
            self.builder.add_end(f"<{name}>", raw, self._pairs)

    def _image(self, token: "Token") -> None:
        """Read an image: its alternative text is text."""
        self._pairs += 1
        self.builder.add_start("<img>", self._take("!["), self._pairs)
        self._labels.append(self._position)
        self._read(token.children or ())
        self.builder.add_end("<img>", self._link_end(), self._pairs)

    def _link_end(self) -> str:
        """Take the end of a link or an image, with its target; its text may be the name of its target, which stays."""
        label = self._text[self._labels.pop() : self._position]
        found = TARGET.match(self._text, self._position) or REFERENCE.match(self._text, self._position)
        raw = self._take(found[0] if found else "]")
        return (f"][{label}]" if raw in ("]", "][]") else raw).replace("\n", " ")

    def _take(self, raw: str) -> str:
        """Go past a text that must be next."""
        if not self._text.startswith(raw, self._position):
            raise _MismatchError
        self._position += len(raw)
        return raw

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._position)
        if found is None:
            raise _MismatchError
        return self._take(found[0])

    def _add_mark(self, end: int) -> None:
        """Add what stands up to a position as a mark."""
        if end <= self._position:
            raise _MismatchError
        self.builder.add_mark(self._take(self._text[self._position : end]).replace("\n", " "))


class _FileReader:
    """Finds the blocks of a file and where they stand."""

    def __init__(self, text: str) -> None:
        self._lines = [match[0] for match in LINE.finditer(text)]
        self._masked = MaskedText(text)
        self._hidden = [match[0] for match in LINE.finditer(self._masked.text)]
        self._starts = list(accumulate(map(len, self._lines), initial=0))
        self._bytes = list(accumulate((len(line.encode()) for line in self._lines), initial=0))
        self._text = text
        self._cell = 0  # where the next cell of a table may begin
        self.left: list[int] = []
        """Lines of blocks that stay as they are, because what is in them is not found."""

    def passages(self) -> Iterator[Passage]:
        """Yield the passages in order."""
        in_table = False
        for token in _parser().parse(self._masked.text):
            if token.type in ("table_open", "table_close"):
                in_table = token.type == "table_open"
            elif token.type == "inline" and token.map and token.children:
                found = self._locate(token, in_table)
                passage = found and self._passage(token, found, in_table)
                if passage:
                    yield passage
                elif any(map(str.isalpha, token.content)):
                    self.left.append(token.map[0] + 1)
            elif token.type == "hr" and token.map and token.map[0] in self._masked.titles:
                yield self._title(token.map[0])

    def _title(self, number: int) -> Passage:
        """Return the title of an admonition or a tab on a line."""
        start, end = self._masked.titles[number]
        text = self._text[start:end]
        return Passage(text, (), self._to_bytes(start), self._to_bytes(end), line=number + 1, kind="title")

    def _passage(self, token: "Token", span: tuple[int, int], in_table: bool) -> Passage | None:
        """Return the passage of a block; None if its marks are not found, so that it stays as it is."""
        first = (token.map or [0])[0]
        prefixes = [self._prefix(first + number, line) for number, line in enumerate(token.content.split("\n"))]
        reader = _BlockReader(token.content, prefixes)
        try:
            builder = reader.read(token.children or ())
        except _MismatchError:
            return None
        start, end = map(self._to_bytes, span)
        builder.marks = [replace(mark, text=self._masked.restore(mark.text)) for mark in builder.marks]
        return builder.passage(start, end, line=first + 1, kind="cell" if in_table else "")

    def _locate(self, token: "Token", in_table: bool) -> tuple[int, int] | None:
        """Return where the text of a block stands, from its first to its last character."""
        first, last = token.map or (0, 0)
        lines = token.content.split("\n")
        if in_table:
            return self._locate_cell(token.content, first)
        if last - first < len(lines):
            return None
        start = self._find(first, lines[0])
        final = self._find(first + len(lines) - 1, lines[-1])
        return (start, final + len(lines[-1])) if start is not None and final is not None else None

    def _locate_cell(self, content: str, line: int) -> tuple[int, int] | None:
        """Return where a cell of a table stands; cells come in order."""
        for raw in (content, content.replace("|", "\\|")):
            found = self._masked.text.find(raw, max(self._cell, self._starts[line]), self._starts[line + 1])
            if raw and found >= 0:
                self._cell = found + len(raw)
                return found, self._cell
        return None

    def _find(self, number: int, content: str) -> int | None:
        """Return where the content of a line of a block begins in its line of the file: as far right as possible."""
        found = self._hidden[number].rstrip("\r\n").rfind(content)
        return self._starts[number] + found if found >= 0 else None

    def _to_bytes(self, place: int) -> int:
        """Return the number of bytes before a character."""
        line = bisect_right(self._starts, place, hi=len(self._lines)) - 1
        return self._bytes[line] + len(self._text[self._starts[line] : place].encode())

    def _prefix(self, number: int, content: str) -> str:
        """Return what stands in a line before the content of a block."""
        if number >= len(self._lines):
            return ""
        return self._lines[number][: max(0, self._hidden[number].rstrip("\r\n").rfind(content))]


def read_markdown(content: bytes, options: ReadingOptions) -> Document:
    """Read the text of a file as one document."""
    try:
        text = content.decode()
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        raise options.fault("not UTF-8: convert it to UTF-8 first", line) from None
    if "\0" in text:
        raise options.fault("holds a NUL byte: expected text", text.count("\n", 0, text.index("\0")) + 1)
    if len(SIGN.findall(text)) > MOST_SIGNS:
        raise options.fault(f"more than {MOST_SIGNS:,} signs of markup and line ends: split the file")
    reader = _FileReader(text)
    document = join_passages(reader.passages(), options, "markdown", content=content)
    if reader.left:
        more = f", and {len(reader.left) - 1} more" if len(reader.left) > 1 else ""
        what = f"left untranslated{more}: a block whose markup is not where the parser sees it"
        progress.say(f"{options.path}:{reader.left[0]}: {what}")
    return document


def write_markdown(item: OutputDocument, options: WritingOptions) -> bytes:  # noqa: ARG001
    """Write the file with its text replaced."""
    assert item.document.layout is not None
    content: bytes = item.document.layout.details["content"]
    return content if item.translation is None else replace_passages(content, item, _encode)


def _encode(passage: Passage, pieces: Sequence[str | InlineMark]) -> str:
    """Return a passage as Markdown; text that would be markup is escaped."""
    if passage.kind == "title":
        return fill(pieces, lambda text: text.replace('"', "'"))
    pieces = _without_empty(pieces)
    parts = list[str]()
    for piece in _with_marks_apart(pieces):
        if isinstance(piece, InlineMark):
            if parts and parts[-1].endswith("!") and piece.text.startswith("["):
                parts[-1] = parts[-1][:-1] + "\\!"
            parts.append(piece.text)
        else:
            parts.append(ESCAPED.sub(lambda found: "\\" + found[0], piece))
    text = "".join(_with_spaces_outside(pieces, parts))
    if pieces and isinstance(pieces[0], str):
        text = LINE_START.sub(lambda found: (found[1] or found[3] or "") + "\\" + (found[2] or found[4]), text)
    return text.replace("|", "\\|") if passage.kind == "cell" else text


def _with_marks_apart(pieces: Sequence[str | InlineMark]) -> Iterator[str | InlineMark]:
    """Write emphasis that begins right after such a mark with the other character: `**` would be one mark."""
    changed, before = dict[int, str](), None
    for piece in pieces:
        if not isinstance(piece, InlineMark) or not EMPHASIS.match(piece.text):
            before = None
            yield piece
            continue
        mark = replace(piece, text=changed.get(piece.pair, piece.text))
        if mark.kind == "open" and before is not None and _would_join(before, mark):
            changed[mark.pair] = mark.text.translate(OTHER_SIGN)
            mark = replace(mark, text=changed[mark.pair])
        before = mark
        yield mark


def _would_join(before: InlineMark, mark: InlineMark) -> bool:
    """Return whether two neighbouring marks would be read as one."""
    return before.text[-1] == mark.text[0] and (before.kind == "close" or before.text == mark.text)


def _without_empty(pieces: Sequence[str | InlineMark]) -> list[str | InlineMark]:
    """Return pieces without emphasis that has no word in it: its signs would be text."""
    found: list[str | InlineMark] = []
    for piece in pieces:
        before = found[-1] if found else ""
        is_empty = (
            isinstance(piece, InlineMark)
            and isinstance(before, InlineMark)
            and (before.kind, piece.kind, before.pair) == ("open", "close", piece.pair)
        )
        if isinstance(piece, InlineMark) and is_empty and EMPHASIS.match(piece.text):
            found.pop()
        else:
            found.append(piece)
    return found


def _with_spaces_outside(pieces: Sequence[str | InlineMark], parts: Sequence[str]) -> list[str]:
    """Move spaces out of emphasis: a `*` that stands inside of a space would be text."""
    result = list(parts)
    kinds = [piece.kind if isinstance(piece, InlineMark) and EMPHASIS.match(piece.text) else None for piece in pieces]
    for number, kind in enumerate(kinds):
        if kind == "close" and number > 0:
            inner = result[number - 1].rstrip(" ")
            result[number] += result[number - 1][len(inner) :]
            result[number - 1] = inner
    for number in reversed(range(len(kinds) - 1)):
        if kinds[number] == "open":
            inner = result[number + 1].lstrip(" ")
            result[number] = result[number + 1][: len(result[number + 1]) - len(inner)] + result[number]
            result[number + 1] = inner
    return result


def is_markdown(start: bytes, name: str) -> bool:
    """Return whether a file is named as Markdown: its content looks like any text."""
    return name.endswith((".md", ".markdown")) and b"\0" not in start


MARKDOWN = FileFormat(
    "markdown", "Markdown", (".md", ".markdown"), is_markdown, read_markdown, write_markdown, largest=2**22
)
