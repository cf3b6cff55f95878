"""Ctrl-C and SIGTERM: they end a program between two actions, never in the middle of one that must be whole."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A signal asks the program to end; `exit_code` is what a shell expects then."""

    def __init__(self, number: int, message: str = "stopped; what was finished is kept, nothing is half-written"):
        super().__init__(message)
        self.number = number

    @property
    def exit_code(self) -> int:
        """Return 130 for Ctrl-C, 143 for SIGTERM."""
        return 128 + self.number


@dataclass
class _Shield:
    """How many blocks must not be interrupted now, the signal that waits for their end, and whether signals count."""

    depth: int = 0
    waiting: int | None = None
    deaf: bool = False


_SHIELD = _Shield()


@contextlib.contextmanager
def caught() -> Iterator[None]:
    """Let signals raise `Interrupted` while the block runs; only a main thread can do that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _SHIELD.deaf = False
    before = {number: signal.signal(number, _interrupt) for number in SIGNALS}
    try:
        yield
    finally:
        if not _SHIELD.deaf:
            for number, handler in before.items():
                signal.signal(number, handler)


def deafen() -> None:
    """Let signals do nothing from now on: the program is about to end, for a reason that it must still tell."""
    _SHIELD.deaf = True


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """Hold back signals while the block runs; one that came meanwhile raises `Interrupted` behind it."""
    _SHIELD.depth += 1
    try:
        yield
    except BaseException:  # it ends the block, and most likely the program, as the signal would
        _SHIELD.depth -= 1
        _SHIELD.waiting = None
        raise
    _SHIELD.depth -= 1
    if _SHIELD.depth == 0 and _SHIELD.waiting is not None:
        number, _SHIELD.waiting = _SHIELD.waiting, None
        if not _SHIELD.deaf:
            raise Interrupted(number)


def _interrupt(number: int, _: FrameType | None) -> None:
    """Raise `Interrupted`, now or as soon as no shield is up."""
    if _SHIELD.deaf:
        return
    if _SHIELD.depth:
        _SHIELD.waiting = number
    else:
        raise Interrupted(number)
