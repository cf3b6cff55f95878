"""Pronoun accuracy from English to German: does *it* become what it is in the reference?

Counted are the sentences with *it* in the source and a pronoun of the third person in the reference. The accuracy is
the share of them in which translation and reference have the same such pronouns, each equally often, in any order;
precision and recall count single pronouns, each at most as often as in the other text.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from docaps.corpus.documents import Document, all_sentences
from docaps.evaluation.words import words_of

SOURCE_PRONOUN = "it"
PRONOUNS = frozenset(["er", "ihn", "ihm", "sie", "ihr", "es"])


@dataclass(frozen=True, slots=True)
class PronounAccuracy:
    """Shares of sentences and of pronouns that are as in the reference; None if there was nothing to count."""

    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    sentences: int


def pronoun_accuracy(
    sources: Sequence[Document], hypotheses: Sequence[Document], references: Sequence[Document]
) -> PronounAccuracy:
    """Compare the German pronouns of sentences whose source has *it*."""
    right = sentences = matched = ours = theirs = 0
    sides = (all_sentences(side) for side in (sources, hypotheses, references))
    for source, hypothesis, reference in zip(*sides, strict=True):
        found, expected = _pronouns(hypothesis), _pronouns(reference)
        if SOURCE_PRONOUN not in words_of(source) or not expected:
            continue
        sentences, right = sentences + 1, right + (found == expected)
        matched += (found & expected).total()
        ours, theirs = ours + found.total(), theirs + expected.total()
    f1 = _share(2 * matched, ours + theirs)
    return PronounAccuracy(_share(right, sentences), _share(matched, ours), _share(matched, theirs), f1, sentences)


def _pronouns(sentence: str) -> Counter[str]:
    return Counter(word for word in words_of(sentence) if word in PRONOUNS)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
