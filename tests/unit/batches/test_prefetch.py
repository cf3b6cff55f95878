"""Batches of a step: divided among processes without loss, prefetched without a change of order."""

import itertools
import threading
import time
from collections.abc import Iterator

import pytest
from tests.unit.batches.corpora import make_split

from docaps.batches.prefetch import Prefetcher, Shard, load_steps
from docaps.batches.sampling import LengthSampler, StreamPosition
from docaps.corpus.store import Split


@pytest.fixture
def split() -> Split:
    return make_split([[(1 + number % 5, 1 + number % 7) for number in range(70)]])


def test_processes_share_out_the_batches_of_each_step(split: Split) -> None:
    sampler = LengthSampler(split, budget=30, seed=1)
    whole = itertools.islice(load_steps(split, sampler, history=2, shard=Shard(4)), 12)
    shares = [load_steps(split, sampler, history=2, shard=Shard(4, process, 2)) for process in (0, 1)]
    for one, left, right in zip(whole, *shares, strict=False):
        assert one.tokens == left.tokens == right.tokens == sum(portion.tokens for portion in one.batches)
        assert one.after == left.after == right.after
        found = sorted([*left.batches, *right.batches], key=lambda portion: portion.number)
        assert [portion.number for portion in found] == [0, 1, 2, 3]
        assert [portion.sentences.tolist() for portion in found] == [
            portion.sentences.tolist() for portion in one.batches
        ]
        for portion in found:
            assert portion.tokens == int((portion.batch.translations != 0).sum())


def test_steps_resume_from_any_position(split: Split) -> None:
    sampler = LengthSampler(split, budget=60, seed=1)
    steps = list(itertools.islice(load_steps(split, sampler, history=1, shard=Shard(3)), 9))
    later = load_steps(split, sampler, history=1, start=steps[3].after, shard=Shard(3))
    for one, other in zip(steps[4:], later, strict=False):
        assert [p.sentences.tolist() for p in one.batches] == [p.sentences.tolist() for p in other.batches]
    assert steps[-1].after > StreamPosition(1, 0)  # an epoch may end in the middle of a step


def test_items_come_in_order_and_are_prefetched() -> None:
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(10):
            made.append(number)
            yield number

    with Prefetcher(items(), size=3) as ahead:
        assert next(ahead) == 0
        deadline = time.monotonic() + 5
        while len(made) < 5 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        assert made == [0, 1, 2, 3, 4]  # one taken, three in the queue, one waits for room
        assert list(ahead) == list(range(1, 10))
        assert list(ahead) == []


def test_an_error_of_the_thread_is_raised_in_order() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("no more")

    with Prefetcher(items()) as ahead:
        assert next(ahead) == 1
        for _ in range(2):
            with pytest.raises(ValueError, match="no more"):
                next(ahead)


def test_leaving_ends_the_thread_even_if_items_are_left() -> None:
    before = threading.active_count()
    with Prefetcher(itertools.count()):
        assert threading.active_count() == before + 1
    assert threading.active_count() == before
