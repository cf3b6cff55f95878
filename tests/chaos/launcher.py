"""Start docaps commands from a process that has imported everything: each start is a fork, which takes milliseconds.

A command runs unchanged from the command line to the end of the interpreter, in a process group of its own.
"""

import contextlib
import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.processes import members, wait_until_gone

ROOT = Path(__file__).parents[2]
POLL = 0.005
GRACE = 10.0
"""Seconds in which all that a command started must end after it."""


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code (negative: the signal), its most memory in MiB, its output."""

    code: int
    peak: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """The end of its messages; of a traceback, the beginning too."""
        last = self.err.rfind("Traceback (")
        return self.err[-1500:] if last < 0 else f"{self.err[last:][:500]} ... {self.err[-1000:]}"


class Launched:
    """A command that was started; it leads its process group."""

    def __init__(self, launcher: "Launcher", pid: int, files: Path) -> None:
        self.pid = pid
        self._launcher, self._files = launcher, files
        self._ended: Ended | None = None

    def poll(self) -> Ended | None:
        """Return how it ended, or None while it runs."""
        if self._ended is None:
            found = self._launcher.ask({"pid": self.pid})
            if found["code"] is not None:
                out, err = (self._files.joinpath(name).read_text(errors="replace") for name in ("out", "err"))
                self._ended = Ended(found["code"], found["peak"] // 1024, out, err)
        return self._ended

    def wait(self, seconds: float) -> Ended | None:
        """Wait for its end; None: it hangs, and was killed with all that it started."""
        end = time.monotonic() + seconds
        while (found := self.poll()) is None:
            if time.monotonic() > end:
                self.signal(signal.SIGKILL, group=True)
                while self.poll() is None:
                    time.sleep(POLL)
                return None
            time.sleep(POLL)
        return found

    def wait_at_most(self, seconds: float) -> None:
        """Wait for some time, or for its end."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.poll() is None:
            time.sleep(POLL)

    def signal(self, number: int, *, group: bool) -> None:
        """Send a signal to the command or to its whole group; it may be gone already."""
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.pid, number)

    def leftovers(self) -> list[int]:
        """Return the processes that outlive the command, after a moment's grace; they are killed."""
        with contextlib.suppress(AssertionError):
            wait_until_gone(self.pid, GRACE)
        if left := list(members(self.pid)):
            self.signal(signal.SIGKILL, group=True)
        return left

    @property
    def err(self) -> str:
        """What it has written to stderr so far."""
        return (self._files / "err").read_text(errors="replace")


class Launcher:
    """Starts commands as forks of a prepared process; `folder` takes their output."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[Launched] = []
        places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        single = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from tests.chaos.launcher import fork_on_request; fork_on_request()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | single | {"PYTHONPATH": os.pathsep.join(places)},
        )

    def __enter__(self) -> "Launcher":
        return self

    def __exit__(self, *_: object) -> None:
        for launched in self._started:
            if launched.poll() is None:
                launched.wait(0)
        self._process.communicate()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request to the prepared process; return its reply."""
        to, back = self._process.stdin, self._process.stdout
        assert to is not None and back is not None  # noqa: PT018
        to.write(json.dumps(request) + "\n")
        to.flush()
        return dict(json.loads(back.readline()))

    def start(
        self,
        words: Sequence[str | Path],
        *,
        cwd: Path,
        setup: str = "",
        stdin: Path = Path(os.devnull),
        memory: int | None = None,
    ) -> Launched:
        """Start a command in a directory, after some Python code; `memory` bounds what it may allocate, in MiB."""
        files = self._folder / str(len(self._started))
        files.mkdir(parents=True)
        for name in ("out", "err"):
            (files / name).touch()
        request = {"words": list(map(str, words)), "cwd": str(cwd), "setup": setup, "stdin": str(stdin)}
        found = self.ask({**request, "files": str(files), "memory": memory})
        self._started.append(Launched(self, int(found["pid"]), files))
        return self._started[-1]

    def finish(self, words: Sequence[str | Path], *, cwd: Path, setup: str = "", seconds: float = 120) -> Ended:
        """Run a command that must succeed to its end."""
        ended = self.start(words, cwd=cwd, setup=setup).wait(seconds)
        assert ended is not None, f"{words}: hangs"
        assert ended.code == 0, f"{words}: {ended.err}"
        return ended


def fork_on_request() -> None:
    """Import docaps; then start a command, or look at one, for each line of JSON on stdin."""
    import docaps

    for module in pkgutil.walk_packages(docaps.__path__, "docaps."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    gc.freeze()  # so that collections in the children do not copy all that is imported
    replies = sys.stdout
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        if "pid" in request:
            reply = _look(request["pid"])
        elif pid := os.fork():
            with contextlib.suppress(OSError):  # the child was faster, or is gone
                os.setpgid(pid, pid)
            reply = {"pid": pid}
        else:
            _become(request)
            return
        print(json.dumps(reply), file=replies, flush=True)


def _look(pid: int) -> dict[str, int | None]:
    """Return the exit code and the most memory of a child; no code while it runs."""
    found, status, usage = os.wait4(pid, os.WNOHANG)
    return {"code": os.waitstatus_to_exitcode(status) if found else None, "peak": usage.ru_maxrss}


def _become(request: dict[str, Any]) -> None:
    """Turn this child into the command: its own group, files, directory and signals; then run it."""
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request["cwd"])
    files = Path(request["files"])
    _redirect(0, Path(request["stdin"]), os.O_RDONLY)
    _redirect(1, files / "out", os.O_WRONLY)
    _redirect(2, files / "err", os.O_WRONLY | os.O_APPEND)
    sys.stdin = _reopen(0)
    if request["memory"] is not None:
        _limit_memory(request["memory"] * 2**20)
    exec(request["setup"], {})
    sys.argv = ["docaps", *request["words"]]
    from docaps.cli.main import main

    main()


def _redirect(number: int, path: Path, flags: int) -> None:
    opened = os.open(path, flags)
    os.dup2(opened, number)
    os.close(opened)


def _reopen(number: int) -> IO[str]:
    """Return a fresh stream: the old one may have read ahead."""
    return os.fdopen(os.dup(number), encoding="utf-8", errors="surrogateescape")


def _limit_memory(more: int) -> None:
    """Bound the address space: what is mapped now, and some more."""
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + more, mapped + more))
