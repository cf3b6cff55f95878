"""One sentence a row, with the id of its document: tab-separated columns (`tsv`) and `docid ||| sentence` (`bars`).

`tsv` has the columns document id, source and optionally target; quotation marks have no meaning. A first line of known
column names is a heading and gives the order of the columns. `bars` is the form of the selective-attention (SAN)
corpora.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.formats.format import (
    OutputDocument,
    ReadingOptions,
    WritingOptions,
    group_rows,
    layout_writer,
    shorten,
)
from docaps.corpus.formats.text_input import one_line

BARS = "|||"
COLUMN_NAMES = {
    "id": {"id", "doc", "docid", "document", "documentid"},
    "source": {"source", "src", "sourcetext", "sentence", "text"},
    "target": {"target", "tgt", "trg", "targettext", "translation", "reference", "ref"},
}


ROLES = tuple(COLUMN_NAMES)


def read_heading(line: str) -> tuple[str, ...]:
    """Return what each column of a line of column names holds; empty if it is not such a line."""
    names = ["".join(filter(str.isalnum, cell.casefold())) for cell in line.split("\t")]
    roles = tuple(role for name in names for role, known in COLUMN_NAMES.items() if name in known)
    return roles if len(roles) == len(names) and sorted(roles) in (["id", "source"], ["id", "source", "target"]) else ()


def read_tsv(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield the documents of tab-separated columns; blank lines are skipped."""
    worded = ((number, line) for number, line in enumerate(lines, start=1) if line.strip(" "))
    first = next(worded, None)
    roles, heading = ROLES[: 3 if first and first[1].count("\t") > 1 else 2], list[str]()
    if first and (found := read_heading(first[1])):
        roles, heading, first = found, [one_line(cell) for cell in first[1].split("\t")], next(worded, None)
    if first is None:
        raise options.empty("lines of tab-separated columns: document id, source, perhaps target")
    rows = ((number, *_cells(line, roles, number, options)) for number, line in chain([first], worded))

    def layout(_: str, line: int, continues: bool) -> TextLayout:
        return TextLayout("tsv", line, details={"roles": roles, "heading": heading}, continues=continues)

    return group_rows(rows, layout, options)


def _cells(line: str, roles: Sequence[str], number: int, options: ReadingOptions) -> tuple[str, str]:
    """Return the document id and the sentence of one side of a line."""
    cells = dict(zip(roles, map(one_line, line.split("\t")), strict=False))
    sentence = cells.get("source" if options.side == "source" else "target")
    if (count := line.count("\t") + 1) != len(roles):
        names = " and ".join(("document id, source", "target")[: len(roles) - 1])
        message = f"{count} tab-separated columns, expected {names}: '{shorten(one_line(line))}'"
    elif sentence is None:
        message = "no target column: expected document id, source, target"
    elif not cells["id"]:
        message = f"no document id before '{shorten(sentence)}'"
    else:
        return cells["id"], sentence
    raise options.fault(message, number)


def write_tsv(documents: Iterable[OutputDocument], options: WritingOptions) -> Iterator[str]:
    """Write one sentence a line: document id, source and, if there is one, translation, in the order of the input."""
    for number, item in enumerate(documents, start=1):
        document, texts = item.document, [item.document.sentences]
        layout = document.layout_in("tsv")
        roles, heading = (layout.details["roles"], layout.details["heading"]) if layout else (ROLES, ())
        order = roles if len(roles) == len(ROLES) else ROLES
        if item.translation is not None:
            texts.append(item.translation)
        elif options.side != "source":
            texts = [("",) * len(document.sentences), document.sentences]
        if number == 1 and heading:
            yield _format_row({"target": "target", **dict(zip(roles, heading, strict=True))}, order)
        name = item.name(number)
        rows = (dict(zip(ROLES, (name, *cells), strict=False)) for cells in zip(*texts, strict=True))
        yield "".join(_format_row(row, order) for row in rows)


def _format_row(cells: Mapping[str, str], order: Sequence[str]) -> str:
    """Format one line."""
    return "\t".join(one_line(cells[role]) for role in order if role in cells) + "\n"


def read_bars(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield the documents of lines that begin with the document's id; blank lines are skipped."""
    return group_rows(_barred_rows(lines, options), _bars_layout, options)


def _barred_rows(lines: Iterable[str], options: ReadingOptions) -> Iterator[tuple[int, str, str]]:
    """Split the id off each line that is not blank."""
    found = False
    for number, line in enumerate(lines, start=1):
        if line.strip():
            name, bars, sentence = line.partition(BARS)
            if not bars or not name.strip():
                message = f"expected a line such as: docid {BARS} sentence, found '{shorten(one_line(line))}'"
                raise options.fault(message, number)
            yield number, one_line(name), one_line(sentence)
            found = True
    if not found:
        raise options.empty("lines such as: docid ||| sentence")


def _bars_layout(name: str, line: int = 1, continues: bool = False) -> TextLayout:
    return TextLayout("bars", line, f"{name} {BARS} ", f"\n{name} {BARS} ", "\n", continues=continues)


write_bars = layout_writer("bars", lambda item, number: _bars_layout(item.name(number).replace(BARS, "|")))
"""Write each sentence after the id of its document."""
