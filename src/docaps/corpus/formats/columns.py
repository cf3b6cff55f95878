"""One sentence a row, with the id of its document: tab-separated columns (`tsv`) and `docid ||| sentence` (`bars`).

`tsv` has the columns document id, source and optionally target; quotation marks have no meaning. A first line of known
column names is a heading and gives the order of the columns. `bars` is the form of the selective-attention (SAN)
corpora.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column holds what, and the heading if there is one."""

    id: int
    source: int
    target: int | None
    heading: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, str, str]:
        """The heading's names for id, source and target."""
        target = "target" if self.target is None else self.heading[self.target]
        return self.heading[self.id], self.heading[self.source], target

    @property
    def count(self) -> int:
        """Number of columns."""
        return 2 if self.target is None else 3


def read_heading(line: str) -> Columns | None:
    """Parse a line of column names; None if it is not one."""
    cells = line.split("\t")
    names = ["".join(letter for letter in cell.casefold() if letter.isalnum()) for cell in cells]
    roles = [next((role for role, known in COLUMN_NAMES.items() if name in known), None) for name in names]
    if sorted(str(role) for role in roles) not in (["id", "source"], ["id", "source", "target"]):
        return None
    target = roles.index("target") if "target" in roles else None
    return Columns(roles.index("id"), roles.index("source"), target, tuple(one_line(cell) for cell in cells))


def read_tsv(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Yield the documents of tab-separated columns; blank lines are skipped."""
    worded = ((number, line) for number, line in enumerate(lines, start=1) if line.strip(" "))
    first = next(worded, None)
    columns = Columns(0, 1, 2 if first and first[1].count("\t") > 1 else None)
    if first and (heading := read_heading(first[1])):
        columns, first = heading, next(worded, None)
    if first is None:
        raise options.empty("lines of tab-separated columns: document id, source, perhaps target")
    rows = ((number, *_cells(line, columns, number, options)) for number, line in chain([first], worded))

    def layout(_: str, line: int, continues: bool) -> TextLayout:
        return TextLayout("tsv", line, details={"columns": columns}, continues=continues)

    return group_rows(rows, layout, options)


def _cells(line: str, columns: Columns, number: int, options: ReadingOptions) -> tuple[str, str]:
    """Return the document id and the sentence of one side of a line."""
    cells = [one_line(cell) for cell in line.split("\t")]
    wanted = columns.source if options.side == "source" else columns.target
    if len(cells) != columns.count:
        names = " and ".join(("document id, source", "target")[: columns.count - 1])
        message = f"{len(cells)} tab-separated columns, expected {names}: '{shorten(one_line(line))}'"
    elif wanted is None:
        message = "no target column: expected document id, source, target"
    elif not cells[columns.id]:
        message = f"no document id before '{shorten(cells[wanted])}'"
    else:
        return cells[columns.id], cells[wanted]
    raise options.fault(message, number)


def write_tsv(documents: Iterable[OutputDocument], options: WritingOptions) -> Iterator[str]:
    """Write one sentence a line: document id, source and, if there is one, translation."""
    for number, item in enumerate(documents, start=1):
        document, texts = item.document, [item.document.sentences]
        layout = document.layout_in("tsv")
        columns = layout.details["columns"] if layout else None
        if item.translation is not None:
            texts.append(item.translation)
        elif options.side != "source":
            texts = [("",) * len(document.sentences), document.sentences]
        if number == 1 and columns and columns.heading:
            yield _format_row(columns.names, columns)
        name = item.name(number)
        yield "".join(_format_row([name, *cells], columns) for cells in zip(*texts, strict=True))


def _format_row(cells: Sequence[str], columns: Columns | None) -> str:
    """Format one line, with the columns in the order of the input."""
    places = (columns.id, columns.source, columns.target) if columns and columns.target is not None else (0, 1, 2)
    ordered = sorted(zip(places, cells, strict=False))
    return "\t".join(one_line(cell) for _, cell in ordered) + "\n"


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
