"""Messages: strings to translate, as paragraphs of sentences with what stands between them.

A message of several lines is several paragraphs, but lines that are wrapped within a sentence are one; its translation
is wrapped again into as many lines. Messages that are only context are read by the model and not written.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Any, TypeVar, cast

from docaps.corpus.documents import Document, InlineMark
from docaps.corpus.formats.format import OutputDocument, ReadingOptions
from docaps.corpus.formats.line_breaks import cut_text
from docaps.corpus.formats.passages import MOST_SENTENCES, Passage, fill, join_passages, written_passages
from docaps.corpus.formats.strings.entities import EntityReader, EntityWriter, Form
from docaps.corpus.formats.strings.placeholders import PLACEHOLDER, keep_order, spread_placeholders, take_placeholders
from docaps.corpus.formats.text_input import check_length
from docaps.errors import CorpusError

SOFT_BREAK = re.compile(r"(?<=[^\s.!?:;…。！？>]) ?\n ?(?=[a-zß-öø-ÿ])")
"""A line end within a sentence: not after punctuation, and before a small letter."""
BLOCK_TAG = re.compile(
    r"(?:\s*</?(?:p|div|li|ul|ol|dl|dt|dd|h[1-6]|table|tbody|thead|tr|td|th|blockquote|pre|hr|section)(?:\s[^<>]*)?/?>\s*)+",
    re.IGNORECASE,
)
"""Tags of HTML between paragraphs, with the space around them."""
STAND_IN = "\ufdd1"
"""A Unicode noncharacter that stands for a mark while lines are wrapped."""
CONTEXT = "context"
LONGEST_PARAGRAPH, LONGEST_STRING = 200_000, 1_000_000
"""Characters of a paragraph with its tags and placeholders (its text alone must be shorter), and of a string."""
MOST_STRINGS = 200_000
"""Strings of a file."""
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class StringPassage(Passage):
    """A paragraph of a string: how many of its line ends are within a sentence, and how it writes characters."""

    wraps: int = 0
    forms: tuple[Form, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """A string: paragraphs, and the text between them as the file has it; the line it is on."""

    parts: tuple[Passage | str, ...]
    line: int = 1

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The paragraphs."""
        return tuple(part for part in self.parts if isinstance(part, Passage))


def read_message(
    text: str, line: int, encode: Callable[[str], str] = str, pattern: re.Pattern[str] = PLACEHOLDER
) -> Message:
    """Return the message of a string."""
    _check_length(text, line, LONGEST_STRING, "string")
    parts: list[Passage | str] = []
    done = 0
    for start, end in _paragraphs(text):
        parts += [encode(text[done:start])] if start > done else []
        parts.append(read_paragraph(text[start:end], line, encode, pattern=pattern))
        done = end
    return Message((*parts, encode(text[done:])) if done < len(text) else tuple(parts), line)


def _check_length(text: str, line: int, most: int, what: str) -> None:
    """Refuse what would take too much memory, before its placeholders are taken out."""
    if len(text) > most:
        message = f"a {what} of {len(text):,} characters, its tags included, expected at most {most:,}: split it"
        raise CorpusError(message, line=line)


def counted(messages: Iterable[Message], options: ReadingOptions) -> Iterator[Message]:
    """Pass on the messages of a file; refuse more paragraphs than there may be sentences."""
    total = 0
    for message in messages:
        total += len(message.passages)
        if total > MOST_SENTENCES:
            raise options.fault(f"more than {MOST_SENTENCES:,} paragraphs: split the file", message.line)
        yield message


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the paragraphs of a string are: between line ends that end a sentence, and between tags of blocks."""
    for first, last in _hard_lines(text):
        start = first
        for tag in BLOCK_TAG.finditer(text, first, last):
            if tag.start() > start:
                yield start, tag.start()
            start = tag.end()
        if start < last:
            yield start, last


def _hard_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the lines of a text are, a line that is wrapped within a sentence as one."""
    soft = {text.index("\n", found.start()) for found in SOFT_BREAK.finditer(text)}
    start = 0
    for found in re.finditer(r"\n|\Z", text):
        if found.start() not in soft:
            if found.start() > start:
                yield start, found.start()
            start = found.end()


