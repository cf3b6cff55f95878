"""Whose turn it is: a batch is made of sentences of like length of all who wait, and the first of them is soon in one.

So batches are full and even, as those of `docaps translate`, though every client brings little; and nobody waits for a
giant: who has had a few sentences done stands at the back again.
"""

import math
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from docaps.web.tickets import Ticket

SHARE = 8
"""Sentences that a request gets before it stands at the back."""
POOL = 1000
"""Sentences among which those of like length are looked for."""
PATIENCE = 1
"""How often the first in the queue may be passed over for a better batch."""
STEP = 12
"""What a step costs whatever it does, in sentences."""

Batch = dict[Ticket, list[int]]
"""The places of the sentences that are taken of each ticket."""


def choose(tickets: Sequence[Ticket], share: int = SHARE, pool: int = POOL, takers: int = 1) -> Batch:
    """Choose a batch of like lengths that makes good use of its steps, with the first ticket's next sentence in it.

    That sentence may be passed over, but not again and again. Where there is little, each of those who take leaves the
    others their part of it.
    """
    head = tickets[0]
    company = [ticket for ticket in tickets if ticket.manner == head.manner]
    if head.grain == "document":
        return _take_whole(company)
    offers = list(islice(_go_round(company, share), pool))
    first, lengths = offers[0], [ticket.length(place) for ticket, place in offers]
    room = min(head.manner.room, math.ceil(sum(lengths) / takers))
    order = sorted(range(len(offers)), key=lengths.__getitem__)
    start, end = _best_window([lengths[i] for i in order], room, None if head.passed < PATIENCE else order.index(0))
    chosen = [offers[i] for i in order[start:end]]
    head.passed = 0 if first in chosen else head.passed + 1
    batch: Batch = {}
    for ticket, place in chosen:
        batch.setdefault(ticket, []).append(place)
    return {ticket: sorted(places) for ticket, places in batch.items()}


def _best_window(lengths: Sequence[int], room: int, inside: int | None) -> tuple[int, int]:
    """Return where the neighbours begin and end that get most tokens done in a time; `inside` must be one of them.

    The time of a batch is the number of its steps, which the longest decides, times what a step costs.
    """
    best, found = -1.0, (0, 1)
    start = tokens = 0
    for end, longest in enumerate(lengths, start=1):
        tokens += longest
        while (end - start) * longest > room and end - start > 1:
            tokens -= lengths[start]
            start += 1
        value = tokens / (longest * (end - start + STEP))
        if value > best and (inside is None or start <= inside < end):
            best, found = value, (start, end)
    return found


def _go_round(tickets: Sequence[Ticket], share: int) -> Iterator[tuple[Ticket, int]]:
    """Go through what can be done: a few sentences of each ticket, then a few more."""
    offers = {ticket: ticket.offers() for ticket in tickets}
    for start in range(0, max(map(len, offers.values())), share):
        for ticket, places in offers.items():
            yield from ((ticket, place) for place in places[start : start + share])


def _take_whole(tickets: Sequence[Ticket]) -> Batch:
    """Choose whole documents until there is enough for a batch."""
    batch: Batch = {}
    tokens = 0
    for ticket in tickets:
        if tokens < ticket.manner.room:
            batch[ticket] = list(ticket.offers())
            tokens += sum(map(ticket.length, ticket.left))
    return batch


@dataclass
class Queue:
    """Tickets in the order of their turns; threads put and take."""

    linger: float = 0.003
    """Seconds that the first waits for company."""
    share: int = SHARE
    takers: int = 1
    """How many threads take from it."""
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
            self._changed.notify_all()
            return True

    def close(self) -> None:
        """Let the one who takes go home."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wait(self) -> bool:
        """Wait for work; False at the end."""
        with self._changed:
            if not self._has_work():
                self._changed.wait_for(lambda: self._closed or self._has_work())
                self._changed.wait_for(lambda: self._closed, self.linger)
            return not self._closed

    def _has_work(self) -> bool:
        """Say whether there is anything that nobody else is at."""
        self._sweep()
        return any(bool(one.offers()) if not one.is_fresh else not one.claimed for one in self._tickets)

    def look_again(self) -> None:
        """Let those who wait see that something has come to its end."""
        with self._changed:
            self._changed.notify_all()

    def claim(self) -> Ticket | None:
        """Return the smallest ticket that nobody has looked at yet, if any; it is for the one who asks."""
        with self._changed:
            fresh = [one for one in self._tickets if one.is_fresh and not one.claimed and one.waiting]
            if not fresh:
                return None
            smallest = min(fresh, key=lambda one: one.characters)
            smallest.claimed = True
            return smallest

    def clear(self) -> list[Ticket]:
        """Forget all tickets; return those that somebody still waits for."""
        with self._changed:
            found = [ticket for ticket in self._tickets if ticket.waiting]
            self._tickets.clear()
            return found

    def take(self) -> Batch:
        """Choose a batch of tickets that were prepared; who has had a turn goes to the back."""
        with self._changed:
            self._sweep()
            ready = [ticket for ticket in self._tickets if not ticket.is_fresh and ticket.offers()]
            batch = choose(ready, self.share, takers=self.takers) if ready else {}
            for ticket, places in batch.items():
                ticket.take(places)
            # Who was passed over stays until the next turn.
            for ticket in [one for one in self._tickets if one in batch and one.turn >= self.share and not one.passed]:
                ticket.turn = 0
                self._tickets.remove(ticket)
                self._tickets.append(ticket)
            return batch

    def _sweep(self) -> bool:
        """Forget tickets that are done or whose client has gone; say whether any are left."""
        self._tickets = deque(ticket for ticket in self._tickets if ticket.waiting)
        return bool(self._tickets)
