"""Text as it arrives: an endless document is handed over in parts, and soon when the next line is slow to come."""

import io
import os
import select
import time
from collections.abc import Iterable, Iterator, Sequence

SECONDS = 0.5


class _Input(io.RawIOBase):
    """A descriptor that is read like a file, and can be asked for what comes within some time only."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.patience: float | None = None
        self.ended = self.paused = False

    def readable(self) -> bool:
        """Say that this can be read."""
        return True

    def readinto(self, buffer: "memoryview") -> int | None:  # type: ignore[override]
        """Put bytes into `buffer`; 0 is the end, None says that nothing came in time."""
        if self.patience is not None and not select.select([self._descriptor], [], [], self.patience)[0]:
            self.paused = True
            return None
        data = os.read(self._descriptor, len(buffer))
        buffer[: len(data)] = data
        self.paused, self.ended = False, not data
        return len(data)


class Arrival:
    """Says when to hand over sentences: `most` are there, or the first has waited for `seconds` and no line is here."""

    def __init__(self, most: int, seconds: float = SECONDS) -> None:
        self.most = most
        self._seconds = seconds
        self._watched = True
        self._input: _Input | None = None
        self._reader: io.BufferedReader | None = None
        self._since: float | None = None
        self._held = 0

    def grow(self, limit: int) -> None:
        """Hand over twice as many from now on, up to a limit: the first soon, the later ones in large numbers."""
        self.most = min(2 * self.most, limit)

    def open(self, descriptor: int) -> io.BufferedReader:
        """Give an open file, such as stdin, whose pauses are to be noticed."""
        self._input = _Input(descriptor)
        self._reader = io.BufferedReader(self._input, 1 << 16)
        return self._reader

    def disregard(self) -> None:
        """Take no notice of pauses: nobody waits, or what is read is compressed and comes in bunches."""
        self._watched = False

    def replay(self, sample: Sequence[str], lines: Iterable[str]) -> Iterator[str]:
        """Go through lines that were taken before, and then the others."""
        for number, line in enumerate(sample, start=1):
            self._held = len(sample) - number
            yield line
        yield from lines

    def enough(self, sentences: int) -> bool:
        """Say whether so many sentences that wait should be handed over now."""
        if sentences < self.most and self._more():
            return False
        self._since = None
        return True

    def _more(self) -> bool:
        """Say whether another line is here, or comes before the first sentence has waited too long."""
        if not self._watched or self._held or self._reader is None or self._input is None or self._input.ended:
            return True
        if self._input.paused:
            return False
        if self._since is None:
            self._since = time.monotonic()
        self._input.patience = max(0.0, self._since + self._seconds - time.monotonic())
        try:
            return bool(self._reader.peek(1)) or self._input.ended
        finally:
            self._input.patience = None


WHOLE = Arrival(1 << 62)
"""For documents that are handed over whole, however long."""
