"""Server-sent events, deadlines, and clients that disconnect."""

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.unit.web.serving import Served, models, serving, wait_until

from docaps.web import streaming
from docaps.web.schemas import Limits

STORY = ["David stopped in front of a famous church.", "It was old.", "", "The film was about vampires.", "It ran."]


def read_events(text: str) -> list[tuple[str, Any]]:
    blocks = [block.split("\n") for block in text.split("\n\n") if block]
    return [(head.removeprefix("event: "), json.loads(data.removeprefix("data: "))) for head, data in blocks]


def test_a_stream_has_its_sentences_in_order_and_then_the_end(served: Served) -> None:
    answer = served.post({"sentences": STORY}, "/v1/translate/stream")
    assert answer.headers["content-type"].startswith("text/event-stream")
    *steps, end = read_events(answer.text)
    assert [name for name, _ in steps] == ["sentence"] * len(STORY)
    assert [data["index"] for _, data in steps] == list(range(len(STORY)))
    assert [data["source"] for _, data in steps] == STORY
    assert {data["total"] for _, data in steps} == {len(STORY)}
    whole = served.post({"sentences": STORY}).json()
    assert end == ("done", {"model": "document", "sentences": len(STORY), "warning": whole["warning"]})
    assert "6 of 18" in whole["warning"]
    assert [data["translation"] for _, data in steps] == [one["translation"] for one in whole["translations"]]


def test_a_translation_that_takes_too_long_is_cancelled(tiny_demo: Path, gate: threading.Event) -> None:
    with serving(models(tiny_demo)[1:], Limits(seconds=0.3)) as running:
        answer = running.post({"sentences": ["x"] * 50})
        assert answer.status_code == 503
        assert "took too long" in answer.json()["error"]
        assert "retry-after" in answer.headers
        stream = running.post({"sentences": ["x"] * 50}, "/v1/translate/stream")
        assert 'event: error\ndata: {"error":"the translation took too long"}' in stream.text
        assert running.service.workers["sentence"].queue.waiting == 0
        gate.set()


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/translate/stream"])
def test_work_for_a_disconnected_client_is_cancelled(served: Served, gate: threading.Event, path: str) -> None:
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


def test_a_silent_stream_is_kept_open(served: Served, gate: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "KEEPALIVE_SECONDS", 0.05)
    body = {"sentences": ["x"]}
    with served.client() as client, client.stream("POST", "/v1/translate/stream", json=body) as response:
        lines = response.iter_lines()
        assert next(lines) == ": still translating"
        gate.set()
        assert [line for line in lines if line.startswith("event: ")] == ["event: sentence", "event: done"]
