"""METEOR's counts of a sentence pair, and its score from the counts of a sentence, a document or a test set.

Reference: Denkowski and Lavie (2014), Eq. 1-4.
"""

from collections.abc import Callable

import numpy as np

from docaps.evaluation.intervals import Table
from docaps.evaluation.meteor.alignment import align, count_chunks, find_matches
from docaps.evaluation.meteor.normalization import Normalizer
from docaps.evaluation.meteor.resources import Paraphrases, function_words, parameters_of, snowball

LENGTHS, MATCHED, CHUNKS, WORDS = slice(0, 4), slice(4, 16), 16, slice(17, 19)
SIZE = 19
"""Columns: content and function words by side; matched ones by stage, side and kind; chunks; matched words by side."""
STAGES = ("exact", "stem", "paraphrase")


class Meteor:
    """METEOR for translations into one language."""

    def __init__(self, language: str, paraphrases: Paraphrases | None = None, *, stages: int | None = None) -> None:
        self.parameters, self._paraphrases = parameters_of(language), paraphrases
        self._normalizer, self._stem = Normalizer(language), _stemmer(self.parameters.stemmer)
        self.name = f"METEOR-1.5[{language},{'+'.join(STAGES[: stages or (3 if paraphrases else 2)])}]"

    def count(self, hypothesis: str, reference: str) -> Table:
        """Return the counts of one sentence pair."""
        sides = self._normalizer.words(hypothesis), self._normalizer.words(reference)
        matches = align(find_matches(*sides, self._stem, self._paraphrases))
        counts = np.zeros(SIZE)
        for side, words in enumerate(sides):
            function = sum(word in function_words() for word in words)
            counts[2 * side : 2 * side + 2] = len(words) - function, function
        for match in matches:
            spans = ((match.hypothesis, match.hypothesis_length), (match.reference, match.reference_length))
            for side, (start, length) in enumerate(spans):
                for word in sides[side][start : start + length]:
                    counts[4 + 4 * match.stage + 2 * side + (word in function_words())] += 1
                counts[17 + side] += length
        chunks = count_chunks(matches)
        whole = counts[WORDS].tolist() == [len(words) for words in sides]
        counts[CHUNKS] = 0 if chunks == 1 and whole else chunks  # a single chunk of all words is no fragmentation
        return counts

    def score(self, counts: Table) -> Table:
        """Combine precision, recall and fragmentation (Eq. 1-4), row by row; without matches the score is 0."""
        counts, parameters = np.atleast_2d(counts), self.parameters
        kinds = np.array([parameters.delta, 1 - parameters.delta])
        lengths = counts[:, LENGTHS].reshape(-1, 2, 2) @ kinds  # (rows, sides)
        matched = counts[:, MATCHED].reshape(-1, 3, 2, 2) @ kinds  # (rows, stages, sides)
        shares = np.einsum("rms,m->rs", matched, np.array(parameters.weights))
        with np.errstate(divide="ignore", invalid="ignore"):
            precision, recall = (shares / lengths).T
            mean = precision * recall / (parameters.alpha * precision + (1 - parameters.alpha) * recall)
            fragments = counts[:, CHUNKS] / counts[:, WORDS].mean(axis=1)
        found: Table = np.nan_to_num(mean * (1 - parameters.gamma * fragments**parameters.beta))
        return found


def _stemmer(name: str) -> Callable[[str], str]:
    """Return the stemmer of METEOR 1.5, whose German Snowball is older than today's."""
    stem = snowball(name)
    if name != "german":
        return stem
    # The old one lacks today's rule that takes -nisse and -nissen to -nis; a long s hides the ending from the rule.
    return lambda word: stem(word.replace("ß", "ss").replace("niss", "niſs"))
