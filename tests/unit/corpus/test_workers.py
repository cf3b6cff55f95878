"""Several processes: results in order, few items ahead, and none started for little work."""

from collections.abc import Iterator
from multiprocessing import active_children

import pytest

from docaps.corpus import workers
from docaps.corpus.workers import Workers, available_workers


def square(number: int) -> int:
    if number < 0:
        raise ValueError(f"{number} is below 0")
    return number**2


def test_results_come_in_order_and_few_items_are_held() -> None:
    taken: list[int] = []

    def numbers() -> Iterator[int]:
        for number in range(40):
            taken.append(number)
            yield number

    with Workers(2) as crew:
        results = crew.map(square, numbers())
        assert next(results) == 0
        assert len(taken) <= 6
        assert list(results) == [number**2 for number in range(1, 40)]
        assert list(crew.map(square, range(9))) == [number**2 for number in range(9)]
        assert len(active_children()) == 2
    assert active_children() == []


@pytest.mark.parametrize(("count", "items"), [(2, workers.INLINE_ITEMS - 1), (1, 20), (2, 0)])
def test_little_work_is_done_here(monkeypatch: pytest.MonkeyPatch, count: int, items: int) -> None:
    monkeypatch.setattr(workers, "ProcessPoolExecutor", pytest.fail)
    with Workers(count) as crew:
        assert list(crew.map(square, range(items))) == [number**2 for number in range(items)]


def test_a_fault_in_a_worker_or_beside_it_ends_all() -> None:
    with pytest.raises(ValueError, match="-1 is below 0"), Workers(2) as crew:
        list(crew.map(square, [1, 2, 3, 4, -1, 5]))
    assert active_children() == []
    with pytest.raises(KeyboardInterrupt), Workers(2) as crew:
        raise_after(next(crew.map(square, range(40))))
    assert active_children() == []


def raise_after(_: int) -> None:
    raise KeyboardInterrupt


def test_there_is_at_least_one_processor() -> None:
    assert available_workers() >= 1