def read_paragraph(
    text: str,
    line: int,
    encode: Callable[[str], str] = str,
    marks: Iterable[InlineMark] = (),
    pattern: re.Pattern[str] = PLACEHOLDER,
) -> Passage | str:
    """Return a paragraph with its placeholders as marks, or its text as written if it has nothing to translate."""
    _check_length(text, line, LONGEST_PARAGRAPH, "paragraph")
    wraps = len(SOFT_BREAK.findall(text))
    reader = EntityReader()
    kept, found = take_placeholders(SOFT_BREAK.sub(" ", text), encode, marks, pattern, reader.decode)
    if not any(map(str.isalpha, kept)):
        return encode(text)
    return StringPassage(kept, found, line=line, wraps=wraps, forms=reader.forms)


def read_context(text: str, line: int) -> Message:
    """Return a message that is only read as context."""
    found = read_paragraph(" ".join(text.split()), line)
    return Message((replace(found, kind=CONTEXT, marks=()),) if isinstance(found, Passage) else (), line)


def limited(items: Iterable[Item], options: ReadingOptions) -> Iterator[Item]:
    """Pass on the strings of a file; refuse more than any program has."""
    for number, item in enumerate(items):
        if number >= MOST_STRINGS:
            raise options.fault(f"more than {MOST_STRINGS:,} strings: split the file")
        yield item


def join_messages(messages: Sequence[Message], options: ReadingOptions, format: str, **details: Any) -> Document:
    """Return the document of all messages."""
    passages = [passage for message in messages for passage in message.passages]
    for passage in passages:
        check_length(passage.text, options.path, passage.line, "split the string into paragraphs")
    document = join_passages(passages, options, format, messages=messages, **details)
    assert document.layout is not None
    context, number = set[int](), 0
    for passage, gaps in document.layout.details["passages"]:
        count = len(gaps) - 1
        if passage.kind == CONTEXT:
            context.update(range(number, number + count))
        number += count
    return replace(document, context_only=frozenset(context))


def written_messages(item: OutputDocument, encode: Callable[[str], str] = str) -> Iterator[str]:
    """Yield the translation of each message of a document that `join_messages` made; that of context is empty."""
    assert item.document.layout is not None
    messages = cast(Sequence[Message], item.document.layout.details["messages"])
    written = (
        "" if passage.kind == CONTEXT else _fill_passage(cast(StringPassage, passage), pieces, encode)
        for passage, pieces in written_passages(item)
    )
    for message in messages:
        filled = iter(list(islice(written, len(message.passages))))
        yield "".join(part if isinstance(part, str) else next(filled) for part in message.parts)


def _fill_passage(passage: StringPassage, pieces: Sequence[str | InlineMark], encode: Callable[[str], str]) -> str:
    """Return a paragraph with its placeholders and entities, as its file writes them."""
    entities = EntityWriter(passage.forms)
    placed = [*keep_order(spread_placeholders(pieces), passage.marks)]
    return _fill(placed, passage.wraps, lambda text: encode(entities.encode(text)))


def _fill(pieces: Sequence[str | InlineMark], wraps: int, encode: Callable[[str], str]) -> str:
    """Join pieces, wrapped into as many more lines; what a mark holds is never broken."""
    if not wraps:
        return fill(pieces, encode)
    text = "".join(piece if isinstance(piece, str) else STAND_IN for piece in pieces)
    lines = (text[start:end] for start, end in cut_text(text, [1.0] * (wraps + 1)))
    marks = [piece.text for piece in pieces if not isinstance(piece, str)]
    parts = zip_longest("\n".join(lines).split(STAND_IN), marks, fillvalue="")
    return "".join(encode(words) + mark for words, mark in parts)
