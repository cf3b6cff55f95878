"""Moses tokenisation and its inverse.

A sentence is split at its blanks, and each chunk between two blanks is tokenised by the rules only once, when it first
occurs: no rule of Moses looks past the blank beside a chunk, except in the cases of `Tokenizer._tokenize_dependent`.
Every rule only inserts spaces between characters. The rules work on character classes (see `characters`), and the words
are then cut from the text by length.

Back in a sentence, most words stand between blanks. Punctuation attaches to the left (*word ,*), to the right
(*( word*), or, quotation marks, to either side in turn.

Source of the rules: `tokenizer.perl`, as of November 2018 and later, and `detokenizer.perl` of Moses.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import NamedTuple

import regex

from docaps.corpus.text.characters import DIGIT, LETTER, LOWER, NUMBER, OTHER, SMALL, Memo, is_any, is_cjk, kinds
from docaps.corpus.text.languages import abbreviations, check_language

Rule = Callable[[str], str]

_ESCAPED = ("&amp;", "&#124;", "&lt;", "&gt;", "&apos;", "&quot;", "&#91;", "&#93;")
_ESCAPES = str.maketrans(dict(zip("&|<>'\"[]", _ESCAPED, strict=True)))
_UNESCAPED = dict(zip(_ESCAPED, "&|<>'\"[]", strict=True)) | {"&bar;": "|", "&bra;": "[", "&ket;": "]"}
_ENTITY = re.compile("|".join(_UNESCAPED))


def escape(word: str) -> str:
    """Write the special characters of Moses' file formats as entities."""
    return word.translate(_ESCAPES)


def unescape(text: str) -> str:
    """Replace the entities that `escape` writes, and those of older versions of Moses."""
    return _ENTITY.sub(lambda match: _UNESCAPED[match[0]], text) if "&" in text else text


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

_COMMAS = (_rule(f"([^{NUMBER}]),", r"\1 , "), _rule(f",([^{NUMBER}])", r" , \1"), _rule(f"([{NUMBER}]),$", r"\1 ,"))
_ELLIPSES: Rule = partial(re.compile(r"\.{2,}").sub, lambda dots: f" {'M' * len(dots[0])} ")
_HAS_LETTER = re.compile(f"[{LETTER}]").search


