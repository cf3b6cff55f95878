"""Character classes of the Moses rules, and the memo that makes rules run once for each word.

The rules use Unicode properties, which Python's `re` does not have. A text is therefore first translated into classes,
one ASCII character each; a rule is then a short pattern over a handful of ASCII characters, and its cuts hold for the
text.
"""

from collections.abc import Callable
from typing import TypeVar

import regex

Value = TypeVar("Value")

MEMO_SIZE = 16_000_000
"""Bytes that a memo holds, roughly: 45,000 German words. A service reads ever new words, whatever its clients send."""
ENTRY_SIZE, CHARACTER_SIZE = 250, 10
"""Bytes of an entry, roughly: its place, its word and its value, and more for each character of the word."""
LONGEST_WORD = 60
"""Longer texts are rarely words and rarely repeat: they are not remembered."""


class Memo(dict[str, Value]):
    """A cache of a function of texts, of at most `limit` bytes; a full cache starts over. A hit costs one lookup."""

    def __init__(self, make: Callable[[str], Value], limit: int = MEMO_SIZE) -> None:
        super().__init__()
        self._make = make
        self._limit, self._size = limit, 0

    def __missing__(self, text: str) -> Value:
        if len(text) > LONGEST_WORD:
            return self._make(text)
        size = ENTRY_SIZE + CHARACTER_SIZE * len(text)
        if self._size + size > self._limit:
            self.clear()
            self._size = 0
        self._size += size
        value = self[text] = self._make(text)
        return value


SEPARATE_KINDS = " .'`,-:·s"
"""Characters that are a class of their own (`s` for *the 1990's*)."""

SMALL = "ls"  # lower-case letters proper
LOWER = SMALL + "oi"  # whatever Unicode calls lower case: letters, ª and ʰ, small Roman numerals
DIGIT = "90"  # ASCII digits, other digits
NUMBER = DIGIT + "iI"  # Roman numerals
LETTER = LOWER + "LI" + "M"  # M stands for a character of an ellipsis
OTHER = "#"

_PROPERTIES = (
    (regex.compile(r"[0-9]"), "9"),
    (regex.compile(r"\p{Nd}"), "0"),
    (regex.compile(r"\p{Ll}"), "l"),
    (regex.compile(r"[\p{Alphabetic}&&\p{N}&&\p{Lowercase}]", regex.V1), "i"),
    (regex.compile(r"[\p{Alphabetic}&&\p{N}]", regex.V1), "I"),
    (regex.compile(r"[\p{Alphabetic}&&\p{Lowercase}]", regex.V1), "o"),
    (regex.compile(r"\p{Alphabetic}"), "L"),
)


class _Kinds(dict[int, str]):
    """A table of the classes of characters for `str.translate`, filled as characters occur."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        found = next((name for pattern, name in _PROPERTIES if pattern.match(character)), OTHER)
        self[code] = character if character in SEPARATE_KINDS else found
        return self[code]


_KINDS = _Kinds()


def kinds(text: str) -> str:
    """Return the classes of the characters of a text."""
    return text.translate(_KINDS)


def is_any(character: str, classes: str) -> bool:
    """Return whether a character (or the empty text) is of one of some classes."""
    return character != "" and kinds(character) in classes


_CJK_BLOCKS = (
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x2E80, 0xA4CF),  # radicals, kana, bopomofo, ideographs, Yi
    (0xA840, 0xA87F),  # Phags-pa
    (0xAC00, 0xD7AF),  # Hangul syllables
    (0xF900, 0xFAFF),  # compatibility ideographs
    (0xFE30, 0xFE4F),  # compatibility forms
    (0xFF65, 0xFFDC),  # half-width katakana and Hangul
    (0x20000, 0x2FFFF),  # supplementary ideographs
)


def is_cjk(character: str) -> bool:
    """Return whether a character (or the empty text) is Chinese, Japanese or Korean."""
    return character != "" and any(low <= ord(character) <= high for low, high in _CJK_BLOCKS)
