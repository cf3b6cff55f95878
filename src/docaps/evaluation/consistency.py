"""Lexical consistency: is a source term that comes back in a document translated the same way?

A *term* is a source word of four letters or more that is no function word and stands in two sentences of a document or
more. Its translation in a sentence is the stem in the translated sentence with which it goes together best over the
whole test set (the Dice coefficient of their sentences), if that is at least 0.3. The score is the share of equal
translations among all pairs of a document's sentences in which the term's translation was found.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from docaps.corpus.documents import Document
from docaps.evaluation.meteor.settings import function_words
from docaps.evaluation.words import stemmer_of, words_of

SHORTEST, LEAST_DICE = 4, 0.3


@dataclass(frozen=True, slots=True)
class Consistency:
    """The share of equal pairs, and how many pairs and terms it is based on; None if there are none."""

    share: float | None
    pairs: int
    terms: int


def lexical_consistency(
    sources: Sequence[Document],
    hypotheses: Sequence[Document],
    *,
    language: str,
    terms: frozenset[str] | None = None,
) -> Consistency:
    """Measure how consistently repeated source terms (or those of a list) are translated."""
    stem = stemmer_of(language)
    documents = [_sentence_pairs(one, other, stem, terms) for one, other in zip(sources, hypotheses, strict=True)]
    dice = _Dice([pair for document in documents for pair in document])
    equal = pairs = found = 0
    for document in documents:
        for translations in _repeated(document, dice):
            same = [one == other for one, other in combinations(translations, 2)]
            equal, pairs, found = equal + sum(same), pairs + len(same), found + bool(same)
    return Consistency(equal / pairs if pairs else None, pairs, found)


def _sentence_pairs(
    source: Document, hypothesis: Document, stem: Callable[[str], str], terms: frozenset[str] | None
) -> list[tuple[frozenset[str], frozenset[str]]]:
    """Return the terms and the translated stems of each sentence."""
    sides = zip(source.sentences, hypothesis.sentences, strict=True)
    return [(_terms(one, terms), frozenset(map(stem, words_of(other)))) for one, other in sides]


def _terms(sentence: str, terms: frozenset[str] | None) -> frozenset[str]:
    words = frozenset(words_of(sentence))
    if terms is not None:
        return words & terms
    return frozenset(word for word in words if len(word) >= SHORTEST and word not in function_words())


class _Dice:
    """How often words of both sides stand in the same sentence pair, against how often each stands in any."""

    def __init__(self, pairs: Sequence[tuple[frozenset[str], frozenset[str]]]) -> None:
        self._terms = Counter(term for terms, _ in pairs for term in terms)
        self._stems = Counter(stem for _, stems in pairs for stem in stems)
        repeated = {term for term, count in self._terms.items() if count > 1}
        self._both = Counter((term, stem) for terms, stems in pairs for term in terms & repeated for stem in stems)

    def translation(self, term: str, stems: frozenset[str]) -> str | None:
        """Return the stem that goes best with a term; of equals, the first in the alphabet."""
        best = max(sorted(stems), key=lambda stem: self._value(term, stem), default=None)
        return best if best is not None and self._value(term, best) >= LEAST_DICE else None

    def _value(self, term: str, stem: str) -> float:
        return 2 * self._both[term, stem] / (self._terms[term] + self._stems[stem])


def _repeated(document: Sequence[tuple[frozenset[str], frozenset[str]]], dice: _Dice) -> Iterator[list[str]]:
    """Go through the terms that a document repeats: their translations, sentence by sentence, where found."""
    counts = Counter(term for terms, _ in document for term in terms)
    for term in sorted(term for term, count in counts.items() if count > 1):
        found = [dice.translation(term, stems) for terms, stems in document if term in terms]
        yield [translation for translation in found if translation is not None]
