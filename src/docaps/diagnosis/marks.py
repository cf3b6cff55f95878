"""Marked tokens: which target tokens of documents an earlier sentence decides, by phenomenon.

They come from a file of annotations, or from the rules of the language pair.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from docaps.corpus.annotations import Annotation, read_annotations
from docaps.corpus.arrays import join_sentences, starts_of
from docaps.corpus.documents import ParallelDocument
from docaps.corpus.mining import annotate_split
from docaps.corpus.mining.rule_tables import list_pairs
from docaps.corpus.store import Split, Store
from docaps.corpus.text.codec import Codec
from docaps.errors import CorpusError, RunError

REACH = 3
"""How many sentences back the rules look, if the model looks that far."""
UNNAMED = "marked"
"""The phenomenon of annotations that name none."""
Position = tuple[int, int]
"""Document number and sentence number."""
Marks = Mapping[Position, Mapping[str, tuple[int, ...]]]
"""For each sentence with marked tokens, their positions in its encoded translation, by phenomenon."""


def read_marks(
    path: Path, documents: Sequence[ParallelDocument], codec: Codec, place: tuple[Store, str] | None = None
) -> Marks:
    """Read the annotations of documents, or of a part of a prepared corpus with the same tokens."""
    if place is not None and place[0].codec.vocabulary.pieces != codec.vocabulary.pieces:
        message = "the run has another vocabulary than the prepared corpus, so annotated tokens are others"
        raise RunError(f"{message}: leave --annotations out", path=place[0].path)
    found = read_annotations(path) if place is None else read_annotations(path, place[0], part=place[1])
    _check_sentences(found, documents, path)
    marks = place_marks(found, documents)
    if not marks:
        message = f"none of {len(found):,} annotations names tokens, so no gains can be grouped"
        raise CorpusError(
            f"{message}: annotate a prepared corpus with docaps mine, or leave --annotations out", path=path
        )
    _check_positions(marks, documents, codec, path)
    return marks


def mark_by_rules(documents: Sequence[ParallelDocument], codec: Codec, history: int) -> Marks:
    """Mark tokens by the rules of the language pair, if it has any; all is learnt from the documents themselves."""
    if f"{codec.source.code}-{codec.target.code}" not in list_pairs():
        return {}
    source, target = (
        join_sentences([encode(sentence) for one in documents for sentence in getattr(one, side)])
        for side, encode in (("source", codec.encode_source), ("target", codec.encode_target))
    )
    split = Split(source, target, starts_of([len(one.source) for one in documents]))
    return place_marks(annotate_split(codec, split, min(history, REACH)), documents)


def place_marks(found: Iterable[Annotation], documents: Sequence[ParallelDocument]) -> Marks:
    """Group annotations with tokens by the sentences of documents, which they count through."""
    positions = [(number, place) for number, one in enumerate(documents) for place in range(len(one.source))]
    marks: dict[Position, dict[str, tuple[int, ...]]] = {}
    for one in found:
        if one.tokens:
            marked = marks.setdefault(positions[one.sentence - 1], {})
            name = one.phenomenon or UNNAMED
            marked[name] = tuple(sorted({*marked.get(name, ()), *one.tokens}))
    return marks


def choose_marks(marks: Marks, chosen: Sequence[int]) -> Marks:
    """Keep the marks of some documents, which are numbered anew."""
    numbers = {before: after for after, before in enumerate(chosen)}
    return {(numbers[number], place): one for (number, place), one in marks.items() if number in numbers}


def _check_sentences(found: Sequence[Annotation], documents: Sequence[ParallelDocument], path: Path) -> None:
    """Refuse numbers beyond the last sentence."""
    last, count = max((one.sentence for one in found), default=0), sum(len(one.source) for one in documents)
    if last > count:
        expected = f"expected a number from 1 to {count:,}, the sentences of the text"
        raise CorpusError(f"sentence {last:,}, {expected}", path=path)


def _check_positions(marks: Marks, documents: Sequence[ParallelDocument], codec: Codec, path: Path) -> None:
    """Refuse positions beyond the end of a translation."""
    for (number, place), marked in marks.items():
        length, last = len(codec.encode_target(documents[number].target[place])), max(chain(*marked.values()))
        if last >= length:
            where = f"document {number + 1}, sentence {place + 1}: token {last:,}"
            expected = f"its translation has {length:,} tokens for this run, so positions go from 0 to {length - 1:,}"
            raise CorpusError(f"{where}, but {expected}", path=path)
