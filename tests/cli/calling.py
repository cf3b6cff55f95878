"""Calling docaps as a user would: in this process where that is enough, in another where it is not."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from typer.testing import CliRunner

from docaps.cli.main import build_app

TINY = [
    *("model.size=8", "model.heads=2", "model.feed_forward=8", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("qcn.rounds=2", "qcn.capsules=2", "history.sentences=2", "decoding.beam=2"),
    *("decoding.length_factor=0.1", "decoding.length_margin=4"),
    *("stage.sentence.steps=2", "stage.sentence.warmup=0", "stage.sentence.log_every=1"),
    *("stage.document.steps=2", "stage.document.warmup=0", "stage.document.log_every=1"),
]
"""What makes the bundled recipe so small that it trains in a moment."""


AS_MODULE = "import runpy; runpy.run_module('docaps', run_name='__main__', alter_sys=True)"


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    code: int
    out: str
    err: str


def docaps(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    """Run a command in this process; only an exit is caught, so a traceback fails the test."""
    words = [str(argument) for argument in arguments]
    result = CliRunner().invoke(build_app(words), words, input=stdin, catch_exceptions=False)
    return Result(result.exit_code, result.stdout, result.stderr)


def succeed(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    """Run a command that must end well."""
    result = docaps(*arguments, stdin=stdin)
    assert result.code == 0, result.err
    return result


def settings(*more: str) -> list[str]:
    """Write settings as options."""
    return [word for setting in (*TINY, *more) for word in ("--set", setting)]


def start(
    *arguments: str | Path, stdout: int | IO[str] = subprocess.PIPE, cwd: Path | None = None, threads: int | None = 1
) -> subprocess.Popen[str]:
    """Run a command in a process of its own, one that listens to Ctrl-C whatever started the tests."""
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    return subprocess.Popen(
        [sys.executable, "-c", f"{listening}; {AS_MODULE}", *map(str, arguments)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env=os.environ | ({} if threads is None else {"OMP_NUM_THREADS": str(threads)}),
    )


def finish(*arguments: str | Path, cwd: Path | None = None, threads: int | None = 1) -> Result:
    """Run a command in a process of its own, to its end."""
    process = start(*arguments, cwd=cwd, threads=threads)
    out, err = process.communicate()
    return Result(process.returncode, out, err)


@contextmanager
def running_service(*arguments: str | Path, threads: int | None = 1) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """Run `docaps serve` on a free port while the block lasts; yield its process and its URL."""
    process = start("serve", *arguments, "--port", "0", threads=threads)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r"http://\S+", line)
        assert found, line + process.stderr.read()
        yield process, found[0]
    finally:
        process.kill()
        process.communicate()


def listing(folder: Path) -> dict[str, bytes | None]:
    """Return all that is below a folder, hidden files too."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def told_by_card(run: Path) -> str:
    """Return the command in a model card."""
    (found,) = re.findall(r"```bash\n(.*)\n```", (run / "MODEL_CARD.md").read_text(encoding="utf-8"))
    return str(found)
