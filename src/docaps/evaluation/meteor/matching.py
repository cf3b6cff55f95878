"""Which words of a translation may be matched with which of its reference: same word, same stem, a paraphrase.

The program compares words and stems by Java's hash code of a string, so that "c5" and "as" are one word; so do we.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from docaps.evaluation.meteor.paraphrases import Paraphrases
from docaps.evaluation.meteor.settings import EXACT, PARAPHRASE, STEM


@dataclass(frozen=True, slots=True)
class Match:
    """Words of the reference that stand for words of the translation, and the stage that found them."""

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
    """Return the possible matches that begin at each word of the reference: exact ones first."""
    if list(hypothesis) == list(reference):  # nothing is gained by looking further
        return [[Match(position, position, EXACT)] for position in range(len(reference))]
    by_word, by_stem = _positions(hypothesis), _positions([stem(word) for word in hypothesis])
    found: list[list[Match]] = []
    for position, word in enumerate(reference):
        same = by_word.get(hash_code(word), [])
        alike = [other for other in by_stem.get(hash_code(stem(word)), []) if other not in same]
        exact = [Match(position, other, EXACT) for other in same]
        found.append(exact + [Match(position, other, STEM) for other in alike])
    if paraphrases:
        _add_paraphrases(found, hypothesis, reference, paraphrases)
    return found


@cache
def hash_code(word: str) -> int:
    """Return Java's hash code of a word: 31 h + unit for each unit of its UTF-16, modulo 2^32."""
    code, units = 0, word.encode("utf-16-le", errors="surrogatepass")
    for low, high in zip(units[::2], units[1::2], strict=True):
        code = (31 * code + 256 * high + low) % 2**32
    return code


def _positions(words: Sequence[str]) -> dict[int, list[int]]:
    """Return where each word stands, by its hash code."""
    places: dict[int, list[int]] = defaultdict(list)
    for position, word in enumerate(words):
        places[hash_code(word)].append(position)
    return places


def _add_paraphrases(
    found: list[list[Match]], hypothesis: Sequence[str], reference: Sequence[str], paraphrases: Paraphrases
) -> None:
    """Add the matches of phrases that the table has; one that it has in both directions is added twice, as there."""
    for start, length, place, size in _paraphrased(reference, hypothesis, paraphrases):
        found[start].append(Match(start, place, PARAPHRASE, length, size))
    for start, length, place, size in _paraphrased(hypothesis, reference, paraphrases):
        found[place].append(Match(place, start, PARAPHRASE, size, length))


def _paraphrased(
    sentence: Sequence[str], other: Sequence[str], paraphrases: Paraphrases
) -> Iterator[tuple[int, int, int, int]]:
    """Go through the phrases of a sentence whose paraphrases are in the other: begin and length of each."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for length in range(1, paraphrases.longest + 1):
        for start in range(len(other) - length + 1):
            places[tuple(other[start : start + length])].append(start)
    for start in range(len(sentence)):
        for length in range(1, min(paraphrases.longest, len(sentence) - start) + 1):
            for phrase in paraphrases.of(tuple(sentence[start : start + length])):
                yield from ((start, length, place, len(phrase)) for place in places.get(phrase, ()))
