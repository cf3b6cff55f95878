"""Locks in a folder that several processes and machines may share.

A lock is a file `NAME.G` with a generation number G. Only its creation must be exclusive, which every file system
supports: the process that creates the next generation holds the lock. A lock is free when it was released, when its
process has ended (identified by its number and starting time, if it is of this machine and of this kernel's view of
processes), or when its owner, on another machine, has not touched it for some minutes. Files are never removed: of two
processes that look at the same moment, only one can create the next.
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
"""Environment variable with the process that started a worker: the worker ends when that process does."""
HEARTBEAT = 20.0
"""Seconds between two heartbeats."""
POLL = 2.0
"""Seconds between two looks at the locks of others."""
EXPIRY = 600.0
"""Seconds without a heartbeat after which an owner on another machine counts as gone."""


@dataclass(frozen=True, slots=True)
class LockFolder:
    """The locks in a folder."""

    folder: Path

    @contextlib.contextmanager
    def hold(self, name: str) -> Iterator[bool]:
        """Hold a lock while the block runs; yield False if another process holds it."""
        path = self._take(name)
        if path is None:
            yield False
            return
        try:
            with heartbeat(lambda: self._touch(name, path)):
                yield True
        finally:
            if path.exists():
                write_json(path, {**identity(), "free": True})

    @contextlib.contextmanager
    def wait_for(self, name: str) -> Iterator[None]:
        """Wait until a lock is free and hold it while the block runs."""
        while True:
            with self.hold(name) as ours:
                if ours:
                    yield
                    return
            time.sleep(POLL)

    def owner(self, name: str) -> str | None:
        """Return the host that holds a lock; None if it is free."""
        path = self._latest(name)
        return None if path is None or self._is_free(path) else str(_read(path).get("host"))

    def _latest(self, name: str) -> Path | None:
        """Find the newest generation of a lock."""
        suffixes = [path.suffix[1:] for path in self.folder.glob("*.*") if path.stem == name]
        numbers = [int(suffix) for suffix in suffixes if suffix.isdecimal()]
        return self.folder / f"{name}.{max(numbers)}" if numbers else None

    def _take(self, name: str) -> Path | None:
        """Create the next generation of a free lock; None if it is held."""
        self.folder.mkdir(parents=True, exist_ok=True)
        latest = self._latest(name)
        if latest is not None and not self._is_free(latest):
            return None
        number = 1 if latest is None else int(latest.suffix[1:]) + 1
        path = self.folder / f"{name}.{number}"
        try:
            handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:  # another process was faster
            return None
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(identity(), file)
        return path

    def _touch(self, name: str, path: Path) -> bool:
        """Send a heartbeat; return False if another process, which took us for gone, holds the lock now."""
        os.utime(path)
        return self._latest(name) == path

    def _is_free(self, path: Path) -> bool:
        owner = _read(path)
        if owner.get("free"):
            return True
        own = identity()
        if owner and all(owner.get(key) == own[key] for key in ("host", "boot", "processes")):
            process = owner.get("process")
            return not isinstance(process, int) or _started(process) != owner.get("started")
        # The clock that dates the files may be another machine's.
        with tempfile.TemporaryFile(dir=self.folder) as clock:  # a unique name, also among machines
            return os.fstat(clock.fileno()).st_mtime - path.stat().st_mtime > EXPIRY


def _read(path: Path) -> dict[str, Any]:
    """Read a lock; return nothing if it is being written or is broken: then its age decides."""
    try:
        found = read_json(path, error=RunError)
    except RunError:
        return {}
    return found if isinstance(found, dict) else {}


def identity() -> dict[str, Any]:
    """Identify this process: host, its boot, its view of processes, process number and starting time."""
    number = os.getpid()
    return {
        "host": platform.node(),
        "boot": _read_or_nothing(Path("/proc/sys/kernel/random/boot_id").read_text),
        "processes": _read_or_nothing(lambda: str(Path("/proc/self/ns/pid").readlink())),
        "process": number,
        "started": _started(number),
    }


def _read_or_nothing(read: Callable[[], str]) -> str:
    """Return what the kernel says, or nothing where it does not."""
    try:
        return read().strip()
    except OSError:
        return ""


def _started(process: int) -> str | None:
    """Return when a process started, in the kernel's own count; None if there is none, or only a zombie."""
    words = _read_or_nothing(Path(f"/proc/{process}/stat").read_text).rpartition(")")[2].split()
    if words:
        return None if words[0] == "Z" else words[19]
    if Path("/proc/self/stat").exists():
        return None
    try:  # without /proc we only learn whether there is such a process
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return "running"
    return "running"


@contextlib.contextmanager
def heartbeat(beat: Callable[[], bool], every: float | None = None) -> Iterator[None]:
    """Call `beat` regularly while the block runs; once it returns False, interrupt the main thread and stop."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(every or HEARTBEAT):
            with contextlib.suppress(OSError):
                if not beat():
                    _thread.interrupt_main()
                    return

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
