"""All that a client sends is bounded, in whatever pieces it arrives; no request overtakes; no response is lost."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.web.attacks import ATTACKS, BODY, CHUNK, CHUNKED, ENDLESS, GET, POST, Attack, send, statuses
from tests.unit.web.serving import TOKEN, Served, models, serving, wait_until
from uvicorn.server import ServerState

from docaps.web import connection
from docaps.web.connection import MAX_HEAD_BYTES, MAX_HEADERS, MAX_WAITING_BYTES, LimitedConnection
from docaps.web.middleware import SECURITY_HEADERS

LAST = b"Connection: close\r\n\r\n"


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_is_answered_with_an_error_and_leaves_the_service_whole(served: Served, attack: Attack) -> None:
    received = send(served.address, attack)
    assert statuses(received)
    assert set(statuses(received)) <= attack.statuses
    head, _, body = received.rpartition(b"\r\n\r\n")
    assert {"error", "message"} & set(json.loads(body))
    for name in (*SECURITY_HEADERS, "Connection: close"):
        assert name.lower().encode() in head.lower()
    assert statuses(send(served.address, Attack("", GET + LAST, frozenset()))) == [200]


@pytest.mark.parametrize("attack", ENDLESS, ids=lambda attack: attack.name)
def test_an_endless_request_without_the_token_is_refused_too(strict: Served, attack: Attack) -> None:
    found = statuses(send(strict.address, attack))
    assert len(found) == 1
    assert set(found) <= attack.statuses | {401}


def padded_head(size: int) -> bytes:
    """Return a head of exactly so many bytes."""
    head = GET + b"X: %s\r\n" + LAST
    return head % (b"y" * (size - len(head) + 2))


def test_the_head_may_have_64_kib_and_100_headers(served: Served) -> None:
    for extra, status in ((0, 200), (1, 431)):
        assert statuses(send(served.address, Attack("", padded_head(MAX_HEAD_BYTES + extra), frozenset()))) == [status]
        lines = b"a:b\r\n" * (MAX_HEADERS - 2 + extra)  # Host and Connection are headers too
        assert statuses(send(served.address, Attack("", GET + lines + LAST, frozenset()))) == [status]


def test_pipelined_heads_have_the_same_limit(served: Served) -> None:
    first = POST + b"Transfer-Encoding: chunked\r\n\r\n" + CHUNK + b"0\r\n\r\n"
    for extra, status in ((0, 200), (1, 431)):
        sent = first + padded_head(MAX_HEAD_BYTES + extra)
        assert statuses(send(served.address, Attack("", sent, frozenset()))) == [200, status]


def test_honest_chunks_are_accepted(served: Served) -> None:
    single = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY)
    padding = b"1\r\n \r\n" * 100_000
    extended = b"%x;name=value\r\n%s\r\n" % (len(BODY), BODY)
    for chunks in (single, padding + single, extended, CHUNK):
        for trailer in (b"", b"Digest: x\r\n" * 1000):
            sent = CHUNKED.replace(b"\r\n\r\n", b"\r\n" + LAST) + chunks + b"0\r\n" + trailer + b"\r\n"
            assert statuses(send(served.address, Attack("", sent, frozenset()))) == [200]


def test_a_trailer_is_no_header(strict: Served) -> None:
    """All of a request may arrive, and be parsed, before its headers are looked at."""
    sent = CHUNKED + CHUNK + b"0\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n" + GET + LAST
    assert statuses(send(strict.address, Attack("", sent, frozenset()))) == [401, 200]


def test_pipelined_requests_wait_for_the_response_to_the_first(served: Served, gate: threading.Event) -> None:
    first = POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    with socket.create_connection(served.address, timeout=30) as raw:
        raw.sendall(first)
        wait_until(lambda: served.service.active == 1)
        sender = threading.Thread(target=raw.sendall, args=(20_000 * (GET + b"\r\n"),))  # 800 KB
        sender.start()
        (own,) = [one for one in served.server.server_state.connections if isinstance(one, LimitedConnection)]
        wait_until(lambda: own.flow.read_paused)
        time.sleep(0.1)
        assert own.flow.read_paused
        assert MAX_WAITING_BYTES < len(own._received) < MAX_WAITING_BYTES + 2 * 2**18  # two reads of the event loop
        assert len(served.server.server_state.tasks) == 1
        gate.set()
        received = b""
        while len(statuses(received)) < 50:
            received += raw.recv(65536)
        raw.shutdown(socket.SHUT_RDWR)
        sender.join()


def test_a_request_that_asks_for_another_protocol_is_answered_in_this_one(served: Served) -> None:
    asked = GET + b"Connection: upgrade\r\nUpgrade: h2c\r\n\r\n"
    assert statuses(send(served.address, Attack("", asked + GET + LAST, frozenset()))) == [200, 200]


def test_a_request_head_is_limited_in_time(tiny_demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "HEAD_TIMEOUT", 0.3)
    with serving(models(tiny_demo)[1:]) as running:
        for sent in (b"", b"GET /healthz HTTP/1.1\r\nHost: loc"):
            received = send(running.address, Attack("", sent, frozenset()))
            assert statuses(received) == [408]
            assert b"did not arrive in time" in received
        with running.client() as client:  # idle time between requests does not count
            assert client.get("/healthz").status_code == 200
            time.sleep(0.5)
            assert client.get("/healthz").status_code == 200


def test_a_connection_is_kept_open_after_a_refused_body(strict: Served) -> None:
    refused = POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
    assert statuses(send(strict.address, Attack("", 3 * refused + GET + LAST, frozenset()))) == [401, 401, 401, 200]


class Wire(asyncio.Transport):
    """A transport without a network: it keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = bytearray()
        self.unsent = 0
        self.closed = self.ended = False

    def write(self, data: Any) -> None:
        self.written += data

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return self.unsent

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


