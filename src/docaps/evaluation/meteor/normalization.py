"""METEOR 1.5's normalisation (`-norm`): plain quotes and dashes, tokenised, lower-cased.

Reference: Denkowski and Lavie (2014). The rules are those of the early Moses tokeniser with METEOR's own changes: dots
leave abbreviations (*U.S.* is *us*), and a hyphen between two words is a blank. Rules that the publication does not
state were found by running the program on sentences and reading its tokens.
"""

import re

from docaps.corpus.text.languages import abbreviations

_LETTERS = (  # METEOR's letters: Latin to ž and Cyrillic; any other character is a token of its own
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017e\u0400-\u0527\u1d00-\u1d7f\ua640-\ua66e\ua67e-\ua697"
)
_WIDE_BLANKS = frozenset("\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000")
_BLANK = re.compile(r"[ \t\f\r\n]+")
_ENDS = "".join(map(chr, range(0x21)))  # stripped from both ends of a line
_ALONE = re.compile(rf"([^0-9{_LETTERS} \t\n\x0b\f\r.,'\-])")
_DOTS = re.compile(r"\.\.+")
_HYPHEN = re.compile(rf"([0-9{_LETTERS}.])-([0-9{_LETTERS}])")
_COMMAS = (re.compile(r"([^0-9]),([^0-9])"), re.compile(r"([0-9]),([^0-9])"), re.compile(r"([^0-9]),([0-9])"))
_PLAIN = (("“", '"'), ("”", '"'), ("‘", "'"), ("’", "'"), ("`", "'"), ("''", '"'), ("--", "-"), ("–", " - "))
_ENGLISH_APOSTROPHES = (
    (re.compile(rf"([^{_LETTERS}])'([^{_LETTERS}])"), r"\1 ' \2"),
    (re.compile(rf"([^0-9{_LETTERS}])'([{_LETTERS}])"), r"\1 ' \2"),
    (re.compile(rf"([{_LETTERS}])'([^{_LETTERS}])"), r"\1 ' \2"),
    (re.compile(rf"([{_LETTERS}])'([{_LETTERS}])"), r"\1 '\2"),
    (re.compile(r"([0-9])'s"), r"\1 's"),
)
_LETTER = re.compile(f"[{_LETTERS}]")
_NEW_IN_MOSES = frozenset(["Rs", "Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"])


class Normalizer:
    """METEOR's tokeniser for one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        known = abbreviations(language)
        # METEOR's English list is older than that of today's Moses; the German lists agree.
        self._abbreviations = {word: known[word] for word in known if language != "en" or word not in _NEW_IN_MOSES}

    def words(self, sentence: str) -> list[str]:
        """Return the words of a sentence, lower-cased."""
        text = f" {sentence} "
        for found, plain in _PLAIN:
            text = text.replace(found, plain)
        text = _HYPHEN.sub(r"\1 \2", _DOTS.sub(r" \g<0> ", _ALONE.sub(r" \1 ", text)))
        for comma in _COMMAS:
            text = comma.sub(r"\1 , \2", text)
        tokens = [token for token in _BLANK.split(self._split_apostrophes(text)) if token]
        split = [word for position in range(len(tokens)) for word in self._split_dot(tokens, position)]
        cut = [word for word in split if word not in _WIDE_BLANKS]
        line = " ".join(word.lower() for word in cut).strip(_ENDS)
        return line.split(" ") if line else []

    def _split_apostrophes(self, text: str) -> str:
        """Split at apostrophes: before them in English (*don 't*), on both sides in German."""
        if self.language != "en":
            return text.replace("'", " ' ")
        for pattern, replacement in _ENGLISH_APOSTROPHES:
            text = pattern.sub(replacement, text)
        return text

    def _split_dot(self, tokens: list[str], position: int) -> list[str]:
        """Split the full stop from a word, unless the word is an abbreviation or the sentence continues after it."""
        token = tokens[position]
        if not token.endswith(".") or token.startswith("..") or token == ".":
            return [token]
        word, following = token[:-1], tokens[position + 1] if position + 1 < len(tokens) else ""
        if "." in word and _LETTER.search(word):
            return [token.replace(".", "")]
        only_before_numbers = self._abbreviations.get(word)
        continues = re.match("[a-z0-9]" if only_before_numbers else "[a-z]", following)
        return [token] if only_before_numbers is False or continues else [word, "."]
