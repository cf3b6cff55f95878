"""Whose turn it is."""

import random
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docaps.config import DecodingSettings
from docaps.translation.segments import Part, Passage
from docaps.translation.pieces import Grain, Piece
from docaps.translation.translator import TranslatedSentence
from docaps.web.request_queue import READ_AT_ONCE, PartialResult, RequestSettings, QueuedRequest
from docaps.web.batcher import PATIENCE, STEP, _best_window, choose
from docaps.batches.batch import Batch
from docaps.corpus.text.merges import Queue

MANNER = RequestSettings(DecodingSettings(beam=1, batch_tokens=400))
LENGTH = 10
ROOM = 40


class Fake:
    """A translator that only counts letters."""

    def __init__(self, grain: Grain = "sentence") -> None:
        self._grain = grain

    def grain(self, _: Any) -> Grain:
        return self._grain

    def begin(self, _: Any) -> list[Any]:
        return []

    def read(self, sentences: Any) -> list[Passage]:
        return [Passage([], (Part([0] * len(sentence)),), before=sentence) for sentence in sentences]

    def cut_up(self, passages: Any, _: Any) -> list[Piece]:
        return [Piece((passage,), []) for passage in passages]


def ticket(
    *lengths: int, grain: Grain = "sentence", manner: RequestSettings = MANNER, promptly: bool = False, told: Any = None
) -> QueuedRequest:
    deliver = [].append if told is None else told.append
    made = QueuedRequest(tuple("x" * length for length in lengths), (), manner, deliver, promptly)
    made.prepare(Fake(grain))  # type: ignore[arg-type]
    return made


def sized(count: int) -> QueuedRequest:
    return ticket(*[LENGTH] * count)


def queue(*tickets: QueuedRequest) -> Queue:
    made = Queue(linger=0)
    for one in tickets:
        assert made.put(one, most=100_000)
    return made


def sentence(place: int) -> TranslatedSentence:
    return TranslatedSentence(str(place), 0.0)


def finish(batch: Batch) -> Batch:
    for one, places in batch.items():
        one.finish(places, [sentence(place) for place in places], [])
    return batch


def test_a_batch_is_full_and_no_more() -> None:
    giant = sized(1000)
    assert choose([giant]) == {giant: list(range(ROOM))}
    assert choose([giant], takers=3) == {giant: list(range(ROOM))}
    assert len(choose([ticket(*[LENGTH + 1] * 100)]).popitem()[1]) == 400 // (LENGTH + 1)


def test_who_takes_leaves_the_others_their_part_of_little() -> None:
    small = sized(9)
    waiting = queue(small)
    waiting.takers = 3
    assert waiting.take() == {small: [0, 1, 2]}
    assert waiting.take() == {small: [3, 4]}  # of the six that are left
    one = sized(1)
    assert choose([one], takers=3) == {one: [0]}


def test_nobody_takes_what_another_has_taken() -> None:
    giant, told = sized(60), list[PartialResult]()
    small = ticket(*[LENGTH] * 4, told=told, promptly=True)
    waiting = queue(giant, small)
    first, second = waiting.take(), waiting.take()
    both = [place for batch in (first, second) for place in batch.get(giant, [])]
    assert sorted(both) == list(range(60))
    assert waiting.take() == {}
    assert waiting.waiting == 64
    finish(second)
    finish(first)
    assert waiting.waiting == 0
    assert sum(map(len, told)) == 4  # type: ignore[arg-type]


@pytest.mark.parametrize("grain", ["turn", "document"])
def test_what_must_be_done_in_order_is_taken_once(grain: Grain) -> None:
    made = ticket(5, 5, 5, grain=grain)
    waiting = queue(made)
    batch = waiting.take()
    assert waiting.take() == {}
    finish(batch)
    assert waiting.take() == ({made: [1]} if grain == "turn" else {})


def test_who_waits_sleeps_while_others_do_all_there_is_and_wakes_when_there_is_more() -> None:
    made = ticket(5, 5, grain="turn")
    waiting = queue(made)
    batch, woken = waiting.take(), threading.Event()
    taker = threading.Thread(target=lambda: waiting.wait() and woken.set())
    taker.start()
    assert not woken.wait(0.2)
    finish(batch)
    waiting.look_again()
    assert woken.wait(10)
    taker.join()


def test_one_who_is_new_is_looked_at_once() -> None:
    tickets = [QueuedRequest(("x" * size,), (), MANNER, lambda _: None) for size in (9, 2, 5)]
    waiting = queue(*tickets)
    assert [waiting.claim() for _ in range(4)] == [tickets[1], tickets[2], tickets[0], None]  # the smallest first


