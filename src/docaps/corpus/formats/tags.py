"""IWSLT training files (`train.tags.*`): talks as lines of text between lines of tags.

A line that begins with a tag of the list below tells something about the talk; every other line is a sentence.
Tag lines are kept as they are when a translation is written.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape

from docaps.corpus.documents import Document, Layout
from docaps.corpus.formats.entities import attributes_of, decode_entities
from docaps.corpus.formats.interface import Entry, ReadingOptions, WritingOptions, empty_file, fill, layout_of, name_of
from docaps.corpus.formats.opening import one_line
from docaps.errors import CorpusError

TAGS = ("url", "keywords", "speaker", "talkid", "title", "description", "reviewer", "translator", "transcript", "doc")
TAG_LINE = re.compile(rf"\s*</?(?:{'|'.join(TAGS)})(?:\s[^>]*)?>", re.IGNORECASE)
TALK_ID = re.compile(r"\s*<talkid>(.*?)(?:</talkid>|$)", re.IGNORECASE)
DOCUMENT_TAG = re.compile(r"\s*<doc\b([^>]*)>", re.IGNORECASE)


def read_tags(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Go through the talks; a talk ends where tag lines follow its text and text follows those."""
    before, sentences, tags = list[str](), list[str](), list[str]()
    start = 1
    for number, line in enumerate(lines, start=1):
        if TAG_LINE.match(line):
            tags.append(line)
            continue
        if tags or not sentences:
            if sentences:
                yield _talk(before, sentences, start, options)
            before, sentences, tags, start = tags, [], [], number - len(tags)
        sentences.append(one_line(line))
    if not sentences:
        raise _without_text(tags, options)
    yield _talk(before, sentences, start, options, after=tags)


def _without_text(tags: list[str], options: ReadingOptions) -> CorpusError:
    """Say that there is no talk, or one without text."""
    if tags:
        return CorpusError(f"talk '{_talk_id(tags)}' has no sentences: remove it", path=options.path, line=len(tags))
    return empty_file(options, "lines of tags such as <talkid>, then lines of text")


def _talk(
    before: list[str], sentences: list[str], start: int, options: ReadingOptions, after: Iterable[str] = ()
) -> Document:
    """Make a document of a talk's tag lines and text lines."""
    ids = [match[1].strip() for line in before if (match := TALK_ID.match(line))]
    if len(ids) > 1:
        raise CorpusError(f"talk '{ids[0]}' has no sentences: remove it", path=options.path, line=start)
    ending = "".join(f"{line}\n" for line in after)
    layout = Layout("tags", start, "".join(f"{line}\n" for line in before), after=f"\n{ending}")
    return Document(tuple(sentences), _talk_id(before), layout=layout)


def _talk_id(tags: list[str]) -> str | None:
    """Find the talk's id: <talkid>, or the docid of <doc>."""
    for line in tags:
        if match := TALK_ID.match(line):
            return decode_entities(match[1].strip())
    for line in tags:
        if (match := DOCUMENT_TAG.match(line)) and "docid" in (found := attributes_of(match[1])):
            return found["docid"]
    return None


def write_tags(entries: Iterable[Entry], options: WritingOptions) -> Iterator[str]:  # noqa: ARG001
    """Write talks with the tag lines they had, or with <talkid> alone."""
    for number, entry in enumerate(entries, start=1):
        name = escape(name_of(entry.document, number), quote=False)
        layout = layout_of(entry.document, "tags") or Layout("tags", before=f"<talkid>{name}</talkid>\n")
        yield fill(layout, [_plain(one_line(sentence)) for sentence in entry.text])


def _plain(sentence: str) -> str:
    """Put a space into a sentence that would be read as a tag line."""
    return sentence.replace("<", "< ", 1) if TAG_LINE.match(sentence) else sentence
