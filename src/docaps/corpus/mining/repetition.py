"""Repetition: a word with two translations, of which the document has used one.

Words and their translations are counted in the corpus itself: no dictionary is needed.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from docaps.corpus.mining.genders import PLURAL, Genders
from docaps.corpus.mining.rule_tables import RepetitionRules
from docaps.corpus.mining.sentences import Finding, Pair

REPETITION = "repetition"
COUNTED = 60_000
"""Sentence pairs in which words are counted: enough for frequent words."""
RAREST = 30
"""How often a source word must occur."""
SHARE, COVERAGE = 0.15, 0.4
"""Which share of a source word each of two translations must have at least, and both together."""
RETURN = 0.4
"""Which share of a translation the source word must have."""
TOGETHER = 0.12
"""The largest share of the rarer translation that stands beside the other: two translations exclude each other."""


@dataclass(slots=True)
class WordCounts:
    """How many sentence pairs hold a source word, a target word, and both."""

    source: Counter[str] = field(default_factory=Counter)
    target: Counter[str] = field(default_factory=Counter)
    both: Counter[tuple[str, str]] = field(default_factory=Counter)
    together: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Target words that stand in one sentence."""

    def add(self, other: "WordCounts") -> None:
        """Add the counts of other pairs."""
        self.source.update(other.source)
        self.target.update(other.target)
        self.both.update(other.both)
        self.together.update(other.together)


def count_words(pairs: Iterable[Pair], rules: RepetitionRules) -> WordCounts:
    """Count the words of sentence pairs."""
    counts = WordCounts()
    for pair in pairs:
        one = {word for word in _whole_words(pair.source.lower) if rules.source_word.fullmatch(word)} - rules.no_words
        words = _whole_words(pair.target.forms[1:])  # a capital at the beginning says nothing
        other = sorted(word for word in words if rules.target_word.fullmatch(word))
        counts.source.update(one)
        counts.target.update(other)
        counts.both.update((here, there) for here in one for there in other)
        counts.together.update(combinations(other, 2))
    return counts


def _whole_words(words: Sequence[str]) -> set[str]:
    """Return the words that are no parts of compounds with a hyphen."""
    around = zip(["", *words], words, [*words[1:], ""], strict=False)
    return {word for before, word, after in around if before != "-" and after != "-"}


def find_options(counts: WordCounts, genders: Genders) -> dict[str, dict[str, str]]:
    """Return for source words two translations, each with the other one: of the same gender, never side by side."""
    best: dict[str, tuple[float, str]] = {}
    for (word, translation), count in counts.both.items():
        share = count / counts.target[translation]
        if counts.source[word] >= RAREST and share >= RETURN:
            best[translation] = max(best.get(translation, (0.0, "")), (share * count / counts.source[word], word))
    options: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for translation, (_, word) in best.items():
        count = counts.both[word, translation]
        if count >= SHARE * counts.source[word]:
            options[word].append((count, translation))
    return {word: pair for word, found in options.items() if (pair := _choose(word, found, counts, genders))}


def _choose(word: str, found: Sequence[tuple[int, str]], counts: WordCounts, genders: Genders) -> dict[str, str] | None:
    """Return the two most frequent translations that can replace each other."""
    for (first, one), (second, other) in combinations(sorted(found, reverse=True), 2):
        gender = genders.gender(one)
        fitting = gender not in (None, PLURAL) and gender == genders.gender(other) and not _are_related(one, other)
        beside = counts.together[min(one, other), max(one, other)]
        exclusive = beside <= TOGETHER * min(counts.target[one], counts.target[other])
        if fitting and exclusive and first + second >= COVERAGE * counts.source[word]:
            return {one: other, other: one}
    return None


def _are_related(one: str, other: str) -> bool:
    """Return whether two words are forms or compounds of one another."""
    first, second = sorted((one.lower(), other.lower()), key=len)
    return first[:5] == second[:5] or first[:-1] in second or first[-4:] == second[-4:]


def find_repetitions(document: Sequence[Pair], options: Mapping[str, Mapping[str, str]], reach: int) -> list[Finding]:
    """Return the words of a document that were translated before, and always the same way."""
    found = []
    used: dict[str, dict[str, int]] = defaultdict(dict)  # word to translations, and where they were used last
    for number, pair in enumerate(document):
        for word in pair.source.known & options.keys():
            here = sorted(options[word].keys() & _whole_words(pair.target.forms))
            finding = _examine(pair, number, word, here, options[word], used[word], reach)
            found += [finding] if finding else []
            used[word] |= dict.fromkeys(here, number)
    return found


def _examine(
    pair: Pair,
    number: int,
    word: str,
    here: Sequence[str],
    options: Mapping[str, str],
    used: Mapping[str, int],
    reach: int,
) -> Finding | None:
    """Return the finding of a word, if sentence and document have the same translation, and that only."""
    if len(here) != 1 or list(used) != [here[0]] or pair.source.lower.count(word) != 1:
        return None
    (right,) = here
    distance, places = number - used[right], [place for place, form in enumerate(pair.target.forms) if form == right]
    if distance > reach or len(places) != 1:
        return None
    return Finding(
        sentence=number, phenomenon=REPETITION, label=right.lower(), distance=distance, places=(places[0],), cue=right,
        form=word, wrong=({places[0]: options[right]},),
    )  # fmt: skip
