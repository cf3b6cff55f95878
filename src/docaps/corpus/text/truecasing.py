"""Truecasing: give sentence-initial words their usual case, and restore the capitals afterwards.

The same counts, model files and decisions as the Moses scripts train-truecaser, truecase and detruecase, with two
differences: of two equally frequent spellings the script takes either at random, and here the later in Unicode order,
which has fewer capitals; and markup (`<b>`) is not treated specially, since tokenised text has none.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import regex

from docaps.corpus.text.characters import Memo
from docaps.errors import CorpusError
from docaps.files import read_text, write_text_atomically

SENTENCE_ENDS = frozenset(".:?!")
OPENINGS = frozenset(["(", "[", '"', "'", "&apos;", "&quot;", "&#91;", "&#93;"])
"""After these, the next word still begins the sentence."""

_HAS_CASE = regex.compile(r"[\p{Ll}\p{Lu}\p{Lt}]").search
_LINE = re.compile(r"(\S+) \((\d{1,18})/\d{1,18}\)((?: \S+ \(\d{1,18}\))*)")
_OTHER = re.compile(r" (\S+) \((\d{1,18})\)")


def count_cases(sentences: Iterable[Sequence[str]]) -> Counter[str]:
    """Count the words whose case is informative: all with letters except sentence-initial ones.

    The counts of parts of a corpus add up to the counts of the corpus, in any order.
    """
    counts: Counter[str] = Counter()
    for words in sentences:
        start = 0
        while start < len(words) and words[start] in OPENINGS:
            start += 1
        if SENTENCE_ENDS.isdisjoint(words[start:-1]):
            counts.update(words[start + 1 :])
        else:
            counts.update([word for before, word in pairwise(words[start:]) if before not in SENTENCE_ENDS])
    return Counter({word: count for word, count in counts.items() if _HAS_CASE(word)})


def lower(word: str) -> str:
    """Return a word in lower case, letter by letter: a Greek sigma stays the same at the end of a word."""
    return word.replace("Σ", "σ").lower()


def sentence_starts(words: Sequence[str]) -> list[int]:
    """Return the positions at which a sentence begins, also those after an opening bracket or quote."""
    if words and words[0] not in OPENINGS and SENTENCE_ENDS.isdisjoint(words[:-1]):
        return [0]
    starts, at_start = [], True
    for position, word in enumerate(words):
        if at_start:
            starts.append(position)
        at_start = word in SENTENCE_ENDS or (at_start and word in OPENINGS)
    return starts


class Truecaser:
    """Give words their usual case, by the counts of each spelling inside sentences (`count_cases`)."""

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts
        forms: dict[str, list[str]] = defaultdict(list)
        for word in counts:
            forms[lower(word)].append(word)
        self._forms = {name: sorted(found, key=lambda word: (counts[word], word)) for name, found in forms.items()}
        self.at_start = Memo(self._usual)
        """A sentence-initial word in its usual case."""
        self.inside = Memo(lambda word: word if word in self.counts else self._usual(word))
        """A sentence-internal word as written if that spelling is known, else in its usual case."""

    def __reduce__(self) -> tuple[type["Truecaser"], tuple[Counter[str]]]:
        return Truecaser, (self.counts,)

    def _usual(self, word: str) -> str:
        """Return the most frequent spelling of a word, or the word itself if it is new."""
        found = self._forms.get(lower(word))
        return found[-1] if found else word

    def truecase(self, words: Sequence[str]) -> list[str]:
        """Give sentence-initial words, and words of unknown spelling, their usual case."""
        cased = [*map(self.inside.__getitem__, words)]
        for position in sentence_starts(words):
            cased[position] = self.at_start[words[position]]
        return cased

    @staticmethod
    def detruecase(words: Sequence[str]) -> list[str]:
        """Capitalise the first letter of each sentence."""
        cased = [*words]
        for position in sentence_starts(words):
            cased[position] = words[position][:1].upper() + words[position][1:]
        return cased

    def model(self) -> str:
        """Return the text of a Moses model: for each word its spellings, the usual one first, sorted."""
        lines = []
        for _, (*others, best) in sorted(self._forms.items()):
            total = sum(self.counts[word] for word in (*others, best))
            rest = "".join(f" {word} ({self.counts[word]})" for word in reversed(others))
            lines.append(f"{best} ({self.counts[best]}/{total}){rest}\n")
        return "".join(lines)

    def save(self, path: Path) -> None:
        """Write the model as the Moses scripts do."""
        write_text_atomically(path, self.model())


def read_model(text: str, path: Path | None = None) -> Truecaser:
    """Parse the text of a Moses model."""
    counts: Counter[str] = Counter()
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], start=1):
        found = _LINE.fullmatch(line)
        if not found:
            message = f"a truecase model has lines like 'The (5/9) the (4)', found {line[:60]!r}"
            raise CorpusError(message, path=path, line=number)
        counts.update({found[1]: int(found[2])})
        counts.update({word: int(count) for word, count in _OTHER.findall(found[3])})
    return Truecaser(counts)


def load_truecaser(path: Path) -> Truecaser:
    """Read a model that `Truecaser.save` or train-truecaser.perl wrote."""
    return read_model(read_text(path, error=CorpusError), path)
