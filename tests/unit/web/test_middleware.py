"""Size and time limits, content types and security headers."""

import asyncio
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.unit.web.serving import TOKEN, Served, models, serving

from docaps.web import middleware
from docaps.web.access import Access
from docaps.web.middleware import SECURITY_HEADERS
from docaps.web.schemas import Limits


def test_a_large_body_is_refused_before_it_is_read(strict: Served) -> None:
    fits = {"sentences": ["x"], "history": [], "model": "document"}
    padding = " " * (1000 - len(json.dumps(fits)))
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    with strict.client() as client:
        body = (json.dumps(fits) + padding).encode()
        assert client.post("/v1/translate", content=body, headers=headers).status_code == 200
        assert client.post("/v1/translate", content=body + b" ", headers=headers).status_code == 413
        # A chunked body has no Content-Length.
        pieces = (body[:500], body[500:], b" ")
        assert client.post("/v1/translate", content=iter(pieces), headers=headers).status_code == 413
        assert client.post("/v1/translate", content=iter(pieces[:2]), headers=headers).status_code == 200


def speak(served: Served, head: str, *, token: str = TOKEN, body: bytes = b"") -> bytes:
    """Send the head of a request, then slowly its body; return the start of the response."""
    host, port = served.url.removeprefix("http://").split(":")
    line = (
        f"POST /v1/translate HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall((line + head + "\r\n").encode())
        for start in range(0, len(body), 500_000):
            time.sleep(0.1)
            connection.sendall(body[start : start + 500_000])
        return connection.recv(4096)


@pytest.mark.parametrize(("token", "status"), [(TOKEN, b"413"), ("wrong", b"401")])
def test_a_client_refused_while_sending_still_gets_the_response(strict: Served, token: str, status: bytes) -> None:
    """A client whose connection is closed while it sends would never read the response."""
    head, body = "Content-Length: 2000000\r\n", b" " * 2_000_000
    assert speak(strict, head, token=token, body=body).startswith(b"HTTP/1.1 " + status)
    pieces = b"186a0\r\n" + b" " * 100_000 + b"\r\n"
    answer = speak(strict, "Transfer-Encoding: chunked\r\n", token=token, body=15 * pieces + b"0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize("expecting", ["", "Expect: 100-continue\r\n"])
def test_a_large_content_length_is_refused_at_once(strict: Served, expecting: str) -> None:
    """The body does not come: a service that waited for it would answer 408."""
    assert speak(strict, f"{expecting}Content-Length: 99999999\r\n").startswith(b"HTTP/1.1 413 ")


def test_a_body_that_never_arrives_times_out(tiny_demo: Path) -> None:
    with serving(models(tiny_demo)[1:], Limits(seconds=0.3)) as running:
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as raw:
            head = "POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            raw.sendall(f"{head}Content-Length: 50\r\n\r\n{{".encode())
            assert raw.recv(100).startswith(b"HTTP/1.1 408")


def test_refused_requests_do_not_keep_a_server_from_stopping(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served.service, "active", 1)  # the session's server must not stop
    monkeypatch.setattr(served.service, "draining", True)
    sent: list[Any] = []

    async def send(message: Any) -> None:
        assert served.service.active == 1
        sent.append(message)

    async def receive() -> Any:
        await asyncio.sleep(60)  # the body does not come

    head = [(b"content-length", b"9"), (b"content-type", b"application/json")]
    call(middleware.ServiceMiddleware(pytest.fail, service=served.service, access=Access()), head, receive, send)
    assert sent[0]["status"] == 503


def call(app: Any, headers: list[tuple[bytes, bytes]], receive: Any, send: Any) -> None:
    """Send a request to an ASGI application, in a thread: browser tests may have left an event loop in this one."""
    scope = {"type": "http", "method": "POST", "path": "/v1/translate/stream", "headers": headers}
    with ThreadPoolExecutor(1) as apart:
        apart.submit(lambda: asyncio.run(asyncio.wait_for(app(scope, receive, send), 30))).result()


def test_a_client_that_does_not_read_is_disconnected(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(middleware, "SEND_TIMEOUT", 0.05)
    sent: list[str] = []

    async def answer(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            assert served.service.active == 1
            await send({"type": "http.response.body", "body": b"x", "more_body": True})

    async def send(message: Any) -> None:
        sent.append(message["type"])
        if len(sent) > 3:
            await asyncio.sleep(60)  # the client does not read

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    call(middleware.ServiceMiddleware(answer, service=served.service, access=Access()), [], receive, send)
    assert len(sent) == 4
    assert served.service.active == 0
    assert "a client did not read its answer" in caplog.text


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("application/json;", 200),
        (None, 415),
        ("", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=application/json", 415),
        ("text/plain; application/json", 415),
        ("application/jsonp", 415),
        ("application/json, text/plain", 415),
    ],
)
def test_a_body_must_be_declared_as_json(served: Served, sent: str | None, status: int) -> None:
    """A foreign page may send a form or plain text without asking."""
    headers = {} if sent is None else {"Content-Type": sent}
    with served.client() as client:
        for path in ("/v1/translate", "/v1/translate/stream"):
            for body in (b'{"sentences": []}', iter([b'{"sentences": []}'])):
                answer = client.post(path, content=body, headers=headers)
                assert answer.status_code == status
                if status == 415:
                    assert "Content-Type: application/json" in answer.json()["error"]


def test_every_response_has_the_security_headers(served: Served) -> None:
    answers = [served.get(path) for path in ("/", "/static/page.js", "/healthz", "/nothing", "/metrics")]
    answers += [served.post({"sentences": ["x"]}), served.post({}), served.post({"sentences": []}, "/nothing")]
    answers.append(served.get("/v1/models", headers={"Host": "evil.example"}))
    for answer in answers:
        for name, value in SECURITY_HEADERS.items():
            assert answer.headers[name] == value
        assert "server" not in answer.headers
    policy = SECURITY_HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy
