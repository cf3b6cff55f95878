"""Claims: one owner at a time, and none for ever."""

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

from docaps.experiments import grid_locks as claims
from docaps.experiments.grid_locks import Claims, beating, identity


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "locks"


def pretend(folder: Path, name: str, **changes: object) -> Path:
    """Leave a claim as another process would."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(identity() | changes), encoding="utf-8")
    return path


def is_to_be_had(folder: Path, name: str = "qcn") -> bool:
    with Claims(folder).held(name) as ours:
        return ours


def test_a_claim_has_one_owner_until_it_is_given_back(folder: Path) -> None:
    with Claims(folder).held("qcn") as ours:
        assert ours
        assert Claims(folder).owner("qcn") == identity()["host"]
        assert not is_to_be_had(folder)
        assert is_to_be_had(folder, "han")
    assert Claims(folder).owner("qcn") is None
    assert is_to_be_had(folder)


def test_it_is_given_back_when_the_work_fails(folder: Path) -> None:
    with pytest.raises(ValueError, match="no"), Claims(folder).held("qcn"):
        raise ValueError("no")
    assert is_to_be_had(folder)


def test_names_that_begin_alike_are_different(folder: Path) -> None:
    with Claims(folder).held("seed-1.qcn"):
        assert is_to_be_had(folder, "seed-1.qcn+reg")
        assert is_to_be_had(folder, "qcn")
        assert is_to_be_had(folder, "seed-1")


def test_of_many_that_want_it_at_once_one_has_it(folder: Path) -> None:
    pretend(folder, "qcn.1", process=2**22 + 1)  # more than Linux numbers processes: it is gone
    start, winners = threading.Barrier(8), []

    def take() -> None:
        start.wait()
        path = Claims(folder)._take("qcn")
        winners.extend([path] if path else [])

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(take) for _ in range(8)]:
            future.result()
    assert winners == [folder / "qcn.2"]


def test_who_looked_at_the_same_moment_but_was_slower_does_not_have_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = pretend(folder, "qcn.1", process=2**22 + 1)
    monkeypatch.setattr(Claims, "_latest", lambda *_: old)  # what both of them saw
    assert Claims(folder)._take("qcn") == folder / "qcn.2"
    assert Claims(folder)._take("qcn") is None


def test_a_process_that_has_ended_but_was_not_waited_for_has_no_claim(folder: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        pretend(folder, "qcn.1", process=process.pid, started=claims._started(process.pid))
        assert not is_to_be_had(folder)
        process.kill()
        end = time.monotonic() + 30
        while not (free := is_to_be_had(folder)) and time.monotonic() < end:
            time.sleep(0.01)
        assert free
        process.wait()


def test_the_claim_of_a_killed_process_is_free_at_once(folder: Path) -> None:
    code = "import sys, time; from pathlib import Path; from docaps.experiments.grid_locks import Claims\n"
    code += "with Claims(Path(sys.argv[1])).held('qcn') as ours:\n    print(ours, flush=True)\n    time.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "True\n"
        assert not is_to_be_had(folder)
        process.kill()
        process.wait()
    assert Claims(folder).owner("qcn") is None
    assert is_to_be_had(folder)


def test_a_number_that_another_process_has_now_is_no_sign_of_life(folder: Path) -> None:
    pretend(folder, "qcn.1", started="1")
    assert is_to_be_had(folder)


@pytest.mark.parametrize("difference", [{"host": "elsewhere"}, {"boot": "before"}, {"processes": "pid:[1]"}])
def test_what_cannot_be_looked_up_here_is_judged_by_its_age(folder: Path, difference: dict[str, str]) -> None:
    path = pretend(folder, "qcn.1", process=2**22 + 1, **difference)
    assert not is_to_be_had(folder)
    long_ago = time.time() - claims.SILENCE - 5
    os.utime(path, (long_ago, long_ago))
    assert is_to_be_had(folder)


def test_a_claim_that_is_being_written_is_somebodys(folder: Path) -> None:
    pretend(folder, "qcn.1").write_text("", encoding="utf-8")
    assert not is_to_be_had(folder)


def test_an_owner_gives_signs_of_life_and_learns_that_it_was_thought_gone(folder: Path) -> None:
    own = Claims(folder)
    path = own._take("qcn")
    assert path is not None
    os.utime(path, (0, 0))
    assert own._beat("qcn", path)
    assert time.time() - path.stat().st_mtime < 60
    pretend(folder, "qcn.2", host="elsewhere")
    assert not own._beat("qcn", path)


def idle(seconds: float) -> None:
    """Do nothing, but wake often: an interrupted thread hears of it when it wakes."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.01)


def test_who_lost_its_claim_is_interrupted() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever else runs in this process
    try:
        with pytest.raises(KeyboardInterrupt), beating(lambda: False, every=0.01):
            idle(30)
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_clock_leaves_nothing_behind(folder: Path) -> None:
    pretend(folder, "qcn.1", host="elsewhere")
    assert not is_to_be_had(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["qcn.1"]


def test_a_live_owner_gives_several_signs_before_it_would_count_as_gone() -> None:
    assert 5 * claims.BEAT <= claims.SILENCE


def test_who_waits_for_a_claim_gets_it_when_it_is_given_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "PAUSE", 0.01)
    order: list[str] = []
    held = threading.Event()

    def first() -> None:
        with Claims(folder).waited_for("numbers"):
            held.set()
            time.sleep(0.2)
            order.append("first")

    thread = threading.Thread(target=first)
    thread.start()
    held.wait()
    with Claims(folder).waited_for("numbers"):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]
