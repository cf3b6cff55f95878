"""Which words of a translation may be matched with which of its reference: same word, same stem, a paraphrase."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    stems = [stem(word) for word in hypothesis]
    by_word, by_stem = _positions(hypothesis), _positions(stems)
    found: list[list[Match]] = []
    for position, word in enumerate(reference):
        same = [Match(position, other, EXACT) for other in by_word.get(word, ())]
        alike = [other for other in by_stem.get(stem(word), ()) if hypothesis[other] != word]
        found.append(same + [Match(position, other, STEM) for other in alike])
    if paraphrases:
        _add_paraphrases(found, hypothesis, reference, paraphrases)
    return found


def _positions(words: Sequence[str]) -> dict[str, list[int]]:
    """Return where each word stands."""
    places: dict[str, list[int]] = defaultdict(list)
    for position, word in enumerate(words):
        places[word].append(position)
    return places


def _add_paraphrases(
    found: list[list[Match]], hypothesis: Sequence[str], reference: Sequence[str], paraphrases: Paraphrases
) -> None:
    """Add the matches of phrases that the table has, in either direction."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for length in range(1, paraphrases.longest + 1):
        for start in range(len(hypothesis) - length + 1):
            places[tuple(hypothesis[start : start + length])].append(start)
    for start in range(len(reference)):
        for length in range(1, min(paraphrases.longest, len(reference) - start) + 1):
            phrase = tuple(reference[start : start + length])
            for other in sorted(paraphrases.of(phrase)):
                starts = places.get(other, ())
                found[start] += [Match(start, place, PARAPHRASE, length, len(other)) for place in starts]