class ChunkTokenizer:
    """Tokenise a chunk of text: split everywhere but at full stops, then decide about the full stops."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._punctuation = _SPECIAL_PUNCTUATION.get(language, (_PUNCTUATION,))
        self._apostrophes = _APOSTROPHES.get(language, _EVERYWHERE)

    def tokenize(self, text: str, *, first: bool, last: bool, following: str = "") -> tuple[str, ...]:
        """Tokenise a part of a sentence, given whether it is the first or last, or else what follows."""
        classes = self._separate(("" if first else " ") + kinds(text) + ("" if last else " ")).split()
        if not classes:
            return ()
        letters, ends = text.replace(" ", ""), accumulate(map(len, classes), initial=0)
        words = [letters[start:end] for start, end in pairwise(ends)]
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
            only_before_numbers = abbreviations(self._language).get(stem)
            if ("." in stem and _HAS_LETTER(classes)) or only_before_numbers is False or after[0] in LOWER:
                return (word,)
            if only_before_numbers and after[0] == "9":
                return (word,)
        return (stem, ".")


PLAIN, CJK, OPENING, CLOSING, QUOTE, APOSTROPHE = range(6)
_SHAPES = (
    (regex.compile(r"[\p{Sc}(\[{¿¡]+"), OPENING),
    (regex.compile(r"[,.?!:;\\%}\])]+"), CLOSING),
    (regex.compile("['\"„“`]+"), QUOTE),
)
_FRENCH_MARK = re.compile(r"[?!:;\\%]")
_CZECH_NUMBER = re.compile("[0-9]+ [.,] [0-9]+")
_CZECH_DASHED = re.compile("li$|mail", re.IGNORECASE)
_FINNISH_SUFFIX = re.compile(
    "(?:[NnAaÄä]|[Ss]s[aä]|[Ss]t[aä]|[Hh][uyaäö]n|[UuYyAaÄäÖö]n|[Ss]een|[Ll]l[aä]|[Ll]t[aä]|[Ll]le|[Kk]s[ie]|[Tt]ta|"
    "[Ii]ne)(?:ni|si|mme|nne|nsa)?(?:ko|kö|han|hän|pa|pä|kaan|kään|kin)?"
)


def shape(word: str) -> int:
    """Return the shape of a word, which selects the rules for it."""
    if is_cjk(word[0]):
        return CJK
    found = next((name for pattern, name in _SHAPES if pattern.fullmatch(word)), PLAIN)
    return APOSTROPHE if found == PLAIN and "'" in (word[0], word[-1]) else found


class AttachedWord(NamedTuple):
    """A word with the space before it (None: as the word before requires) and after it."""

    before: str | None
    word: str
    after: str
    words: int = 1
    """How many words of the input this covers."""


class Detokenizer:
    """Join words of one language.

    Departure from Moses: the script leaves lines that begin with `<` and end with `>` unchanged; here they are ordinary
    sentences.
    """

    def __init__(self, language: str) -> None:
        self._language = language
        self._shapes = Memo(shape)
        self._has_rules_for_plain_words = language in ("cs", "fi")

    def join(self, words: Sequence[str]) -> str:
        """Join words into a sentence."""
        text = unescape(f" {' '.join(words)} ".replace(" @-@ ", "-"))
        found = [word for word in text.split(" ") if word]
        parts: list[str] = []
        quotes: Counter[str] = Counter()
        before: str | None
        gap, position = " ", 0
        while position < len(found):
            form = self._shapes[found[position]]
            if form == PLAIN and not self._has_rules_for_plain_words:
                before, word, after, taken = None, found[position], " ", 1
            else:
                before, word, after, taken = self._place(found, position, form, quotes)
            parts += (gap if before is None else before, word)
            gap = after
            position += taken
        return "".join(parts).strip(" ")

    def _place(self, words: list[str], position: int, form: int, quotes: Counter[str]) -> AttachedWord:
        """Return the placement of one word."""
        word = words[position]
        previous = words[position - 1] if position else ""
        if form == CJK:
            joined = is_cjk(previous[-1:]) and self._language != "ko"
            return AttachedWord("" if joined else None, word, " ")
        if form == OPENING:
            return AttachedWord(None, word, "")
        if form == CLOSING:
            return AttachedWord(" " if self._language == "fr" and _FRENCH_MARK.fullmatch(word) else "", word, " ")
        return (
            self._place_by_language(words, position, previous)
            or (self._place_quote(word, previous, quotes) if form == QUOTE else None)
            or AttachedWord(None, word, " ")
        )

    def _place_by_language(self, words: list[str], position: int, previous: str) -> AttachedWord | None:
        """Apply the rules for contractions, Finnish endings after a colon, Czech numbers and Czech dashes."""
        word, following = words[position], "".join(words[position + 1 : position + 2])
        match self._language:
            case "en" if word[0] == "'" and is_any(word[1:2], LETTER) and is_any(previous[-1:], LETTER + DIGIT):
                return AttachedWord("", word, " ")
            case "fr" | "it" if word[-1] == "'" and is_any(word[-2:-1], LETTER) and is_any(following[:1], LETTER):
                return AttachedWord(None, word, "")
            case "fi" if previous.endswith(":") and _FINNISH_SUFFIX.fullmatch(word):
                return AttachedWord("", word.lower(), " ")
            case "cs" if position > 1 and _CZECH_NUMBER.fullmatch(" ".join(words[position - 2 : position + 1])):
                return AttachedWord("", word, " ")
            case "cs" if position < len(words) - 3 and is_any(word[-1], LETTER) and following in ("-", "–"):
                if _CZECH_DASHED.match(words[position + 2]):
                    return AttachedWord(None, word + following, "", words=2)
        return None

    def _place_quote(self, word: str, previous: str, quotes: Counter[str]) -> AttachedWord:
        """Attach a quotation mark to the right, and the next of its kind to the left."""
        name = '"' if set(word) <= set("„“") else word
        if self._language == "cs" and word in ("„", "“"):
            quotes[name] = int(word == "“")
        if quotes[name] % 2 == 0 and self._language == "en" and word == "'" and previous.endswith("s"):
            return AttachedWord("", word, " ")  # the dogs' bowl
        quotes[name] += 1
        return AttachedWord(None, word, "") if quotes[name] % 2 else AttachedWord("", word, " ")


_CONTROL = re.compile("[\x00-\x08\x0e-\x1f]")
_SIMPLE_ENDS = frozenset(",;:?!)")


class Tokenizer:
    """Tokenise and detokenise sentences of one language as the Moses scripts do.

    Departure from Moses: the words DOTMULTI and DOTDOTMULTI, placeholders inside the script, are ordinary words here.
    """

    def __init__(self, language: str) -> None:
        check_language(language)
        self.language = language
        self._rules = rules = ChunkTokenizer(language)
        self._first = Memo(lambda chunk: self._tokenize_chunk(chunk, first=True, last=False))
        self._inner = Memo(lambda chunk: self._tokenize_chunk(chunk, first=False, last=False))
        self._last = Memo(lambda chunk: self._tokenize_chunk(chunk, first=False, last=True))
        # A chunk that ends in a full stop, a blank, and the first character of the next chunk.
        self._before = Memo(lambda text: rules.tokenize(text[:-2], first=False, last=False, following=text[-1]))
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