def test_one_whose_client_has_gone_is_not_got_ready() -> None:
    read: list[int] = []
    made = QueuedRequest(("x",) * 100, (), MANNER, lambda _: None)

    class Reader(Fake):
        def read(self, sentences: Any) -> list[Passage]:
            read.append(len(sentences))
            made.cancelled = len(read) > 1
            return super().read(sentences)

    made.prepare(Reader())  # type: ignore[arg-type]
    assert read == [READ_AT_ONCE, READ_AT_ONCE]
    assert made.is_fresh


def test_a_giant_does_not_starve_small_requests() -> None:
    giant, small = sized(1000), [sized(3) for _ in range(4)]
    found = choose([giant, *small])
    assert all(found[one] == [0, 1, 2] for one in small)
    assert sum(map(len, found.values())) == ROOM


def test_a_newcomer_waits_for_one_turn_of_each_other_at_most() -> None:
    waiting = queue(*(sized(1000) for _ in range(20)))
    finish(waiting.take())
    newcomer = sized(1)
    waiting.put(newcomer, most=100_000)
    batches = 0
    while newcomer.left:
        finish(waiting.take())
        batches += 1
    assert batches <= 5  # 20 others come first, five of them in each batch of 40 sentences


def test_who_had_no_turn_is_first_next_time() -> None:
    giants = [sized(100) for _ in range(10)]
    waiting = queue(*giants)
    turns = [set(finish(waiting.take())) for _ in range(2)]
    assert turns == [set(giants[:5]), set(giants[5:])]


def test_a_batch_is_of_like_length() -> None:
    mixed = [ticket(10, 50, 11, 90), ticket(9, 48, 100, 10), ticket(52, 12, 51, 49, 49)]
    # Seven of up to 52 tokens fit into 400, and six of them are 48 or more: little is wasted.
    assert choose(mixed) == {mixed[0]: [1], mixed[1]: [1], mixed[2]: [0, 1, 2, 3, 4]}
    # Once the first was passed over, it is taken, in the best company it can have: those of 9 to 12.
    assert choose(mixed) == {mixed[0]: [0, 2], mixed[1]: [0, 3], mixed[2]: [1]}
    assert mixed[0].passed == 0


@given(
    st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=12), min_size=1, max_size=12),
    st.integers(1, 8),
    st.integers(1, 3),
)
def test_batches_fit_are_neighbours_and_the_first_waits_once_at_most(
    documents: list[list[int]], share: int, takers: int
) -> None:
    tickets = [ticket(*lengths) for lengths in documents]
    for _ in range(PATIENCE + 1):
        batch = choose(tickets, share, takers=takers)
        taken = [one.length(place) for one, places in batch.items() for place in places]
        assert len(taken) == 1 or len(taken) * max(taken) <= MANNER.room
        lengths = [max(1, length) for lengths in documents for length in lengths]  # an empty sentence counts as 1
        between = [length for length in lengths if min(taken) < length < max(taken)]
        assert [length for length in sorted(taken) if min(taken) < length < max(taken)] == sorted(between)
        if 0 in batch.get(tickets[0], []):
            return
    raise AssertionError("the first was passed over again and again")


def test_who_is_passed_over_is_in_the_next_batch_whatever_else_of_it_was_taken() -> None:
    odd = ticket(*[60] * 2, *[LENGTH] * 50)
    waiting = queue(odd, sized(8))
    first = waiting.take()
    assert 0 not in first[odd]
    assert len(first[odd]) >= waiting.share  # enough to go to the back
    assert 0 in waiting.take()[odd]


def test_a_sentence_of_many_parts_counts_with_all_of_them() -> None:
    class Cutter(Fake):
        def read(self, sentences: Any) -> list[Passage]:
            return [Passage([], tuple(Part([0] * 100) for _ in range(5))) for _ in sentences]

    made = QueuedRequest(("x",) * 3, (), MANNER, lambda _: None)
    made.prepare(Cutter())  # type: ignore[arg-type]
    assert made.length(0) == 500
    assert choose([made]) == {made: [0]}


