"""Error responses: what they name, and what they never reveal."""

import socket
import threading
from typing import Any

import pytest
from tests.unit.web.serving import POISON, TOKEN, Served, wait_until

from docaps.web import batcher


@pytest.mark.parametrize("raw", [b"{", b"\xff\xfe", b'{"sentences": ["\\ud800"]}', b'{"\\ud800": 1}', b"[" * 900, b"1"])
def test_a_malformed_body_is_rejected(strict: Served, raw: bytes) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    with strict.client() as client:
        answer = client.post("/v1/translate", content=raw, headers=headers)
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]


def test_only_the_first_error_of_a_list_is_reported(served: Served) -> None:
    answer = served.post({"sentences": [1] * 100_000})
    assert answer.status_code == 422
    assert [one["where"] for one in answer.json()["details"]] == ["sentences.0"]


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/etc/passwd", "/static/", "//"]
)
def test_no_path_reaches_the_file_system(served: Served, path: str) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 404")


def test_a_crash_affects_only_its_request_and_reveals_nothing(
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


def test_a_failure_of_the_queue_fails_the_queued_requests_only(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("secret of the queue")

    with monkeypatch.context() as patch:
        patch.setattr(batcher, "choose", fail)
        answer = served.post({"sentences": ["x", ""]})
    assert (answer.status_code, "secret" in answer.text) == (500, False)
    assert "secret of the queue" in caplog.text
    assert served.post({"sentences": ["", "x"]}).status_code == 200
    assert served.get("/readyz").status_code == 200


def test_an_internal_error_reveals_only_its_number_in_the_log(
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
