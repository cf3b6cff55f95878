"""WMT SGML (`<srcset>`, `<refset>`, `<tstset>`) and IWSLT development and test XML (the same inside `<mteval>`).

A translation is written as the scoring programs want it: a `<tstset>` with `sysid` on every document.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any

from docaps.corpus.documents import Document, Layout
from docaps.corpus.formats.entities import encode_attribute, encode_markup, format_attributes
from docaps.corpus.formats.interface import (
    Entry,
    ReadingOptions,
    WritingOptions,
    check_not_empty,
    empty_file,
    fill,
    layout_of,
    name_of,
)
from docaps.corpus.formats.markup import Chunk, MarkedDocument, Scanner, cut_chunks
from docaps.errors import CorpusError

FIRST_TAG = re.compile(r"<doc\b[^<>]*>", re.IGNORECASE)
SYSTEM = re.compile(r"""\ssysid\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)


def read_sgml(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Go through the documents of one set: the first for the source, the first that is no srcset for the target."""
    scanner = Scanner(options)
    wanted: int | None = None
    for chunk in cut_chunks(lines):
        marked = scanner.scan(chunk)
        if marked and wanted is None and (options.side == "source" or marked.set_kind != "srcset"):
            wanted = marked.set_number
        if marked and marked.set_number == wanted:
            yield _document(marked, chunk, scanner.evaluation, options)
    if wanted is None and scanner.sets:
        raise CorpusError("holds only a <srcset> or empty sets: expected a <refset> or <tstset>", path=options.path)
    if wanted is None:
        raise empty_file(options, "<doc> elements with <seg> in them")


def _document(marked: MarkedDocument, chunk: Chunk, evaluation: bool, options: ReadingOptions) -> Document:
    """Read one document and what stands around its sentences."""
    line = chunk.line_at(marked.start)
    version = marked.versions[0] if marked.versions else None
    sentences = version.sentences(chunk) if version else ()
    check_not_empty(sentences, options, name=marked.name, line=line)
    assert version is not None
    layout = Layout(
        "sgml",
        line,
        before=chunk.text[marked.start : version.spans[0][0]],
        between=version.seams(chunk),
        after=chunk.text[version.spans[-1][1] :] + "\n",
        sentence_ids=tuple(version.ids),
        details={"set": marked.set_attributes, "evaluation": evaluation},
    )
    return Document(sentences, marked.name, version.paragraphs, layout)


def write_sgml(entries: Iterable[Entry], options: WritingOptions) -> Iterator[str]:
    """Write one set: a tstset of translations, else a srcset or refset."""
    kind, details = "", dict[str, Any]()
    for number, entry in enumerate(entries, start=1):
        layout = layout_of(entry.document, "sgml")
        if number == 1:
            kind, details = _kind(entry, options), dict(layout.details) if layout else {}
            yield _heading(kind, details, options)
        layout = layout or _lay_out(entry.document, number)
        if kind != "srcset":
            layout = _with_system(layout, options.system)
        yield fill(layout, [encode_markup(sentence) for sentence in entry.text])
    if kind:
        yield f"</{kind}>\n" + ("</mteval>\n" if details.get("evaluation") else "")


def _kind(entry: Entry, options: WritingOptions) -> str:
    """Say which set the file holds."""
    if entry.translation is not None or options.side == "hypothesis":
        return "tstset"
    return "srcset" if options.side == "source" else "refset"


def _heading(kind: str, details: dict[str, Any], options: WritingOptions) -> str:
    """Open the set; what the input said about itself is kept."""
    found = dict(details.get("set", {}))
    attributes = {"setid": found.pop("setid", "documents"), "srclang": found.pop("srclang", options.language)}
    if kind != "srcset":
        attributes["trglang"] = found.pop("trglang", options.target_language)
    start = '<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n' if details.get("evaluation") else ""
    return f"{start}<{kind}{format_attributes(attributes | found)}>\n"


def _lay_out(document: Document, number: int) -> Layout:
    """Make the markup of a document that comes from elsewhere."""
    ends = set(accumulate(document.paragraphs or (len(document.sentences),)))
    seams = [
        ("</seg>\n</p>\n<p>\n" if place in ends else "</seg>\n") + f'<seg id="{place + 1}">'
        for place in range(1, len(document.sentences))
    ]
    before = f'<doc docid={encode_attribute(name_of(document, number))}>\n<p>\n<seg id="1">'
    return Layout("sgml", before=before, between=tuple(seams), after="</seg>\n</p>\n</doc>\n")


def _with_system(layout: Layout, system: str) -> Layout:
    """Name the translating system in the document's tag."""
    tag = FIRST_TAG.search(layout.before)
    assert tag is not None
    named = SYSTEM.sub("", tag[0]).replace("<doc", f"<doc sysid={encode_attribute(system)}", 1)
    return replace(layout, before=layout.before[: tag.start()] + named + layout.before[tag.end() :])
