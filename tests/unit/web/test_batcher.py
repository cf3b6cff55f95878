"""The batcher forms full, even and fair batches of all queued requests, and delivers their results in order."""

import random
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docaps.batches.windows import View
from docaps.config import DecodingSettings
from docaps.translation.ordering import HistorySentence
from docaps.translation.segments import Segment, SegmentedSentence
from docaps.translation.translator import TranslatedSentence, TranslationOptions
from docaps.web.batcher import PATIENCE, SHARE, STEP, Batcher, RequestBatch, _best_range, choose
from docaps.web.request_queue import Granularity, PartialResult, QueuedRequest, RequestSettings

SETTINGS = RequestSettings(DecodingSettings(beam=1, batch_tokens=400))
LENGTH = 10
ROOM = 40
VIEWS: dict[Granularity, View] = {
    "sentence": View(3),
    "sequential": View(3, translations=True),
    "document": View(3, 3),
}


class FakeTranslator:
    """A translator that only counts letters."""

    def __init__(self, granularity: Granularity = "sentence") -> None:
        self._view = VIEWS[granularity]

    def view(self, _: TranslationOptions) -> View:
        return self._view

    def read_history(self, _: Sequence[str], __: View) -> list[HistorySentence]:
        return []

    def segment(self, sentence: str) -> SegmentedSentence:
        return SegmentedSentence([], (Segment([0] * len(sentence)),), before=sentence)


def make_request(
    *lengths: int,
    granularity: Granularity = "sentence",
    settings: RequestSettings = SETTINGS,
    promptly: bool = False,
    results: Any = None,
) -> QueuedRequest:
    deliver = [].append if results is None else results.append
    made = QueuedRequest(tuple("x" * length for length in lengths), (), settings, deliver, promptly)
    made.prepare(FakeTranslator(granularity))  # type: ignore[arg-type]
    return made


def sized(count: int) -> QueuedRequest:
    return make_request(*[LENGTH] * count)


def queue(*requests: QueuedRequest) -> Batcher:
    made = Batcher(linger=0)
    for one in requests:
        assert made.put(one, most=100_000)
    return made


def sentence(number: int) -> TranslatedSentence:
    return TranslatedSentence(str(number), 0.0)


def finish(batch: RequestBatch) -> RequestBatch:
    for one, numbers in batch.items():
        one.finish(numbers, [sentence(number) for number in numbers], [])
    return batch


def test_a_batch_is_full_and_no_more() -> None:
    giant = sized(1000)
    assert choose([giant]) == {giant: list(range(ROOM))}
    assert choose([giant], workers=3) == {giant: list(range(ROOM))}
    assert len(choose([make_request(*[LENGTH + 1] * 100)]).popitem()[1]) == 400 // (LENGTH + 1)


def test_each_worker_leaves_the_others_their_part_of_little() -> None:
    small = sized(9)
    waiting = queue(small)
    waiting.workers = 3
    assert waiting.take() == {small: [0, 1, 2]}
    assert waiting.take() == {small: [3, 4]}  # of the six that are left
    one = sized(1)
    assert choose([one], workers=3) == {one: [0]}


def test_no_sentence_is_taken_twice() -> None:
    giant, results = sized(60), list[PartialResult]()
    small = make_request(*[LENGTH] * 4, results=results, promptly=True)
    waiting = queue(giant, small)
    first, second = waiting.take(), waiting.take()
    both = [number for batch in (first, second) for number in batch.get(giant, [])]
    assert sorted(both) == list(range(60))
    assert waiting.take() == {}
    assert waiting.waiting == 64
    finish(second)
    finish(first)
    assert waiting.waiting == 0
    assert sum(map(len, results)) == 4  # type: ignore[arg-type]


@pytest.mark.parametrize("granularity", ["sequential", "document"])
def test_sequential_work_is_taken_once(granularity: Granularity) -> None:
    made = make_request(5, 5, 5, granularity=granularity)
    waiting = queue(made)
    batch = waiting.take()
    assert waiting.take() == {}
    finish(batch)
    assert waiting.take() == ({made: [1]} if granularity == "sequential" else {})


def test_an_idle_worker_sleeps_until_there_is_more_work() -> None:
    made = make_request(5, 5, granularity="sequential")
    waiting = queue(made)
    batch, woken = waiting.take(), threading.Event()
    taker = threading.Thread(target=lambda: waiting.wait() and woken.set())
    taker.start()
    assert not woken.wait(0.2)
    finish(batch)
    waiting.wake()
    assert woken.wait(10)
    taker.join()


def test_each_new_request_is_claimed_once() -> None:
    requests = [QueuedRequest(("x" * size,), (), SETTINGS, lambda _: None) for size in (9, 2, 5)]
    waiting = queue(*requests)
    assert [waiting.claim() for _ in range(4)] == [requests[1], requests[2], requests[0], None]  # the smallest first


