"""Moses detokenisation: join words into a sentence as people write it.

Most words stand between blanks. Punctuation attaches to the left (*word ,*), to the right (*( word*), or, quotation
marks, to either side in turn. Source of the rules: `detokenizer.perl` of Moses.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import regex

from docaps.corpus.text.characters import Memo, is_cjk, is_letter, is_letter_or_digit

_NAMES = ("&bar;", "&#124;", "&lt;", "&gt;", "&bra;", "&ket;", "&quot;", "&apos;", "&#91;", "&#93;", "&amp;")
_ENTITIES = dict(zip(_NAMES, "||<>[]\"'[]&", strict=True))
_ENTITY = re.compile("|".join(_ENTITIES))

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


def unescape(text: str) -> str:
    """Replace the entities that `escape` writes, and those of older versions of Moses."""
    return _ENTITY.sub(lambda match: _ENTITIES[match[0]], text) if "&" in text else text


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
        return self._write(found, [self._shapes[word] for word in found]).strip(" ")

    def _write(self, words: list[str], shapes: list[int]) -> str:
        """Write the words in order, each with the space it needs."""
        parts: list[str] = []
        quotes: Counter[str] = Counter()
        gap, position = " ", 0
        while position < len(words):
            if shapes[position] == PLAIN and not self._has_rules_for_plain_words:
                parts += (gap, words[position])
                gap = " "
            else:
                before, word, gap_after, taken = self._place(words, position, shapes[position], quotes)
                parts += (gap if before is None else before, word)
                gap = gap_after
                position += taken - 1
            position += 1
        return "".join(parts)

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
            or self._place_suffix(word, previous)
        )

    def _place_by_language(self, words: list[str], position: int, previous: str) -> AttachedWord | None:
        """Apply the rules for contractions, Czech numbers and Czech dashes."""
        word, following = words[position], "".join(words[position + 1 : position + 2])
        match self._language:
            case "en" if word[0] == "'" and is_letter(word[1:2]) and is_letter_or_digit(previous[-1:]):
                return AttachedWord("", word, " ")
            case "fr" | "it" if word[-1] == "'" and is_letter(word[-2:-1]) and is_letter(following[:1]):
                return AttachedWord(None, word, "")
            case "cs" if position > 1 and _CZECH_NUMBER.fullmatch(" ".join(words[position - 2 : position + 1])):
                return AttachedWord("", word, " ")
            case "cs" if position < len(words) - 3 and is_letter(word[-1]) and following in ("-", "–"):
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

    def _place_suffix(self, word: str, previous: str) -> AttachedWord:
        """Attach a Finnish ending to the colon before it; leave all other words between blanks."""
        if self._language == "fi" and previous.endswith(":") and _FINNISH_SUFFIX.fullmatch(word):
            return AttachedWord("", word.lower(), " ")
        return AttachedWord(None, word, " ")
