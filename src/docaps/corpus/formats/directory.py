"""A directory with one file for each document, in the order of their names; both sides are matched by name.

A file holds one sentence a line, or running text where that is asked for. Its name without the last ending is the
document's id. Hidden files are passed over.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from docaps.corpus.documents import Document, Layout
from docaps.corpus.formats.interface import Entry, ReadingOptions, fill, layout_of
from docaps.corpus.formats.lines import DOCUMENT_MARK, plain, read_marked
from docaps.corpus.formats.opening import check_lengths, one_line, read_raw_lines
from docaps.corpus.formats.starts import COMPRESSED
from docaps.corpus.formats.text import read_text
from docaps.errors import CorpusError


def list_files(path: Path) -> list[Path]:
    """List the documents of a directory."""
    try:
        found = sorted(place for place in path.iterdir() if not place.name.startswith("."))
    except OSError as fault:
        raise CorpusError(f"the directory cannot be read: {fault.strerror}", path=path) from None
    if not found:
        raise CorpusError("the directory is empty: expected one file for each document", path=path)
    for place in found:
        if not place.is_file():
            raise CorpusError("not a file: expected one file for each document", path=place)
    return found


def id_of(path: Path) -> str:
    """Return the id of the document in a file: the name without its last ending."""
    return (path.with_suffix("") if path.suffix in COMPRESSED else path).stem


def read_directory(options: ReadingOptions, *, running_text: bool = False) -> Iterator[Document]:
    """Go through the documents of a directory."""
    for place in list_files(options.path):
        here = replace(options, path=place)
        lines = read_raw_lines(place)
        parts = read_text(lines, here) if running_text else read_marked(_without_marks(lines, place), here)
        for document in parts:
            assert document.layout is not None
            layout = replace(document.layout, format="directory", details={"name": place.name})
            yield replace(document, id=id_of(place), layout=layout)


def _without_marks(lines: Iterable[str], place: Path) -> Iterator[str]:
    """Hand on the lines of one document, and refuse the mark of another."""
    for number, line in enumerate(check_lengths(lines, place), start=1):
        if one_line(line) == DOCUMENT_MARK:
            message = f"a {DOCUMENT_MARK} mark in a directory of documents: expected one document in each file"
            raise CorpusError(message, path=place, line=number)
        yield line


def check_partners(source: Path, target: Path) -> None:
    """Refuse two directories if a document of one is missing in the other."""
    sides = {place: {id_of(file): file.name for file in list_files(place)} for place in (source, target)}
    for here, there in ((source, target), (target, source)):
        missing = sorted(sides[here].keys() - sides[there].keys())
        if missing:
            name = sides[here][missing[0]]
            message = f"no document of this name in {there}: add it there, or remove this one"
            raise CorpusError(message, path=here / name)


def write_directory(directory: Path, entries: Iterable[Entry]) -> None:
    """Write one file for each document, under the name it had, or its id."""
    for number, entry in enumerate(entries, start=1):
        layout = layout_of(entry.document, "directory") or Layout("directory")
        name = layout.details.get("name") or _file_name(entry.document.id or f"{number:06d}")
        place = directory / _unpacked(name)
        if place.exists() and not layout.continues:
            raise CorpusError(f"two documents would be called {place.name}: give them other ids", path=directory)
        with place.open("a", encoding="utf-8") as file:
            file.write(fill(layout, [plain(sentence) for sentence in entry.text]))


def _unpacked(name: str) -> str:
    """Drop the ending of a compressed file: what is written is plain."""
    return name.removesuffix(".gz").removesuffix(".zst")


def _file_name(name: str) -> str:
    """Turn an id into a file name."""
    safe = "".join(letter if letter.isalnum() or letter in "-_. " else "_" for letter in one_line(name))
    return f"{safe.lstrip('.') or '_'}.txt"