def test_a_cancelled_request_is_not_prepared_further() -> None:
    read: list[str] = []
    made = QueuedRequest(("x",) * 100, (), SETTINGS, lambda _: None)

    class Reader(FakeTranslator):
        def segment(self, sentence: str) -> SegmentedSentence:
            read.append(sentence)
            made.cancelled = len(read) > 1
            return super().segment(sentence)

    made.prepare(Reader())  # type: ignore[arg-type]
    assert read == ["x", "x"]
    assert not made.is_prepared


def test_a_giant_does_not_starve_small_requests() -> None:
    giant, small = sized(1000), [sized(3) for _ in range(4)]
    found = choose([giant, *small])
    assert all(found[one] == [0, 1, 2] for one in small)
    assert sum(map(len, found.values())) == ROOM


def test_a_new_request_waits_for_one_share_of_each_other_at_most() -> None:
    waiting = queue(*(sized(1000) for _ in range(20)))
    finish(waiting.take())
    newcomer = sized(1)
    waiting.put(newcomer, most=100_000)
    batches = 0
    while newcomer.remaining:
        finish(waiting.take())
        batches += 1
    assert batches <= 5  # 20 others come first, five of them in each batch of 40 sentences


def test_requests_without_a_share_come_first_next_time() -> None:
    giants = [sized(100) for _ in range(10)]
    waiting = queue(*giants)
    batches = [set(finish(waiting.take())) for _ in range(2)]
    assert batches == [set(giants[:5]), set(giants[5:])]


def test_a_batch_is_of_like_length() -> None:
    mixed = [make_request(10, 50, 11, 90), make_request(9, 48, 100, 10), make_request(52, 12, 51, 49, 49)]
    # Seven of up to 52 tokens fit into 400, and six of them are 48 or more: little is wasted.
    assert choose(mixed) == {mixed[0]: [1], mixed[1]: [1], mixed[2]: [0, 1, 2, 3, 4]}
    # Once the first was passed over, it is taken, in the best batch it can have: those of 9 to 12.
    assert choose(mixed) == {mixed[0]: [0, 2], mixed[1]: [0, 3], mixed[2]: [1]}
    assert mixed[0].passed_over == 0


@given(
    st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=12), min_size=1, max_size=12),
    st.integers(1, 8),
    st.integers(1, 3),
)
def test_batches_fit_have_like_lengths_and_pass_over_the_first_once_at_most(
    documents: list[list[int]], share: int, workers: int
) -> None:
    requests = [make_request(*lengths) for lengths in documents]
    for _ in range(PATIENCE + 1):
        batch = choose(requests, share, workers=workers)
        taken = [one.length(number) for one, numbers in batch.items() for number in numbers]
        assert len(taken) == 1 or len(taken) * max(taken) <= SETTINGS.room
        lengths = [max(1, length) for lengths in documents for length in lengths]  # an empty sentence counts as 1
        between = [length for length in lengths if min(taken) < length < max(taken)]
        assert [length for length in sorted(taken) if min(taken) < length < max(taken)] == sorted(between)
        if 0 in batch.get(requests[0], []):
            return
    raise AssertionError("the first was passed over again and again")


def test_a_sentence_passed_over_is_in_the_next_batch() -> None:
    odd = make_request(*[60] * 2, *[LENGTH] * 50)
    waiting = queue(odd, sized(8))
    first = waiting.take()
    assert 0 not in first[odd]
    assert len(first[odd]) >= SHARE  # enough to go to the back
    assert 0 in waiting.take()[odd]


def test_a_split_sentence_counts_with_all_its_segments() -> None:
    class Splitter(FakeTranslator):
        def segment(self, sentence: str) -> SegmentedSentence:  # noqa: ARG002
            return SegmentedSentence([], tuple(Segment([0] * 100) for _ in range(5)))

    made = QueuedRequest(("x",) * 3, (), SETTINGS, lambda _: None)
    made.prepare(Splitter())  # type: ignore[arg-type]
    assert made.length(0) == 500
    assert choose([made]) == {made: [0]}


