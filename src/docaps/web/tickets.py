"""Requests that wait for a model: what of them is still to do, and what is ready to be handed out."""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from docaps.config import DecodingSettings
from docaps.translation.passages import Passage
from docaps.translation.pieces import Carried, Grain, Piece
from docaps.translation.translator import TranslatedSentence, Translator, Wishes

READ_AT_ONCE = 16
"""Sentences that are got ready before somebody looks whether the client is still there."""


@dataclass(frozen=True)
class Manner:
    """How translations are made; what has the same manner can share a batch."""

    decoding: DecodingSettings
    use_context: bool = True
    routing: bool = False

    @property
    def room(self) -> int:
        """Padded tokens of a batch; a trace of the routing is about as much work again."""
        return self.decoding.batch_tokens // self.decoding.beam // (2 if self.routing else 1)

    @property
    def wishes(self) -> Wishes:
        """What is wanted of the translator."""
        return Wishes(self.use_context, routing=self.routing)


Delivery = tuple[TranslatedSentence, ...] | Exception


@dataclass(eq=False)
class Ticket:
    """A request that was accepted: its sentences, how far it is, and whom to tell."""

    sentences: tuple[str, ...]
    history: tuple[str, ...]
    manner: Manner
    deliver: Callable[[Delivery], None]
    promptly: bool = False
    """Whether sentences are wanted as soon as they are finished; otherwise all together."""
    cancelled: bool = False
    grain: Grain = "sentence"
    turn: int = 0
    """Sentences that were taken since it last had to stand at the back."""
    passed: int = 0
    """How often others were taken though it was the first."""
    left: list[int] = field(default_factory=list)
    """Places of the sentences that are still to be translated."""
    taken: set[int] = field(default_factory=set)
    """Those among them that somebody is translating."""
    claimed: bool = False
    """Whether somebody looks at it for the first time."""
    _pieces: list[Piece] | None = None
    _lengths: list[int] = field(default_factory=list)
    _carried: Carried = field(default_factory=list)
    _ready: dict[int, TranslatedSentence] = field(default_factory=dict)
    _handed: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.left = list(range(len(self.sentences)))

    @property
    def characters(self) -> int:
        """Return how long all of it is."""
        return sum(map(len, self.sentences)) + sum(map(len, self.history))

    @property
    def waiting(self) -> int:
        """Return how many sentences are still to be translated."""
        return 0 if self.cancelled else len(self.left)

    @property
    def is_fresh(self) -> bool:
        """Say whether nobody has looked at it yet."""
        return self._pieces is None

    def prepare(self, translator: Translator) -> None:
        """Get its pieces ready; the first is given the history."""
        wishes = Wishes(self.manner.use_context, self.history)
        self.grain = translator.grain(wishes)
        if self.grain == "document":
            self._carried = translator.begin(wishes)
        elif self.grain == "turn":  # the history must be translated too: by turns, so that nobody else waits for it
            self.sentences = (*self.history, *self.sentences)
            self.left, self._handed = list(range(len(self.sentences))), len(self.history)
        passages: list[Passage] = []
        for start in range(0, len(self.sentences), READ_AT_ONCE):
            if self.cancelled:
                return
            passages += translator.read(self.sentences[start : start + READ_AT_ONCE])
        self._lengths = [max(1, passage.size) for passage in passages]
        apart = self.grain == "sentence"
        # Last: from now on it can be taken.
        self._pieces = translator.cut_up(passages, wishes) if apart else [Piece((one,), []) for one in passages]

    def length(self, place: int) -> int:
        """Return how many tokens a sentence has, one at least."""
        return self._lengths[place]

    def offers(self) -> list[int]:
        """Return the places of the sentences that can be translated now."""
        with self._lock:
            if self.grain == "sentence":
                return [place for place in self.left if place not in self.taken]
            return [] if self.taken else self.left[:1] if self.grain == "turn" else self.left

    def take(self, places: list[int]) -> None:
        """Note that somebody translates these places now."""
        with self._lock:
            self.taken |= set(places)
        self.turn += len(places)

    def pieces(self, places: list[int]) -> list[Piece]:
        """Return what is translated together for some places."""
        assert self._pieces is not None
        pieces = [self._pieces[place] for place in places]
        if self.grain == "sentence":
            return pieces
        with self._lock:
            return [Piece(tuple(passage for piece in pieces for passage in piece.passages), self._carried)]

    def finish(self, places: list[int], sentences: list[TranslatedSentence], carried: Carried) -> None:
        """Note what was found, and tell whoever waits for it."""
        with self._lock:
            done = set(places)
            self._ready |= dict(zip(places, sentences, strict=True))
            self._carried = carried
            self.left = [place for place in self.left if place not in done]
            self.taken -= done
            if self.cancelled or (self.left and not self.promptly):
                return
            finished = tuple(_in_order(self._ready, self._handed))
            self._handed += len(finished)
            if finished:
                self.deliver(finished)

    def fail(self, fault: Exception) -> None:
        """Give it up."""
        with self._lock:
            if not self.cancelled:
                self.cancelled = True
                self.deliver(fault)


def _in_order(ready: Mapping[int, TranslatedSentence], place: int) -> Iterator[TranslatedSentence]:
    """Go through sentences from a place on, up to the first that is not ready."""
    while place in ready:
        yield ready[place]
        place += 1
