"""Merges: which pairs of pieces byte-pair encoding joins, learnt from the frequencies of words.

Reference: Sennrich et al. (2016). The merges are those of subword-nmt 0.3.8, to the last tie: the most frequent pair is
joined first, and of equally frequent pairs the last in Unicode order. Only words that contain the text `</w>`, which
that program takes for the end of a word, may be cut in other ways here; tokenised text has none (it is `&lt;/w&gt;`).
"""

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

Pair = tuple[str, str]
END_OF_WORD = "</w>"


def learn_merges(words: Mapping[str, int], *, merges: int, minimum_frequency: int) -> Iterator[Pair]:
    """Yield pairs in the order in which they are to be joined, until none is frequent enough."""
    pieces = Pieces(words)
    queue = Queue(pieces.counts)
    for _ in range(merges):
        pair, frequency = queue.top()
        if pair is None or frequency < minimum_frequency:
            return
        yield pair
        for changed in pieces.join(pair):
            queue.push(changed)


class Pieces:
    """All words as lists of pieces, how often each pair of pieces occurs, and where."""

    def __init__(self, words: Mapping[str, int]) -> None:
        self.counts: dict[Pair, int] = defaultdict(int)
        self._words = [[*word[:-1], word[-1] + END_OF_WORD] for word in words]
        self._frequencies = [*words.values()]
        self._places: dict[Pair, list[int]] = defaultdict(list)
        """The words that a pair occurs in, perhaps more than once, and perhaps words it has occurred in."""
        for number, (pieces, frequency) in enumerate(zip(self._words, self._frequencies, strict=True)):
            for pair in pairwise(pieces):
                self.counts[pair] += frequency
                self._places[pair].append(number)

    def join(self, pair: Pair) -> set[Pair]:
        """Join a pair in all words, and return the pairs that have become more frequent by it."""
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
        grown |= {self._exchange((left, first), (left, joined), found) for left, found in lefts.items()}
        grown |= {self._exchange((second, right), (joined, right), found) for right, found in rights.items()}
        del self.counts[pair]
        return grown

    def _exchange(self, old: Pair, new: Pair, numbers: list[int]) -> Pair:
        """Count one pair instead of another, once in each of some words, and return the other."""
        total = sum([self._frequencies[number] for number in numbers])
        self.counts[old] -= total
        self.counts[new] += total
        self._places[new] += numbers
        return new

    def _rewrite(self, number: int, places: list[int], joined: str) -> set[Pair]:
        """Join a pair at several places of a word, and return the pairs that are there more often than before."""
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
    """Return where a pair occurs, leaving out what overlaps with an occurrence before."""
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


class Queue:
    """Pairs by frequency, highest first, and ties in reverse Unicode order.

    Frequencies change all the time. A pair that became more frequent is to be pushed again; one that became rarer is
    moved when its old place comes up.
    """

    def __init__(self, counts: Mapping[Pair, int]) -> None:
        self._counts = counts
        self._buckets: dict[int, list[Pair]] = defaultdict(list)
        for pair, frequency in counts.items():
            self._buckets[frequency].append(pair)
        self._order = [-frequency for frequency in self._buckets]
        heapify(self._order)
        self._sorted: int | None = None
        """The frequency whose bucket is in order."""

    def push(self, pair: Pair) -> None:
        """Enter a pair with the frequency that it has now."""
        frequency = self._counts[pair]
        if frequency == self._sorted:
            insort(self._buckets[frequency], pair)
            return
        if frequency not in self._buckets:
            heappush(self._order, -frequency)
        self._buckets[frequency].append(pair)

    def top(self) -> tuple[Pair | None, int]:
        """Return the first pair, which stays in the queue until its frequency changes, and its frequency."""
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
