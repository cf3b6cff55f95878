"""Progress on stderr: a live bar on a terminal, a plain line at intervals elsewhere, nothing in library use.

Results do not go through here: they belong to stdout.
"""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Column

from docaps.errors import printable

Item = TypeVar("Item")
SECONDS_BETWEEN_LINES = 15.0
WIDE = 180
"""Columns of a terminal with room for both a bar and training's status."""


@dataclass
class Reporter:
    """Where progress goes; the command line enables it."""

    console: Console = field(default_factory=lambda: Console(stderr=True))
    enabled: bool = False


REPORTER = Reporter()
LISTENER: ContextVar[list[str] | None] = ContextVar("listener", default=None)
"""Where messages of a thread or task go instead."""


@dataclass
class Task:
    """A long task whose progress is shown."""

    description: str
    total: int | None = None
    done: int = 0
    shown: tuple[Progress, TaskID] | None = None
    _status: str = ""
    _busy: float = 0.0
    _start: float = field(default_factory=time.monotonic)
    _last_line: float = field(default_factory=time.monotonic)

    def advance(self, count: int = 1, status: str | None = None) -> None:
        """Add `count` finished units, with a short status shown after the bar."""
        self.done += count
        self._status = printable(status, one_line=True) if status is not None else self._status
        if self.shown:
            bar, number = self.shown
            bar.update(number, advance=count, status=self._status)
        elif REPORTER.enabled and time.monotonic() - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            self.print(f"{self.done}/{self.total}" if self.total else f"{self.done}")

    def advance_timed(self, count: int, seconds: float, unit: str) -> None:
        """Add units that took so long, and show the speed; time spent waiting for input does not count."""
        self._busy += seconds
        self.advance(count, f"{(self.done + count) / self._busy:.1f} {unit}/s" if self._busy else None)

    def print(self, amount: str) -> None:
        """Print one plain line."""
        seconds = time.monotonic() - self._start
        say(" ".join(filter(None, (f"{self.description}:", amount, self._status, f"({seconds:.1f} s)"))))


def _bar(clock: bool) -> Progress:
    """Return the progress display of a terminal; tasks without a clock have a long status, so the bar may be left out.

    A status that does not fit continues on the next line; nothing is cut.
    """
    return Progress(
        TextColumn("{task.description}", table_column=Column(no_wrap=True)),
        *([BarColumn(bar_width=24)] if clock or REPORTER.console.width >= WIDE else []),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        TextColumn("{task.fields[status]}", style="dim", table_column=Column(overflow="fold")),
        *([TimeRemainingColumn()] if clock else []),
        console=REPORTER.console,
    )


@contextlib.contextmanager
def start(description: str, total: int | None = None, *, done: int = 0, clock: bool = True) -> Iterator[Task]:
    """Show a long task while a block runs; the block calls `advance`. `done` units were finished earlier.

    With a clock, a terminal shows the remaining time, estimated from the units.
    """
    task = Task(printable(description, one_line=True), total, done)
    if REPORTER.enabled and REPORTER.console.is_terminal:
        with _bar(clock) as bar:
            task.shown = bar, bar.add_task(task.description, total=total, completed=done, status="")
            yield task
    else:
        yield task
        task.print(f"{task.done}")


def track(items: Iterable[Item], description: str, total: int | None = None) -> Iterator[Item]:
    """Yield `items`, showing how many are done."""
    with start(description, total) as task:
        for item in items:
            yield item
            task.advance()


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """Show no progress in the block, because it is part of a task that is shown."""
    before, REPORTER.enabled = REPORTER.enabled, False
    try:
        yield
    finally:
        REPORTER.enabled = before


@contextlib.contextmanager
def printing_to(path: Path) -> Iterator[None]:
    """Send all that the process prints to the end of a file, and show progress there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shown, REPORTER.enabled = REPORTER.enabled, True
    before = [os.dup(number) for number in (1, 2)]
    try:
        with path.open("ab") as file:
            for number in (1, 2):
                os.dup2(file.fileno(), number)
        yield
    finally:
        REPORTER.enabled = shown
        for number, handle in zip((1, 2), before, strict=True):
            os.dup2(handle, number)
            os.close(handle)


def in_words(seconds: float) -> str:
    """Format a duration: 45 s, 12 min, 3 h 05 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


@contextlib.contextmanager
def listening() -> Iterator[list[str]]:
    """Collect what is said in the block, one line each, instead of printing it; other threads and tasks print theirs.

    In a generator this must not be around a `yield`.
    """
    heard: list[str] = []
    token = LISTENER.set(heard)
    try:
        yield heard
    finally:
        LISTENER.reset(token)


def say(message: str) -> None:
    """Print a message on stderr."""
    heard = LISTENER.get()
    if heard is not None:
        heard.append(printable(message, one_line=True))
    elif REPORTER.enabled:
        REPORTER.console.print(printable(message), highlight=False, markup=False, soft_wrap=True)
