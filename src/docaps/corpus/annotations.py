"""Annotations of a corpus: which of its sentences need context, where, how much, and which form they use.

JSON Lines: a header, `{"docaps": "annotations", "version": 1, "corpus": HASH, "part": "train"}`, then records, one a
line, such as `{"sentence": 17, "phenomenon": "pronoun", "label": "er", "distance": 1, "score": 2.5, "tokens": [3, 4]}`.
All fields but `sentence` are optional, as are the header's `corpus` and `part`. A list of sentences made by hand can be
plain text instead: a sentence number a line or, after a tab, its score.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from docaps.corpus.contrastive.records import JsonRecord, parse_record
from docaps.corpus.formats.format import shorten
from docaps.corpus.formats.text_input import read_raw_lines
from docaps.corpus.store import Split, Store
from docaps.errors import CorpusError
from docaps.files import replacing

VERSION = 1
_PLAIN = re.compile(r"(\d{1,12})(?:\t([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?))?")
_NumberedLine = tuple[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotation:
    """What is known about one sentence; what is unknown is None or empty."""

    sentence: int
    """Its number in its part of the corpus, from 1; sentences that cleaning removed are counted too."""
    phenomenon: str | None = None
    label: str | None = None
    distance: int | None = None
    """How many sentences back the deciding one is."""
    score: float | None = None
    tokens: tuple[int, ...] = ()
    """Positions, from 0, in the encoded target sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationHeader:
    """The prepared corpus, by its hash, and the part of it that annotations belong to; None: any."""

    corpus: str | None = None
    part: str | None = None


_FIELDS = tuple(Annotation.__dataclass_fields__)


def write_annotations(path: Path, header: AnnotationHeader, records: Iterable[Annotation]) -> None:
    """Write annotations as JSON Lines, whole or not at all; fields that are unknown are left out."""
    first = {"docaps": "annotations", "version": VERSION, **asdict(header)}
    values = ({name: value for name, value in asdict(one).items() if value not in (None, ())} for one in records)
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(json.dumps(one, ensure_ascii=False) + "\n" for one in chain([first], values))


def read_annotations(path: Path, store: Store | None = None, *, part: str = "train") -> list[Annotation]:
    """Read annotations; with a prepared corpus, refuse those of another one, of another part or beyond its end."""
    lines = ((number, line) for number, line in enumerate(read_raw_lines(path), start=1) if line.strip())
    first = next(lines, None)
    if first is None:
        raise CorpusError("no annotations: the file is empty", path=path)
    records = _read_records(first, lines, path, store, part) if first[1].lstrip().startswith("{") else None
    records = _read_numbers(chain([first], lines), path) if records is None else records
    split = None if store is None else store.split(part, extra=True)
    return _check_all(records, path, split, part)


def _read_records(
    first: _NumberedLine, lines: Iterator[_NumberedLine], path: Path, store: Store | None, part: str
) -> Iterator[tuple[int, Annotation]]:
    """Check the header, and yield the records after it with their lines."""
    _check_header(parse_record(first[1], path, first[0]), store, part)
    return ((number, _as_annotation(parse_record(line, path, number))) for number, line in lines)


def _check_header(header: JsonRecord, store: Store | None, part: str) -> None:
    """Refuse a file of something else, and annotations of another corpus or part."""
    if header.values.get("docaps") != "annotations":
        raise header.fault('not annotations: expected the header {"docaps": "annotations", "version": 1} first')
    if (version := header.integer("version")) != VERSION:
        raise header.fault(f"annotations of version {version}, expected {VERSION}: a newer docaps may read them")
    corpus = header.text("corpus") if header.has("corpus") else None
    if store is not None and corpus not in (None, store.hash):
        expected = f"expected {shorten(store.hash)}, {store.path}"
        raise header.fault(f"made for another prepared corpus ({shorten(str(corpus))}), {expected}: make them anew")
    found = header.text("part") if header.has("part") else part
    if store is not None and found != part:
        raise header.fault(f"made for the {shorten(found)} part, expected the {part} part")


def _as_annotation(record: JsonRecord) -> Annotation:
    """Return the annotation that a record holds."""
    if unknown := [name for name in record.values if name not in _FIELDS]:
        raise record.fault(f"unknown field '{shorten(unknown[0])}', expected {', '.join(_FIELDS)}")
    return Annotation(
        sentence=record.integer("sentence"),
        phenomenon=record.text("phenomenon") if record.has("phenomenon") else None,
        label=record.text("label") if record.has("label") else None,
        distance=record.integer("distance") if record.has("distance") else None,
        score=record.number("score") if record.has("score") else None,
        tokens=record.integers("tokens") if record.has("tokens") else (),
    )


def _read_numbers(lines: Iterable[_NumberedLine], path: Path) -> Iterator[tuple[int, Annotation]]:
    """Yield the sentences of a plain list with their lines."""
    for number, line in lines:
        found = _PLAIN.fullmatch(line.strip())
        if found is None:
            expected = "expected a sentence number or, after a tab, its score; or JSON Lines of annotations"
            raise CorpusError(f"found {shorten(line.strip())!r}, {expected}", path=path, line=number)
        score = None if found[2] is None else float(found[2])
        yield number, Annotation(sentence=int(found[1]), score=score)


def _check_all(
    records: Iterable[tuple[int, Annotation]], path: Path, split: Split | None, part: str
) -> list[Annotation]:
    """Return all annotations; refuse numbers that do not exist and a record that is there twice."""
    seen: dict[Any, int] = {}
    lengths: Sequence[int] | None = None if split is None else split.target.lengths.tolist()
    found = []
    for line, one in records:
        fault = _fault_in(one, lengths, part)
        first = seen.setdefault((one.sentence, one.phenomenon, one.label, one.tokens), line)
        if first != line:
            fault = f"sentence {one.sentence:,} is annotated as on line {first:,}: remove one of the two"
        if fault is not None:
            raise CorpusError(fault, path=path, line=line)
        found.append(one)
    return found


def _fault_in(one: Annotation, lengths: Sequence[int] | None, part: str) -> str | None:
    """Return what is wrong with the numbers of an annotation, if anything is."""
    count = one.sentence if lengths is None else len(lengths)
    if not 1 <= one.sentence <= count:
        last = f"to {count:,}, the sentences of the {part} part" if lengths is not None else "on"
        return f"sentence {one.sentence:,}, expected a number from 1 {last}"
    if len(set(one.tokens)) < len(one.tokens):
        return f"sentence {one.sentence:,}: tokens {shorten(str([*one.tokens]))} holds a position twice"
    if lengths is not None and max(one.tokens, default=-1) >= (length := lengths[one.sentence - 1]):
        last = f"its translation has {length:,} tokens, so positions go from 0 to {length - 1:,}"
        return f"sentence {one.sentence:,}: token {max(one.tokens):,}, but {last}"
    return None
