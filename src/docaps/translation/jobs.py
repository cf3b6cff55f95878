"""Translate files: read documents, translate them window by window, write the translations, resume a stopped job.

While a file is written it is called `NAME.partial`, and `OUT.journal.json` beside the output records the progress after
each window of sentences. A job that was stopped or killed resumes from there with the same windows, so every byte of
the result is the same as without the interruption.
"""

import io
import json
import os
import signal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, Literal

from pydantic import ValidationError

from docaps import progress
from docaps.corpus.documents import Document
from docaps.corpus.formats import format_translations, iterate_documents
from docaps.corpus.formats.folder import list_files
from docaps.corpus.formats.registry import DIRECTORY
from docaps.corpus.formats.text_input import STDIN, Arrival
from docaps.errors import DocapsError
from docaps.files import naming, read_json, sha256, write_json
from docaps.interruption import Interrupted, shielded
from docaps.runs.stored_forms import Natural, StoredForm
from docaps.translation.translator import Session, TranslatedSentence, TranslationOptions, Translator, as_row

FIRST_WINDOW = 64
"""Sentences of the first window where a reader may be waiting; each window after it is twice as large, up to all."""
TABLE_HEADING = ("document", "sentence", "rank", "score", "log_probability", "translation")
SKIPPED = TranslatedSentence("", 0.0)

OutputKind = Literal["text", "table", "json"]


@dataclass(frozen=True, slots=True)
class InputDocument(Document):
    """A document, or a part of a long one, and the file it was read from."""

    path: Path = STDIN


Translated = tuple[InputDocument, tuple[TranslatedSentence, ...]]


@dataclass(frozen=True, slots=True)
class InputFiles:
    """Files, directories or stdin, and how to read them."""

    paths: Sequence[Path]
    language: str
    format: str | None = None
    starts: Path | None = None

    def documents(self, arrival: Arrival) -> Iterator[InputDocument]:
        """Yield the documents of all files."""
        for path in self.paths:
            reading = iterate_documents(
                path, format=self.format, language=self.language, starts=self.starts, running_text=True, arrival=arrival
            )
            for number, one in enumerate(reading):
                if number == 0 and self.format is None and one.format == "text":
                    hint = "name --format lines if it has one sentence a line"
                    where = "stdin" if path == STDIN else path
                    progress.say(f"{where}: read as running text and split into sentences; {hint}")
                layout, file = one.layout, path
                if layout is not None and layout.format == DIRECTORY:  # its files are written one by one, as lines
                    layout, file = replace(layout, format="lines"), path / layout.details["name"]
                yield InputDocument(one.sentences, one.id, one.paragraphs, layout, file)

    def files(self) -> list[Path]:
        """List the files, those of directories one by one."""
        return [file for path in self.paths for file in (list_files(path) if path.is_dir() else [path])]

    def describe(self) -> dict[str, Any]:
        """Return what identifies the input, to refuse another on resuming; stdin and pipes are not checked."""
        read = {str(path): sha256(path) if path.is_file() else "" for path in self.files()}
        return {"input": read, "format": [self.format, str(self.starts) if self.starts else None]}


def gather(
    documents: Iterable[InputDocument], arrival: Arrival, *, whole: bool = False
) -> Iterator[list[InputDocument]]:
    """Collect documents into windows: each ends when the arrival has `enough`; with `whole`, where a document ends."""
    window: list[InputDocument] = []
    count = 0
    for document in documents:
        if whole and window and not document.continues and arrival.enough(count):
            yield window
            window, count = [], 0
        window.append(document)
        count += len(document.sentences)
        if not whole and arrival.enough(count):
            yield window
            window, count = [], 0
    if window:
        yield window


def output_name(path: Path) -> str:
    """Return the name of the translation of a file: its own, without the suffix of a compressed one."""
    return path.name.removesuffix(".gz").removesuffix(".zst")


