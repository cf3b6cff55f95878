"""Dividing a parallel corpus by documents: a share of them is drawn, by a hash of their text, and the others remain.

Whether a document is drawn depends on its text, the seed and the share alone, not on its place or on other documents.
So a document is on the same side in every copy of a corpus, and one that occurs twice is on one side only.
"""

import gzip
import hashlib
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from docaps import progress
from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.formats.lines import DOCUMENT_MARK, plain
from docaps.errors import CorpusError
from docaps.files import replacing_directory, sha256, write_json

LONG = 40
"""Sentences of more characters say where they come from; many shorter ones occur anywhere."""
DRAWN, REST, LEFT_OUT = "drawn", "rest", "left out"
DESCRIPTION = "divided.json"
PairReader = Callable[[], Iterable[ParallelDocument]]
"""Reads documents from their beginning, each time it is called."""
TextReader = Callable[[], Iterable[Document]]
"""Reads the documents of one side."""


@dataclass(frozen=True, slots=True)
class DivisionOptions:
    """What is drawn, and what of it is left out."""

    share: float = 0.1
    seed: int = 1
    apart: bool = False
    """Whether to leave out drawn documents that share a long sentence with the rest."""
    long: int = LONG
    """Sentences with more characters are long."""

    def is_drawn(self, document: ParallelDocument) -> bool:
        """Return whether a document is drawn."""
        text = "\n".join((str(self.seed), *document.source, "", *document.target))
        return _number(text) < self.share * 2**64

    def long_sentences(self, document: Document | ParallelDocument) -> set[int]:
        """Return a number for each long sentence of a document, of either side."""
        sentences = document.sentences if isinstance(document, Document) else (*document.source, *document.target)
        texts = (" ".join(text.split()) for text in sentences)
        return {_number(text) for text in texts if len(text) > self.long}


@dataclass(slots=True)
class PartSize:
    """The size of a part."""

    documents: int = 0
    sentences: int = 0

    def add(self, document: ParallelDocument) -> None:
        """Count a document."""
        self.documents += 1
        self.sentences += len(document.source)


def _number(text: str) -> int:
    """Return a number of 64 bits that depends on a text alone, on any machine."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def find_shared(read: PairReader, others: Sequence[TextReader], options: DivisionOptions) -> set[int]:
    """Return the long sentences of the drawn documents that the rest or another text has, too, as numbers.

    Memory holds the numbers of the long sentences of the drawn documents.
    """
    own: set[int] = set()
    for document in progress.track(read(), "drawn documents"):
        if options.is_drawn(document):
            own |= options.long_sentences(document)
    shared: set[int] = set()
    if options.apart:
        for document in progress.track(read(), "sentences of the rest"):
            if not options.is_drawn(document):
                shared |= own & options.long_sentences(document)
    for other in others:
        for text in progress.track(other(), "sentences of other texts"):
            shared |= own & options.long_sentences(text)
    return shared


def divide(
    read: PairReader, endings: tuple[str, str], out: Path, options: DivisionOptions, others: Sequence[TextReader] = ()
) -> dict[str, PartSize]:
    """Write the drawn documents and the rest to a directory, compressed; return the sizes of all parts.

    `endings` are those of the names of both sides, such as `en` and `de`. Drawn documents that share a long sentence
    with the rest (`apart`) or with other texts are in no file.
    """
    shared = find_shared(read, others, options) if options.apart or others else set[int]()
    sizes = {DRAWN: PartSize(), REST: PartSize(), LEFT_OUT: PartSize()}
    with replacing_directory(out, own=[DESCRIPTION, *_names(endings)], error=CorpusError) as directory:
        with ExitStack() as stack:
            files = {part: _open_pair(stack, directory, part, endings) for part in (DRAWN, REST)}
            for document in progress.track(read(), "divide"):
                part = REST if not options.is_drawn(document) else DRAWN
                if part == DRAWN and not shared.isdisjoint(options.long_sentences(document)):
                    part = LEFT_OUT
                sizes[part].add(document)
                for file, sentences in zip(files.get(part, ()), (document.source, document.target), strict=False):
                    file.writelines(f"{line}\n" for line in (DOCUMENT_MARK, *map(plain, sentences)))
        _check_sizes(sizes, out)
        write_json(directory / DESCRIPTION, describe(options, sizes, directory, endings))
    return sizes


def describe(
    options: DivisionOptions, sizes: dict[str, PartSize], directory: Path, endings: tuple[str, str]
) -> dict[str, object]:
    """Describe a division: how it was drawn, the sizes of its parts, and the hashes of its files."""
    counts = {part: {"documents": size.documents, "sentences": size.sentences} for part, size in sizes.items()}
    drawn = {"share": options.share, "seed": options.seed, "apart": options.apart, "long": options.long}
    return {**drawn, "parts": counts, "files": {name: sha256(directory / name) for name in _names(endings)}}


def _names(endings: tuple[str, str]) -> list[str]:
    return [f"{part}.{ending}.gz" for part in (DRAWN, REST) for ending in endings]


def _open_pair(stack: ExitStack, directory: Path, part: str, endings: tuple[str, str]) -> list[IO[str]]:
    """Open the two files of a part."""
    return [stack.enter_context(_compressing(directory / f"{part}.{ending}.gz")) for ending in endings]


@contextmanager
def _compressing(path: Path) -> Iterator[IO[str]]:
    """Open a compressed text file that holds no date: the same text gives the same bytes."""
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="\n") as text,
    ):
        yield text


def _check_sizes(sizes: dict[str, PartSize], out: Path) -> None:
    """Refuse a division with an empty part: nothing could read its file."""
    for part in (DRAWN, REST):
        if not sizes[part].documents:
            found = ", ".join(f"{name}: {size.documents:,} documents" for name, size in sizes.items())
            raise CorpusError(f"nothing would be {part} ({found}): choose another --share or --seed", path=out)
