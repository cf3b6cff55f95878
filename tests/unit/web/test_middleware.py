"""Size and time limits, authentication, host check and security headers."""

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
from docaps.web.middleware import SECURITY_HEADERS, Access, is_loopback
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
    line = f"POST /v1/translate HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n"
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
    begin = time.monotonic()
    assert speak(strict, f"{expecting}Content-Length: 99999999\r\n").startswith(b"HTTP/1.1 413 ")
    assert time.monotonic() - begin < 10


def test_a_body_that_never_arrives_times_out(tiny_demo: Path) -> None:
    with serving(models(tiny_demo)[1:], Limits(seconds=0.3)) as running:
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as raw:
            head = "POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            raw.sendall(f"{head}Content-Length: 50\r\n\r\n{{".encode())
            assert raw.recv(100).startswith(b"HTTP/1.1 408")


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

    scope = {"type": "http", "method": "POST", "path": "/v1/translate/stream", "headers": []}
    wrapped = middleware.ServiceMiddleware(answer, service=served.service, access=Access())
    with ThreadPoolExecutor(1) as apart:  # browser tests may have left an event loop in this thread
        apart.submit(lambda: asyncio.run(asyncio.wait_for(wrapped(scope, receive, send), 30))).result()
    assert len(sent) == 4
    assert served.service.active == 0
    assert "a client did not read its answer" in caplog.text


@pytest.mark.parametrize(
    "header", [None, "", TOKEN, "Bearer", "Bearer open", "Bearer open sesam", "Bearer open sesamee", "Basic x"]
)
def test_requests_without_the_token_are_refused(strict: Served, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    for path in ("/v1/models", "/metrics"):
        answer = strict.get(path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    assert strict.post({"sentences": ["x"]}, headers=headers).status_code == 401
    assert strict.post({"sentences": ["x"]}, "/v1/translate/stream", headers=headers).status_code == 401


def test_the_page_and_the_health_checks_need_no_token(strict: Served) -> None:
    assert [strict.get(path).status_code for path in ("/", "/healthz", "/readyz", "/openapi.json")] == [200] * 4
    assert strict.get("/v1/models", headers={"Authorization": "bearer open sesame"}).status_code == 200


def test_the_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import hmac

    from starlette.datastructures import Headers

    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    Access("söcret").check("GET", "/v1/models", Headers({"authorization": "Bearer söcret"}))
    assert compared == [("söcret".encode(), "söcret".encode())]


def test_only_local_host_names_are_answered(served: Served) -> None:
    port = served.url.rpartition(":")[2]
    for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", ""):
        assert served.get("/v1/models", headers={"Host": host}).status_code == 421
    for host in ("localhost", f"LOCALHOST:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert served.get("/v1/models", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("x.de", False)],
)
def test_loopback_addresses(host: str, local: bool) -> None:
    assert is_loopback(host) is local


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


def test_other_origins_are_refused_unless_allowed(served: Served, tiny_demo: Path) -> None:
    asked = {"Origin": "https://friend.example", "Access-Control-Request-Method": "POST"}
    with served.client() as client:
        assert "access-control-allow-origin" not in client.options("/v1/translate", headers=asked).headers
        assert "access-control-allow-origin" not in client.get("/v1/models", headers=asked).headers
    origins = ["https://friend.example"]
    with serving(models(tiny_demo)[1:], origins=origins, token="t") as running, running.client() as client:
        answer = client.options("/v1/translate", headers=asked)
        assert answer.headers["access-control-allow-origin"] == "https://friend.example"
        foe = client.options("/v1/translate", headers=asked | {"Origin": "https://foe.example"})
        assert "access-control-allow-origin" not in foe.headers
