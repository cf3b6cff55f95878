"""Limits on request heads, and draining."""

import contextlib
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from tests.unit.web.serving import Served, models, serving, wait_until

from docaps.web import server


def test_a_request_head_is_limited_in_size_and_time(tiny_demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_TIMEOUT", 0.3)
    with serving(models(tiny_demo)[1:]) as running:
        host, port = running.url.removeprefix("http://").split(":")
        for sent, status in (
            (b"", b"408"),
            (b"GET /healthz HTTP/1.1\r\nHost: loc", b"408"),
            (b"GET /healthz HTTP/1.1\r\n" + b"X: yyyyyyy\r\n" * 200_000, b"431"),
            (b"no request at all\r\n\r\n", b"400"),
        ):
            with socket.create_connection((host, int(port)), timeout=30) as raw:
                with contextlib.suppress(OSError):  # the server may close the connection while we send
                    raw.sendall(sent)
                with contextlib.suppress(ConnectionResetError):
                    answer = b"".join(iter(lambda: raw.recv(65536), b""))
                    head, _, body = answer.partition(b"\r\n\r\n")
                    assert head.startswith(b"HTTP/1.1 " + status)
                    assert b"nosniff" in head
                    assert json.loads(body)["error"]
        with running.client() as client:  # idle time between requests does not count
            assert client.get("/healthz").status_code == 200
            time.sleep(0.5)
            assert client.get("/healthz").status_code == 200


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
