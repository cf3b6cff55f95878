"""Locks: one owner at a time, and none for ever."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from docaps.experiments import grid_locks
from docaps.experiments.grid_locks import LockFolder, heartbeat, identity


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "locks"


def pretend(folder: Path, name: str, **changes: object) -> Path:
    """Leave a lock as another process would."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(identity() | changes), encoding="utf-8")
    return path


def is_free(folder: Path, name: str = "qcn") -> bool:
    with LockFolder(folder).hold(name) as ours:
        return ours


def test_a_lock_has_one_owner_until_it_is_released(folder: Path) -> None:
    with LockFolder(folder).hold("qcn") as ours:
        assert ours
        assert LockFolder(folder).owner("qcn") == identity()["host"]
        assert not is_free(folder)
        assert is_free(folder, "han")
    assert LockFolder(folder).owner("qcn") is None
    assert is_free(folder)


def test_a_lock_is_released_when_the_work_fails(folder: Path) -> None:
    with pytest.raises(ValueError, match="no"), LockFolder(folder).hold("qcn"):
        raise ValueError("no")
    assert is_free(folder)


def test_names_that_begin_alike_are_different(folder: Path) -> None:
    with LockFolder(folder).hold("seed-1.qcn"):
        assert is_free(folder, "seed-1.qcn+reg")
        assert is_free(folder, "qcn")
        assert is_free(folder, "seed-1")


def test_one_of_many_concurrent_processes_gets_the_lock(folder: Path) -> None:
    pretend(folder, "qcn.1", process=2**22 + 1)  # more than Linux numbers processes: it is gone
    start, winners = threading.Barrier(8), []

    def take() -> None:
        start.wait()
        path = LockFolder(folder)._take("qcn")
        winners.extend([path] if path else [])

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(take) for _ in range(8)]:
            future.result()
    assert winners == [folder / "qcn.2"]


def test_the_slower_of_two_that_see_the_same_generation_does_not_get_the_lock(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = pretend(folder, "qcn.1", process=2**22 + 1)
    monkeypatch.setattr(LockFolder, "_latest", lambda *_: old)  # what both of them saw
    assert LockFolder(folder)._take("qcn") == folder / "qcn.2"
    assert LockFolder(folder)._take("qcn") is None


def test_a_zombie_process_holds_no_lock(folder: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        pretend(folder, "qcn.1", process=process.pid, started=grid_locks._started(process.pid))
        assert not is_free(folder)
        process.kill()
        end = time.monotonic() + 30
        while not (free := is_free(folder)) and time.monotonic() < end:
            time.sleep(0.01)
        assert free
        process.wait()


def test_the_lock_of_a_killed_process_is_free_at_once(folder: Path) -> None:
    code = "import sys, time; from pathlib import Path; from docaps.experiments.grid_locks import LockFolder\n"
    code += "with LockFolder(Path(sys.argv[1])).hold('qcn') as ours:\n    print(ours, flush=True)\n    time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "True\n"
        assert not is_free(folder)
        process.kill()
        process.wait()
    assert LockFolder(folder).owner("qcn") is None
    assert is_free(folder)


def test_a_reused_process_number_does_not_hold_the_lock(folder: Path) -> None:
    pretend(folder, "qcn.1", started="1")
    assert is_free(folder)


@pytest.mark.parametrize("difference", [{"host": "elsewhere"}, {"boot": "before"}, {"processes": "pid:[1]"}])
def test_a_lock_of_another_machine_expires(folder: Path, difference: dict[str, str]) -> None:
    path = pretend(folder, "qcn.1", process=2**22 + 1, **difference)
    assert not is_free(folder)
    long_ago = time.time() - grid_locks.EXPIRY - 5
    os.utime(path, (long_ago, long_ago))
    assert is_free(folder)


def test_a_lock_that_is_being_written_is_held(folder: Path) -> None:
    pretend(folder, "qcn.1").write_text("", encoding="utf-8")
    assert not is_free(folder)


def test_an_owner_touches_its_lock_and_notices_that_it_was_taken_over(folder: Path) -> None:
    own = LockFolder(folder)
    path = own._take("qcn")
    assert path is not None
    os.utime(path, (0, 0))
    assert own._touch("qcn", path)
    assert time.time() - path.stat().st_mtime < 60
    pretend(folder, "qcn.2", host="elsewhere")
    assert not own._touch("qcn", path)


def idle(seconds: float) -> None:
    """Do nothing, but wake often: a thread notices an interrupt when it wakes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)


def test_a_process_that_lost_its_lock_is_interrupted() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever else runs in this process
    try:
        with pytest.raises(KeyboardInterrupt), heartbeat(lambda: False, every=0.01):
            idle(30)
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_clock_leaves_nothing_behind(folder: Path) -> None:
    pretend(folder, "qcn.1", host="elsewhere")
    assert not is_free(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["qcn.1"]


def test_a_live_owner_sends_several_heartbeats_before_its_lock_expires() -> None:
    assert 5 * grid_locks.HEARTBEAT <= grid_locks.EXPIRY


def test_a_waiting_process_gets_the_lock_when_it_is_released(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid_locks, "POLL", 0.01)
    order: list[str] = []
    held = threading.Event()

    def first() -> None:
        with LockFolder(folder).wait_for("numbers"):
            held.set()
            time.sleep(0.2)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    held.wait()
    with LockFolder(folder).wait_for("numbers"):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]
