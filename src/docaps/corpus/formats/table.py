"""Tab-separated columns: document id, source and perhaps target; quotation marks have no meaning.

A first line of known column names is a heading, and then says the order of the columns.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from docaps.corpus.documents import Document, Layout
from docaps.corpus.formats.interface import (
    Entry,
    ReadingOptions,
    WritingOptions,
    empty_file,
    layout_of,
    name_of,
    shorten,
)
from docaps.corpus.formats.opening import one_line
from docaps.errors import CorpusError

NAMES = {
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
    """Read a line of column names; None if it is none."""
    cells = line.split("\t")
    plain = ["".join(letter for letter in cell.casefold() if letter.isalnum()) for cell in cells]
    roles = [next((role for role, names in NAMES.items() if cell in names), None) for cell in plain]
    if sorted(str(role) for role in roles) not in (["id", "source"], ["id", "source", "target"]):
        return None
    target = roles.index("target") if "target" in roles else None
    return Columns(roles.index("id"), roles.index("source"), target, tuple(one_line(cell) for cell in cells))


def read_tsv(lines: Iterable[str], options: ReadingOptions) -> Iterator[Document]:
    """Go through documents whose lines all begin with the document's id; blank lines are passed over."""
    columns: Columns | None = None
    name, start, continues, sentences = "", 1, False, list[str]()
    for number, line in enumerate(lines, start=1):
        if not line.strip(" "):
            continue
        if columns is None:
            columns = read_heading(line) or Columns(0, 1, 2 if line.count("\t") > 1 else None)
            if columns.heading:
                continue
        found, sentence = _cells(line, columns, number, options)
        if sentences and found != name:
            yield _document(name, sentences, start, columns, continues)
            sentences = []
        if not sentences:
            name, start, continues = found, number, found == name
        sentences.append(sentence)
        if options.arrival.enough(len(sentences)):
            yield _document(name, sentences, start, columns, continues)
            sentences = []
    if not name:
        raise empty_file(options, "lines of tab-separated columns: document id, source, perhaps target")
    if sentences:
        yield _document(name, sentences, start, columns, continues)


def _cells(line: str, columns: Columns, number: int, options: ReadingOptions) -> tuple[str, str]:
    """Take the id and one side from a line."""
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
    raise CorpusError(message, path=options.path, line=number)


def _document(name: str, sentences: list[str], start: int, columns: Columns | None, continues: bool) -> Document:
    layout = Layout("tsv", start, details={"columns": columns}, continues=continues)
    return Document(tuple(sentences), name, layout=layout)


def write_tsv(entries: Iterable[Entry], options: WritingOptions) -> Iterator[str]:
    """Write one sentence a line: document id, source and, if there is one, translation."""
    for number, entry in enumerate(entries, start=1):
        document, texts = entry.document, [entry.document.sentences]
        layout = layout_of(document, "tsv")
        columns = layout.details["columns"] if layout else None
        if entry.translation is not None:
            texts.append(entry.translation)
        elif options.side != "source":
            texts = [("",) * len(document.sentences), document.sentences]
        if number == 1 and columns and columns.heading:
            yield _row(columns.names, columns)
        name = name_of(document, number)
        yield "".join(_row([name, *cells], columns) for cells in zip(*texts, strict=True))


def _row(cells: Sequence[str], columns: Columns | None) -> str:
    """Write one line, its columns in the order of the input."""
    places = (columns.id, columns.source, columns.target) if columns and columns.target is not None else (0, 1, 2)
    ordered = sorted(zip(places, cells, strict=False))
    return "\t".join(one_line(cell) for _, cell in ordered) + "\n"
