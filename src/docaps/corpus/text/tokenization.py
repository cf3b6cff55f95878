"""Words: Moses tokenisation and its reverse.

A sentence is cut at its blanks, and each chunk between two blanks is cut by the rules only when it is met for the first
time: no rule of Moses looks farther than the blank beside a chunk, but for what `Tokenizer._slowly` takes care of.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise

from docaps.corpus.text.cutting import Cutter
from docaps.corpus.text.detokenization import Detokenizer
from docaps.corpus.text.languages import abbreviations, check_language
from docaps.corpus.text.memo import Memo

_CONTROL = re.compile("[\x00-\x08\x0e-\x1f]")
_SIMPLE_ENDS = frozenset(",;:?!)")


class Tokenizer:
    """Cut sentences of one language into words and join words to sentences, as the Moses scripts do.

    Departure from Moses: the words DOTMULTI and DOTDOTMULTI, which the script uses inside, are words like others here.
    """

    def __init__(self, language: str) -> None:
        check_language(language)
        self.language = language
        self._cutter = Cutter(language, lambda: abbreviations(language))
        self._first = Memo(lambda chunk: self._cut(chunk, first=True, last=False))
        self._inner = Memo(lambda chunk: self._cut(chunk, first=False, last=False))
        self._last = Memo(lambda chunk: self._cut(chunk, first=False, last=True))
        self._before = Memo(self._cut_before)
        self._detokenizer = Detokenizer(language)

    def __reduce__(self) -> tuple[type["Tokenizer"], tuple[str]]:
        return Tokenizer, (self.language,)

    def tokenize(self, sentence: str) -> list[str]:
        """Cut a sentence into words and punctuation marks."""
        if not sentence.isprintable():
            sentence = _CONTROL.sub("", sentence)
        chunks = sentence.split()
        line = " ".join(chunks)
        if len(chunks) < 2 or ". " in line or "' '" in line:
            return self._slowly(line, chunks)
        inner = chain.from_iterable(map(self._inner.__getitem__, chunks[1:-1]))
        return [*self._first[chunks[0]], *inner, *self._last[chunks[-1]]]

    def tokenize_many(self, sentences: Iterable[str]) -> list[list[str]]:
        """Cut many sentences into words."""
        return [self.tokenize(sentence) for sentence in sentences]

    def detokenize(self, words: Sequence[str]) -> str:
        """Join words to a sentence as people write it."""
        return self._detokenizer.join(words)

    def detokenize_many(self, sentences: Iterable[Sequence[str]]) -> list[str]:
        """Join the words of many sentences."""
        return [self.detokenize(words) for words in sentences]

    def _cut(self, chunk: str, *, first: bool, last: bool) -> tuple[str, ...]:
        """Cut what stands between two blanks; plain words with at most one mark need no rules."""
        if chunk.isalpha():
            return (chunk,)
        if chunk[:-1].isalpha() and (chunk[-1] in _SIMPLE_ENDS or (last and chunk[-1] == ".")):
            return (chunk[:-1], chunk[-1])
        return self._cutter.cut(chunk, first=first, last=last)

    def _cut_before(self, neighbours: str) -> tuple[str, ...]:
        """Cut a chunk that ends in a full stop, given with the first character of the next chunk."""
        chunk, following = neighbours.split(" ")
        return self._cutter.cut(chunk, first=False, last=False, following=following)

    def _slowly(self, line: str, chunks: Sequence[str]) -> list[str]:
        """Cut a sentence in which chunks depend on each other: by a full stop inside, or by quotes side by side."""
        if len(chunks) < 2 or "' '" in line:
            return [*self._cutter.cut(line, first=True, last=True)]
        words: list[str] = []
        for position, (chunk, following) in enumerate(pairwise(chunks)):
            if chunk[-1] != ".":
                words += (self._inner if position else self._first)[chunk]
            elif position:
                words += self._before[f"{chunk} {following[0]}"]
            else:
                words += self._cutter.cut(chunk, first=True, last=False, following=following)
        return [*words, *self._last[chunks[-1]]]
