"""METEOR's counts for sentences, and its score from counts: of one sentence, of a document, of a whole test set.

Reference: Denkowski and Lavie (2014), Eq. 1-4.
"""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from docaps.evaluation.meteor.alignment import align, count_chunks
from docaps.evaluation.meteor.matching import Match, find_matches
from docaps.evaluation.meteor.normalization import Normalizer
from docaps.evaluation.meteor.paraphrases import Paraphrases
from docaps.evaluation.meteor.settings import Settings, function_words, settings_of

Counts = NDArray[np.float64]
LENGTHS, MATCHED, CHUNKS, WORDS = slice(0, 4), slice(4, 16), 16, slice(17, 19)
SIZE = 19
"""Content and function words of both sides; matched ones by stage, side and kind; chunks; matched words by side."""
STAGES = ("exact", "stem", "paraphrase")


class Meteor:
    """Count and score translations into one language."""

    def __init__(self, language: str, paraphrases: Paraphrases | None = None, *, stages: int | None = None) -> None:
        self.settings = settings_of(language)
        self._paraphrases = paraphrases
        self._normalizer = Normalizer(language)
        self._stem = _stemmer(self.settings.stemmer)
        used = STAGES[: stages or (3 if paraphrases else 2)]
        self.name = f"METEOR-1.5[{language},{'+'.join(used)}]"

    def count(self, hypothesis: str, reference: str) -> Counts:
        """Return the counts of one sentence."""
        sides = self._normalizer.words(hypothesis), self._normalizer.words(reference)
        matches = align(find_matches(*sides, self._stem, self._paraphrases))
        counts = np.zeros(SIZE)
        for side, words in enumerate(sides):
            function = sum(word in function_words() for word in words)
            counts[2 * side : 2 * side + 2] = len(words) - function, function
        _count_matches(counts, matches, sides)
        chunks = count_chunks(matches)
        whole = counts[WORDS].tolist() == [len(words) for words in sides]
        counts[CHUNKS] = 0 if chunks == 1 and whole else chunks  # one chunk of everything is no fragment
        return counts

    def score(self, counts: Counts) -> Counts:
        """Return the score for each row of counts, between 0 and 1."""
        return score(np.atleast_2d(counts), self.settings)


def score(counts: Counts, settings: Settings) -> Counts:
    """Weigh precision, recall and fragmentation (Eq. 1-4), row by row; nothing matched is 0."""
    kinds = np.array([settings.delta, 1 - settings.delta])
    lengths = counts[:, LENGTHS].reshape(-1, 2, 2) @ kinds  # (rows, sides)
    matched = counts[:, MATCHED].reshape(-1, 3, 2, 2) @ kinds  # (rows, stages, sides)
    shares = np.einsum("rms,m->rs", matched, np.array(settings.weights))
    with np.errstate(divide="ignore", invalid="ignore"):
        precision, recall = (shares / lengths).T
        mean = precision * recall / (settings.alpha * precision + (1 - settings.alpha) * recall)
        fragments = counts[:, CHUNKS] / counts[:, WORDS].mean(axis=1)
    found: Counts = np.nan_to_num(mean * (1 - settings.gamma * fragments**settings.beta))
    return found


def _count_matches(counts: Counts, matches: Sequence[Match], sides: tuple[list[str], list[str]]) -> None:
    """Add matched words by stage, side (translation, reference) and kind (content, function)."""
    for match in matches:
        spans = ((match.hypothesis, match.hypothesis_length), (match.reference, match.reference_length))
        for side, (start, length) in enumerate(spans):
            for word in sides[side][start : start + length]:
                counts[4 + 4 * match.stage + 2 * side + (word in function_words())] += 1
            counts[17 + side] += length


def _stemmer(name: str) -> Callable[[str], str]:
    """Return Snowball's stemmer of a language, with a memory."""
    import snowballstemmer

    stem: Callable[[str], str] = cache(snowballstemmer.stemmer(name).stemWord)
    if name != "german":
        return stem
    # The program's German stemmer is older than the rule that takes -nisse and -nissen to -nis; a long s hides from it.
    return lambda word: stem(word.replace("ß", "ss").replace("niss", "niſs"))
