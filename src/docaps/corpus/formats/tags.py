"""IWSLT training files (`train.tags.*`): talks as lines of text between lines of tags.

A line that begins with one of the tags below describes the talk; every other line is a sentence. Tag lines are kept
when a translation is written.
"""

import re
from collections.abc import Iterable, Iterator
from html import escape

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.formats.format import OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.markup import attributes_of, decode_entities
from docaps.corpus.formats.text_input import one_line

TAGS = ("url", "keywords", "speaker", "talkid", "title", "description", "reviewer", "translator", "transcript", "doc")
TAG_LINE = re.compile(rf"\s*</?(?:{'|'.join(TAGS)})(?:\s[^>]*)?>", re.IGNORECASE)
TALK_ID = re.compile(r"\s*<talkid>(.*?)(?:</talkid>|$)", re.IGNORECASE)
DOCUMENT_TAG = re.compile(r"\s*<doc\b([^>]*)>", re.IGNORECASE)


def read_tags(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield the talks; a talk ends where tag lines follow its text and text follows those."""
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
    if not sentences and tags:
        raise options.fault(f"talk '{_talk_id(tags)}' has no sentences: remove it", len(tags))
    if not sentences:
        raise options.empty("lines of tags such as <talkid>, then lines of text")
    yield _talk(before, sentences, start, options, after=tags)


def _talk(
    before: list[str], sentences: list[str], start: int, options: ReadingOptions, after: Iterable[str] = ()
) -> Document:
    """Return the document of a talk's tag lines and text lines."""
    ids = [match[1].strip() for line in before if (match := TALK_ID.match(line))]
    if len(ids) > 1:
        raise options.fault(f"talk '{ids[0]}' has no sentences: remove it", start)
    opening, ending = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    return Document(tuple(sentences), _talk_id(before), layout=TextLayout("tags", start, opening, after=f"\n{ending}"))


def _talk_id(tags: list[str]) -> str | None:
    """Return the talk's id: <talkid>, or the docid of <doc>."""
    for line in tags:
        if match := TALK_ID.match(line):
            return decode_entities(match[1].strip())
    for line in tags:
        if (match := DOCUMENT_TAG.match(line)) and "docid" in (found := attributes_of(match[1])):
            return found["docid"]
    return None


def write_tags(documents: Iterable[OutputDocument], options: WritingOptions) -> Iterator[str]:  # noqa: ARG001
    """Write talks with the tag lines they had, or with <talkid> alone."""
    for number, item in enumerate(documents, start=1):
        name = escape(item.name(number), quote=False)
        layout = item.document.layout_in("tags") or TextLayout("tags", before=f"<talkid>{name}</talkid>\n")
        yield layout.fill([_plain(one_line(sentence)) for sentence in item.text])


def _plain(sentence: str) -> str:
    """Insert a space into a sentence that would be read as a tag line."""
    return sentence.replace("<", "< ", 1) if TAG_LINE.match(sentence) else sentence
