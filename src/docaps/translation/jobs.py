"""A translation from files to files: read, translate, write, document by document."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from docaps import progress
from docaps.corpus.documents import Document
from docaps.corpus.formats import STDIN, Arrival, format_of, iterate_documents, list_files
from docaps.files import sha256
from docaps.translation.delivery import Sink
from docaps.translation.output import Item, Writer
from docaps.translation.translator import TranslatedSentence, Translator, Wishes

FIRST_WINDOW = 64
"""Sentences of the first window where somebody may be waiting; each window after it is twice as large, up to all."""
NOTHING = TranslatedSentence("", 0.0)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Files, directories or stdin, and how to read them."""

    paths: Sequence[Path]
    language: str
    format: str | None = None
    starts: Path | None = None

    def documents(self, arrival: Arrival) -> Iterator[tuple[Path, Document]]:
        """Go through the documents of all files, each with the place it comes from."""
        for path in self.paths:
            told = False
            for document in iterate_documents(
                path,
                format=self.format,
                language=self.language,
                starts=self.starts,
                running_text=True,
                arrival=arrival,
            ):
                if not told and self.format is None and format_of(document) == "text":
                    hint = "name --format lines if it has one sentence a line"
                    progress.say(f"{_called(path)}: read as running text and split into sentences; {hint}")
                told = True
                yield _place(path, document), document

    def files(self) -> list[Path]:
        """List the files, those of directories one by one."""
        return [file for path in self.paths for file in (list_files(path) if path.is_dir() else [path])]

    def describe(self) -> dict[str, Any]:
        """Say what is read, so that other input is noticed; stdin and pipes are taken on trust."""
        read = {str(path): sha256(path) if path.is_file() else "" for path in self.files()}
        return {"input": read, "format": [self.format, str(self.starts) if self.starts else None]}


def _called(path: Path) -> str:
    return "stdin" if path == STDIN else str(path)


def _place(path: Path, document: Document) -> Path:
    """Return the file a document comes from."""
    name = document.layout.details.get("name") if document.layout and format_of(document) == "directory" else None
    return path if name is None else path / name


def output_name(path: Path) -> str:
    """Return the name of the translation of a file: its own, without the ending of a compressed one."""
    return path.name.removesuffix(".gz").removesuffix(".zst")


@dataclass(frozen=True, slots=True)
class Job:
    """What is translated, how, and in which form it is written."""

    inputs: Inputs
    translator: Translator
    wishes: Wishes
    writer: Writer
    file_by_file: bool = False
    """Whether each input has an output of its own."""

    def run(self, sink: Sink, *, skip: int = 0, promptly: bool = False, shown: bool = True) -> None:
        """Translate; `skip` windows are written already; `promptly`: do not wait long for input that comes slowly."""
        items = self._items(sink, skip, promptly, shown)
        groups = groupby(items, key=lambda item: output_name(item.path) if self.file_by_file else "")
        for name, group in groups:
            sink.begin(name)
            for piece in self.writer(group):
                sink.write(piece)
            sink.end()

    def _items(self, sink: Sink, skip: int, promptly: bool, shown: bool) -> Iterator[Item]:
        """Go through the translated documents; when the next is asked for, the text of those before is written."""
        limit = self.translator.window
        arrival = Arrival(min(FIRST_WINDOW, limit) if promptly else limit)
        if not promptly:
            arrival.disregard()
        places: deque[Path] = deque()
        documents = _noting(self.inputs.documents(arrival), places)
        windows = self.translator.windows(
            documents, self.wishes, skip=skip, enough=arrival.enough if promptly else None, shown=shown
        )
        for number, window in enumerate(windows, start=1):
            for document, sentences in window:
                sink.muted = sentences is None
                found = (NOTHING,) * len(document.sentences) if sentences is None else sentences
                yield Item(places.popleft(), document, found)
            sink.commit(number)
            arrival.grow(limit)
        sink.muted = False


def _noting(documents: Iterable[tuple[Path, Document]], places: deque[Path]) -> Iterator[Document]:
    """Hand on documents, and note where they come from."""
    for place, document in documents:
        places.append(place)
        yield document