@dataclass(frozen=True, slots=True)
class Job:
    """What to translate, how, and in which form to write it."""

    inputs: InputFiles
    translator: Translator
    options: TranslationOptions
    kind: OutputKind
    target_language: str
    file_by_file: bool = False
    """Whether each input file has an output file of its own."""

    def run(self, output: "StreamOutput", *, skip: int = 0, promptly: bool = False, shown: bool = True) -> None:
        """Translate; `skip` windows are written already; `promptly`: do not wait long for slow input."""
        with self.translator.session(self.options, shown=shown) as session:
            translated = self._translate(session, output, skip, promptly)
            for name, group in groupby(
                translated, key=lambda one: output_name(one[0].path) if self.file_by_file else ""
            ):
                output.begin(name)
                for text in self._format(group):
                    output.write(text)
                output.end()

    def _translate(self, session: Session, output: "StreamOutput", skip: int, promptly: bool) -> Iterator[Translated]:
        """Yield translated documents; when the next is asked for, the text of those before is written."""
        limit = self.translator.window
        arrival = Arrival(min(FIRST_WINDOW, limit) if promptly else limit)
        if not promptly:
            arrival.disregard()
        looks_ahead = self.translator.view(self.options).future > 0
        windows = gather(self.inputs.documents(arrival), arrival, whole=looks_ahead)
        for number, window in enumerate(windows, start=1):
            if number <= skip:
                session.skip(window)
                sentences = [(SKIPPED,) * len(document.sentences) for document in window]
            else:
                sentences = session.translate(window)
            output.skipping = number <= skip
            yield from zip(window, sentences, strict=True)
            output.commit(number)
            arrival.grow(limit)
        output.skipping = False

    def _format(self, translated: Iterable[Translated]) -> Iterator[str]:
        """Write the translations of one output as text, document by document."""
        if self.kind != "text":
            return (format_json if self.kind == "json" else format_table)(translated)
        pairs = ((document, [one.text for one in sentences]) for document, sentences in translated)
        return format_translations(pairs, language=self.inputs.language, target_language=self.target_language)


def format_table(translated: Iterable[Translated]) -> Iterator[str]:
    """Write a line for each translation, or each of the n-best, with its scores; columns are tab-separated."""
    yield "\t".join(TABLE_HEADING) + "\n"
    number = position = 0
    for document, sentences in translated:
        if not document.continues:
            number, position = number + 1, 0
        name = str(number) if document.id is None else document.id
        rows = []
        for sentence in sentences:
            position += 1
            for rank, each in enumerate(sentence.alternatives or (sentence,), start=1):
                rows.append((name, position, rank, f"{each.score:.6f}", f"{each.log_probability:.6f}", each.text))
        yield "".join("\t".join(" ".join(str(cell).split()) for cell in row) + "\n" for row in rows)


def format_json(translated: Iterable[Translated]) -> Iterator[str]:
    """Write one JSON object, a sentence a line."""
    begun = False
    yield '{"documents": ['
    for document, sentences in translated:
        pairs = zip(document.sentences, sentences, strict=True)
        rows = ",\n".join(json.dumps(as_row(source, sentence), ensure_ascii=False) for source, sentence in pairs)
        if begun and document.continues:
            yield f",\n{rows}" if rows else ""
            continue
        head = {"file": str(document.path), **({} if document.id is None else {"id": document.id})}
        opening = json.dumps(head, ensure_ascii=False).removesuffix("}")
        yield ("\n]}," if begun else "") + f'\n{opening}, "sentences": [\n{rows}'
        begun = True
    yield "\n]}\n]}\n" if begun else "]}\n"


class StreamOutput:
    """An open stream such as stdout, in UTF-8 whatever the locale."""

    skipping = False
    """Whether the text that is written now was written before."""

    def __init__(self, file: io.BufferedIOBase) -> None:
        self._stream = file

    def begin(self, name: str) -> None:
        """Go to the file of this name; a stream has none."""

    def write(self, text: str) -> None:
        """Write a text whole."""
        with shielded():
            self._stream.write(encode(text))

    def commit(self, windows: int) -> None:  # noqa: ARG002
        """Flush after a window."""
        self._stream.flush()

    def end(self) -> None:
        """Complete the file of this name."""
        self._stream.flush()


class _Journal(StoredForm):
    """The form of a journal."""

    request: dict[str, Any]
    windows: Natural
    name: str
    size: Natural


