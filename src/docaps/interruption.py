"""Ctrl-C and SIGTERM end a program between two actions, never in the middle of one that must complete."""

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
    """How many shielded blocks are open, the signal pending until they end, and whether signals are ignored."""

    depth: int = 0
    pending: int | None = None
    ignoring: bool = False


_SHIELD = _Shield()


@contextlib.contextmanager
def caught(*, exiting: bool = False) -> Iterator[None]:
    """Make signals raise `Interrupted` while the block runs; outside the main thread, do nothing.

    With `exiting`, the program ends after the block: signals are ignored from then on, lest they interrupt its exit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _SHIELD.ignoring = False
    before = {number: signal.signal(number, _interrupt) for number in SIGNALS}
    try:
        yield
    finally:
        if not _SHIELD.ignoring:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_IGN if exiting else handler)


def ignore_signals() -> None:
    """Ignore signals from now on: the program is about to end and must still report why."""
    _SHIELD.ignoring = True


@contextlib.contextmanager
def shielded() -> Iterator[None]:
    """Hold back signals while the block runs; a signal that arrives meanwhile raises `Interrupted` after it."""
    _SHIELD.depth += 1
    try:
        yield
    except BaseException:  # it ends the block, and most likely the program, as the signal would
        _SHIELD.depth -= 1
        _SHIELD.pending = None
        raise
    _SHIELD.depth -= 1
    if _SHIELD.depth == 0 and _SHIELD.pending is not None:
        number, _SHIELD.pending = _SHIELD.pending, None
        if not _SHIELD.ignoring:
            raise Interrupted(number)


def _interrupt(number: int, _: FrameType | None) -> None:
    """Raise `Interrupted` now, or as soon as no shield is up."""
    if _SHIELD.ignoring:
        return
    if _SHIELD.depth:
        _SHIELD.pending = number
    else:
        raise Interrupted(number)
