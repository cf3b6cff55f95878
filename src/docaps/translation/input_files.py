"""Input of a translation job: files, directories and stdin, as documents that know their file."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from docaps import progress
from docaps.corpus.documents import Document
from docaps.corpus.formats import iterate_documents
from docaps.corpus.formats.folder import walk_files
from docaps.corpus.formats.format import DEFAULT_CHOICES, TARGET_LANGUAGE, FileChoices
from docaps.corpus.formats.reading import iterate_member
from docaps.corpus.formats.registry import DIRECTORY
from docaps.corpus.formats.text_input import STDIN, WHOLE, Arrival
from docaps.corpus.formats.writing import Languages, encode_text
from docaps.errors import CorpusError
from docaps.files import sha256


@dataclass(frozen=True, slots=True)
class InputDocument(Document):
    """A document, or a part of a long one, and the file it was read from."""

    path: Path = STDIN
    name: str = ""
    """The name of its translation in a directory: with the folders below that of the input."""


@dataclass(frozen=True, slots=True)
class InputFiles:
    """Files, directories or stdin, and how to read them."""

    paths: Sequence[Path]
    language: str
    format: str | None = None
    starts: Path | None = None
    out: Path | None = None
    """Where translations go: not read, even if it is within a directory that is."""
    skipped: frozenset[Path] = frozenset()
    """Files in directories that cannot be read."""
    target_language: str = TARGET_LANGUAGE
    choices: FileChoices = DEFAULT_CHOICES

    @property
    def codes(self) -> Languages:
        """The languages and the user's choices, which reading and writing share."""
        return Languages(language=self.language, target_language=self.target_language, choices=self.choices)

    def documents(self, arrival: Arrival) -> Iterator[InputDocument]:
        """Yield the documents of all files."""
        for path, file, name in self._members():
            if path == file:
                yield from self._whole_input(file, name, arrival)
            else:
                yield from self._member(file, name, arrival)

    def _whole_input(self, path: Path, name: str, arrival: Arrival) -> Iterator[InputDocument]:
        """Yield the documents of a file or stdin."""
        reading = iterate_documents(
            path, format=self.format, starts=self.starts, running_text=True, arrival=arrival, **self.codes
        )
        for number, one in enumerate(reading):
            if number == 0 and self.format is None and one.format == "text":
                hint = "name --format lines if it has one sentence a line"
                where = "stdin" if path == STDIN else path
                progress.say(f"{where}: read as running text and split into sentences; {hint}")
            yield _with_path(one, path, name)

    def _member(self, path: Path, name: str, arrival: Arrival) -> Iterator[InputDocument]:
        """Yield the documents of a file in a directory."""
        if path.exists() and not path.is_file():  # a pipe might never end
            raise CorpusError("a pipe or a device, which is not read in a directory", path=path)
        if self.format in (None, DIRECTORY, "text"):
            text = self.format == "text"
            reading = iterate_member(path, running_text=text, arrival=arrival, **self.codes)
        else:
            reading = iterate_documents(path, format=self.format, arrival=arrival, **self.codes)
        for one in reading:
            yield _with_path(one, path, name)

    def _members(self) -> Iterator[tuple[Path, Path, str]]:
        """Yield each file with the path that was given for it, itself or a directory, and its translation's name."""
        for path in self.paths:
            if not path.is_dir():
                yield path, path, output_name(path)
                continue
            for file in walk_files(path, self.out):
                if file not in self.skipped and (self.out is None or file != journal_of(self.out)):
                    yield path, file, str(file.relative_to(path).with_name(output_name(file)))

    def without_unreadable(self, *, strict: bool) -> tuple["InputFiles", list[CorpusError]]:
        """Return the files of directories that can be read, and the faults of the others; `strict`: raise the first."""
        faults: dict[Path, CorpusError] = {}
        for path, file, name in self._members():
            if path == file:
                continue
            try:
                for _ in self._member(file, name, WHOLE):
                    pass
            except CorpusError as fault:
                if strict:
                    raise
                faults[file] = fault
        return replace(self, skipped=frozenset(faults)), [*faults.values()]

    def files(self) -> Iterator[Path]:
        """Go through the files, those of directories one by one."""
        return (file for _, file, _ in self._members())

    def names(self) -> Iterator[tuple[Path, str]]:
        """Go through the files and the names of their translations."""
        return ((file, name) for _, file, name in self._members())

    def describe(self) -> dict[str, Any]:
        """Return what identifies the input, to refuse another on resuming; stdin and pipes are not checked."""
        digest = hashlib.sha256()
        for path in self.files():
            digest.update(encode_text(f"{path}\0{sha256(path) if path.is_file() else ''}\n"))
        starts = str(self.starts) if self.starts else None
        return {"input": digest.hexdigest(), "format": [self.format, starts, asdict(self.choices)]}


def _with_path(one: Document, path: Path, name: str) -> InputDocument:
    """Return a document with the file it was read from, and the name of its translation."""
    return InputDocument(
        one.sentences, one.id, one.paragraphs, one.layout, one.marks, one.context_only, path=path, name=name
    )


def output_name(path: Path) -> str:
    """Return the name of the translation of a file: its own, without the suffix of a compressed one."""
    return path.name.removesuffix(".gz").removesuffix(".zst")


def journal_of(out: Path) -> Path:
    """Return the journal of a job by its output."""
    return out.parent / f"{out.name}.journal.json"
