"""Translating a collection on a cluster, with processes, and alone: the same bytes, whatever dies on the way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docaps.translation import translator as translating
from tests.cli.calling import AS_MODULE, docaps, listing, succeed
from tests.cluster.conftest import STORE
from tests.cluster.test_ray_pool import workers
from tests.processes import marked, wait_until_unmarked

ROOT = Path(__file__).parents[2]


@pytest.fixture
def run(made: Path) -> Path:
    return made / "seed-1" / "qcn+reg"


def collection(folder: Path, files: int, longest: int) -> Path:
    """Write files of a few sentences, in two formats, and a long one of one document."""
    folder.mkdir()
    for number in range(files):
        sentences = [f"Anna bought coat {number}.", "It was warm.", "She saw a bank."][: number % 3 + 1]
        end, text = ("txt", "\n") if number % 2 else ("en", "\n<d>\n")
        (folder / f"{number:03}.{end}").write_text(text.join(sentences) + "\n", encoding="utf-8")
    words = ("coat", "bank", "letter", "dog", "house")
    lines = (f"Anna saw a {words[number % 5]} and a {words[number // 5 % 5]}.\n" for number in range(longest))
    (folder / "long").write_text("".join(lines), encoding="utf-8")
    return folder


def files_of(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


@pytest.mark.usefixtures("one_thread")
def test_a_collection_has_the_same_bytes_alone_with_processes_and_on_a_cluster(
    run: Path, tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translating, "WINDOW", 20)
    words = ["translate", run, *files_of(collection(tmp_path / "en", 12, 90))]
    succeed(*words, "-o", tmp_path / "alone")
    succeed(*words, "-o", tmp_path / "processes", "--jobs", "2")
    result = succeed(*words, "-o", tmp_path / "together", "--engine", "ray", "--address", cluster.address)
    assert "Ray: up to 2 workers on 2 machines" in result.err
    assert listing(tmp_path / "processes") == listing(tmp_path / "together") == listing(tmp_path / "alone")
    tables = [["--scores"], ["--scores", "--jobs", "1"]]
    one, other = (succeed(*words, *options).out for options in tables)
    assert one == other
    assert len(one.splitlines()) > 100


def test_an_error_in_the_input_leaves_what_was_finished_and_no_process(
    run: Path, tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translating, "WINDOW", 2)
    (tmp_path / "a.en").write_text("<d>\nAnna left.\n" * 3)
    (tmp_path / "b.en").write_bytes(b"<d>\nAnna left.\n" * 40 + b"\xff\n")
    words = ["translate", run, tmp_path / "a.en", tmp_path / "b.en", "-o", tmp_path / "out"]
    result = docaps(*words, "--engine", "ray", "--address", cluster.address)
    assert (result.code, result.out) == (1, "")
    assert "b.en:81: not UTF-8" in result.err
    assert (tmp_path / "out" / "a.en").read_text().count("<d>") == 3
    assert not (tmp_path / "out" / "b.en").exists()
    assert (tmp_path / "out.journal.json").exists()
    end = time.monotonic() + 30
    while workers():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--workers", "2"], "--workers: for a Ray cluster: give --engine ray too"),
        (["--address", "x:1", "--gpus-per-worker", "1"], "--address and --gpus-per-worker: for a Ray cluster"),
        (["--engine", "ray", "--jobs", "2"], "--jobs is about processes of this machine"),
        (["--engine", "ray", "--address", "127.0.0.1:1"], "cannot connect to the cluster at 127.0.0.1:1"),
    ],
)
def test_impossible_engines_are_refused(run: Path, tmp_path: Path, words: list[str], message: str) -> None:
    (tmp_path / "a.en").write_text("Anna left.\n")
    result = docaps("translate", run, tmp_path / "a.en", "-o", tmp_path / "out", *words)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert sorted(listing(tmp_path)) == ["a.en"]


def begin(mark: str, *words: str | Path) -> "subprocess.Popen[str]":
    """Run a command in a process of its own; all that it starts carries a mark."""
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    return subprocess.Popen(
        [sys.executable, "-c", f"{listening}; {AS_MODULE}", *map(str, words)],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "MARK_OF_TEST": mark},
    )


def wait_until(condition: Callable[[], object], process: "subprocess.Popen[str]", seconds: float = 200) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.02)


def has_progress(out: Path) -> bool:
    """Return whether a file is finished or begun, beside the journal."""
    return out.is_dir() and any(out.iterdir())


@pytest.mark.stress
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("engine", [["--engine", "ray"], ["--jobs", "2"]])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_command_leaves_nothing_running_and_is_resumed(
    run: Path, tmp_path: Path, engine: list[str], number: int
) -> None:
    mark = f"{tmp_path.name}-{os.getpid()}"
    words = ["translate", run, *files_of(collection(tmp_path / "en", 30, 4_000)), "-o"]
    process = begin(mark, *words, tmp_path / "out", *engine)
    try:
        wait_until(lambda: has_progress(tmp_path / "out"), process)
        assert len(marked(mark)) > 1
        process.send_signal(number)
        assert process.wait(60) == (-number if number == signal.SIGKILL else 128 + number)
        wait_until_unmarked(mark)
    finally:
        process.kill()
        process.communicate()
    assert not (tmp_path / "out" / "long").exists()
    result = succeed(*words, tmp_path / "out", "--resume", *engine)
    assert "Traceback" not in result.err
    succeed(*words, tmp_path / "alone")
    assert listing(tmp_path / "out") == listing(tmp_path / "alone")


@pytest.mark.stress
@pytest.mark.usefixtures("one_thread")
def test_a_collection_whose_machine_dies_has_the_same_bytes(run: Path, tmp_path: Path, cluster: Any) -> None:
    words = ["translate", run, *files_of(collection(tmp_path / "en", 30, 4_000)), "-o"]
    lost = cluster.add_node(num_cpus=1, object_store_memory=STORE, resources={"lost": 1})
    process = begin("", *words, tmp_path / "out", "--engine", "ray", "--address", cluster.address)
    try:
        # Three workers on three machines of one core: one is on the machine that is removed.
        wait_until(lambda: has_progress(tmp_path / "out") and workers() > 2, process)
        cluster.remove_node(lost, allow_graceful=False)
        assert process.wait(300) == 0, process.stderr and process.stderr.read()
    finally:
        process.kill()
        process.communicate()
    succeed(*words, tmp_path / "alone")
    assert listing(tmp_path / "out") == listing(tmp_path / "alone")
