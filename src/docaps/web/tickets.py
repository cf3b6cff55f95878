"""Requests that wait for a model, and whose turn it is: a little of each in turn, so that nobody waits for a giant."""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from docaps.config import DecodingSettings
from docaps.translation.translator import Carried, TranslatedSentence

SHARE = 8
"""Sentences that a request gets before the next one has its turn."""


@dataclass(frozen=True)
class Manner:
    """How translations are made; what has the same manner can share a batch."""

    decoding: DecodingSettings
    use_context: bool = True
    routing: bool = False

    def cost(self, sentence: str) -> int:
        """Estimate the work: letters and some more, for each hypothesis; a trace is about as much again."""
        return (len(sentence) + 20) * self.decoding.beam * (2 if self.routing else 1)


Delivery = tuple[TranslatedSentence, ...] | Exception


@dataclass(eq=False)
class Ticket:
    """A request that was accepted: its sentences, how far it is, and whom to tell."""

    sentences: tuple[str, ...]
    history: tuple[str, ...]
    manner: Manner
    deliver: Callable[[Delivery], None]
    carried: Carried | None = None
    done: int = 0
    cancelled: bool = False

    @property
    def waiting(self) -> int:
        """Return how many sentences are still to be translated."""
        return 0 if self.cancelled else len(self.sentences) - self.done


@dataclass
class Queue:
    """Tickets in the order of their turns; threads put and take."""

    budget: int
    """Work of one round."""
    linger: float = 0.003
    """Seconds that the first of a round waits for company."""
    share: int = SHARE
    _tickets: deque[Ticket] = field(default_factory=deque)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _closed: bool = False

    @property
    def waiting(self) -> int:
        """Return how many sentences are to be translated, those in work among them."""
        with self._changed:
            return sum(ticket.waiting for ticket in self._tickets)

    def put(self, ticket: Ticket, most: int) -> bool:
        """Take in a ticket, unless there would be more than `most` sentences."""
        with self._changed:
            before = sum(one.waiting for one in self._tickets)
            if before and before + len(ticket.sentences) > most:
                return False
            self._tickets.append(ticket)
            self._changed.notify()
            return True

    def close(self) -> None:
        """Let the one who takes go home."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def take(self) -> dict[Ticket, int] | None:
        """Wait for work; say how many sentences of which tickets make up the next round, or None at the end."""
        with self._changed:
            if not self._sweep():
                self._changed.wait_for(lambda: self._closed or self._sweep())
                if not self._closed and self.linger:
                    self._changed.wait(self.linger)
            return None if self._closed else self._choose()

    def _sweep(self) -> bool:
        """Forget tickets that are done or whose client has gone; say whether any are left."""
        self._tickets = deque(ticket for ticket in self._tickets if ticket.waiting)
        return bool(self._tickets)

    def _choose(self) -> dict[Ticket, int]:
        """Go round: a few sentences of each ticket until the budget is spent; who had no turn is first next time."""
        chosen: dict[Ticket, int] = {}
        turns = deque(self._tickets)
        left = self.budget
        while turns and left > 0:
            ticket = turns.popleft()
            first = ticket.done + chosen.get(ticket, 0)
            taken = ticket.sentences[first : first + self.share]
            chosen[ticket] = chosen.get(ticket, 0) + len(taken)
            left -= sum(map(ticket.manner.cost, taken))
            if first + len(taken) < len(ticket.sentences):
                turns.append(ticket)
        self._tickets = deque(sorted(self._tickets, key=lambda ticket: ticket in chosen))
        return chosen
