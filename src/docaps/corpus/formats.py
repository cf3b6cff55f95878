"""Reading and writing documents: one sentence a line, a line `<d>` before each document.

LF and CRLF line ends are read alike, plain or gzip. A file without any `<d>` is one document.
"""

import contextlib
import gzip
import io
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from docaps.corpus.documents import Document, ParallelDocument
from docaps.errors import CorpusError
from docaps.files import write_text_atomically

DOCUMENT_MARK = "<d>"
STDIN = Path("-")


def read_documents(path: Path) -> list[Document]:
    """Read the documents of a file (`-` is stdin)."""
    return split_documents(read_lines(path), path)


def split_documents(lines: Iterable[str], path: Path) -> list[Document]:
    """Cut lines into documents at their marks; `path` is named in messages."""
    documents: list[list[str]] = []
    starts: list[int] = []
    for number, line in enumerate(lines, start=1):
        if line == DOCUMENT_MARK or number == 1:
            documents.append([])
            starts.append(number)
        if line != DOCUMENT_MARK:
            documents[-1].append(line)
    for start, document in zip(starts, documents, strict=True):
        if not document:
            raise CorpusError(f"a document without sentences: remove this {DOCUMENT_MARK} line", path=path, line=start)
    if not documents:
        raise CorpusError("the file is empty: expected one sentence a line", path=path)
    return [Document(tuple(sentences)) for sentences in documents]


def read_parallel(source: Path, target: Path) -> list[ParallelDocument]:
    """Read two files whose lines translate each other; the document marks must stand on the same lines."""
    source_documents, target_documents = read_documents(source), read_documents(target)
    _check_alignment(source, target, source_documents, target_documents)
    return [
        ParallelDocument(one.sentences, other.sentences)
        for one, other in zip(source_documents, target_documents, strict=True)
    ]


def _check_alignment(source: Path, target: Path, ones: list[Document], others: list[Document]) -> None:
    """Refuse two sides whose documents differ in number or length, naming the first place."""
    line = 1
    for number, (one, other) in enumerate(zip(ones, others, strict=False), start=1):
        if len(one.sentences) != len(other.sentences):
            raise CorpusError(
                f"document {number} (near line {line}) has {len(one.sentences)} sentences in {source}, but "
                f"{len(other.sentences)} in {target}: both sides need the same lines and {DOCUMENT_MARK} marks",
                path=target,
                line=line,
            )
        line += len(one.sentences) + 1
    if len(ones) != len(others):
        raise CorpusError(f"{len(ones)} documents in {source}, but {len(others)} in {target}", path=target)


def read_lines(path: Path) -> Iterator[str]:
    """Go through the lines of a text file, plain or gzip, without line ends and surrounding space."""
    with _open(path) as file:
        lines = iter(file)
        for number in range(1, sys.maxsize):
            try:
                line = next(lines, None)
            except (EOFError, gzip.BadGzipFile, zlib.error) as fault:
                raise CorpusError(f"the compressed file is damaged: {fault}", path=path, line=number) from None
            except OSError as fault:
                raise CorpusError(f"cannot be read: {fault.strerror}", path=path, line=number) from None
            if line is None:
                return
            yield _decode(line, path, number)


@contextlib.contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    """Open a file, or stdin (which stays open), for reading bytes."""
    if path == STDIN:
        if sys.stdin is None:
            raise CorpusError("stdin is closed", path=path)
        yield _unpack(sys.stdin.buffer)
        return
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise CorpusError("no such file", path=path) from None
    except OSError as fault:
        raise CorpusError(f"cannot be opened: {fault.strerror}", path=path) from None
    with file:
        yield _unpack(file)


def _unpack(file: BinaryIO) -> BinaryIO:
    """Unpack gzip, which is known by its first two bytes."""
    packed = isinstance(file, io.BufferedReader) and file.peek(2)[:2] == b"\x1f\x8b"
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file


def _decode(line: bytes, path: Path, number: int) -> str:
    """Turn one line into text, or say where it is not UTF-8."""
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as fault:
        raise CorpusError(
            f"not UTF-8 at byte {fault.start + 1} of the line (0x{line[fault.start]:02x}): convert the file first",
            path=path,
            line=number,
        ) from None
    if "\0" in text:
        raise CorpusError("the line holds a NUL byte: this is no text file", path=path, line=number)
    return " ".join(text.split())


def format_documents(documents: Iterable[Document]) -> str:
    """Write documents as lines, each document after its mark."""
    return "".join(
        line + "\n" for document in documents for line in (DOCUMENT_MARK, *(_one_line(s) for s in document.sentences))
    )


def _one_line(sentence: str) -> str:
    """Keep a sentence on one line."""
    return " ".join(sentence.split())


def write_documents(path: Path, documents: Iterable[Document]) -> None:
    """Write a file of documents, complete or not at all."""
    write_text_atomically(path, format_documents(documents))


def write_parallel(source: Path, target: Path, documents: Iterable[ParallelDocument]) -> None:
    """Write the two sides of some documents to two files."""
    pairs = list(documents)
    write_documents(source, (Document(pair.source) for pair in pairs))
    write_documents(target, (Document(pair.target) for pair in pairs))
