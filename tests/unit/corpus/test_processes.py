"""Several processes: results in order, few items ahead, and none started for little work."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from multiprocessing import active_children
from pathlib import Path

import pytest

from docaps.corpus import processes
from docaps.corpus.processes import WorkerPool, available_workers
from docaps.errors import DocapsError


def square(number: int) -> int:
    if number < 0:
        raise ValueError(f"{number} is below 0")
    return number**2


class Counted:
    """Adds 1, and counts in files how often it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, number: int) -> int:
        return number + 1

    def __setstate__(self, state: dict[str, Path]) -> None:
        self.__dict__ |= state
        tempfile.mkstemp(dir=self.folder)


def test_results_come_in_order_and_few_items_are_held(tmp_path: Path) -> None:
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(40):
            taken.append(number)
            yield number

    with WorkerPool(2) as crew:
        results = crew.map(square, numbers())
        assert next(results) == 0
        assert len(taken) <= 6
        assert list(results) == [number**2 for number in range(1, 40)]
        assert list(crew.map(Counted(tmp_path), range(9))) == [*range(1, 10)]
        assert 1 <= len(list(tmp_path.iterdir())) <= 2  # each process unpickles the function once
        assert len(active_children()) == 2
    assert active_children() == []


@pytest.mark.parametrize(("count", "items"), [(2, processes.INLINE_TASKS - 1), (1, 20), (2, 0)])
def test_little_work_is_done_here(monkeypatch: pytest.MonkeyPatch, count: int, items: int) -> None:
    monkeypatch.setattr(processes, "ProcessPoolExecutor", pytest.fail)
    with WorkerPool(count) as crew:
        assert list(crew.map(square, range(items))) == [number**2 for number in range(items)]


def test_a_fault_in_a_worker_or_beside_it_ends_all() -> None:
    with pytest.raises(ValueError, match="-1 is below 0"), WorkerPool(2) as crew:
        list(crew.map(square, [1, 2, 3, 4, -1, 5]))
    assert active_children() == []
    with pytest.raises(KeyboardInterrupt), WorkerPool(2) as crew:
        raise_after(next(crew.map(square, range(40))))
    assert active_children() == []


def raise_after(_: int | None) -> None:
    raise KeyboardInterrupt


def test_workers_are_stopped_in_the_middle_of_what_they_do() -> None:
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt), WorkerPool(2) as crew:
        raise_after(next(crew.map(time.sleep, [0, 30, 30, 30, 30])))
    assert time.monotonic() - begin < 25
    assert active_children() == []


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="needs masks of signals")
def test_workers_do_not_hear_ctrl_c_but_this_process_does() -> None:
    with WorkerPool(2) as crew:
        assert not any(crew.map(hears, range(9)))
    assert hears(0)


def hears(_: int) -> bool:
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def die(times: int, task: tuple[int, Path]) -> int:
    """Kill this process the first `times` times that the third task is done."""
    number, folder = task
    if number == 2 and len(list(folder.iterdir())) < times:
        tempfile.mkstemp(dir=folder)
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_what_a_killed_process_did_is_done_again(tmp_path: Path) -> None:
    with WorkerPool(1, inline=0) as crew:
        assert list(crew.map(partial(die, 1), ((number, tmp_path) for number in range(6)))) == [*range(6)]
    assert len(list(tmp_path.iterdir())) == 1
    assert active_children() == []


@pytest.mark.stress
def test_processes_that_are_killed_again_and_again_are_reported(tmp_path: Path) -> None:
    killed = pytest.raises(DocapsError, match="processes that translated were killed 4 times, perhaps because memory")
    with killed, WorkerPool(1, inline=0, purpose="translated") as crew:
        list(crew.map(partial(die, 1000), [(2, tmp_path)]))
    assert len(list(tmp_path.iterdir())) == 4
    assert active_children() == []


def test_there_is_at_least_one_processor() -> None:
    assert available_workers() >= 1
