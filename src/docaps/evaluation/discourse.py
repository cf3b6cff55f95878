"""Discourse metrics: lexical consistency, and the accuracy of German pronouns for *it*.

Lexical consistency: is a source term that recurs in a document translated the same way? A *term* is a source word of
four letters or more that is no function word and occurs in at least two sentences of a document. Its translation in a
sentence is the stem in the translated sentence that co-occurs with it best over the whole test set (Dice coefficient of
their sentences), if that is at least 0.3. The score is the share of equal translations among all pairs of a document's
sentences in which a translation of the term was found.

Pronoun accuracy, English to German: counted are the sentences with *it* in the source and a third-person pronoun in the
reference. The accuracy is the share of them whose translation has the same such pronouns as the reference, each equally
often, in any order; precision and recall count single pronouns, each at most as often as in the other text.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from docaps.corpus.documents import Document, all_sentences
from docaps.evaluation.meteor.resources import LANGUAGES, function_words, snowball

SHORTEST_TERM, LEAST_DICE = 4, 0.3
SOURCE_PRONOUN = "it"
PRONOUNS = frozenset(["er", "ihn", "ihm", "sie", "ihr", "es"])
_WORD = re.compile(r"[^\W\d_]+")
TermsAndStems = tuple[frozenset[str], frozenset[str]]
"""The source terms and the translated stems of a sentence pair."""


@dataclass(frozen=True, slots=True)
class Consistency:
    """The share of equal pairs (None without pairs), and the numbers of pairs and terms behind it."""

    share: float | None
    pairs: int
    terms: int


@dataclass(frozen=True, slots=True)
class PronounAccuracy:
    """Shares of sentences and pronouns that agree with the reference; None if there was nothing to count."""

    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float | None
    sentences: int


def words_of(sentence: str) -> list[str]:
    """Return the words of a sentence, lower-cased, without numbers and punctuation."""
    return _WORD.findall(sentence.lower())


def lexical_consistency(
    sources: Sequence[Document], hypotheses: Sequence[Document], *, language: str, terms: frozenset[str] | None = None
) -> Consistency:
    """Measure how consistently repeated source terms (or those of a list) are translated."""
    # Languages without a stemmer compare whole words.
    stem = snowball(LANGUAGES[language].stemmer) if language in LANGUAGES else str
    documents = [_terms_and_stems(one, other, stem, terms) for one, other in zip(sources, hypotheses, strict=True)]
    dice = _Dice([pair for document in documents for pair in document])
    equal = pairs = found = 0
    for document in documents:
        counts = Counter(term for here, _ in document for term in here)
        for term in (term for term, count in counts.items() if count > 1):
            stems = [dice.translation(term, stems) for here, stems in document if term in here]
            same = [one == other for one, other in combinations(filter(None, stems), 2)]
            equal, pairs, found = equal + sum(same), pairs + len(same), found + bool(same)
    return Consistency(_share(equal, pairs), pairs, found)


def _terms_and_stems(
    source: Document, hypothesis: Document, stem: Callable[[str], str], terms: frozenset[str] | None
) -> list[TermsAndStems]:
    """Return the terms and the translated stems of each sentence."""

    def is_term(word: str) -> bool:
        return word in terms if terms is not None else len(word) >= SHORTEST_TERM and word not in function_words()

    sides = zip(source.sentences, hypothesis.sentences, strict=True)
    return [(frozenset(filter(is_term, words_of(one))), frozenset(map(stem, words_of(other)))) for one, other in sides]


class _Dice:
    """Co-occurrence of terms and stems in sentence pairs, as Dice coefficients."""

    def __init__(self, pairs: Sequence[TermsAndStems]) -> None:
        self._terms = Counter(term for terms, _ in pairs for term in terms)
        self._stems = Counter(stem for _, stems in pairs for stem in stems)
        repeated = {term for term, count in self._terms.items() if count > 1}
        self._both = Counter((term, stem) for terms, stems in pairs for term in terms & repeated for stem in stems)

    def translation(self, term: str, stems: frozenset[str]) -> str | None:
        """Return the stem with the highest coefficient; ties go to the first in the alphabet."""
        best = max(sorted(stems), key=lambda stem: self._value(term, stem), default=None)
        return best if best is not None and self._value(term, best) >= LEAST_DICE else None

    def _value(self, term: str, stem: str) -> float:
        return 2 * self._both[term, stem] / (self._terms[term] + self._stems[stem])


def pronoun_accuracy(
    sources: Sequence[Document], hypotheses: Sequence[Document], references: Sequence[Document]
) -> PronounAccuracy:
    """Compare the German pronouns of sentences whose source has *it* with the reference."""
    right = sentences = matched = ours = theirs = 0
    sides = (all_sentences(side) for side in (sources, hypotheses, references))
    for source, hypothesis, reference in zip(*sides, strict=True):
        found, expected = (Counter(filter(PRONOUNS.__contains__, words_of(text))) for text in (hypothesis, reference))
        if SOURCE_PRONOUN not in words_of(source) or not expected:
            continue
        sentences, right = sentences + 1, right + (found == expected)
        matched += (found & expected).total()
        ours, theirs = ours + found.total(), theirs + expected.total()
    f1 = _share(2 * matched, ours + theirs)
    return PronounAccuracy(_share(right, sentences), _share(matched, ours), _share(matched, theirs), f1, sentences)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
