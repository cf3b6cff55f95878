import threading
import time

from docaps.config import DecodingSettings
from docaps.web.tickets import Manner, Queue, Ticket

MANNER = Manner(DecodingSettings(beam=1))
COST = MANNER.cost("x" * 80)  # 100


def ticket(count: int, name: str = "x") -> Ticket:
    return Ticket(tuple(f"{name}{place}".ljust(80, "x") for place in range(count)), (), MANNER, lambda _: None)


def queue(*tickets: Ticket, budget: int = 40 * COST) -> Queue:
    made = Queue(budget=budget, linger=0)
    for one in tickets:
        assert made.put(one, most=100_000)
    return made


def finish(round_: dict[Ticket, int]) -> None:
    for one, count in round_.items():
        one.done += count


def test_a_giant_does_not_starve_small_requests() -> None:
    giant, small = ticket(1000), [ticket(3) for _ in range(4)]
    waiting = queue(giant, *small)
    found = waiting.take()
    assert found is not None
    assert all(found[one] == 3 for one in small)
    assert 8 <= found[giant] <= 40
    assert sum(found.values()) <= 40 + 8


def test_a_newcomer_waits_for_one_turn_of_each_other() -> None:
    waiting = queue(*(ticket(1000) for _ in range(20)))
    finish(waiting.take() or {})
    newcomer = ticket(1)
    waiting.put(newcomer, most=100_000)
    rounds = 0
    while not newcomer.done:
        finish(waiting.take() or {})
        rounds += 1
    assert rounds <= 5  # 20 others come first, five of them in each round of 40 sentences


def test_who_had_no_turn_is_first_next_time() -> None:
    giants = [ticket(100) for _ in range(10)]
    waiting = queue(*giants, budget=16 * COST)
    turns = []
    for _ in range(5):
        found = waiting.take()
        assert found is not None
        finish(found)
        turns.append(set(found))
    assert all(len(turn) == 2 for turn in turns)
    assert set().union(*turns) == set(giants)


def test_alone_a_request_gets_the_whole_round() -> None:
    giant = ticket(1000)
    found = queue(giant).take()
    assert found is not None
    assert found[giant] == 40


def test_costly_wishes_count_more() -> None:
    plain = Manner(DecodingSettings(beam=2))
    assert Manner(DecodingSettings(beam=8)).cost("word") == 4 * plain.cost("word")
    assert Manner(DecodingSettings(beam=2), routing=True).cost("word") > plain.cost("word")
    assert plain.cost("a longer sentence") > plain.cost("word")


def test_the_queue_takes_exactly_its_limit() -> None:
    waiting = Queue(budget=1000, linger=0)
    assert waiting.put(ticket(6), most=10)
    assert not waiting.put(ticket(5), most=10)
    assert waiting.put(ticket(4), most=10)
    assert waiting.waiting == 10


def test_who_has_gone_takes_no_turn_and_no_room() -> None:
    gone, other = ticket(9), ticket(1)
    waiting = queue(gone, other)
    gone.cancelled = True
    assert waiting.waiting == 1
    assert waiting.take() == {other: 1}


def test_a_closed_queue_lets_its_taker_go() -> None:
    waiting = Queue(budget=1)
    found: list[object] = []
    taker = threading.Thread(target=lambda: found.append(waiting.take()))
    taker.start()
    waiting.close()
    taker.join(10)
    assert found == [None]


def test_the_first_waits_a_moment_for_company() -> None:
    waiting = Queue(budget=10_000, linger=2.0)
    found: list[dict[Ticket, int]] = []
    taker = threading.Thread(target=lambda: found.append(waiting.take() or {}))
    taker.start()
    time.sleep(0.05)
    first, second = ticket(1), ticket(1)
    waiting.put(first, most=10)
    time.sleep(0.05)
    waiting.put(second, most=10)
    taker.join(10)
    assert found == [{first: 1, second: 1}]