def test_the_best_range_is_the_best_of_all() -> None:
    lengths = sorted(random.Random(3).choices(range(1, 60), k=40))
    required = 30

    def value(start: int, end: int) -> float:
        return sum(lengths[start:end]) / (lengths[end - 1] * (end - start + STEP))

    # Of all that end at one sentence, the one that holds as many as fit.
    windows = [(max(0, j - max(1, 400 // lengths[j - 1])), j) for j in range(1, 41)]
    assert value(*_best_range(lengths, 400, None)) == max(value(*one) for one in windows)
    start, end = _best_range(lengths, 400, required)
    assert start <= required < end
    assert value(start, end) == max(value(*one) for one in windows if one[0] <= required < one[1])


def test_the_first_is_served_however_unlike_the_others_it_is() -> None:
    odd, others = make_request(300, 1), [sized(50) for _ in range(9)]
    waiting = queue(odd, *others)
    batches = [finish(waiting.take()) for _ in range(2 * (PATIENCE + 1))]
    assert {odd: [0]} in batches
    assert not odd.remaining


def test_requests_with_other_settings_get_a_batch_of_their_own() -> None:
    other = RequestSettings(DecodingSettings(beam=2, batch_tokens=400))
    first, second = make_request(5, 5), make_request(5, 5, settings=other)
    waiting = queue(first, second)
    assert finish(waiting.take()) == {first: [0, 1]}
    assert finish(waiting.take()) == {second: [0, 1]}


def test_routing_traces_make_batches_smaller() -> None:
    assert RequestSettings(DecodingSettings(beam=4, batch_tokens=400)).room == 100
    assert RequestSettings(DecodingSettings(beam=4, batch_tokens=400), TranslationOptions(routing=True)).room == 50


def test_a_sequential_request_offers_one_sentence_at_a_time() -> None:
    requests = [make_request(*[5] * 10, granularity="sequential") for _ in range(3)]
    waiting = queue(*requests)
    for number in range(10):
        assert finish(waiting.take()) == {one: [number] for one in requests}


def test_a_translated_history_comes_first_and_is_not_delivered() -> None:
    results: list[PartialResult] = []
    made = QueuedRequest(("c", "d"), ("a", "b"), SETTINGS, results.append, promptly=True)
    made.prepare(FakeTranslator("sequential"))  # type: ignore[arg-type]
    found = []
    while made.remaining:
        numbers = made.available()
        found += [one.before for document in made.encoded(numbers) for one in document.sentences]
        made.finish(numbers, [sentence(number) for number in numbers], [])
    assert found == ["a", "b", "c", "d"]
    assert results == [(sentence(2),), (sentence(3),)]


def test_whole_documents_are_taken_whole() -> None:
    requests = [make_request(*[60] * 30, granularity="document") for _ in range(3)]
    assert choose(requests) == {requests[0]: list(range(30))}
    little = [make_request(*[2] * 30, granularity="document") for _ in range(30)]
    assert len(choose(little)) == 7  # 30 sentences of 2 tokens each are 60 of 400


def test_results_are_delivered_at_once_and_in_order() -> None:
    results: list[PartialResult] = []
    made = make_request(1, 2, 3, results=results)
    made.finish([0], [sentence(0)], [])
    assert results == []
    made.finish([1, 2], [sentence(1), sentence(2)], [])
    assert results == [(sentence(0), sentence(1), sentence(2))]


def test_prompt_results_are_delivered_early_but_in_order() -> None:
    results: list[PartialResult] = []
    made = make_request(1, 2, 3, promptly=True, results=results)
    made.finish([2], [sentence(2)], [])
    assert results == []
    made.finish([0], [sentence(0)], [])
    assert results == [(sentence(0),)]
    made.finish([1], [sentence(1)], [])
    assert results[1:] == [(sentence(1), sentence(2))]


def test_the_queue_takes_exactly_its_limit() -> None:
    waiting = Batcher(linger=0)
    assert waiting.put(sized(6), most=10)
    assert not waiting.put(sized(5), most=10)
    assert waiting.put(sized(4), most=10)
    assert waiting.waiting == 10


def test_a_cancelled_request_takes_no_place() -> None:
    results: list[PartialResult] = []
    gone, other = make_request(*[LENGTH] * 9, results=results), sized(1)
    waiting = queue(gone, other)
    gone.cancelled = True
    assert waiting.waiting == 1
    assert waiting.take() == {other: [0]}
    gone.finish([0], [sentence(0)], [])
    assert results == []


def test_an_unprepared_request_is_not_taken() -> None:
    fresh = QueuedRequest(("x",), (), SETTINGS, lambda _: None)
    waiting = queue(fresh)
    assert waiting.claim() is fresh
    assert waiting.take() == {}
    fresh.prepare(FakeTranslator())  # type: ignore[arg-type]
    assert waiting.claim() is None
    assert waiting.take() == {fresh: [0]}


def test_closing_the_queue_wakes_the_workers() -> None:
    waiting = Batcher()
    found: list[bool] = []
    taker = threading.Thread(target=lambda: found.append(waiting.wait()))
    taker.start()
    waiting.close()
    taker.join(10)
    assert found == [False]


@pytest.mark.parametrize("linger", [0.0, 2.0])
def test_the_first_request_waits_a_moment_for_others(linger: float) -> None:
    waiting = Batcher(linger=linger)
    found: list[int] = []

    def take() -> None:
        waiting.wait()
        found.append(waiting.waiting)

    taker = threading.Thread(target=take)
    taker.start()
    time.sleep(0.05)
    waiting.put(sized(1), most=10)
    if not linger:
        taker.join(10)
    time.sleep(0.05)
    for _ in range(2):
        waiting.put(sized(1), most=10)
        time.sleep(0.05)
    taker.join(10)
    assert found == [3 if linger else 1]
