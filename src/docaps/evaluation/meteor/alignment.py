"""METEOR's alignment of a translation with its reference: candidate matches, then a beam search over them.

Words match by form, by stem or as paraphrases. The program compares words and stems by Java's string hash code, so
that "c5" and "as" are one word; we do the same. The search goes through the reference from left to right and prefers
most matches, then fewest chunks, then the least distance. Three habits of the program decide what it finds, and are
kept: a match that is not exact counts half a word per word, rounded down on either side, so that a stem match is taken
only where it costs no chunk; a chunk counts once it is closed; and the distance of a match is charged not to the path
that takes it but to those that come after it at the same word: later matches, and none.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from docaps.evaluation.meteor.resources import Paraphrases

EXACT, STEM, PARAPHRASE = range(3)
BEAM = 40
_CLOSED = -1


@dataclass(frozen=True, slots=True)
class Match:
    """A span of the reference matched with a span of the translation, and the stage that found it."""

    reference: int
    hypothesis: int
    stage: int
    reference_length: int = 1
    hypothesis_length: int = 1


def find_matches(
    hypothesis: Sequence[str],
    reference: Sequence[str],
    stem: Callable[[str], str],
    paraphrases: Paraphrases | None = None,
) -> list[list[Match]]:
    """Return the candidate matches that begin at each word of the reference, exact ones first."""
    if list(hypothesis) == list(reference):
        return [[Match(position, position, EXACT)] for position in range(len(reference))]
    by_word, by_stem = _positions(hypothesis), _positions([stem(word) for word in hypothesis])
    found: list[list[Match]] = []
    for position, word in enumerate(reference):
        same, alike = by_word[hash_code(word)], by_stem[hash_code(stem(word))]
        exact = [Match(position, other, EXACT) for other in same]
        found.append(exact + [Match(position, other, STEM) for other in alike if other not in same])
    if paraphrases:
        # A pair that the table has in both directions is added twice, as in the program.
        for start, length, other, size in _paraphrased(reference, hypothesis, paraphrases):
            found[start].append(Match(start, other, PARAPHRASE, length, size))
        for start, length, other, size in _paraphrased(hypothesis, reference, paraphrases):
            found[other].append(Match(other, start, PARAPHRASE, size, length))
    return found


@cache
def hash_code(word: str) -> int:
    """Return Java's hash code of a word: 31 h + unit for each unit of its UTF-16, modulo 2^32."""
    code, units = 0, word.encode("utf-16-le", errors="surrogatepass")
    for low, high in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + 256 * high + low) % 2**32
    return code


def _positions(words: Sequence[str]) -> dict[int, list[int]]:
    """Map the hash code of each word to its positions."""
    positions: dict[int, list[int]] = defaultdict(list)
    for position, word in enumerate(words):
        positions[hash_code(word)].append(position)
    return positions


def _paraphrased(
    sentence: Sequence[str], other: Sequence[str], paraphrases: Paraphrases
) -> Iterator[tuple[int, int, int, int]]:
    """Yield the phrases of a sentence that have a paraphrase in the other: start and length in both."""
    starts: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for length in range(1, paraphrases.longest + 1):
        for start in range(len(other) - length + 1):
            starts[tuple(other[start : start + length])].append(start)
    for start in range(len(sentence)):
        for length in range(1, min(paraphrases.longest, len(sentence) - start) + 1):
            for phrase in paraphrases.of.get(tuple(sentence[start : start + length]), ()):
                yield from ((start, length, found, len(phrase)) for found in starts.get(phrase, ()))


class PartialAlignment(NamedTuple):
    """A path of the search: its rank, the words it has used (as bits), and where its last chunk would go on."""

    weight: int = 0
    chunks: int = 0
    distance: int = 0
    used: int = 0
    end: int = _CLOSED
    next_word: int = 0
    matches: tuple[Match, ...] = ()


def align(candidates: Sequence[Sequence[Match]]) -> tuple[Match, ...]:
    """Choose matches among the candidates that begin at each word of the reference."""
    paths = [PartialAlignment()]
    forced = _find_forced(candidates)
    for position, possible in enumerate(candidates):
        following = [path for old in paths for path in _extend(old, position, possible, forced[position])]
        if len(following) > 1:
            following.sort(key=_rank)
        paths = following[:BEAM]
    return min((_close(path) for path in paths), key=_rank).matches


def count_chunks(matches: Sequence[Match]) -> int:
    """Count runs of matches that are contiguous in both sentences."""
    chunks, expected = 0, (-1, -1)
    for match in matches:
        chunks += (match.reference, match.hypothesis) != expected
        expected = (match.reference + match.reference_length, match.hypothesis + match.hypothesis_length)
    return chunks


def _rank(path: PartialAlignment) -> tuple[int, int, int]:
    return -path.weight, path.chunks, path.distance


def _find_forced(candidates: Sequence[Sequence[Match]]) -> list[bool]:
    """Say for each word of the reference whether its only match competes with no other."""
    hypothesis_words, reference_words = Counter[int](), Counter[int]()
    for match in (match for possible in candidates for match in possible):
        hypothesis_words.update(range(match.hypothesis, match.hypothesis + match.hypothesis_length))
        reference_words.update(range(match.reference, match.reference + match.reference_length))
    return [
        len(possible) == 1
        and all(reference_words[possible[0].reference + k] == 1 for k in range(possible[0].reference_length))
        and all(hypothesis_words[possible[0].hypothesis + k] == 1 for k in range(possible[0].hypothesis_length))
        for possible in candidates
    ]


def _extend(path: PartialAlignment, position: int, possible: Sequence[Match], forced: bool) -> list[PartialAlignment]:
    """Return the continuations at a word of the reference: each match that is free, or none."""
    if path.next_word > position:  # inside a phrase
        return [path]
    extended, distance = [], path.distance
    for match in possible:
        if not path.used & _mask(match):
            extended.append(_take(path, match, distance))
            distance += abs(match.hypothesis - match.reference)
    return extended if forced else [*extended, _close(path)._replace(next_word=position + 1, distance=distance)]


def _take(path: PartialAlignment, match: Match, distance: int) -> PartialAlignment:
    """Add a match to a path, closing the chunk before it unless the match continues it."""
    # Whatever the weights of the language, the search counts an exact match 2 and others half a word per word.
    weight = 2 if match.stage == EXACT else match.reference_length // 2 + match.hypothesis_length // 2
    return PartialAlignment(
        path.weight + weight,
        path.chunks + (path.end not in (_CLOSED, match.hypothesis)),
        distance,
        path.used | _mask(match),
        match.hypothesis + match.hypothesis_length,
        match.reference + match.reference_length,
        (*path.matches, match),
    )


def _close(path: PartialAlignment) -> PartialAlignment:
    """Close the last chunk, if one is open."""
    return path if path.end == _CLOSED else path._replace(chunks=path.chunks + 1, end=_CLOSED)


def _mask(match: Match) -> int:
    """Return the words of the translation that a match covers, as bits."""
    return ((1 << match.hypothesis_length) - 1) << match.hypothesis
