"""Byte-pair encoding as subword-nmt does it: learn merges from word frequencies, and split words with them.

Reference: Sennrich et al. (2016). The merges are those of subword-nmt 0.3.8, to the last tie: the most frequent pair is
merged first, and of equally frequent pairs the last in Unicode order. Only words that contain the text `</w>`, which
that program takes for the end of a word, may be split differently here; tokenised text has none (it is `&lt;/w&gt;`).

`sentencepieces.SentencePieces` has the same methods `split`, `join`, `save` and `load`, for raw text.
"""

import sys
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import chain, pairwise
from math import inf
from pathlib import Path

from docaps.corpus.text.characters import Memo
from docaps.errors import CorpusError
from docaps.files import read_text, write_text_atomically

Pair = tuple[str, str]
END_OF_WORD = "</w>"


def learn_merges(words: Mapping[str, int], *, merges: int, minimum_frequency: int) -> Iterator[Pair]:
    """Yield pairs in the order in which they are merged, until none is frequent enough."""
    pieces = PieceCounts(words)
    queue = PairQueue(pieces.counts)
    for _ in range(merges):
        pair, frequency = queue.top()
        if pair is None or frequency < minimum_frequency:
            return
        yield pair
        for changed in pieces.join(pair):
            queue.push(changed)


class PieceCounts:
    """All words as lists of pieces, with the frequency of each pair of pieces and the words it occurs in."""

    def __init__(self, words: Mapping[str, int]) -> None:
        self.counts: dict[Pair, int] = defaultdict(int)
        self._words = [[*word[:-1], word[-1] + END_OF_WORD] for word in words]
        self._frequencies = [*words.values()]
        self._places: dict[Pair, list[int]] = defaultdict(list)
        """The words a pair occurs in; may hold a word twice, and words in which the pair no longer occurs."""
        for number, (pieces, frequency) in enumerate(zip(self._words, self._frequencies, strict=True)):
            for pair in pairwise(pieces):
                self.counts[pair] += frequency
                self._places[pair].append(number)

    def join(self, pair: Pair) -> set[Pair]:
        """Merge a pair in all words, and return the pairs that have become more frequent."""
        first, second = pair
        joined = first + second
        lefts: dict[str, list[int]] = defaultdict(list)
        rights: dict[str, list[int]] = defaultdict(list)
        grown: set[Pair] = set()
        for number in set(self._places.pop(pair)):
            pieces = self._words[number]
            places = _find(pieces, first, second)
            if len(places) > 1:
                grown |= self._rewrite(number, places, joined)
            elif places:
                place = places[0]
                if place:
                    lefts[pieces[place - 1]].append(number)
                if place + 2 < len(pieces):
                    rights[pieces[place + 2]].append(number)
                pieces[place : place + 2] = (joined,)
        exchanges = [((left, first), (left, joined), numbers) for left, numbers in lefts.items()]
        exchanges += [((second, right), (joined, right), numbers) for right, numbers in rights.items()]
        for old, new, numbers in exchanges:
            total = sum([self._frequencies[number] for number in numbers])
            self.counts[old] -= total
            self.counts[new] += total
            self._places[new] += numbers
            grown.add(new)
        del self.counts[pair]
        return grown

    def _rewrite(self, number: int, places: list[int], joined: str) -> set[Pair]:
        """Merge a pair at several positions of a word, and return the pairs that have become more frequent."""
        pieces = self._words[number]
        before = Counter(pairwise(pieces))
        for place in reversed(places):
            pieces[place : place + 2] = (joined,)
        after = Counter(pairwise(pieces))
        for pair in {**before, **after}:
            self.counts[pair] += (after[pair] - before[pair]) * self._frequencies[number]
        grown = {*after - before}
        for pair in grown:
            self._places[pair].append(number)
        return grown


def _find(pieces: list[str], first: str, second: str) -> list[int]:
    """Return the positions of a pair, without those that overlap with an earlier one."""
    places, start, end = [], 0, len(pieces) - 1
    try:
        while (start := pieces.index(first, start, end)) >= 0:
            if pieces[start + 1] == second:
                places.append(start)
                start += 1
            start += 1
    except ValueError:
        pass
    return places


