"""Batches are searched in threads: results come in order, and torch's number of threads is restored."""

import threading
import time

import pytest
import torch

from docaps.translation.search import map_in_threads


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_results_come_in_order_and_threads_are_restored() -> None:
    seen = []

    def work(number: int) -> int:
        time.sleep(0.01 * (3 - number))  # the first takes longest
        seen.append((threading.current_thread(), torch.get_num_threads()))
        return number * number

    assert list(map_in_threads(work, [0, 1, 2, 3])) == [0, 1, 4, 9]
    assert {thread for thread, _ in seen}.isdisjoint({threading.main_thread()})
    assert {threads for _, threads in seen} == {1}
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize(("items", "workers"), [([5], None), ([5, 6], 1), ([], None)])
def test_one_worker_is_the_caller_with_all_threads(items: list[int], workers: int | None) -> None:
    found = list(
        map_in_threads(lambda item: (item, threading.current_thread(), torch.get_num_threads()), items, workers)
    )
    assert found == [(item, threading.main_thread(), 2) for item in items]


@pytest.mark.usefixtures("two_threads")
def test_an_error_ends_the_work_and_starts_no_more() -> None:
    begun = []

    def work(number: int) -> None:
        begun.append(number)
        time.sleep(0.05)
        if number == 0:
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        list(map_in_threads(work, range(100)))
    assert len(begun) < 10
    assert torch.get_num_threads() == 2
