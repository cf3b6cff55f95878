"""Claims: who works on what, told by files in a folder that several processes and machines may share.

A claim is a file `NAME.G` with a generation number G. Only its creation must be exclusive, which every file system
can: whoever creates the next generation has the claim. A claim is free when it was given back, when its process is gone
(told by its number and starting time, if it is of this machine and of this kernel's view of processes), or when its
owner, on another machine, has not touched it for some minutes. Files are never removed: of two that look at the same
moment, only one can create the next.
"""

import _thread
import contextlib
import json
import os
import platform
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docaps.errors import RunError
from docaps.files import read_json, write_json

PARENT = "DOCAPS_PARENT"
"""A variable of the environment that tells a worker which process started it: it ends with that one."""
BEAT = 20.0
"""Seconds between two signs of life."""
PAUSE = 2.0
"""Seconds between two looks at what others do."""
SILENCE = 600.0
"""Seconds without one, after which the owner on another machine counts as gone."""


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims in a folder."""

    folder: Path

    @contextlib.contextmanager
    def held(self, name: str) -> Iterator[bool]:
        """Hold a claim while the block runs; False if it is somebody else's."""
        path = self._take(name)
        if path is None:
            yield False
            return
        try:
            with beating(lambda: self._beat(name, path)):
                yield True
        finally:
            self._give_back(path)

    @contextlib.contextmanager
    def waited_for(self, name: str) -> Iterator[None]:
        """Hold a claim while the block runs, once nobody else does."""
        while True:
            with self.held(name) as ours:
                if ours:
                    yield
                    return
            time.sleep(PAUSE)

    def owner(self, name: str) -> str | None:
        """Say who has a claim; None if it is free."""
        path = self._latest(name)
        return None if path is None or self._is_free(path) else str(_read(path).get("host"))

    def _latest(self, name: str) -> Path | None:
        """Find the newest generation of a claim."""
        numbers = [int(path.suffix[1:]) for path in self.folder.glob("*.*") if _is_of(path, name)]
        return self.folder / f"{name}.{max(numbers)}" if numbers else None

    def _take(self, name: str) -> Path | None:
        """Create the next generation of a claim that is free."""
        self.folder.mkdir(parents=True, exist_ok=True)
        latest = self._latest(name)
        if latest is not None and not self._is_free(latest):
            return None
        number = 1 if latest is None else int(latest.suffix[1:]) + 1
        path = self.folder / f"{name}.{number}"
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:  # somebody was faster
            return None
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(identity(), file)
        return path

    def _give_back(self, path: Path) -> None:
        if path.exists():
            write_json(path, {**identity(), "free": True})

    def _beat(self, name: str, path: Path) -> bool:
        """Give a sign of life; False if the claim was taken over by somebody who thought us gone."""
        os.utime(path)
        return self._latest(name) == path

    def _is_free(self, path: Path) -> bool:
        owner = _read(path)
        if owner.get("free"):
            return True
        own = identity()
        if owner and all(owner.get(key) == own[key] for key in ("host", "boot", "processes")):
            return _started(int(owner.get("process", 0))) != owner.get("started")
        return self._now() - path.stat().st_mtime > SILENCE

    def _now(self) -> float:
        """Return the time by the clock that dates the files, which may be another machine's."""
        with tempfile.TemporaryFile(dir=self.folder) as clock:  # a name of one's own: machines number processes alike
            return os.fstat(clock.fileno()).st_mtime


def _is_of(path: Path, name: str) -> bool:
    return path.stem == name and path.suffix[1:].isdecimal()


def _read(path: Path) -> dict[str, Any]:
    """Read a claim; nothing if it is being written, or broken: then its age decides."""
    try:
        found = read_json(path, error=RunError)
    except RunError:
        return {}
    return found if isinstance(found, dict) else {}


def identity() -> dict[str, Any]:
    """Say who we are: machine, its start, its view of processes, process, and when that began."""
    number = os.getpid()
    return {
        "host": platform.node(),
        "boot": _first_line(Path("/proc/sys/kernel/random/boot_id")),
        "processes": _link(Path("/proc/self/ns/pid")),
        "process": number,
        "started": _started(number),
    }


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _started(process: int) -> str | None:
    """Return when a process began, in the kernel's own count; None if there is none (or it has ended, unburied)."""
    words = _first_line(Path(f"/proc/{process}/stat")).rpartition(")")[2].split()
    if words:
        return None if words[0] == "Z" else words[19]
    if Path("/proc/self/stat").exists():
        return None
    try:  # a system without /proc tells only whether there is such a process
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return "running"
    return "running"


@contextlib.contextmanager
def beating(beat: Callable[[], bool], every: float | None = None) -> Iterator[None]:
    """Call `beat` now and then while the block runs; once it says no, interrupt the main thread and fall silent."""
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(every or BEAT):
            with contextlib.suppress(OSError):
                if not beat():
                    _thread.interrupt_main()
                    return

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
