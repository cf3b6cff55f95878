"""However a preparation ends, the old corpus or the complete new one is there, and no process is left.

`tests/chaos` kills it at random moments.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cli.calling import AS_MODULE, succeed
from tests.processes import members, wait_until_gone

from docaps.corpus.store import open_store
from docaps.files import sha256

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")

# Small chunks, so that a small corpus uses several processes; Ctrl-C works even if the parent ignores SIGINT.
CODE = f"""
import os, signal
from docaps.corpus import numbering, preparation
signal.signal(signal.SIGINT, signal.default_int_handler)
numbering.CHUNK_SENTENCES = 40
preparation.available_workers = lambda: 2
{AS_MODULE}
"""
OLD, NEW = "50", "400"
GROUPS: list[int] = []
"""What was started in a test, in case that it fails and leaves something."""


@dataclass(frozen=True)
class Texts:
    """Raw text, the corpora it becomes with few and with many merges, and how long the second one takes."""

    folder: Path
    hashes: dict[str, str]
    seconds: float

    def options(self, out: Path, merges: str) -> list[str]:
        files = [f"{self.folder}/{part}.{language}" for part in ("train", "dev") for language in ("en", "de")]
        return ["prepare", "--train", *files[:2], "--dev", *files[2:], "--merges", merges, "--out", str(out)]


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Texts:
    folder = tmp_path_factory.mktemp("made") / "texts"
    succeed("minidocs", "--documents", "120", "--out", folder)
    made = Texts(folder, {}, 0)
    begin = time.monotonic()
    process = start(made, folder / NEW)
    _, err = process.communicate(timeout=120)
    seconds = time.monotonic() - begin
    assert process.returncode == 0, err
    succeed(*made.options(folder / OLD, OLD))
    return Texts(folder, {merges: open_store(folder / merges).hash for merges in (OLD, NEW)}, seconds)


def start(texts: Texts, out: Path) -> subprocess.Popen[str]:
    """Prepare the new corpus in a process group of its own."""
    command = [sys.executable, "-c", CODE, *texts.options(out, NEW)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process: subprocess.Popen[str] = subprocess.Popen(command, text=True, start_new_session=True, **pipes)  # type: ignore[call-overload]
    GROUPS.append(process.pid)
    return process


@pytest.fixture(autouse=True)
def kill_what_is_left() -> Iterator[None]:
    yield
    while GROUPS:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(GROUPS.pop(), signal.SIGKILL)


@pytest.fixture(params=["there", "absent"])
def out(request: pytest.FixtureRequest, texts: Texts, tmp_path: Path) -> Path:
    """Where the corpus is to be: an old one is there, or none."""
    if request.param == "there":
        succeed(*texts.options(tmp_path / "store", OLD))
    return tmp_path / "store"


def wait_for_workers(group: int, count: int = 4, seconds: float = 60) -> None:
    """Wait until a command, its resource tracker and two workers live."""
    end = time.monotonic() + seconds
    while len(list(members(group))) < count:
        assert time.monotonic() < end, "no workers"
        time.sleep(0.01)


def check(texts: Texts, out: Path, before: bool) -> str | None:
    """See that a corpus is the old one or the new one, whole; return which (None: there is none, as before)."""
    if not out.exists():
        assert not before
        return None
    store = open_store(out)
    found = {str(path.relative_to(out)): sha256(path) for path in out.rglob("*") if path.is_file()}
    assert found.items() - {("manifest.json", found["manifest.json"])} == store.manifest["files"].items()
    return {found: name for name, found in texts.hashes.items()}[store.hash]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def kill_and_check(texts: Texts, out: Path, moment: float) -> None:
    """Kill a preparation and all its processes after some seconds; then see what is there, and prepare again."""
    before = out.exists()
    process = start(texts, out)
    try:
        process.communicate(timeout=moment)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=10)
    wait_until_gone(process.pid)
    check(texts, out, before)
    succeed(*texts.options(out, NEW))
    assert check(texts, out, before) == NEW
    assert names(out.parent) == ["store"]


@pytest.mark.parametrize("part", [0.5, 0.7, 0.9])
def test_a_killed_preparation_leaves_a_whole_corpus_or_none(texts: Texts, out: Path, part: float) -> None:
    kill_and_check(texts, out, part * texts.seconds)


def test_workers_do_not_outlive_a_command_that_was_killed(texts: Texts, tmp_path: Path) -> None:
    process = start(texts, tmp_path / "store")
    wait_for_workers(process.pid)
    process.kill()
    process.communicate(timeout=10)  # its workers hold its pipes open as long as they live
    wait_until_gone(process.pid)
    assert len(names(tmp_path)) == 1  # the corpus it was working on, under a name that is none
    succeed(*texts.options(tmp_path / "store", NEW))
    assert names(tmp_path) == ["store"]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("to_all", [True, False], ids=["group", "command"])
def test_a_stopped_preparation_leaves_nothing(texts: Texts, out: Path, number: int, code: int, to_all: bool) -> None:
    before = out.exists()
    process = start(texts, out)
    wait_for_workers(process.pid)
    (os.killpg if to_all else os.kill)(process.pid, number)
    _, err = process.communicate(timeout=10)
    wait_until_gone(process.pid)
    assert process.returncode == code, err
    assert "Traceback" not in err
    assert "stopped" in err
    assert "leaked" not in err
    assert names(out.parent) == (["store"] if before else [])
    assert check(texts, out, before) == (OLD if before else None)


def test_what_a_killed_worker_did_is_done_again(texts: Texts, out: Path) -> None:
    before = out.exists()
    process = start(texts, out)
    wait_for_workers(process.pid)
    workers = [number for number in members(process.pid) if number != process.pid and is_worker(number)]
    os.kill(workers[0], signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    wait_until_gone(process.pid)
    assert process.returncode == 0, err
    assert "Traceback" not in err
    assert names(out.parent) == ["store"]
    assert check(texts, out, before) == NEW


def is_worker(number: int) -> bool:
    return b"spawn_main" in Path(f"/proc/{number}/cmdline").read_bytes()