class FileOutput(StreamOutput):
    """A file, or a directory of files, each complete under its name or unfinished as `NAME.partial`.

    The journal holds the request, the number of windows written, and the unfinished file's name and size then.
    """

    def __init__(self, out: Path, request: Mapping[str, Any], *, directory: bool) -> None:
        self.journal = out.parent / f"{out.name}.journal.json"
        self.windows = 0
        self._out, self._request, self._directory = out, dict(request), directory
        self._path, self._name = out, ""
        self._file: BinaryIO | None = None
        self._unfinished, self._size, self._has_progress = "", 0, False

    def start(self) -> None:
        """Write the journal of a new job."""
        self._record(0, 0)

    def resume(self) -> None:
        """Read the journal of a stopped job; refuse one with another request."""
        try:
            found = _Journal.model_validate(read_json(self.journal, error=DocapsError))
        except ValidationError:
            raise DocapsError("not a journal of docaps translate: remove it", path=self.journal) from None
        self.windows, self._unfinished, self._size = found.windows, found.name, found.size
        if others := [key for key in self._request if found.request.get(key) != self._request[key]]:
            message = f"the translation was begun with other {' and '.join(others)}: --overwrite starts it over"
            raise DocapsError(message, path=self.journal)
        self._has_progress = self.windows > 0

    def __enter__(self) -> "FileOutput":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        """Remove the journal of a complete job; keep what a stopped one wrote; clean up after one without progress."""
        if self._file is not None:
            self._file.close()
        if isinstance(error, KeyboardInterrupt):
            number = error.number if isinstance(error, Interrupted) else signal.SIGINT
            message = "stopped; what is written is kept: the same command with --resume goes on"
            raise Interrupted(number, message) from None
        if error is not None and not self._has_progress:
            partial(self._path).unlink(missing_ok=True)
        if error is None or not self._has_progress:
            self.journal.unlink(missing_ok=True)

    def begin(self, name: str) -> None:
        """Go to the file of this name."""
        self._name = name
        self._path = self._out / name if self._directory else self._out

    def write(self, text: str) -> None:
        """Append text to the unfinished file."""
        if not self.skipping:
            with naming(self._path):
                self._open().write(encode(text))

    def commit(self, windows: int) -> None:
        """Record the progress once the text is on the disk."""
        if self.skipping:
            return
        with shielded(), naming(self._path):
            file = self._open()
            file.flush()
            os.fsync(file.fileno())
            self._record(windows, file.tell())
            self._has_progress = True

    def end(self) -> None:
        """Give the file its name, if it is complete now and was not before."""
        if self._file is None and (self.skipping or self._unfinished != self._name):
            return
        with shielded(), naming(self._path):
            self._open().close()
            self._file = None
            partial(self._path).replace(self._path)
            self._has_progress = True

    def _record(self, windows: int, size: int) -> None:
        write_json(self.journal, {"windows": windows, "name": self._name, "size": size, "request": self._request})

    def _open(self) -> BinaryIO:
        """Return the unfinished file: empty, or as the journal last recorded it."""
        if self._file is None:
            path = partial(self._path)
            path.parent.mkdir(parents=True, exist_ok=True)
            resumes = self.windows > 0 and self._unfinished == self._name
            if resumes:
                _restore(self._path, self._size)
                self._unfinished = ""
            else:
                path.unlink(missing_ok=True)  # of an earlier job; what a link points to is not ours to write
            self._file = path.open("r+b" if resumes else "xb")
            self._file.seek(0, os.SEEK_END)
        return self._file


def _restore(path: Path, size: int) -> None:
    """Bring back an unfinished file of a known size, from itself or from the finished one it had become."""
    unfinished = partial(path)
    if path.is_file() and not os.path.lexists(unfinished):
        unfinished.write_bytes(path.read_bytes())
    if not unfinished.is_file() or unfinished.is_symlink() or unfinished.stat().st_size < size:
        raise DocapsError("is not what the journal says: --overwrite starts the translation over", path=unfinished)
    os.truncate(unfinished, size)


def partial(path: Path) -> Path:
    """Return the name of a file until it is complete."""
    return path.with_name(path.name + ".partial")


def encode(text: str) -> bytes:
    """Encode text as UTF-8; surrogates, as from the name of a file, are escaped."""
    return text.encode("utf-8", errors="backslashreplace")
