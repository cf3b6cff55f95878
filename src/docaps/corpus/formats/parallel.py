"""Reading two sides that translate each other: in two files, or in one that holds both."""

from collections.abc import Iterator
from pathlib import Path

from docaps.corpus.documents import Document, ParallelDocument
from docaps.corpus.formats.directory import check_partners
from docaps.corpus.formats.interface import SOURCE_LANGUAGE, TARGET_LANGUAGE, Side
from docaps.corpus.formats.lines import DOCUMENT_MARK
from docaps.corpus.formats.opening import STDIN
from docaps.corpus.formats.reading import iterate_documents
from docaps.errors import CorpusError


def read_parallel(
    source: Path,
    target: Path | None = None,
    *,
    format: str | None = None,
    language: str = SOURCE_LANGUAGE,
    target_language: str = TARGET_LANGUAGE,
    starts: Path | None = None,
    target_side: Side = "target",
) -> list[ParallelDocument]:
    """Read two sides whose sentences translate each other; their documents must be the same."""
    return list(
        iterate_parallel(
            source,
            target,
            format=format,
            language=language,
            target_language=target_language,
            starts=starts,
            target_side=target_side,
        )
    )


def iterate_parallel(
    source: Path,
    target: Path | None = None,
    *,
    format: str | None = None,
    language: str = SOURCE_LANGUAGE,
    target_language: str = TARGET_LANGUAGE,
    starts: Path | None = None,
    target_side: Side = "target",
) -> Iterator[ParallelDocument]:
    """Go through two sides, holding one document at a time; one file is enough where it holds both.

    Running text is never split here unless the format `text` is asked for.
    """
    other = source if target is None else target
    if source == other == STDIN:
        raise CorpusError("both sides cannot be read from stdin: give two files", path=STDIN)
    if source.is_dir() and other.is_dir():
        check_partners(source, other)
    ones = iterate_documents(source, format=format, language=language, starts=starts)
    others = iterate_documents(other, format=format, language=target_language, starts=starts, side=target_side)
    return _pair(source, other, ones, others)


def _pair(
    source: Path, target: Path, ones: Iterator[Document], others: Iterator[Document]
) -> Iterator[ParallelDocument]:
    """Put documents side by side, and refuse the first that do not fit."""
    number = 0
    for number, one in enumerate(ones, start=1):
        other = next(others, None)
        if other is None:
            raise _unequal_number((source, number + sum(1 for _ in ones)), (target, number - 1), source, one)
        _check_pair(source, target, number, one, other)
        yield ParallelDocument(one.sentences, other.sentences, one.id, one.paragraphs)
    if (other := next(others, None)) is not None:
        raise _unequal_number((source, number), (target, number + 1 + sum(1 for _ in others)), target, other)


def _unequal_number(one: tuple[Path, int], other: tuple[Path, int], path: Path, alone: Document) -> CorpusError:
    """Say how many documents there are on each side, and where the first without a partner begins."""
    counts = f"{one[1]} documents in {one[0]}, but {other[1]} in {other[0]}"
    message = f"{counts}: the one that begins here has no partner, remove it or add the other side"
    return CorpusError(message, path=path, line=_line(alone))


def _check_pair(source: Path, target: Path, number: int, one: Document, other: Document) -> None:
    """Refuse two documents that differ in name, length or sentence ids, naming the place."""
    if one.id is not None and other.id is not None and one.id != other.id:
        what = f"document {number} is '{one.id}' in {source}, but '{other.id}' in {target}: put them in the same order"
    elif len(one.sentences) != len(other.sentences):
        what = (
            f"document {number} (near line {_line(one)}) has {len(one.sentences)} sentences in {source}, but "
            f"{len(other.sentences)} in {target}: {_advice(one, other)}"
        )
    elif (found := _first_other_id(one, other)) is not None:
        what = f"document {number} has the sentence ids '{found[0]}' in {source}, but '{found[1]}' in {target}"
    else:
        return
    raise CorpusError(what, path=target, line=_line(other))


def _line(document: Document) -> int:
    return document.layout.line if document.layout else 1


def _advice(one: Document, other: Document) -> str:
    """Say what two sides must have in common."""
    names = [document.layout.format if document.layout else "lines" for document in (one, other)]
    if names[0] != names[1]:
        return f"they were read as '{names[0]}' and '{names[1]}'; name the format if that is wrong"
    marks = f"lines and {DOCUMENT_MARK} marks" if names[0] == "lines" else "documents and sentences"
    return f"both sides need the same {marks}"


def _first_other_id(one: Document, other: Document) -> tuple[str, str] | None:
    """Find the first sentence whose id differs between two sides, if both tell ids."""
    if not (one.layout and other.layout and one.layout.sentence_ids and other.layout.sentence_ids):
        return None
    pairs = zip(one.layout.sentence_ids, other.layout.sentence_ids, strict=True)
    return next(((here, there) for here, there in pairs if here != there), None)
