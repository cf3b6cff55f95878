"""Merges: which pairs of pieces byte-pair encoding joins, learnt from the frequencies of words.

Reference: Sennrich et al. (2016). The merges are those of subword-nmt 0.3.8, to the last tie: the most frequent pair is
joined first, and of equally frequent pairs the last in Unicode order. To be the same in the odd cases as well, two
habits of that program are kept. Rare pairs are set aside and looked at again only when the others have become as rare
(`_Statistics`). And where a piece arises a second time from other parts (*aaa* from *aa a* and *a aa*), neighbours of
the older one are counted once more (`_rewrite`).
"""

from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise

Pair = tuple[str, str]
END_OF_WORD = "</w>"
_PRUNING_INTERVAL = 100
_PRUNING_SCALE = 10_000


def learn_merges(words: Mapping[str, int], *, merges: int, minimum_frequency: int) -> Iterator[Pair]:
    """Yield pairs in the order in which they are to be joined, until none is frequent enough."""
    pieces = Pieces(words)
    if not pieces.counts:
        return
    statistics = _Statistics(pieces.counts)
    for number in range(merges):
        pair, frequency = statistics.best(number)
        if pair is None or frequency < minimum_frequency:
            return
        yield pair
        statistics.update(pair, pieces.join(pair))
        if number % _PRUNING_INTERVAL == 0:
            statistics.prune()


class Pieces:
    """All words as lists of pieces, and where each pair of pieces occurs."""

    def __init__(self, words: Mapping[str, int]) -> None:
        self.words = [[*word[:-1], word[-1] + END_OF_WORD] for word in words]
        self.frequencies = [*words.values()]
        self.counts: dict[Pair, int] = defaultdict(int)
        self._places: dict[Pair, list[int]] = defaultdict(list)
        """The words that a pair occurs in, perhaps more than once, and perhaps words it has occurred in."""
        self._errors: dict[Pair, dict[int, int]] = defaultdict(dict)
        """By how much subword-nmt is wrong about the number of times a pair occurs in a word."""
        self._known: set[str] = set()
        for number, (pieces, frequency) in enumerate(zip(self.words, self.frequencies, strict=True)):
            for pair in pairwise(pieces):
                self.counts[pair] += frequency
                self._places[pair].append(number)

    def join(self, pair: Pair) -> dict[Pair, int]:
        """Join a pair in all words, and return by how much the frequencies of other pairs change."""
        joined = "".join(pair)
        numbers = set(self._places.pop(pair, ()))
        changes: dict[Pair, int] = defaultdict(int)
        if pair[0] == pair[1] or joined in self._known or pair in self._errors:
            for number in self._believed(pair, numbers):
                self._join_carefully(number, pair, changes)
        else:
            self._join_simply(numbers, pair, changes)
        self._known.add(joined)
        return changes

    def _join_simply(self, numbers: set[int], pair: Pair, changes: dict[Pair, int]) -> None:
        """Join a pair of different pieces whose union is new; most words have it once."""
        first, second = pair
        joined = first + second
        lefts: dict[str, list[int]] = defaultdict(list)
        rights: dict[str, list[int]] = defaultdict(list)
        words = self.words
        for number in numbers:
            pieces = words[number]
            places = _find(pieces, first, second)
            if len(places) == 1:
                place = places[0]
                if place:
                    lefts[pieces[place - 1]].append(number)
                if place + 2 < len(pieces):
                    rights[pieces[place + 2]].append(number)
                pieces[place : place + 2] = (joined,)
            elif places:
                self._join_carefully(number, pair, changes)
        for left, found in lefts.items():
            self._exchange((left, first), (left, joined), found, changes)
        for right, found in rights.items():
            self._exchange((second, right), (joined, right), found, changes)

    def _exchange(self, old: Pair, new: Pair, numbers: list[int], changes: dict[Pair, int]) -> None:
        """Count one pair instead of another, once in each of some words."""
        total = sum([self.frequencies[number] for number in numbers])
        changes[old] -= total
        changes[new] += total
        self._places[new] += numbers

    def _believed(self, pair: Pair, numbers: set[int]) -> Iterator[int]:
        """Yield the words that subword-nmt believes a pair to occur in, and forget its errors about the pair."""
        errors = self._errors.pop(pair, {})
        for number in numbers | errors.keys():
            present = Counter(pairwise(self.words[number]))[pair]
            if present + errors.get(number, 0) > 0:
                yield number
            elif present:
                self._errors[pair][number] = -present

    def _join_carefully(self, number: int, pair: Pair, changes: dict[Pair, int]) -> None:
        """Join a pair in a word, as often as it occurs there, counting as subword-nmt does."""
        old = self.words[number]
        new, believed = _rewrite(old, pair)
        self.words[number] = new
        true = Counter(pairwise(new))
        true.subtract(Counter(pairwise(old)))
        true[pair] = 0  # its count starts afresh
        for changed in {**true, **believed}:
            if changed in believed:
                changes[changed] += believed[changed] * self.frequencies[number]
                self._places[changed].append(number)
            error = believed.get(changed, 0) - true[changed]
            if error:
                self._errors[changed][number] = self._errors[changed].get(number, 0) + error


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
        return places
    return places


