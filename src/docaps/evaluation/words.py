"""Words for the measures that look at single words: lower-cased, and their stems where there is a stemmer."""

import re
from collections.abc import Callable
from functools import cache

from docaps.evaluation.meteor.settings import LANGUAGES

_WORD = re.compile(r"[^\W\d_]+")


def words_of(sentence: str) -> list[str]:
    """Return the words of a sentence, lower-cased, without numbers and punctuation marks."""
    return _WORD.findall(sentence.lower())


def stemmer_of(language: str) -> Callable[[str], str]:
    """Return a function from word to stem (German and English), or one that leaves words as they are."""
    if language not in LANGUAGES:
        return lambda word: word
    import snowballstemmer

    stem: Callable[[str], str] = cache(snowballstemmer.stemmer(LANGUAGES[language].stemmer).stemWord)
    return stem
