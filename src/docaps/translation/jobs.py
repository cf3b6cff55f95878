"""Translate files: read documents, translate them window by window, write the translations, resume a stopped job.

While a file is written it is called `NAME.partial`, and `OUT.journal.json` beside the output records the progress after
each window of sentences. A job that was stopped or killed resumes from there with the same windows, so every byte of
the result is the same as without the interruption.
"""

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO, Literal

from pydantic import ValidationError

from docaps.corpus.formats import encode_translations
from docaps.corpus.formats.registry import find_format
from docaps.corpus.formats.text_input import Arrival
from docaps.corpus.formats.writing import encode_text
from docaps.errors import DocapsError
from docaps.files import naming, read_json, write_json
from docaps.interruption import Interrupted, shielded, signal_of
from docaps.runs.stored_forms import Natural, StoredForm
from docaps.translation.input_files import InputDocument, InputFiles, journal_of
from docaps.translation.translator import Session, TranslatedSentence, TranslationOptions, Translator, as_row

FIRST_WINDOW = 64
"""Sentences of the first window where a reader may be waiting; each window after it is twice as large, up to all."""
SHARD = 1000
"""Sentences of a window that one worker may translate: larger ones save padding (2 % of it), smaller ones share out."""
TABLE_HEADING = ("document", "sentence", "rank", "score", "log_probability", "translation")

OutputKind = Literal["text", "table", "json"]


Translated = tuple[InputDocument, tuple[TranslatedSentence, ...]]


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


@dataclass(frozen=True, slots=True)
class Job:
    """What to translate, how, and in which form to write it."""

    inputs: InputFiles
    translator: Translator
    options: TranslationOptions
    kind: OutputKind
    file_by_file: bool = False
    """Whether each input file has an output file of its own."""

    @property
    def window(self) -> int:
        """Sentences of a window: more for models that wait for earlier translations, and so search few at a time."""
        waits = self.translator.view(self.options).translations
        return self.translator.window if waits else min(SHARD, self.translator.window)

    def run(self, output: "StreamOutput", *, skip: int = 0, promptly: bool = False, shown: bool = True) -> None:
        """Translate; `skip` windows are written already; `promptly`: do not wait long for slow input."""
        with self.translator.session(self.options, shown=shown) as session:
            translated = self._translate(session, output, skip, promptly)
            for name, group in groupby(translated, key=lambda one: one[0].name if self.file_by_file else ""):
                output.begin(name)
                for content in self._format(group):
                    output.write(content)
                output.end()

    def _translate(self, session: Session, output: "StreamOutput", skip: int, promptly: bool) -> Iterator[Translated]:
        """Yield translated documents; when the next is asked for, the text of those before is written."""
        limit = self.window
        arrival = Arrival(min(FIRST_WINDOW, limit) if promptly else limit)
        if not promptly:
            arrival.disregard()
        view = self.translator.view(self.options)
        whole = self.translator.whole or view.future > 0 or (view.translations and not promptly)
        windows = gather(self.inputs.documents(arrival), arrival, whole=whole)
        windows = map(output.checked, windows) if self.kind == "text" else windows
        for number, (window, sentences) in enumerate(session.stream(windows, skip), start=1):
            output.skipping = number <= skip
            yield from zip(window, sentences, strict=True)
            output.commit(number)
            arrival.grow(limit)
        output.skipping = False

    def _format(self, translated: Iterable[Translated]) -> Iterator[bytes]:
        """Write the translations of one output, document by document."""
        if self.kind != "text":
            return map(encode_text, (format_json if self.kind == "json" else format_table)(translated))
        items = (
            (document, [one.text for one in sentences], [one.alignment for one in sentences] if document.marks else ())
            for document, sentences in translated
        )
        return encode_translations(items, **self.inputs.codes)


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

    def checked(self, documents: list[InputDocument]) -> list[InputDocument]:
        """Return documents; refuse those whose translation a terminal cannot show."""
        for name in {document.format for document in documents} if self._stream.isatty() else ():
            if getattr(find_format(name), "binary", False):
                raise DocapsError(f"the translation is a '{name}' file, not text for a terminal: name one with --out")
        return documents

    def begin(self, name: str) -> None:
        """Go to the file of this name; a stream has none."""

    def write(self, content: bytes) -> None:
        """Write a piece of the output whole."""
        with shielded():
            self._stream.write(content)

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
        self.journal = journal_of(out)
        self.windows = 0
        self._out, self._request, self._directory = out, dict(request), directory
        self._path, self._name = out, ""
        self._file: BinaryIO | None = None
        self._unfinished, self._size, self._has_progress = "", 0, False
        self._folders = set[Path]()
        """Where files were renamed since the last record."""

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
        if error is None:
            self._sync_names()
        if isinstance(error, KeyboardInterrupt):
            message = "stopped; what is written is kept: the same command with --resume goes on"
            raise Interrupted(signal_of(error), message) from None
        if error is not None and not self._has_progress:
            partial(self._path).unlink(missing_ok=True)
        if error is None or not self._has_progress:
            self.journal.unlink(missing_ok=True)

    def checked(self, documents: list[InputDocument]) -> list[InputDocument]:
        """Return documents, of which a file can hold any."""
        return documents

    def begin(self, name: str) -> None:
        """Go to the file of this name."""
        self._name = name
        self._path = self._out / name if self._directory else self._out

    def write(self, content: bytes) -> None:
        """Append a piece to the unfinished file."""
        if not self.skipping:
            with naming(self._path):
                self._open().write(content)

    def commit(self, windows: int) -> None:
        """Record the progress once the text is on the disk."""
        if self.skipping:
            return
        with shielded(), naming(self._path):
            file = self._open()
            _sync(file)
            self._sync_names()
            self._record(windows, file.tell())
            self._has_progress = True

    def end(self) -> None:
        """Give the file its name once it is on the disk, if it is complete now and was not before."""
        if self._file is None and (self.skipping or self._unfinished != self._name):
            return
        with shielded(), naming(self._path):
            file = self._open()
            _sync(file)
            file.close()
            self._file = None
            partial(self._path).replace(self._path)
            self._folders.add(self._path.parent)
            self._has_progress = True

    def _sync_names(self) -> None:
        """Wait until the names of finished files are on the disk: a job that resumes takes them for finished."""
        while self._folders and os.name == "posix":
            handle = os.open(self._folders.pop(), os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

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


def _sync(file: BinaryIO) -> None:
    """Wait until what was written to a file is on the disk."""
    file.flush()
    os.fsync(file.fileno())


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
