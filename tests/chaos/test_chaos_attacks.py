"""Whatever is sent to the service, it answers the next client, stays small and logs no traceback."""

import socket
import threading
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from tests.chaos import attacked_service
from tests.chaos.attack_contents import CORPUS
from tests.chaos.attacked_service import Reply, SlowClients, exchange, judge, serve_to_attack
from tests.chaos.attacks import ANY, Attack
from tests.chaos.conftest import Begin
from tests.chaos.launcher import Launcher

pytest.importorskip("fastapi", reason="fastapi is not installed (docaps[serve])")


def test_some_attacks_of_each_kind_do_no_harm(launcher: Launcher, begin: Begin, tmp_path: Path) -> None:
    campaign = begin("attacks", long=False)
    with serve_to_attack(campaign, launcher, tmp_path / "service") as service:
        for name, attacks in CORPUS.items():
            for attack in islice(attacks(campaign.chance), 1 if name == "floods" else 2):
                service.attack(campaign, attack)
    campaign.conclude()


@pytest.mark.stress
def test_many_attacks_do_no_harm(launcher: Launcher, begin: Begin, tmp_path: Path) -> None:
    campaign = begin("attacks", long=True)
    with serve_to_attack(campaign, launcher, tmp_path / "service") as service:
        slow = SlowClients(service.port, 200)
        slow.start()
        for attack in (attack for attacks in CORPUS.values() for attack in attacks(campaign.chance)):
            service.attack(campaign, attack)
        while not campaign.over:
            kind = campaign.chance.choice([name for name in CORPUS if name != "floods"])
            for attack in CORPUS[kind](campaign.chance):
                service.attack(campaign, attack)
        slow.join()
        campaign.counts["slow clients"] += slow.opened
        if slow.left:
            campaign.fault("slow clients", f"{slow.left} connections were not closed")
        service.check(campaign, "slow clients")
        crowd = SlowClients(service.port, 1100)
        crowd.start()
        crowd.join()
        campaign.counts["slow clients"] += crowd.opened
        service.check(campaign, "more connections than may be open")
    campaign.conclude()


JUDGED = [
    (Attack("", []), Reply(b"HTTP/1.1 200 OK\r\n\r\n"), "answered with 200, expected one of"),
    (Attack("", []), Reply(b"", closed=True), "closed without an answer"),
    (Attack("", []), Reply(b"", hangs=True), "hangs"),
    (Attack("", [], ANY), Reply(b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"), "2 answers, expected at most 1"),
    (Attack("", [], ANY, protected=True), Reply(b'HTTP/1.1 200 OK\r\n\r\n{"largest_request": 1}'), "token protects"),
    (Attack("", [], within=10), Reply(b"HTTP/1.1 431 Too Large\r\n\r\n", sent=11), "11 bytes were read"),
]


@pytest.mark.parametrize(("attack", "reply", "message"), JUDGED, ids=[message for *_, message in JUDGED])
def test_a_wrong_answer_is_a_fault(attack: Attack, reply: Reply, message: str) -> None:
    assert [what for what in judge(attack, reply) if message in what]


def test_a_right_answer_is_none() -> None:
    assert list(judge(Attack("", [], within=10), Reply(b"HTTP/1.1 400 Bad Request\r\n\r\n", sent=9, closed=True))) == []


@pytest.fixture
def toy(request: pytest.FixtureRequest) -> Iterator[int]:
    """A server that reads once, sends the bytes of its parameter, and waits for the client to go."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection = listening.accept()[0]
            with connection:
                connection.recv(1000)
                connection.sendall(request.param)
                connection.settimeout(5)
                connection.recv(1000)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    ("toy", "hangs", "statuses"),
    [
        (b"", True, []),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx", False, [200]),
        (
            b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            False,
            [400, 200],
        ),
    ],
    indirect=["toy"],
)
def test_an_exchange_finds_answers_and_their_absence(
    toy: int, hangs: bool, statuses: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attacked_service, "PATIENCE", 0.3)
    reply = exchange(toy, Attack("", [b"x"]), Random(1))
    assert (reply.hangs, reply.statuses, reply.sent) == (hangs, statuses, 1)
