"""WMT markup: SGML (`<srcset>`, `<refset>`, `<tstset>`), the same inside `<mteval>` (IWSLT), and XML (`<dataset>`).

A translation of SGML is written as scoring programs expect it: a `<tstset>` with `sysid` on every document. In XML,
since 2021, each `<doc>` holds its source and optionally references and hypotheses; a translation is written as one more
`<hyp>` in every document, and all else is unchanged. XML must be well-formed and may not define entities: nothing is
expanded, nothing is fetched.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any
from xml.parsers import expat

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.formats.format import OutputDocument, ReadingOptions, WritingOptions
from docaps.corpus.formats.markup import MarkedDocument, Scanner, cut_chunks, encode_markup, format_attributes

HEADING = '<?xml version="1.0" encoding="utf-8"?>\n<dataset id="documents">\n<collection id="documents">\n'
ENDING = "</collection>\n</dataset>\n"
FIRST_TAG = re.compile(r"<doc\b[^<>]*>", re.IGNORECASE)
SYSTEM = re.compile(r"""\ssysid\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)""", re.IGNORECASE)


def read_sgml(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield the documents of one set: the first one for the source, the first but a srcset for the target."""
    scanner = Scanner(options)
    wanted: int | None = None
    for chunk in cut_chunks(lines):
        marked = scanner.scan(chunk)
        if marked and wanted is None and (options.side == "source" or marked.set_kind != "srcset"):
            wanted = marked.set_number
        if marked and marked.set_number == wanted:
            yield _sgml_document(marked, scanner.evaluation, options)
    if wanted is None and scanner.sets:
        raise options.fault("holds only a <srcset> or empty sets: expected a <refset> or <tstset>")
    if wanted is None:
        raise options.empty("<doc> elements with <seg> in them")


def _sgml_document(marked: MarkedDocument, evaluation: bool, options: ReadingOptions) -> Document:
    """Return one document with the text around its sentences."""
    spans = marked.versions[0].spans if marked.versions else []
    options.check_not_empty(spans, name=marked.name, line=marked.line)
    before, after = marked.chunk.text[marked.start : spans[0][0]], marked.chunk.text[spans[-1][1] :] + "\n"
    details = {"set": marked.set_attributes, "evaluation": evaluation}
    return marked.read("sgml", marked.versions[0], before=before, after=after, details=details)


def _format_paragraphs(sentences: Sequence[str], paragraphs: Sequence[int]) -> str:
    """Return the markup for the sentences of a document of another format."""
    ends = set(accumulate(paragraphs)) - {len(sentences)}
    lines = ["<p>"]
    for number, sentence in enumerate(sentences, start=1):
        lines.append(f'<seg id="{number}">{encode_markup(sentence)}</seg>')
        if number in ends:
            lines += ["</p>", "<p>"]
    return "\n".join([*lines, "</p>", ""])


def write_sgml(documents: Iterable[OutputDocument], options: WritingOptions) -> Iterator[str]:
    """Write one set: a tstset of translations, else a srcset or refset."""
    kind, details = "", dict[str, Any]()
    for number, item in enumerate(documents, start=1):
        layout = item.document.layout_in("sgml")
        if number == 1:
            kind = {"source": "srcset", "target": "refset", "hypothesis": "tstset"}[options.side]
            kind, details = kind if item.translation is None else "tstset", dict(layout.details) if layout else {}
            yield _open_set(kind, details, options)
        system = {} if kind == "srcset" else {"sysid": options.system}
        if layout:
            layout = _with_system(layout, options.system) if system else layout
            yield layout.fill([encode_markup(sentence) for sentence in item.text])
        else:
            tag = format_attributes({**system, "docid": item.name(number)})
            yield f"<doc{tag}>\n{_format_paragraphs(item.text, item.document.paragraphs)}</doc>\n"
    if kind:
        yield f"</{kind}>\n" + ("</mteval>\n" if details.get("evaluation") else "")


def _open_set(kind: str, details: dict[str, Any], options: WritingOptions) -> str:
    """Return the opening tag of the set, with the attributes of the input."""
    found = dict(details.get("set", {}))
    attributes = {"setid": found.pop("setid", "documents"), "srclang": found.pop("srclang", options.language)}
    if kind != "srcset":
        attributes["trglang"] = found.pop("trglang", options.target_language)
    start = '<?xml version="1.0" encoding="UTF-8"?>\n<mteval>\n' if details.get("evaluation") else ""
    return f"{start}<{kind}{format_attributes(attributes | found)}>\n"


