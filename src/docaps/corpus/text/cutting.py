"""Cutting: the rules of the Moses tokeniser for one piece of text.

Every rule only puts spaces between characters. The rules work on the text's kinds (see `characters`), and the words are
read off the text by their lengths. Facts about the rules: `tokenizer.perl` of Moses, as of November 2018 and later.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial

from docaps.corpus.text.characters import LETTER, LOWER, NUMBER, OTHER, SMALL, kinds

Rule = Callable[[str], str]

_ESCAPES = str.maketrans(
    {
        "&": "&amp;",
        "|": "&#124;",
        "<": "&lt;",
        ">": "&gt;",
        "'": "&apos;",
        '"': "&quot;",
        "[": "&#91;",
        "]": "&#93;",
    }
)


def escape(word: str) -> str:
    """Write the characters that have a meaning in Moses' file formats as entities."""
    return word.translate(_ESCAPES)


def _rule(pattern: str, replacement: str) -> Rule:
    return partial(re.compile(pattern).sub, replacement)


def _ellipsis(match: re.Match[str]) -> str:
    return f" {'M' * len(match[0])} "


_NOT_LETTER, _IS_LETTER = f"([^{LETTER}])", f"([{LETTER}])"
_QUOTE_ALONE = _rule(f"{_NOT_LETTER}'{_NOT_LETTER}", r"\1 ' \2")
_QUOTE_BEFORE = _rule(f"{_NOT_LETTER}'{_IS_LETTER}", r"\1 ' \2")
_QUOTE_AFTER = _rule(f"{_IS_LETTER}'{_NOT_LETTER}", r"\1 ' \2")

# Each rule passes once from left to right and does not look twice at a character: *shouldn't've* is cut only once.
_ENGLISH = (
    _QUOTE_ALONE,
    _rule(f"([^{LETTER}{NUMBER}])'{_IS_LETTER}", r"\1 ' \2"),
    _QUOTE_AFTER,
    _rule(f"{_IS_LETTER}'{_IS_LETTER}", r"\1 '\2"),
    _rule(f"([{NUMBER}])'s", r"\1 's"),
)
_ROMANCE = (_QUOTE_ALONE, _QUOTE_BEFORE, _QUOTE_AFTER, _rule(f"{_IS_LETTER}'{_IS_LETTER}", r"\1' \2"))
_GLOTTAL = (_QUOTE_ALONE, _QUOTE_BEFORE, _QUOTE_AFTER)
_EVERYWHERE = (_rule("'", " ' "),)
_APOSTROPHES: Mapping[str, tuple[Rule, ...]] = {
    "en": _ENGLISH,
    **dict.fromkeys(("fr", "it", "ga", "ca"), _ROMANCE),
    **dict.fromkeys(("so", "tdt"), _GLOTTAL),
}

_MARKS = _rule(f"([{OTHER}:·])", r" \1 ")
_COLON_INSIDE_WORDS = (_rule(f"([{OTHER}·])", r" \1 "), _rule(f":(?![{SMALL}])", " : "))
_SPECIAL_MARKS: Mapping[str, tuple[Rule, ...]] = {
    "fi": _COLON_INSIDE_WORDS,
    "sv": _COLON_INSIDE_WORDS,
    "tdt": (_MARKS, _rule(f"'(?![{SMALL}])", " ' ")),
    "ca": (_rule(f"([{OTHER}:])", r" \1 "),),
}

_COMMAS = (
    _rule(f"([^{NUMBER}]),", r"\1 , "),
    _rule(f",([^{NUMBER}])", r" , \1"),
    _rule(f"([{NUMBER}]),$", r"\1 ,"),
)
_ELLIPSES: Rule = partial(re.compile(r"\.{2,}").sub, _ellipsis)
_HAS_LETTER = re.compile(f"[{LETTER}]").search


class Cutter:
    """Cut text of one language at all places but full stops, then judge the full stops."""

    def __init__(self, language: str, abbreviations: Callable[[], Mapping[str, bool]]) -> None:
        self._marks = _SPECIAL_MARKS.get(language, (_MARKS,))
        self._apostrophes = _APOSTROPHES.get(language, _EVERYWHERE)
        self._abbreviations = abbreviations

    def cut(self, text: str, *, first: bool, last: bool, following: str = "") -> tuple[str, ...]:
        """Cut a part of a sentence; say whether the sentence begins or ends with it, or else what follows."""
        spelt = self._separate(("" if first else " ") + kinds(text) + ("" if last else " ")).split()
        if not spelt:
            return ()
        words = _read(text.replace(" ", ""), spelt)
        nexts = [*spelt[1:], "" if last else kinds(following[:1]) or OTHER]
        judged = [
            part
            for word, pattern, after in zip(words, spelt, nexts, strict=True)
            for part in (self._stop(word, pattern, after) if pattern[-1] == "." and len(pattern) > 1 else (word,))
        ]
        if last and judged and judged[-1].endswith(".'"):
            judged[-1:] = [part for part in (judged[-1][:-2], ".", "'") if part]
        return tuple(escape(word) for word in judged)

    def _separate(self, spelt: str) -> str:
        """Put spaces around marks, ellipses, commas and apostrophes."""
        rules: list[Rule] = [*self._marks, _ELLIPSES]
        if "," in spelt:
            rules += _COMMAS
        if "'" in spelt:
            rules += self._apostrophes
        for rule in rules:
            spelt = rule(spelt)
        return spelt

    def _stop(self, word: str, spelt: str, after: str) -> tuple[str, ...]:
        """Keep a full stop that belongs to its word, and cut off any other; the last one of a sentence always."""
        stem = word[:-1]
        if after:
            only_before_numbers = self._abbreviations().get(stem)
            if ("." in stem and _HAS_LETTER(spelt)) or only_before_numbers is False or after[0] in LOWER:
                return (word,)
            if only_before_numbers and after[0] == "9":
                return (word,)
        return (stem, ".")


def _read(text: str, spelt: list[str]) -> list[str]:
    """Cut a text without spaces into words as long as the given ones."""
    words, start = [], 0
    for length in map(len, spelt):
        words.append(text[start : start + length])
        start += length
    return words
