"""The search for METEOR's alignment: most matches first, then fewest chunks, then the least distance.

A beam goes through the reference from left to right. Three habits of the program decide what it finds, and are kept:
a match that is not exact counts half a word for each word, rounded down on either side, so that one by stem is taken
only where it costs no chunk; a chunk counts once it is closed; and the distance between the words of a match is paid
not by the path that takes the match but by those that come after it at the same word: later matches, and none.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from docaps.evaluation.meteor.matching import Match
from docaps.evaluation.meteor.settings import EXACT

BEAM = 40
_CLOSED = -1


class Path(NamedTuple):
    """A partial alignment: what it is worth, the words it has used, and where its last chunk goes on."""

    worth: int = 0
    chunks: int = 0
    distance: int = 0
    used: int = 0
    end: int = _CLOSED
    next_word: int = 0
    matches: tuple[Match, ...] = ()


def align(matches: Sequence[Sequence[Match]]) -> tuple[Match, ...]:
    """Choose matches, given those that may begin at each word of the reference."""
    paths = [Path()]
    definite = _definite(matches)
    for position, possible in enumerate(matches):
        following = [path for old in paths for path in _extend(old, position, possible, definite[position])]
        if len(following) > 1:
            following.sort(key=_rank)
        paths = following[:BEAM]
    return min((_close(path) for path in paths), key=_rank).matches


def count_chunks(matches: Sequence[Match]) -> int:
    """Count runs of matches whose words stand side by side in both sentences."""
    chunks, expected = 0, (-1, -1)
    for match in matches:
        chunks += (match.reference, match.hypothesis) != expected
        expected = (match.reference + match.reference_length, match.hypothesis + match.hypothesis_length)
    return chunks


def _rank(path: Path) -> tuple[int, int, int]:
    return -path.worth, path.chunks, path.distance


def _definite(matches: Sequence[Sequence[Match]]) -> list[bool]:
    """Say for each word of the reference whether its one match has no rival."""
    hypothesis_words: Counter[int] = Counter()
    reference_words: Counter[int] = Counter()
    for match in (match for possible in matches for match in possible):
        hypothesis_words.update(range(match.hypothesis, match.hypothesis + match.hypothesis_length))
        reference_words.update(range(match.reference, match.reference + match.reference_length))
    return [
        len(possible) == 1
        and all(reference_words[possible[0].reference + k] == 1 for k in range(possible[0].reference_length))
        and all(hypothesis_words[possible[0].hypothesis + k] == 1 for k in range(possible[0].hypothesis_length))
        for possible in matches
    ]


def _extend(path: Path, position: int, possible: Sequence[Match], definite: bool) -> list[Path]:
    """Return the ways to go on at a word of the reference: each match that is free, or none."""
    if path.next_word > position:  # inside a phrase
        return [path]
    extended, distance = [], path.distance
    for match in possible:
        if not path.used & _mask(match):
            extended.append(_take(path, match, distance))
            distance += abs(match.hypothesis - match.reference)
    return extended if definite else [*extended, _close(path)._replace(next_word=position + 1, distance=distance)]


def _take(path: Path, match: Match, distance: int) -> Path:
    """Add a match to a path; the chunk before it is closed if the match does not continue it."""
    return Path(
        path.worth + _worth(match),
        path.chunks + (path.end not in (_CLOSED, match.hypothesis)),
        distance,
        path.used | _mask(match),
        match.hypothesis + match.hypothesis_length,
        match.reference + match.reference_length,
        (*path.matches, match),
    )


def _worth(match: Match) -> int:
    """Return what a match counts in the search, whatever the weights of the language."""
    return 2 if match.stage == EXACT else match.reference_length // 2 + match.hypothesis_length // 2


def _close(path: Path) -> Path:
    """Close the last chunk, if one is open."""
    return path if path.end == _CLOSED else path._replace(chunks=path.chunks + 1, end=_CLOSED)


def _mask(match: Match) -> int:
    """Return the words of the translation that a match covers, as bits."""
    return ((1 << match.hypothesis_length) - 1) << match.hypothesis
