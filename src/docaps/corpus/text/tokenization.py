"""Moses tokenisation and its inverse.

A sentence is split at its blanks, and each chunk between two blanks is tokenised by the rules only once, when it first
occurs: no rule of Moses looks past the blank beside a chunk, except in the cases of `Tokenizer._tokenize_dependent`.

Every rule only inserts spaces between characters. The rules work on character classes (see `characters`), and the words
are then cut from the text by length. Source of the rules: `tokenizer.perl` of Moses, as of November 2018 and later.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise

from docaps.corpus.text.characters import LETTER, LOWER, NUMBER, OTHER, SMALL, Memo, kinds
from docaps.corpus.text.detokenization import Detokenizer
from docaps.corpus.text.languages import abbreviations, check_language

Rule = Callable[[str], str]

_ENTITIES = ("&amp;", "&#124;", "&lt;", "&gt;", "&apos;", "&quot;", "&#91;", "&#93;")
_ESCAPES = str.maketrans(dict(zip("&|<>'\"[]", _ENTITIES, strict=True)))


def escape(word: str) -> str:
    """Write the special characters of Moses' file formats as entities."""
    return word.translate(_ESCAPES)


def _rule(pattern: str, replacement: str) -> Rule:
    return partial(re.compile(pattern).sub, replacement)


_NOT_LETTER, _IS_LETTER = f"([^{LETTER}])", f"([{LETTER}])"
_QUOTE_ALONE = _rule(f"{_NOT_LETTER}'{_NOT_LETTER}", r"\1 ' \2")
_QUOTE_BEFORE = _rule(f"{_NOT_LETTER}'{_IS_LETTER}", r"\1 ' \2")
_QUOTE_AFTER = _rule(f"{_IS_LETTER}'{_NOT_LETTER}", r"\1 ' \2")

# Each rule passes once from left to right and consumes each character once: *shouldn't've* is split only once.
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

_PUNCTUATION = _rule(f"([{OTHER}:·])", r" \1 ")
_COLON_INSIDE_WORDS = (_rule(f"([{OTHER}·])", r" \1 "), _rule(f":(?![{SMALL}])", " : "))
_SPECIAL_PUNCTUATION: Mapping[str, tuple[Rule, ...]] = {
    "fi": _COLON_INSIDE_WORDS,
    "sv": _COLON_INSIDE_WORDS,
    "tdt": (_PUNCTUATION, _rule(f"'(?![{SMALL}])", " ' ")),
    "ca": (_rule(f"([{OTHER}:])", r" \1 "),),
}

_COMMAS = (
    _rule(f"([^{NUMBER}]),", r"\1 , "),
    _rule(f",([^{NUMBER}])", r" , \1"),
    _rule(f"([{NUMBER}]),$", r"\1 ,"),
)
_ELLIPSES: Rule = partial(re.compile(r"\.{2,}").sub, lambda dots: f" {'M' * len(dots[0])} ")
_HAS_LETTER = re.compile(f"[{LETTER}]").search


class ChunkTokenizer:
    """Tokenise a chunk of text: split everywhere but at full stops, then decide about the full stops."""

    def __init__(self, language: str, abbreviations: Callable[[], Mapping[str, bool]]) -> None:
        self._punctuation = _SPECIAL_PUNCTUATION.get(language, (_PUNCTUATION,))
        self._apostrophes = _APOSTROPHES.get(language, _EVERYWHERE)
        self._abbreviations = abbreviations

    def tokenize(self, text: str, *, first: bool, last: bool, following: str = "") -> tuple[str, ...]:
        """Tokenise a part of a sentence, given whether it is the first or last, or else what follows."""
        classes = self._separate(("" if first else " ") + kinds(text) + ("" if last else " ")).split()
        if not classes:
            return ()
        words = _cut_words(text.replace(" ", ""), classes)
        nexts = [*classes[1:], "" if last else kinds(following[:1]) or OTHER]
        parts = [
            part
            for word, pattern, after in zip(words, classes, nexts, strict=True)
            for part in (self._split_stop(word, pattern, after) if pattern[-1] == "." and len(pattern) > 1 else (word,))
        ]
        if last and parts and parts[-1].endswith(".'"):
            parts[-1:] = [part for part in (parts[-1][:-2], ".", "'") if part]
        return tuple(escape(word) for word in parts)

    def _separate(self, classes: str) -> str:
        """Insert spaces around punctuation, ellipses, commas and apostrophes."""
        rules: list[Rule] = [*self._punctuation, _ELLIPSES]
        if "," in classes:
            rules += _COMMAS
        if "'" in classes:
            rules += self._apostrophes
        for rule in rules:
            classes = rule(classes)
        return classes

    def _split_stop(self, word: str, classes: str, after: str) -> tuple[str, ...]:
        """Split off a full stop unless it belongs to its word; the last one of a sentence is always split off."""
        stem = word[:-1]
        if after:
            only_before_numbers = self._abbreviations().get(stem)
            if ("." in stem and _HAS_LETTER(classes)) or only_before_numbers is False or after[0] in LOWER:
                return (word,)
            if only_before_numbers and after[0] == "9":
                return (word,)
        return (stem, ".")


