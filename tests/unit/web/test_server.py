"""Draining: accepted requests are answered, all others get 503, and no connection is reset."""

import signal
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit.web.attacks import BODY, GET, POST, statuses
from tests.unit.web.serving import Served, models, serving, wait_until

from docaps.web import connection

REQUEST = POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY


def read_all(raw: socket.socket) -> bytes:
    """Read until the server closes the connection; a reset raises an error."""
    return b"".join(iter(lambda: raw.recv(65536), b""))


def assert_stopping(received: bytes) -> None:
    """Check that the connection got one response: that the server stops."""
    assert statuses(received) == [503]
    assert b"the server is about to stop" in received
    assert b"retry-after: 5" in received.lower()
    assert b"connection: close" in received.lower()


def test_a_draining_server_answers_accepted_requests_and_refuses_new_ones(
    served: Served, gate: threading.Event
) -> None:
    service = served.service
    answers: list[Any] = []
    accepted = threading.Thread(target=lambda: answers.append(served.post({"sentences": ["x"]})))
    accepted.start()
    wait_until(lambda: service.workers["document"].queue.waiting == 1)
    # `active` keeps the server from stopping when it is idle.
    service.active += 1
    service.draining = True
    try:
        refused = served.post({"sentences": ["y"]})
        assert refused.status_code == 503
        assert "about to stop" in refused.json()["error"]
        assert "retry-after" in refused.headers
        assert served.get("/readyz").status_code == 503
        assert served.get("/healthz").status_code == 200
        gate.set()
        accepted.join()
        assert answers[0].status_code == 200
    finally:
        service.draining = False
        service.active -= 1


def test_open_and_new_connections_get_503_while_the_server_drains(
    tiny_demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "DRAIN_TIMEOUT", 0.2)
    with serving(models(tiny_demo)[1:]) as running:
        slow_head, slow_body, used, unused = (socket.create_connection(running.address, timeout=30) for _ in range(4))
        slow_head.sendall(REQUEST[:30])
        slow_body.sendall(REQUEST[:-1])
        used.sendall(GET + b"\r\n")
        assert used.recv(65536).startswith(b"HTTP/1.1 200 ")
        wait_until(lambda: running.service.active == 1)  # `slow_body`
        running.service.active += 1  # a translation that is under way
        running.server.handle_exit(signal.SIGTERM, None)
        assert_stopping(read_all(slow_head))
        assert_stopping(read_all(slow_body))
        monkeypatch.setattr(connection, "DRAIN_TIMEOUT", 30)
        used.sendall(REQUEST)
        assert_stopping(read_all(used))
        with socket.create_connection(running.address, timeout=30) as new:
            new.sendall(REQUEST[:30])
            new.sendall(REQUEST[30:])
            assert_stopping(read_all(new))
        assert running.service.active == 1
        running.service.active -= 1
        assert_stopping(read_all(unused))
        for raw in (slow_head, slow_body, used, unused):
            raw.close()


def test_requests_on_their_way_get_503_when_the_server_stops(tiny_demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "IDLE_TIMEOUT", 5)  # the machine may be busy
    blocked, connected = threading.Event(), threading.Event()

    async def stop(_: int) -> bool:
        blocked.set()
        return connected.wait(30)  # meanwhile the event loop accepts nothing

    with serving(models(tiny_demo)[1:]) as running:
        kept = socket.create_connection(running.address, timeout=30)
        kept.sendall(GET + b"\r\n")
        assert kept.recv(65536).startswith(b"HTTP/1.1 200 ")
        monkeypatch.setattr(running.server, "on_tick", stop)
        running.service.draining = True
        assert blocked.wait(30)
        waiting = [socket.create_connection(running.address, timeout=30) for _ in range(20)]
        for raw in waiting[:10]:
            raw.sendall(REQUEST)
        connected.set()
        wait_until(lambda: not running.server.servers[0].is_serving())
        for raw in (kept, *waiting[10:]):
            raw.sendall(REQUEST)
        for raw in (kept, *waiting):
            assert_stopping(read_all(raw))
            raw.close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(running.address)


def test_an_idle_connection_does_not_keep_the_server_from_stopping(tiny_demo: Path) -> None:
    with serving(models(tiny_demo)[1:]) as running, socket.create_connection(running.address, timeout=30) as used:
        used.sendall(GET + b"\r\n")
        assert used.recv(65536).startswith(b"HTTP/1.1 200 ")
        running.server.handle_exit(signal.SIGTERM, None)
        assert read_all(used) == b""