def test_the_best_window_is_the_best_of_all() -> None:
    lengths = sorted(random.Random(3).choices(range(1, 60), k=40))
    inside = 30

    def value(start: int, end: int) -> float:
        return sum(lengths[start:end]) / (lengths[end - 1] * (end - start + STEP))

    # Of all that end at one sentence, the one that holds as many as fit.
    windows = [(max(0, j - max(1, 400 // lengths[j - 1])), j) for j in range(1, 41)]
    assert value(*_best_window(lengths, 400, None)) == max(value(*one) for one in windows)
    start, end = _best_window(lengths, 400, inside)
    assert start <= inside < end
    assert value(start, end) == max(value(*one) for one in windows if one[0] <= inside < one[1])


def test_the_first_is_served_however_unlike_the_others_it_is() -> None:
    odd, others = ticket(300, 1), [sized(50) for _ in range(9)]
    waiting = queue(odd, *others)
    batches = [finish(waiting.take()) for _ in range(2 * (PATIENCE + 1))]
    assert {odd: [0]} in batches
    assert not odd.left


def test_another_manner_waits_for_a_batch_of_its_own() -> None:
    other = RequestSettings(DecodingSettings(beam=2, batch_tokens=400))
    first, second = ticket(5, 5), ticket(5, 5, manner=other)
    waiting = queue(first, second)
    assert finish(waiting.take()) == {first: [0, 1]}
    assert finish(waiting.take()) == {second: [0, 1]}


def test_costly_wishes_get_smaller_batches() -> None:
    assert RequestSettings(DecodingSettings(beam=4, batch_tokens=400)).room == 100
    assert RequestSettings(DecodingSettings(beam=4, batch_tokens=400), routing=True).room == 50


def test_where_each_sentence_needs_the_one_before_it_only_that_is_offered() -> None:
    tickets = [ticket(*[5] * 10, grain="turn") for _ in range(3)]
    waiting = queue(*tickets)
    for place in range(10):
        assert finish(waiting.take()) == {one: [place] for one in tickets}


def test_where_the_history_is_translated_too_it_comes_first_and_is_not_handed_out() -> None:
    told: list[PartialResult] = []
    made = QueuedRequest(("c", "d"), ("a", "b"), MANNER, told.append, promptly=True)
    made.prepare(Fake("turn"))  # type: ignore[arg-type]
    found = []
    while made.left:
        places = made.offers()
        found += [passage.before for piece in made.pieces(places) for passage in piece.passages]
        made.finish(places, [sentence(place) for place in places], [])
    assert found == ["a", "b", "c", "d"]
    assert told == [(sentence(2),), (sentence(3),)]


def test_where_only_whole_documents_are_taken_they_are_whole() -> None:
    tickets = [ticket(*[60] * 30, grain="document") for _ in range(3)]
    assert choose(tickets) == {tickets[0]: list(range(30))}
    little = [ticket(*[2] * 30, grain="document") for _ in range(30)]
    assert len(choose(little)) == 7  # 30 sentences of 2 tokens each are 60 of 400


def test_whoever_waits_for_all_is_told_once_and_in_order() -> None:
    told: list[PartialResult] = []
    made = ticket(1, 2, 3, told=told)
    made.finish([0], [sentence(0)], [])
    assert told == []
    made.finish([1, 2], [sentence(1), sentence(2)], [])
    assert told == [(sentence(0), sentence(1), sentence(2))]


def test_whoever_is_in_a_hurry_is_told_at_once_but_in_order() -> None:
    told: list[PartialResult] = []
    made = ticket(1, 2, 3, promptly=True, told=told)
    made.finish([2], [sentence(2)], [])
    assert told == []
    made.finish([0], [sentence(0)], [])
    assert told == [(sentence(0),)]
    made.finish([1], [sentence(1)], [])
    assert told[1:] == [(sentence(1), sentence(2))]


def test_the_queue_takes_exactly_its_limit() -> None:
    waiting = Queue(linger=0)
    assert waiting.put(sized(6), most=10)
    assert not waiting.put(sized(5), most=10)
    assert waiting.put(sized(4), most=10)
    assert waiting.waiting == 10


def test_who_has_gone_takes_no_turn_and_no_room() -> None:
    told: list[PartialResult] = []
    gone, other = ticket(*[LENGTH] * 9, told=told), sized(1)
    waiting = queue(gone, other)
    gone.cancelled = True
    assert waiting.waiting == 1
    assert waiting.take() == {other: [0]}
    gone.finish([0], [sentence(0)], [])
    assert told == []


def test_who_was_not_looked_at_is_not_taken() -> None:
    fresh = QueuedRequest(("x",), (), MANNER, lambda _: None)
    waiting = queue(fresh)
    assert waiting.claim() is fresh
    assert waiting.take() == {}
    fresh.prepare(Fake())  # type: ignore[arg-type]
    assert waiting.claim() is None
    assert waiting.take() == {fresh: [0]}


def test_a_closed_queue_lets_its_taker_go() -> None:
    waiting = Queue()
    found: list[bool] = []
    taker = threading.Thread(target=lambda: found.append(waiting.wait()))
    taker.start()
    waiting.close()
    taker.join(10)
    assert found == [False]


@pytest.mark.parametrize("linger", [0.0, 2.0])
def test_the_first_waits_a_moment_for_company(linger: float) -> None:
    waiting = Queue(linger=linger)
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