class PairQueue:
    """A priority queue of pairs: highest frequency first, ties in reverse Unicode order.

    Frequencies change all the time. A pair that became more frequent must be pushed again; one that became rarer is
    moved when it reaches the top.
    """

    def __init__(self, counts: Mapping[Pair, int]) -> None:
        self._counts = counts
        self._buckets: dict[int, list[Pair]] = defaultdict(list)
        for pair, frequency in counts.items():
            self._buckets[frequency].append(pair)
        self._order = [-frequency for frequency in self._buckets]
        heapify(self._order)
        self._sorted: int | None = None
        """The frequency whose bucket is sorted."""

    def push(self, pair: Pair) -> None:
        """Insert a pair with its current frequency."""
        frequency = self._counts[pair]
        if frequency == self._sorted:
            insort(self._buckets[frequency], pair)
        else:
            if frequency not in self._buckets:
                heappush(self._order, -frequency)
            self._buckets[frequency].append(pair)

    def top(self) -> tuple[Pair | None, int]:
        """Return the first pair and its frequency; it stays in the queue until its frequency changes."""
        while self._order:
            frequency = -self._order[0]
            bucket = self._buckets[frequency]
            if frequency != self._sorted:
                bucket.sort()
                self._sorted = frequency
            while bucket:
                now = self._counts.get(bucket[-1], 0)
                if now == frequency:
                    return bucket[-1], frequency
                pair = bucket.pop()
                if 0 < now < frequency:
                    self.push(pair)
            heappop(self._order)
            del self._buckets[frequency]
            self._sorted = None
        return None, 0


SEPARATOR = "@@"
HEADER = "#version: 0.2"


def format_codes(merges: Iterable[Pair]) -> str:
    """Format merges as the text of a codes file of subword-nmt."""
    return "".join([f"{HEADER}\n", *(f"{first} {second}\n" for first, second in merges)])


class Subwords:
    """Split words into BPE subwords, and join them again.

    All pieces of a word but the last end in `@@`, as subword-nmt writes them. A word that itself ends in `@@` would be
    taken for an unfinished one: its last `@` becomes its own piece (`x@@` is `x@@@ @`), which joins to the same word.
    """

    spells_everything = False

    def __init__(self, codes: str) -> None:
        header, *lines = codes.rstrip("\n").split("\n")
        if header != HEADER or any(len(line.split(" ")) != 2 for line in lines):
            raise ValueError(f"BPE codes are the line {HEADER!r} and then two pieces a line")
        self.codes = codes
        self._ranks: dict[Pair, int] = {}
        for rank, line in enumerate(lines):
            first, second = line.split(" ")
            self._ranks.setdefault((first, second), rank)
        self._known = Memo(self._cut)

    def __reduce__(self) -> tuple[type["Subwords"], tuple[str]]:
        return Subwords, (self.codes,)

    def split(self, words: Sequence[str]) -> list[str]:
        """Split words into pieces; all pieces of a word but the last end in `@@`."""
        return [*chain.from_iterable(map(self._known.__getitem__, words))]

    @staticmethod
    def join(pieces: Sequence[str]) -> list[str]:
        """Join pieces into words; an unfinished last word counts as a word."""
        words, beginning = [], ""
        for piece in pieces:
            if piece.endswith(SEPARATOR):
                beginning += piece.removesuffix(SEPARATOR)
            else:
                words.append(beginning + piece)
                beginning = ""
        return [*words, beginning] if beginning else words

    def save(self, path: Path) -> None:
        """Write the codes as subword-nmt does."""
        write_text_atomically(path, self.codes)

    @classmethod
    def load(cls, path: Path) -> "Subwords":
        """Read codes that `save` or subword-nmt wrote."""
        return cls(read_text(path, error=CorpusError))

    def _cut(self, word: str) -> tuple[str, ...]:
        """Split one word and add the separators."""
        if not word:
            return ()
        pieces = merge([*word[:-1], word[-1] + END_OF_WORD], self._ranks)
        pieces[-1] = pieces[-1].removesuffix(END_OF_WORD)
        if pieces[-1].endswith(SEPARATOR):
            pieces[-1:] = [pieces[-1][:-1], "@"]
        # Interned: remembered words share their pieces, which would take most of the memory.
        return tuple(map(sys.intern, (*[piece + SEPARATOR for piece in pieces[:-1]], pieces[-1])))


class WholeWords:
    """Words as they are, for models whose text others have split into pieces already."""

    spells_everything = False

    def split(self, words: Sequence[str]) -> list[str]:
        """Return the words of texts, which blanks separate."""
        return " ".join(words).split()

    @staticmethod
    def join(pieces: Sequence[str]) -> list[str]:
        """Return pieces as words."""
        return [*pieces]

    def save(self, path: Path) -> None:
        """Write nothing: the vocabulary says it all."""

    @classmethod
    def load(cls, _path: Path) -> "WholeWords":
        """Return the same for every run."""
        return cls()


def merge(pieces: list[str], ranks: dict[Pair, int]) -> list[str]:
    """Merge pairs of pieces in the order they were learnt, until no known pair is left."""
    found = [ranks.get(pair, inf) for pair in pairwise(pieces)]
    while found and (best := min(found)) < inf:
        while best in found:  # all occurrences of a pair, from left to right, before any other pair
            place = found.index(best)
            joined = pieces[place] + pieces[place + 1]
            pieces[place : place + 2] = (joined,)
            del found[place]
            if place:
                found[place - 1] = ranks.get((pieces[place - 1], joined), inf)
            if place < len(found):
                found[place] = ranks.get((joined, pieces[place + 1]), inf)
    return pieces
