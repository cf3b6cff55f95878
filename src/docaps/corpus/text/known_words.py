"""Known words: how often the source words of the training text occurred, to tell when a text is far from it.

A word is a run of letters in lower case, whatever tokenises the text; in scripts without blanks it is one character.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import regex

from docaps.corpus.text.tokenization import unescape
from docaps.errors import CorpusError
from docaps.files import read_text, write_text_atomically

RARE = 3
"""A word that occurred fewer times is rare: a model has hardly learnt to translate it."""
MOST = 200_000
"""Words that are stored, the most frequent ones."""
_WORD = regex.compile(
    r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]|\p{L}[\p{L}\p{M}]*", regex.VERSION1
)


def split_words(text: str) -> list[str]:
    """Return the words of a text, without numbers and punctuation."""
    words: list[str] = _WORD.findall(text.lower())
    return words


class KnownWords:
    """The words that a training text has often enough, with their counts."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        frequent = sorted((one for one in counts.items() if one[1] >= RARE), key=lambda one: (-one[1], one[0]))
        self.counts = dict(frequent[:MOST])

    @classmethod
    def from_forms(cls, forms: Sequence[str], counts: Sequence[int]) -> "KnownWords":
        """Count the words of tokenised word forms, each of which occurred so many times."""
        found = Counter[str]()
        for form, count in zip(forms, counts, strict=True):
            for word in split_words(unescape(form)) if count else ():
                found[word] += count
        return cls(found)

    def count_rare(self, words: Iterable[str]) -> int:
        """Return how many of the words are rare or unknown."""
        return sum(word not in self.counts for word in words)

    def save(self, path: Path) -> None:
        """Write the words, the most frequent first."""
        write_text_atomically(path, "".join(f"{word}\t{count}\n" for word, count in self.counts.items()))


def load_known_words(path: Path) -> KnownWords:
    """Read the words that `KnownWords.save` wrote."""
    counts: dict[str, int] = {}
    for number, line in enumerate(read_text(path, error=CorpusError).splitlines(), start=1):
        word, tab, count = line.partition("\t")
        if not (word and tab and count.isascii() and count.isdigit()):
            raise CorpusError(f"expected a word, a tab and a count, found {line[:60]!r}", path=path, line=number)
        counts[word] = int(count)
    return KnownWords(counts)
