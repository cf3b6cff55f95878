"""What a client may not do, and what it is told then."""

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.unit.web.serving import Served, models, serving, wait_until

from docaps.translation.translator import Translator
from docaps.web import connections, guard, turns
from docaps.web.guard import HEADERS, Access, is_loopback
from docaps.web.limits import Limits

TINY = Limits(body=1000, sentences=4, characters=30, beam=3, queue=6, seconds=30.0)
POISON = "poison"


@pytest.fixture(scope="module")
def strict(tiny_demo: Path) -> Iterator[Served]:
    with serving(models(tiny_demo)[:1], TINY, token="open sesame") as running:
        yield running


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Models wait until this is set, and fail at poison."""
    opened = threading.Event()
    translate = Translator.translate_pieces

    def wait(self: Any, pieces: Any, wishes: Any) -> Any:
        opened.wait(60)
        (poison,) = self.read([POISON])
        if any(poison in piece.passages for piece in pieces):
            raise RuntimeError("secret of the machine room")
        return translate(self, pieces, wishes)

    monkeypatch.setattr(Translator, "translate_pieces", wait)
    yield opened
    opened.set()


def ask(served: Served, body: Any, **options: Any) -> Any:
    return served.post(body, headers={"Authorization": "Bearer open sesame"}, **options)


@pytest.mark.parametrize(
    ("body", "where", "found"),
    [
        ({"sentences": ["x"] * 5}, "sentences", "at most 4 sentences, found 5"),
        ({"sentences": [], "history": ["x"] * 5}, "history", "found 5"),
        ({"sentences": ["x", "y" * 31]}, "sentences.1", "at most 30 characters, found 31"),
        ({"text": "It rained. " * 5}, "text", "found 5"),
        ({"sentences": ["x"], "beam": 4}, "beam", "at most 3, found 4"),
        ({"sentences": ["x"], "nbest": 4}, "beam", "at most 3, found 4"),
        ({"sentences": ["x\0"]}, "sentences.0", "NUL"),
        ({"text": "x\0"}, "text", "NUL"),
        ({"sentences": ["x"], "model": "../document"}, "model", "one of document"),
        ({"sentences": ["x"], "beam": "2"}, "beam", "valid integer"),
        ({"sentences": ["x"], "beam": 0}, "beam", "greater than or equal to 1"),
        ({"sentences": [1]}, "sentences.0", "valid string"),
        ({"sentences": ["x"], "text": "x"}, "", "either 'sentences' or 'text'"),
        ({}, "", "either 'sentences' or 'text'"),
        ({"sentences": ["x"], "beam": 1, "nbest": 2}, "", "found beam 1"),
        ({"sentences": ["x"], "frobnicate": 1}, "frobnicate", "not permitted"),
        ({str(key): 0 for key in range(101)}, "", "101 fields are too many"),
    ],
)
def test_what_is_beyond_the_limits_is_named(strict: Served, body: Any, where: str, found: str) -> None:
    answer = ask(strict, body)
    assert answer.status_code == 422
    detail = answer.json()["details"][0]
    assert detail["where"] == where
    assert found in detail["message"]


def test_what_is_at_the_limits_is_taken(strict: Served) -> None:
    body = {"sentences": ["y" * 30] * 4, "history": ["x" * 30] * 4, "beam": 3, "nbest": 3}
    assert ask(strict, body).status_code == 200


@pytest.mark.parametrize("raw", [b"{", b"\xff\xfe", b'{"sentences": ["\\ud800"]}', b'{"\\ud800": 1}', b"[" * 900, b"1"])
def test_what_is_no_request_is_said_to_be_none(strict: Served, raw: bytes) -> None:
    headers = {"Authorization": "Bearer open sesame", "Content-Type": "application/json"}
    with strict.client() as client:
        answer = client.post("/v1/translate", content=raw, headers=headers)
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]


def test_too_large_a_body_is_refused_before_it_is_read(strict: Served) -> None:
    fits = {"sentences": ["x"], "history": [], "model": "document"}
    padding = " " * (1000 - len(json.dumps(fits)))
    headers = {"Authorization": "Bearer open sesame", "Content-Type": "application/json"}
    with strict.client() as client:
        body = (json.dumps(fits) + padding).encode()
        assert client.post("/v1/translate", content=body, headers=headers).status_code == 200
        assert client.post("/v1/translate", content=body + b" ", headers=headers).status_code == 413
        # In chunks, nobody says beforehand how much it will be.
        pieces = (body[:500], body[500:], b" ")
        assert client.post("/v1/translate", content=iter(pieces), headers=headers).status_code == 413
        assert client.post("/v1/translate", content=iter(pieces[:2]), headers=headers).status_code == 200


def speak(served: Served, head: str, *, token: str = "open sesame", body: bytes = b"") -> bytes:
    """Send the head of a request, then slowly its body, and return how the answer begins."""
    host, port = served.url.removeprefix("http://").split(":")
    line = f"POST /v1/translate HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {token}\r\n"
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall((line + head + "\r\n").encode())
        for start in range(0, len(body), 500_000):
            time.sleep(0.1)
            connection.sendall(body[start : start + 500_000])
        return connection.recv(4096)


@pytest.mark.parametrize(("token", "status"), [("open sesame", b"413"), ("wrong", b"401")])
def test_who_is_refused_while_still_writing_is_told_as_well(strict: Served, token: str, status: bytes) -> None:
    """Whoever is cut off while writing would never read the answer."""
    head, body = "Content-Length: 2000000\r\n", b" " * 2_000_000
    assert speak(strict, head, token=token, body=body).startswith(b"HTTP/1.1 " + status)
    pieces = b"186a0\r\n" + b" " * 100_000 + b"\r\n"
    answer = speak(strict, "Transfer-Encoding: chunked\r\n", token=token, body=15 * pieces + b"0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize("expecting", ["", "Expect: 100-continue\r\n"])
def test_who_announces_too_much_and_sends_nothing_is_told_soon(strict: Served, expecting: str) -> None:
    begin = time.monotonic()
    assert speak(strict, f"{expecting}Content-Length: 99999999\r\n").startswith(b"HTTP/1.1 413 ")
    assert time.monotonic() - begin < 10


@pytest.mark.parametrize(
    "header", [None, "", "open sesame", "Bearer", "Bearer open", "Bearer open sesam", "Bearer open sesamee", "Basic x"]
)
def test_who_does_not_know_the_token_gets_nothing(strict: Served, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    for path in ("/v1/models", "/metrics"):
        answer = strict.get(path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    assert strict.post({"sentences": ["x"]}, headers=headers).status_code == 401
    assert strict.post({"sentences": ["x"]}, "/v1/translate/stream", headers=headers).status_code == 401


def test_the_page_and_the_state_need_no_token(strict: Served) -> None:
    assert [strict.get(path).status_code for path in ("/", "/healthz", "/readyz", "/openapi.json")] == [200] * 4
    assert strict.get("/v1/models", headers={"Authorization": "bearer open sesame"}).status_code == 200


def test_a_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import hmac

    from starlette.datastructures import Headers

    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    Access("söcret").check("GET", "/v1/models", Headers({"authorization": "Bearer söcret"}))
    assert compared == [("söcret".encode(), "söcret".encode())]


def test_only_names_of_this_machine_are_answered_for(served: Served) -> None:
    port = served.url.rpartition(":")[2]
    for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", ""):
        assert served.get("/v1/models", headers={"Host": host}).status_code == 421
    for host in ("localhost", f"LOCALHOST:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert served.get("/v1/models", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("x.de", False)],
)
def test_which_addresses_only_this_machine_reaches(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_every_answer_has_the_headers_of_safety(served: Served) -> None:
    answers = [served.get(path) for path in ("/", "/static/page.js", "/healthz", "/nothing", "/metrics")]
    answers += [served.post({"sentences": ["x"]}), served.post({}), served.post({"sentences": []}, "/nothing")]
    answers.append(served.get("/v1/models", headers={"Host": "evil.example"}))
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert "server" not in answer.headers
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "*" not in policy


def test_other_sites_may_not_ask_unless_they_are_named(served: Served, tiny_demo: Path) -> None:
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


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/etc/passwd", "/static/", "//"]
)
def test_no_path_reaches_the_file_system(served: Served, path: str) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404")


def test_a_crash_is_told_without_a_trace_and_only_to_its_client(
    served: Served, gate: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    answers: dict[str, Any] = {}

    def post(name: str) -> None:
        answers[name] = served.post({"sentences": [name]})

    clients = [threading.Thread(target=post, args=(name,)) for name in ("first", POISON, "second", "third")]
    for client in clients:
        client.start()
    queue = served.service.workers["document"].queue
    wait_until(lambda: queue.waiting == 4)
    gate.set()
    for client in clients:
        client.join()
    assert {name: answer.status_code for name, answer in answers.items()} == {
        "first": 200,
        POISON: 500,
        "second": 200,
        "third": 200,
    }
    assert "secret" not in answers[POISON].text
    assert "Traceback" not in answers[POISON].text
    assert "secret of the machine room" in caplog.text
    assert served.post({"sentences": [POISON]}, "/v1/translate/stream").text.startswith("event: error\ndata: ")
    assert served.get("/readyz").status_code == 200


def test_a_fault_of_the_queue_is_told_to_those_who_wait_and_the_next_are_served(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("secret of the queue")

    with monkeypatch.context() as patch:
        patch.setattr(turns, "choose", fail)
        answer = served.post({"sentences": ["x", ""]})
    assert (answer.status_code, "secret" in answer.text) == (500, False)
    assert "secret of the queue" in caplog.text
    assert served.post({"sentences": ["", "x"]}).status_code == 200
    assert served.get("/readyz").status_code == 200


def test_of_many_faults_the_first_is_enough(served: Served) -> None:
    answer = served.post({"sentences": [1] * 100_000})
    assert answer.status_code == 422
    assert [one["where"] for one in answer.json()["details"]] == ["sentences.0"]


def test_a_head_may_be_neither_endless_nor_slow(tiny_demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SLOWEST_HEAD", 0.3)
    with serving(models(tiny_demo)[1:]) as running:
        host, port = running.url.removeprefix("http://").split(":")
        for sent, status in (
            (b"", b"408"),
            (b"GET /healthz HTTP/1.1\r\nHost: loc", b"408"),
            (b"GET /healthz HTTP/1.1\r\n" + b"X: yyyyyyy\r\n" * 200_000, b"431"),
            (b"no request at all\r\n\r\n", b"400"),
        ):
            with socket.create_connection((host, int(port)), timeout=30) as raw:
                with contextlib.suppress(OSError):  # it may hang up while we still write
                    raw.sendall(sent)
                with contextlib.suppress(ConnectionResetError):
                    answer = b"".join(iter(lambda: raw.recv(65536), b""))
                    head, _, body = answer.partition(b"\r\n\r\n")
                    assert head.startswith(b"HTTP/1.1 " + status)
                    assert b"nosniff" in head
                    assert json.loads(body)["error"]
        with running.client() as client:  # a slow client between requests is none
            assert client.get("/healthz").status_code == 200
            time.sleep(0.5)
            assert client.get("/healthz").status_code == 200


def test_a_client_that_does_not_read_is_given_up(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(guard, "STALLED", 0.05)
    sent: list[str] = []

    async def answer(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            assert served.service.active == 1
            await send({"type": "http.response.body", "body": b"x", "more_body": True})

    async def send(message: Any) -> None:
        sent.append(message["type"])
        if len(sent) > 3:
            await asyncio.sleep(60)  # nobody takes it

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "method": "POST", "path": "/v1/translate/stream", "headers": []}
    door = guard.Guard(answer, service=served.service, access=Access())
    with ThreadPoolExecutor(1) as apart:  # a browser's tests may have left a loop in this thread
        apart.submit(lambda: asyncio.run(asyncio.wait_for(door(scope, receive, send), 30))).result()
    assert len(sent) == 4
    assert served.service.active == 0
    assert "a client did not read its answer" in caplog.text


def test_a_fault_of_the_server_itself_is_told_without_a_trace(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("secret path")

    monkeypatch.setattr(served.service.metrics, "render", fail)
    answer = served.get("/metrics")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    number = answer.json()["error"].rpartition(" ")[2]
    assert number in caplog.text


def test_a_full_queue_says_when_to_come_again(strict: Served, gate: threading.Event) -> None:
    answers: list[Any] = []
    first = threading.Thread(target=lambda: answers.append(ask(strict, {"sentences": ["x"] * 4})))
    first.start()
    wait_until(lambda: strict.service.workers["document"].queue.waiting == 4)
    refused = ask(strict, {"sentences": ["x"] * 3})
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) >= 1
    gate.set()
    first.join()
    assert answers[0].status_code == 200
    assert ask(strict, {"sentences": ["x"] * 3}).status_code == 200


def test_a_request_that_takes_too_long_is_given_up(tiny_demo: Path, gate: threading.Event) -> None:
    with serving(models(tiny_demo)[1:], Limits(seconds=0.3)) as running:
        answer = running.post({"sentences": ["x"] * 50})
        assert answer.status_code == 503
        assert "took too long" in answer.json()["error"]
        assert "retry-after" in answer.headers
        stream = running.post({"sentences": ["x"] * 50}, "/v1/translate/stream")
        assert 'event: error\ndata: {"error":"the translation took too long"}' in stream.text
        assert running.service.workers["sentence"].queue.waiting == 0
        gate.set()


def test_a_body_that_never_comes_is_given_up(tiny_demo: Path) -> None:
    with serving(models(tiny_demo)[1:], Limits(seconds=0.3)) as running:
        host, port = running.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as raw:
            head = "POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            raw.sendall(f"{head}Content-Length: 50\r\n\r\n{{".encode())
            assert raw.recv(100).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/translate/stream"])
def test_a_client_that_goes_away_frees_its_work(served: Served, gate: threading.Event, path: str) -> None:
    queue = served.service.workers["document"].queue
    host, port = served.url.removeprefix("http://").split(":")
    body = json.dumps({"sentences": ["It rained."] * 500})
    with socket.create_connection((host, int(port))) as raw:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        raw.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        wait_until(lambda: queue.waiting == 500)
        assert served.service.active == 1
    wait_until(lambda: queue.waiting == 0)
    wait_until(lambda: served.service.active == 0)
    gate.set()
    assert served.post({"sentences": ["x"]}).status_code == 200


def test_draining_answers_what_was_accepted_and_refuses_the_rest(served: Served, gate: threading.Event) -> None:
    service = served.service
    answers: list[Any] = []
    accepted = threading.Thread(target=lambda: answers.append(served.post({"sentences": ["x"]})))
    accepted.start()
    wait_until(lambda: service.workers["document"].queue.waiting == 1)
    # The server itself would end once it is idle; here only the flag is looked at.
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


def test_metrics_count_what_happened(served: Served) -> None:
    def read() -> dict[str, float]:
        lines = served.get("/metrics").text.splitlines()
        return {key: float(value) for key, value in (line.rsplit(" ", 1) for line in lines if line[0] != "#")}

    before = read()
    served.post({"sentences": ["x", "y"]})
    served.post({"sentences": "x"})
    served.get("/random-12345")
    after = read()

    def rise(key: str) -> float:
        return after.get(key, 0) - before.get(key, 0)

    assert rise('docaps_sentences_total{model="document"}') == 2
    assert rise('docaps_requests_total{path="/v1/translate",status="200"}') == 1
    assert rise('docaps_requests_total{path="/v1/translate",status="422"}') == 1
    assert rise('docaps_requests_total{path="other",status="404"}') == 1
    assert rise("docaps_translate_seconds_count") == 2
    assert rise('docaps_translate_seconds_bucket{le="+Inf"}') == 2
    assert after["process_resident_memory_bytes"] > 1e7
    assert not any("12345" in key for key in after)