def _rewrite(old: list[str], pair: Pair) -> tuple[list[str], dict[Pair, int]]:
    """Return a word with a pair joined, and how often more or less each pair beside it now counts."""
    first, second = pair
    new, start = [], 0
    places = _find(old, first, second)
    for place in places:
        new += [*old[start:place], first + second]
        start = place + 2
    new += old[start:]
    counts: dict[Pair, int] = defaultdict(int)
    for place in places:
        if place:
            counts[old[place - 1], first] -= 1
        if place + 2 < len(old) and old[place + 2 : place + 4] != [first, second]:
            counts[second, old[place + 2]] -= 1
    for place, piece in enumerate(new):
        if piece == first + second:
            if place:
                counts[new[place - 1], piece] += 1
            if place + 1 < len(new) and new[place + 1] != piece:
                counts[piece, new[place + 1]] += 1
    return new, counts


class _Statistics:
    """The frequencies of pairs: the frequent ones at hand, the others set aside."""

    def __init__(self, counts: Mapping[Pair, int]) -> None:
        self._frequent = dict(counts)
        self._all = dict(counts)
        self._threshold = max(counts.values()) / 10
        self._changed = {*counts}
        """The pairs that may have fallen below the threshold since it was last looked at."""
        self._queue = _Queue(self._frequent)

    def best(self, number: int) -> tuple[Pair | None, int]:
        """Return the most frequent pair and its frequency, for the merge of this number."""
        pair, frequency = self._queue.top()
        if number and (pair is None or frequency < self._threshold):
            self.prune()
            self._frequent = dict(self._all)
            frequency = max(self._frequent.values())
            self._threshold = frequency * number / (number + _PRUNING_SCALE)
            self._changed = {*self._frequent}
            self.prune()
            self._queue = _Queue(self._frequent)
            pair, frequency = self._queue.top()
        return pair, frequency

    def update(self, joined: Pair, changes: Mapping[Pair, int]) -> None:
        """Take note of a merge and of the changes that it caused."""
        frequent, push = self._frequent, self._queue.push
        for pair, change in changes.items():
            value = frequent[pair] = frequent.get(pair, 0) + change
            if change > 0 and pair != joined:
                push(pair, value)
        frequent[joined] = 0
        self._changed.update(changes)
        self._changed.add(joined)

    def prune(self) -> None:
        """Set rare pairs aside."""
        for pair in self._changed:
            frequency = self._frequent.get(pair, self._threshold)
            if frequency < self._threshold:
                del self._frequent[pair]
                self._all[pair] = int(frequency) + (self._all.get(pair, 0) if frequency < 0 else 0)
        self._changed.clear()


class _Queue:
    """Pairs by frequency, highest first, and ties in reverse Unicode order; entries out of date are skipped."""

    def __init__(self, frequencies: Mapping[Pair, int]) -> None:
        self._now = frequencies
        self._buckets: dict[int, list[Pair]] = defaultdict(list)
        for pair, frequency in frequencies.items():
            self._buckets[frequency].append(pair)
        self._order = [-frequency for frequency in self._buckets]
        heapify(self._order)
        self._sorted: int | None = None
        """The frequency whose bucket is in order."""

    def push(self, pair: Pair, frequency: int) -> None:
        """Enter a pair with a frequency."""
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
                now = self._now.get(bucket[-1], 0)
                if now == frequency:
                    return bucket[-1], frequency
                pair = bucket.pop()
                if 0 < now < frequency:
                    self.push(pair, now)
            heappop(self._order)
            del self._buckets[frequency]
            self._sorted = None
        return None, 0
