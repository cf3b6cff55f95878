"""A directory with one file for each document, in the order of their names; the two sides are matched by name.

A file holds one sentence a line, or running text if that format is given. Its name without the last ending is the
document's id. Hidden files are skipped.
"""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import IO

from docaps.corpus.documents import Document, TextLayout
from docaps.corpus.formats.format import OutputDocument, ReadingOptions
from docaps.corpus.formats.lines import COMPRESSED, DOCUMENT_MARK, plain, read_marked
from docaps.corpus.formats.text import read_text
from docaps.corpus.formats.text_input import check_lengths, one_line, read_raw_lines
from docaps.errors import CorpusError

NAMES_HELD = 10_000
"""Names of a directory that are sorted in memory."""


def list_files(path: Path) -> list[Path]:
    """List the documents of a directory."""
    try:
        found = sorted(file for file in path.iterdir() if not file.name.startswith("."))
    except OSError as fault:
        raise CorpusError(f"the directory cannot be read: {fault.strerror}", path=path) from None
    if not found:
        raise CorpusError("the directory is empty: expected one file for each document", path=path)
    for file in found:
        if not file.is_file():
            raise CorpusError("not a file: expected one file for each document", path=file)
    return found


def id_of(path: Path) -> str:
    """Return the id of the document in a file: the name without its last ending."""
    return (path.with_suffix("") if path.suffix in COMPRESSED else path).stem


def read_directory(options: ReadingOptions, *, running_text: bool = False) -> Iterator[Document]:
    """Yield the documents of a directory."""
    for file in list_files(options.path):
        here = replace(options, path=file)
        for document in read_member(read_raw_lines(file), here, running_text=running_text):
            assert document.layout is not None
            layout = replace(document.layout, format="directory", details={"name": file.name})
            yield replace(document, layout=layout)


def read_member(lines: Iterable[str], options: ReadingOptions, *, running_text: bool = False) -> Iterator[Document]:
    """Yield the document in one file of a directory; a long one in parts."""
    parts = read_text(lines, options) if running_text else read_marked(_without_marks(lines, options), options)
    for document in parts:
        yield replace(document, id=id_of(options.path))


def walk_files(path: Path, excluded: Path | None = None) -> Iterator[Path]:
    """Go through the files below a directory, by name; hidden ones, and what is in an excluded directory, are left out.

    There may be many: few names are held at a time.
    """
    try:
        names = _sort_names(path)
    except OSError as fault:
        raise CorpusError(f"the directory cannot be read: {fault.strerror}", path=path) from None
    for one in (path / name for name in names):
        if not one.is_dir():
            yield one
        elif not one.is_symlink() and (excluded is None or one.resolve() != excluded.resolve()):
            yield from walk_files(one, excluded)


def _sort_names(path: Path) -> Iterator[str]:
    """Go through the names in a directory in order, except hidden ones; many are sorted in parts, kept in files."""
    parts: list[Iterable[str]] = []
    with os.scandir(path) as entries:
        names = (one.name for one in entries if not one.name.startswith("."))
        while part := sorted(islice(names, NAMES_HELD)):
            parts.append(part if len(part) < NAMES_HELD else _kept_in_file(part))
    return merge(*parts)


def _kept_in_file(names: Iterable[str]) -> Iterator[str]:
    """Write names to a file that has no name itself, and read them from there one by one."""
    file = tempfile.TemporaryFile("w+", encoding="ascii")  # noqa: SIM115
    file.writelines(f"{json.dumps(name)}\n" for name in names)
    file.seek(0)
    return _read_names(file)


def _read_names(file: IO[str]) -> Iterator[str]:
    with file:
        yield from map(json.loads, file)


def _without_marks(lines: Iterable[str], options: ReadingOptions) -> Iterator[str]:
    """Pass on the lines of one document; refuse a document mark."""
    for number, line in enumerate(check_lengths(lines, options.path), start=1):
        if one_line(line) == DOCUMENT_MARK:
            message = f"a {DOCUMENT_MARK} mark in a directory of documents: expected one document in each file"
            raise options.fault(message, number)
        yield line


def check_partners(source: Path, target: Path) -> None:
    """Refuse two directories if a document of one is missing in the other."""
    sides = {folder: {id_of(file): file.name for file in list_files(folder)} for folder in (source, target)}
    for here, there in ((source, target), (target, source)):
        if missing := sorted(sides[here].keys() - sides[there].keys()):
            message = f"no document of this name in {there}: add it there, or remove this one"
            raise CorpusError(message, path=here / sides[here][missing[0]])


def write_directory(directory: Path, documents: Iterable[OutputDocument]) -> None:
    """Write one file for each document, with the name it had, or its id."""
    for number, item in enumerate(documents, start=1):
        layout = item.document.layout_in("directory") or TextLayout("directory")
        letters = one_line(item.document.id or f"{number:06d}")
        safe = "".join(letter if letter.isalnum() or letter in "-_. " else "_" for letter in letters).lstrip(".")
        name = layout.details.get("name") or f"{safe or '_'}.txt"
        file = directory / name.removesuffix(".gz").removesuffix(".zst")  # the output is not compressed
        if file.exists() and not layout.continues:
            raise CorpusError(f"two documents would be called {file.name}: give them other ids", path=directory)
        with file.open("a", encoding="utf-8") as output:
            output.write(layout.fill([plain(sentence) for sentence in item.text]))