def _cut_words(text: str, classes: list[str]) -> list[str]:
    """Cut a text without spaces into words of the given lengths."""
    words, start = [], 0
    for length in map(len, classes):
        words.append(text[start : start + length])
        start += length
    return words


_CONTROL = re.compile("[\x00-\x08\x0e-\x1f]")
_SIMPLE_ENDS = frozenset(",;:?!)")


class Tokenizer:
    """Tokenise and detokenise sentences of one language as the Moses scripts do.

    Departure from Moses: the words DOTMULTI and DOTDOTMULTI, placeholders inside the script, are ordinary words here.
    """

    def __init__(self, language: str) -> None:
        check_language(language)
        self.language = language
        self._rules = ChunkTokenizer(language, lambda: abbreviations(language))
        self._first = Memo(lambda chunk: self._tokenize_chunk(chunk, first=True, last=False))
        self._inner = Memo(lambda chunk: self._tokenize_chunk(chunk, first=False, last=False))
        self._last = Memo(lambda chunk: self._tokenize_chunk(chunk, first=False, last=True))
        self._before = Memo(self._tokenize_before)
        self._detokenizer = Detokenizer(language)

    def __reduce__(self) -> tuple[type["Tokenizer"], tuple[str]]:
        return Tokenizer, (self.language,)

    def tokenize(self, sentence: str) -> list[str]:
        """Split a sentence into words and punctuation marks."""
        if not sentence.isprintable():
            sentence = _CONTROL.sub("", sentence)
        chunks = sentence.split()
        line = " ".join(chunks)
        if len(chunks) < 2 or ". " in line or "' '" in line:
            return self._tokenize_dependent(line, chunks)
        inner = chain.from_iterable(map(self._inner.__getitem__, chunks[1:-1]))
        return [*self._first[chunks[0]], *inner, *self._last[chunks[-1]]]

    def tokenize_many(self, sentences: Iterable[str]) -> list[list[str]]:
        """Split many sentences into words."""
        return [self.tokenize(sentence) for sentence in sentences]

    def detokenize(self, words: Sequence[str]) -> str:
        """Join words into a sentence as people write it."""
        return self._detokenizer.join(words)

    def _tokenize_chunk(self, chunk: str, *, first: bool, last: bool) -> tuple[str, ...]:
        """Tokenise a chunk between two blanks; a plain word with at most one punctuation mark needs no rules."""
        if chunk.isalpha():
            return (chunk,)
        if chunk[:-1].isalpha() and (chunk[-1] in _SIMPLE_ENDS or (last and chunk[-1] == ".")):
            return (chunk[:-1], chunk[-1])
        return self._rules.tokenize(chunk, first=first, last=last)

    def _tokenize_before(self, neighbours: str) -> tuple[str, ...]:
        """Tokenise a chunk that ends in a full stop, given with the first character of the next chunk."""
        chunk, following = neighbours.split(" ")
        return self._rules.tokenize(chunk, first=False, last=False, following=following)

    def _tokenize_dependent(self, line: str, chunks: Sequence[str]) -> list[str]:
        """Tokenise a sentence whose chunks depend on each other: a full stop inside it, or adjacent quotes."""
        if len(chunks) < 2 or "' '" in line:
            return [*self._rules.tokenize(line, first=True, last=True)]
        words: list[str] = []
        for position, (chunk, following) in enumerate(pairwise(chunks)):
            if chunk[-1] != ".":
                words += (self._inner if position else self._first)[chunk]
            elif position:
                words += self._before[f"{chunk} {following[0]}"]
            else:
                words += self._rules.tokenize(chunk, first=True, last=False, following=following)
        return [*words, *self._last[chunks[-1]]]
