"""Annotations from what was found: which sentences of a corpus need context, and the tokens that it decides."""

from collections.abc import Iterable, Iterator

from docaps.corpus.annotations import Annotation
from docaps.corpus.mining.formality import FORMALITY
from docaps.corpus.mining.knowledge import DocumentFindings
from docaps.corpus.mining.sentences import Finding, Words
from docaps.corpus.mining.token_texts import TokenDocuments


def annotate(
    found: Iterable[tuple[int, DocumentFindings]], tokens: TokenDocuments | None = None
) -> Iterator[Annotation]:
    """Yield the annotations of documents, each given with its number of sentences before, in the order of sentences.

    Every sentence that addresses somebody is labelled with its form; without token ids, no positions are given.
    """
    for start, document in found:
        decided = {one.sentence for one in document.findings if one.phenomenon == FORMALITY}
        marks = [_of_finding(start, one, tokens) for one in document.findings]
        marks += [
            Annotation(sentence=start + number + 1, phenomenon=FORMALITY, label=label)
            for number, label in enumerate(document.addresses)
            if label is not None and number not in decided
        ]
        yield from sorted(marks, key=lambda one: one.sentence)


def _of_finding(start: int, found: Finding, tokens: TokenDocuments | None) -> Annotation:
    """Return the annotation of a finding, with its tokens if they are known."""
    number = start + found.sentence
    positions: tuple[int, ...] = ()
    if tokens is not None:
        text = tokens.sentence(number, target=True)
        positions = text.tokens_of(Words(text.text), found.places)
    return Annotation(
        sentence=number + 1,
        phenomenon=found.phenomenon,
        label=found.label,
        distance=found.distance,
        tokens=positions,
    )