async def converse(app: Any, pieces: Iterable[bytes]) -> tuple[LimitedConnection, Wire]:
    """Receive pieces on a new connection, and let the application run after each."""
    config = uvicorn.Config(app, http=LimitedConnection, log_level="critical")
    own, wire = LimitedConnection(config, ServerState(), {}), Wire()
    own.connection_made(wire)
    for piece in pieces:
        own.data_received(piece)
        await asyncio.sleep(0)
    for _ in range(50):
        await asyncio.sleep(0)
    return own, wire


def run(conversation: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """Run a coroutine in an event loop of its own: browser tests may have left one in this thread."""
    with ThreadPoolExecutor(1) as apart:
        return apart.submit(lambda: asyncio.run(conversation())).result()


REQUESTS = (
    (b"/trailers", b"\r\n\r\n0\r\n\r\n\n\n", b"0;x=y\r\nAuthorization: z\r\nLast: w\r\n\r\n"),
    (b"/empty", b"", b""),
    (b"/length", b"\n\n\r\n\r\nGET ", b""),
    (b"/chunk", b"\n", b"000\r\n\r\n"),
)
"""Paths, bodies full of what might be taken for their ends, and the ends of those in chunks."""


def wire_format(path: bytes, body: bytes, end: bytes) -> bytes:
    framing = b"Transfer-Encoding: chunked" if end else b"Content-Length: %d" % len(body)
    framed = b"%x;a=b\r\n%s\r\n%s" % (len(body), body, end) if end else body
    return b"POST %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n%s" % (path, framing, framed)


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(1, 400), max_size=40))
def test_requests_are_the_same_in_whatever_pieces_they_arrive(cuts: set[int]) -> None:
    seen: list[tuple[bytes, bytes]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        message = {"more_body": True}
        body = b""
        while message["more_body"]:
            message = await receive()
            body += message["body"]
        assert [name for name, _ in scope["headers"]][:1] == [b"host"]
        assert len(scope["headers"]) == 2
        seen.append((scope["raw_path"], body))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    stream = b"".join(wire_format(*request) for request in REQUESTS)
    places = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(places)]
    run(lambda: converse(app, pieces))
    assert seen == [(path, body) for path, body, _ in REQUESTS]


def test_a_bad_chunk_ends_the_application_too() -> None:
    ended: list[str] = []

    async def app(_: Any, receive: Any, send: Any) -> None:
        while (message := await receive())["type"] == "http.request":
            ended.append("part")
        ended.append(message["type"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body"})

    _, wire = run(lambda: converse(app, [CHUNKED + CHUNK, b"zz\r\n"]))
    assert ended == ["part", "http.disconnect"]
    assert statuses(bytes(wire.written)) == [400]
    assert wire.ended


def test_bytes_after_the_last_response_are_discarded_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LINGER_BYTES", 1000)
    never: Any = None  # the request does not reach the application

    async def conversation() -> None:
        own, wire = await converse(never, [b"no request\r\n\r\n", b"x" * 999])
        assert (wire.ended, wire.closed, len(own._received)) == (True, False, 0)
        own.data_received(b"xx")
        assert wire.closed

    run(conversation)


def test_the_last_response_is_sent_before_the_connection_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LINGER_SECONDS", 0.01)

    async def conversation() -> None:
        _, wire = await converse(None, [b"no request\r\n\r\n"])
        wire.unsent = 10
        await asyncio.sleep(0.05)
        assert not wire.closed
        wire.unsent = 0
        await asyncio.sleep(0.05)
        assert wire.closed

    run(conversation)


def test_a_client_that_reads_nothing_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SEND_TIMEOUT", 0.02)

    async def conversation() -> None:
        own, wire = await converse(None, [])
        for wire.unsent in (0, 0, 30, 20, 10):  # it reads
            own.check_reading()
            await asyncio.sleep(0.03)
            assert not wire.closed
        own.check_reading()
        assert wire.closed

    run(conversation)


def test_a_client_that_keeps_sending_gets_the_response(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The response arrives, although the client sends more than the system's buffers hold before it reads."""
    monkeypatch.setattr(connection, "LINGER_SECONDS", 20)  # the machine may be busy
    with socket.create_connection(served.address, timeout=30) as raw:
        raw.sendall(CHUNKED + b"zz\r\n")
        for _ in range(60):
            raw.sendall(b"x" * 100_000)  # a reset would raise an error here
        with contextlib.closing(raw.makefile("rb")) as answer:
            assert answer.read().startswith(b"HTTP/1.1 400 ")
