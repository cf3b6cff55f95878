"""A campaign: how long it lasts, the seed of its chance, what it counted, and the faults that it found.

A fault is a traceback, a hang, a lost or half-written result, or growth without bound. `DOCAPS_CHAOS_SEED` and
`DOCAPS_CHAOS_MINUTES` set the seed (by default a new one) and the minutes of each long campaign.
"""

import json
import os
import time
from collections import Counter
from random import Random, SystemRandom

SEED, MINUTES = "DOCAPS_CHAOS_SEED", "DOCAPS_CHAOS_MINUTES"
DEFAULT_MINUTES = 2.0
MOST_FAULTS = 20
"""A campaign with so many faults ends: more of them teach no more."""


def chosen_seed() -> int:
    """Return the seed from the environment; without one, draw it, once for all processes of the tests."""
    return int(os.environ.get(SEED) or os.environ.setdefault(SEED, str(SystemRandom().randrange(10**6))))


def chosen_seconds() -> float:
    """Return how long each long campaign lasts."""
    return 60 * float(os.environ.get(MINUTES) or DEFAULT_MINUTES)


class Campaign:
    """Counts and faults of many trials, until the time is over."""

    def __init__(self, name: str, *, seed: int, seconds: float) -> None:
        self.name, self.seed = name, seed
        self.chance = Random(f"{name} {seed}")
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self._start = time.monotonic()
        self.seconds = seconds

    @property
    def over(self) -> bool:
        """Return whether the time is over, or there are faults enough."""
        return time.monotonic() - self._start >= self.seconds or len(self.faults) >= MOST_FAULTS

    def fault(self, where: str, what: str) -> None:
        """Note a fault: during what, and what happened."""
        self.faults.append(f"{where}: {what}")

    def line(self) -> str:
        """Return the result as one JSON line."""
        seconds = round(time.monotonic() - self._start)
        found = {"campaign": self.name, "seed": self.seed, "seconds": seconds, **self.counts}
        return json.dumps({**found, "faults": len(self.faults)})

    def conclude(self) -> None:
        """Fail if there were faults."""
        assert not self.faults, f"seed {self.seed}, {len(self.faults)} faults:\n" + "\n".join(self.faults)
