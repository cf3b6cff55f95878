"""Constraints: what a translation must have, as an automaton that reads it token by token.

A constraint is a group of phrases, one of which must occur as whole words. The state of a hypothesis depends on its
tokens alone: which groups are still missing, and which of their phrases have begun. Constraints that are wanted twice
must occur twice; a token ends at most one phrase, the longest.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

from docaps.batches.windows import Phrases
from docaps.corpus.text.bpe import SEPARATOR
from docaps.corpus.text.codec import Codec
from docaps.corpus.text.sentencepieces import SentencePieces
from docaps.corpus.text.vocabulary import BOS, SPECIALS

MOST_BEGINNINGS = 24
"""Phrases, the first missing ones in the order of the constraints, that each hypothesis may begin at a step."""


@dataclass(frozen=True, slots=True)
class WordBorders:
    """Where words begin and end among the tokens of a vocabulary."""

    unfinished: frozenset[int]
    """Tokens after which the same word goes on, as in BPE."""
    continuing: frozenset[int]
    """Tokens that go on with the word before, as in SentencePiece."""
    closing: tuple[int, ...]
    """Frequent tokens that end an unfinished word."""


@lru_cache(maxsize=8)
def word_borders(codec: Codec) -> WordBorders:
    """Return where words begin and end among a codec's tokens."""
    first = len(SPECIALS) + len(codec.vocabulary.marks)
    pieces = list(enumerate(codec.vocabulary.text_pieces, start=first))
    if isinstance(codec.subwords, SentencePieces):
        going_on = frozenset(number for number, piece in pieces if piece[0].isalnum() or piece.startswith("<0x"))
        return WordBorders(frozenset(), going_on, ())
    unfinished = frozenset(number for number, piece in pieces if piece.endswith(SEPARATOR))
    closing = (number for number, _ in pieces if number not in unfinished)
    return WordBorders(unfinished, frozenset(), tuple(islice(closing, 8)))


@dataclass(slots=True)
class _Node:
    """A beginning of phrases: the tokens that continue it, the groups it is a whole phrase of, and the groups ahead."""

    depth: int
    following: dict[int, "_Node"] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)
    ahead: dict[int, int] = field(default_factory=dict)
    """The fewest tokens to the end of a phrase of each group."""

    def add(self, group: int, phrase: Sequence[int]) -> None:
        """Add a phrase that goes on from here."""
        node = self
        for position, token in enumerate(phrase):
            node = node.following.setdefault(token, _Node(self.depth + position + 1))
            left = len(phrase) - position - 1
            if left:
                node.ahead[group] = min(left, node.ahead.get(group, left))
        node.ends.append(group)


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of a hypothesis."""

    number: int
    """Its place among the states of its sentence."""
    missing: tuple[int, ...]
    """How often each group must still occur."""
    begun: tuple[_Node, ...]
    """The phrases of missing groups that have begun."""
    just_ended: int | None
    """The group whose phrase the last token has ended; if the word goes on, it has not."""
    in_word: bool
    """Whether the last token leaves its word unfinished."""
    level: int
    """The number of constraints that are met or begun."""
    needed: int
    """The fewest tokens that meet the rest."""
    is_met: bool


class Constraints:
    """The constraints of one sentence."""

    def __init__(self, required: Sequence[Phrases], borders: WordBorders) -> None:
        groups = Counter(required)
        self.total = len(required)
        self._borders = borders
        self._shortest = [min(len(phrase) for phrase in group if phrase[0] != BOS) for group in groups]
        self._root = _Node(0)
        # A phrase of several groups counts for the one with the fewest others.
        order = sorted(range(len(groups)), key=[len(group) for group in groups].__getitem__)
        for number in order:
            for phrase in list(groups)[number]:
                self._root.add(number, phrase)
        self._states: dict[tuple[object, ...], Progress] = {}
        self._steps: dict[tuple[int, int], Progress] = {}
        first = self._root.following.pop(BOS, None)
        self.start = self._state(tuple(groups.values()), [] if first is None else [first], None, in_word=False)

    @property
    def longest(self) -> int:
        """The most tokens that the constraints need, whatever comes between."""
        return self.start.needed + len(self._borders.closing[:1])

    def step(self, state: Progress, token: int) -> Progress:
        """Return the state after a token."""
        found = self._steps.get((state.number, token))
        if found is None:
            found = self._steps[state.number, token] = self._step(state, token)
        return found

    def _step(self, state: Progress, token: int) -> Progress:
        missing = list(state.missing)
        if state.just_ended is not None and token in self._borders.continuing:
            missing[state.just_ended] += 1  # *Haus* has become *Haustür*
        origins = [*state.begun, *([] if state.in_word else [self._root])]
        reached = [node for one in origins if (node := one.following.get(token)) is not None]
        reached.sort(key=lambda node: -node.depth)
        ended = next((group for node in reached for group in node.ends if missing[group]), None)
        if ended is not None:
            missing[ended] -= 1
        return self._state(tuple(missing), reached, ended, in_word=token in self._borders.unfinished)

    def _state(self, missing: tuple[int, ...], reached: list[_Node], ended: int | None, *, in_word: bool) -> Progress:
        """Return a state; the same one whenever it is reached."""
        begun = tuple(node for node in reached if any(missing[group] for group in node.ahead))
        key = (missing, tuple(map(id, begun)), ended, in_word)
        if key not in self._states:
            left = sum(missing)
            self._states[key] = Progress(
                number=len(self._states),
                missing=missing,
                begun=begun,
                just_ended=ended,
                in_word=in_word,
                level=self.total - left + bool(begun),
                needed=self._needed(missing, begun, in_word),
                is_met=not left,
            )
        return self._states[key]

    def _needed(self, missing: tuple[int, ...], begun: Sequence[_Node], in_word: bool) -> int:
        """Return the fewest tokens that meet the missing constraints, ending an unfinished word first."""
        everything = sum(count * length for count, length in zip(missing, self._shortest, strict=True))
        continued = (
            everything - self._shortest[group] + left
            for node in begun
            for group, left in node.ahead.items()
            if missing[group]
        )
        return min([everything + (in_word and everything > 0), *continued])

    def wanted(self, state: Progress, *, urgent: bool) -> list[int]:
        """Return the tokens that continue or begin a phrase; if it is urgent, some that end an unfinished word."""
        if state.is_met:
            return []
        tokens = dict.fromkeys(token for node in state.begun for token in self._useful(node, state))
        if not state.in_word:
            tokens |= dict.fromkeys(islice(self._useful(self._root, state), MOST_BEGINNINGS))
        elif urgent:
            tokens |= dict.fromkeys(self._borders.closing)
        return list(tokens)

    def _useful(self, node: _Node, state: Progress) -> Iterator[int]:
        """Yield the tokens that lead on to a missing group."""
        for token, after in node.following.items():
            if any(state.missing[group] for group in (*after.ends, *after.ahead)):
                yield token