def _with_system(layout: TextLayout, system: str) -> TextLayout:
    """Add the translating system to the document's tag."""
    tag = FIRST_TAG.search(layout.before)
    assert tag is not None
    named = SYSTEM.sub("", tag[0]).replace("<doc", f"<doc{format_attributes({'sysid': system})}", 1)
    return replace(layout, before=layout.before[: tag.start()] + named + layout.before[tag.end() :])


def check_xml(lines: Iterable[str], options: ReadingOptions) -> Iterator[str]:
    """Pass on the lines of an XML file; refuse one that is not well-formed or defines entities."""
    parser = expat.ParserCreate()

    def refuse(name: str, *_: object) -> None:
        message = f"defines the entity '{name}': write the text itself, entities are not expanded"
        raise options.fault(message, parser.CurrentLineNumber)

    parser.EntityDeclHandler = refuse
    try:
        for line in lines:
            parser.Parse(f"{line}\n")
            yield line
        parser.Parse("", True)
    except expat.ExpatError as fault:
        message = f"not well-formed XML: {expat.ErrorString(fault.code)} (column {fault.offset + 1})"
        raise options.fault(message, fault.lineno) from None


def read_xml(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield one side of each document."""
    scanner = Scanner(options)
    waiting: MarkedDocument | None = None
    for chunk in cut_chunks(check_xml(lines, options)):
        marked = scanner.scan(chunk)
        if waiting:
            yield _xml_document(waiting, options, after="</doc>\n" if marked else f"</doc>{chunk.text}\n")
        waiting = marked
    if waiting is None and scanner.documents == 0:
        raise options.empty("<dataset> with <doc> elements in it")


def _xml_document(marked: MarkedDocument, options: ReadingOptions, *, after: str) -> Document:
    """Return one side of a document: <src>; the first <ref>, else a <hyp>; the last <hyp>, else a <ref>."""
    text, line = marked.chunk.text, marked.line
    src, ref, hyp = ([one for one in marked.versions if one.kind == kind] for kind in ("src", "ref", "hyp"))
    order = {"source": src, "target": ref + hyp, "hypothesis": hyp[::-1] + ref}[options.side]
    if not order:
        wanted = "<src>" if options.side == "source" else "<ref> or <hyp>"
        raise options.fault(f"document '{marked.name}' has no {wanted}", line)
    version, spans = order[0], order[0].spans
    options.check_not_empty(spans, name=marked.name, line=line)
    details = {"opening": text[version.start : spans[0][0]], "closing": text[spans[-1][1] : version.end]}
    before = text[: marked.end].removeprefix("\n")
    return marked.read("xml", version, before=before, after=after, details=details)


def write_xml(documents: Iterable[OutputDocument], options: WritingOptions) -> Iterator[str]:
    """Write documents with their translations as <hyp>; those of other formats get new markup."""
    foreign = False
    for number, item in enumerate(documents, start=1):
        if layout := item.document.layout_in("xml"):
            yield _with_hypothesis(layout, item, options)
            continue
        if not foreign:
            yield HEADING
        foreign = True
        yield _format_document(item, number, options)
    if foreign:
        yield ENDING


def _with_hypothesis(layout: TextLayout, item: OutputDocument, options: WritingOptions) -> str:
    """Insert the translation into the document as it was read."""
    attributes = format_attributes({"system": options.system, "lang": options.target_language})
    opening, closing = layout.details["opening"], layout.details["closing"]
    inner = TextLayout("xml", before=f"<hyp{attributes}>{opening}", between=layout.between, after=f"{closing}</hyp>\n")
    return layout.before + inner.fill([encode_markup(sentence) for sentence in item.text]) + layout.after


def _format_document(item: OutputDocument, number: int, options: WritingOptions) -> str:
    """Return the markup for a document of another format."""
    kinds = {"source": "src", "target": "ref", "hypothesis": "hyp"}
    language = options.language if options.side == "source" else options.target_language
    texts = [(kinds[options.side], {"lang": language}, item.document.sentences)]
    if item.translation is not None:
        kind, system = ("ref", {}) if options.side == "target" else ("hyp", {"system": options.system})
        texts = [
            ("src", {"lang": options.language}, item.document.sentences),
            (kind, {**system, "lang": options.target_language}, item.translation),
        ]
    inner = "".join(
        f"<{kind}{format_attributes(attributes)}>\n{_format_paragraphs(text, item.document.paragraphs)}</{kind}>\n"
        for kind, attributes, text in texts
    )
    return f"<doc{format_attributes({'id': item.name(number)})}>\n{inner}</doc>\n"
