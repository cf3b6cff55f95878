"""Ctrl-C, SIGTERM and the end of its time end a program between two actions, never in one that must complete."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

ALARM: int | None = getattr(signal, "SIGALRM", None)
"""The signal of the clock; Windows has none."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, *(() if ALARM is None else (ALARM,)))
TIME_IS_OVER = 75
"""The exit code of a command whose time is over: the same command goes on (`EX_TEMPFAIL` of sysexits.h)."""


class Interrupted(KeyboardInterrupt):
    """A signal asks the program to end; `exit_code` is what a shell expects then."""

    def __init__(self, number: int, message: str = "stopped; what was finished is kept, nothing is half-written"):
        super().__init__(message)
        self.number = number

    @property
    def exit_code(self) -> int:
        """Return 130 for Ctrl-C, 143 for SIGTERM, and 75 if the program's time is over."""
        return TIME_IS_OVER if self.number == ALARM else 128 + self.number

    @property
    def is_end_of_time(self) -> bool:
        """Return whether the program was to end by itself at this time."""
        return self.number == ALARM


def stop_at(moment: float | None) -> None:
    """Interrupt the program at a Unix time, as a signal would; an earlier one that was set before stays.

    To be called within `caught`, which turns the signal into an error.
    """
    if moment is None:
        return
    if ALARM is None:
        raise OSError("this system has no clock that stops a program: leave the time limit out")
    left, now = signal.getitimer(signal.ITIMER_REAL)[0], time.time()
    seconds = max(moment - now, 1e-3)
    if not left or seconds < left:
        signal.setitimer(signal.ITIMER_REAL, seconds)


@dataclass
class _Shield:
    """Open blocks that catch and that shield, the pending signal and the last one, and whether signals are ignored."""

    nesting: int = 0
    depth: int = 0
    pending: int | None = None
    last: int = signal.SIGINT
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
    if not _SHIELD.nesting:
        _SHIELD.last = signal.SIGINT
    _SHIELD.nesting += 1
    before = {number: signal.signal(number, _interrupt) for number in SIGNALS}
    try:
        yield
    finally:
        _SHIELD.nesting -= 1
        if ALARM is not None and not _SHIELD.nesting:
            signal.setitimer(signal.ITIMER_REAL, 0)  # outside of all such blocks it would kill the program
        if not _SHIELD.ignoring:
            for number, handler in before.items():
                signal.signal(number, signal.SIG_IGN if exiting else handler)


def signal_of(stop: KeyboardInterrupt) -> int:
    """Return the signal that raised an exception; libraries in C may have replaced ours by a plain one."""
    return stop.number if isinstance(stop, Interrupted) else _SHIELD.last


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Restore the handlers of signals after a block that calls a library which sets its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
    _SHIELD.last = number
    if _SHIELD.depth:
        _SHIELD.pending = number
    else:
        raise Interrupted(number)
