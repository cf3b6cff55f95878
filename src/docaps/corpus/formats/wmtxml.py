"""WMT XML (`<dataset>`, since 2021): each `<doc>` holds its source and perhaps references and hypotheses.

A translation is written as one more `<hyp>` in every document; all else stays as it was. The file must be well-formed
and may not define entities: nothing is expanded, nothing is fetched.
"""

from collections.abc import Iterable, Iterator
from itertools import accumulate
from xml.parsers import expat

from docaps.corpus.documents import Document, Layout
from docaps.corpus.formats.entities import encode_attribute, encode_markup, format_attributes
from docaps.corpus.formats.interface import (
    Entry,
    ReadingOptions,
    Side,
    WritingOptions,
    check_not_empty,
    empty_file,
    fill,
    layout_of,
    name_of,
)
from docaps.corpus.formats.markup import Chunk, MarkedDocument, Scanner, Version, cut_chunks
from docaps.errors import CorpusError

HEADING = '<?xml version="1.0" encoding="utf-8"?>\n<dataset id="documents">\n<collection id="documents">\n'
ENDING = "</collection>\n</dataset>\n"


def check_xml(lines: Iterable[str], options: ReadingOptions) -> Iterator[str]:
    """Hand on the lines of an XML file, and stop where it is not well-formed or defines entities."""
    parser = expat.ParserCreate()

    def refuse(name: str, *_: object) -> None:
        message = f"defines the entity '{name}': write the text itself, entities are not expanded"
        raise CorpusError(message, path=options.path, line=parser.CurrentLineNumber)

    parser.EntityDeclHandler = refuse
    try:
        for line in lines:
            parser.Parse(f"{line}\n")
            yield line
        parser.Parse("", True)
    except expat.ExpatError as fault:
        message = f"not well-formed XML: {expat.ErrorString(fault.code)} (column {fault.offset + 1})"
        raise CorpusError(message, path=options.path, line=fault.lineno) from None


def read_xml(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Go through the documents, taking the text of one side from each."""
    scanner = Scanner(options)
    waiting: tuple[MarkedDocument, Chunk] | None = None
    for chunk in cut_chunks(check_xml(lines, options)):
        marked = scanner.scan(chunk)
        if waiting:
            yield _document(*waiting, options, after="</doc>\n" if marked else f"</doc>{chunk.text}\n")
        waiting = (marked, chunk) if marked else None
    if waiting is None and scanner.documents == 0:
        raise empty_file(options, "<dataset> with <doc> elements in it")


def _document(marked: MarkedDocument, chunk: Chunk, options: ReadingOptions, *, after: str) -> Document:
    """Read one side of a document."""
    line = chunk.line_at(marked.start)
    version = _choose(marked, options, line)
    sentences = version.sentences(chunk)
    check_not_empty(sentences, options, name=marked.name, line=line)
    layout = Layout(
        "xml",
        line,
        before=chunk.text[: marked.end].removeprefix("\n"),
        between=version.seams(chunk),
        after=after,
        sentence_ids=tuple(version.ids),
        details={
            "opening": chunk.text[version.start : version.spans[0][0]],
            "closing": chunk.text[version.spans[-1][1] : version.end],
        },
    )
    return Document(sentences, marked.name, version.paragraphs, layout)


def _choose(marked: MarkedDocument, options: ReadingOptions, line: int) -> Version:
    """Choose the text of a side: <src>; the first <ref>, else a <hyp>; the last <hyp>, else a <ref>."""
    kinds = {kind: [one for one in marked.versions if one.kind == kind] for kind in ("src", "ref", "hyp")}
    order: dict[Side, list[Version]] = {
        "source": kinds["src"],
        "target": [*kinds["ref"], *kinds["hyp"]],
        "hypothesis": [*reversed(kinds["hyp"]), *kinds["ref"]],
    }
    if not order[options.side]:
        wanted = "<src>" if options.side == "source" else "<ref> or <hyp>"
        raise CorpusError(f"document '{marked.name}' has no {wanted}", path=options.path, line=line)
    return order[options.side][0]


def write_xml(entries: Iterable[Entry], options: WritingOptions) -> Iterator[str]:
    """Write documents with their translations as <hyp>; those from elsewhere get markup of their own."""
    foreign = False
    for number, entry in enumerate(entries, start=1):
        if layout := layout_of(entry.document, "xml"):
            yield _with_hypothesis(layout, entry, options)
            continue
        if not foreign:
            yield HEADING
        foreign = True
        yield _lay_out(entry, number, options)
    if foreign:
        yield ENDING


def _with_hypothesis(layout: Layout, entry: Entry, options: WritingOptions) -> str:
    """Put the translation into the document as it was read."""
    attributes = format_attributes({"system": options.system, "lang": options.target_language})
    opening, closing = layout.details["opening"], layout.details["closing"]
    inner = Layout("xml", before=f"<hyp{attributes}>{opening}", between=layout.between, after=f"{closing}</hyp>\n")
    return layout.before + fill(inner, [encode_markup(sentence) for sentence in entry.text]) + layout.after


def _lay_out(entry: Entry, number: int, options: WritingOptions) -> str:
    """Make the markup of a document that comes from elsewhere."""
    kinds = {"source": "src", "target": "ref", "hypothesis": "hyp"}
    language = options.language if options.side == "source" else options.target_language
    texts = [(kinds[options.side], {"lang": language}, entry.document.sentences)]
    if entry.translation is not None:
        kind, system = ("ref", {}) if options.side == "target" else ("hyp", {"system": options.system})
        texts = [
            ("src", {"lang": options.language}, entry.document.sentences),
            (kind, {**system, "lang": options.target_language}, entry.translation),
        ]
    inner = "".join(_version(kind, attributes, text, entry.document.paragraphs) for kind, attributes, text in texts)
    return f"<doc id={encode_attribute(name_of(entry.document, number))}>\n{inner}</doc>\n"


def _version(kind: str, attributes: dict[str, str], sentences: tuple[str, ...], paragraphs: tuple[int, ...]) -> str:
    """Write one text of a document."""
    ends = set(accumulate(paragraphs)) - {len(sentences)}
    lines = [f"<{kind}{format_attributes(attributes)}>", "<p>"]
    for number, sentence in enumerate(sentences, start=1):
        lines.append(f'<seg id="{number}">{encode_markup(sentence)}</seg>')
        if number in ends:
            lines += ["</p>", "<p>"]
    return "\n".join([*lines, "</p>", f"</{kind}>", ""])
