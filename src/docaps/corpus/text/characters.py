"""Kinds of characters: the few differences between letters, digits and marks that the rules of Moses look at.

The rules are written for Unicode properties, which Python's `re` does not have. So a text is first spelt in kinds, one
for each character; a rule then is a short pattern over a handful of ASCII characters, and its cuts hold for the text.
"""

import regex

SEPARATE_KINDS = " .'`,-:·"
"""Characters that are a kind of their own. (`s` is one as well, for *the 1990's*.)"""

SMALL = "ls"  # lower-case letters proper
LOWER = SMALL + "oi"  # whatever Unicode calls lower case: letters, ª and ʰ, small Roman numerals
NUMBER = "90iI"  # ASCII digits, other digits, Roman numerals
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


def kind(character: str) -> str:
    """Return the kind of a character."""
    if character in SEPARATE_KINDS or character == "s":
        return character
    return next((name for pattern, name in _PROPERTIES if pattern.match(character)), OTHER)


class _Kinds(dict[int, str]):
    """A table for `str.translate` that grows with the characters it meets."""

    def __missing__(self, code: int) -> str:
        self[code] = kind(chr(code))
        return self[code]


_KINDS = _Kinds()


def kinds(text: str) -> str:
    """Spell a text in kinds, one for each of its characters."""
    return text.translate(_KINDS)


def is_letter(character: str) -> bool:
    """Say whether a character, or the empty text, is a letter in the widest sense."""
    return character != "" and kind(character) in LETTER


def is_letter_or_digit(character: str) -> bool:
    """Say whether a character, or the empty text, is a letter or a digit."""
    return character != "" and kind(character) in LETTER + "90"


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
    """Say whether a character, or the empty text, belongs to Chinese, Japanese or Korean writing."""
    return character != "" and any(low <= ord(character) <= high for low, high in _CJK_BLOCKS)
