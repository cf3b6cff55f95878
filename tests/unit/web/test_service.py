"""Limits of the service, the queue, and the names of models."""

import os
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.invariants import tiny
from tests.unit.web.serving import ROUTING_NUMBERS, TOKEN, Served, ask, wait_until

from docaps.errors import RunError
from docaps.web import service
from docaps.web.client import Client, ServiceError
from docaps.web.schemas import Limits
from docaps.web.service import name_runs


@pytest.mark.parametrize(
    ("body", "where", "found"),
    [
        ({"sentences": ["x"] * 5}, "sentences", "at most 4 sentences, found 5"),
        ({"sentences": [], "history": ["x"] * 5}, "history", "found 5"),
        ({"sentences": ["x", "y" * 31]}, "sentences.1", "at most 30 characters, found 31"),
        ({"text": "It rained. " * 5}, "text", "found 5"),
        ({"sentences": ["x"], "beam": 4}, "beam", "at most 3, found 4"),
        ({"sentences": ["x"], "nbest": 4}, "beam", "at most 3, found 4"),
        ({"sentences": ["x" * 30] * 4, "history": ["x"], "nbest": 3, "alignment": True}, "nbest", "estimated 488"),
        (
            {"text": "a b c d e f g h i j k l m", "alignment": True},
            "alignment",
            "at most 400 characters, estimated 441",
        ),
        ({"sentences": ["x\0"]}, "sentences.0", "NUL"),
        ({"text": "x\0"}, "text", "NUL"),
        ({"sentences": ["x"], "model": "../document"}, "model", "one of document"),
        ({"sentences": ["x"], "beam": "2"}, "beam", "valid integer"),
        ({"sentences": ["x"], "beam": 0}, "beam", "greater than or equal to 1"),
        ({"sentences": [1]}, "sentences.0", "valid string"),
        ({"sentences": ["x"], "text": "x"}, "", "either 'sentences' or 'text'"),
        ({}, "", "either 'sentences' or 'text'"),
        ({"sentences": ["x"], "beam": 1, "nbest": 2}, "", "found beam 1"),
        ({"sentences": ["x"], "formality": "polite"}, "formality", "'formal' or 'informal'"),
        ({"sentences": ["x"], "formality": "formal"}, "formality", "its corpus has no marks"),
        (
            {"sentences": ["x"], "glossary": [["a", "b"], ["c"]]},
            "glossary.pairs.1",
            "2 items",
        ),
        ({"sentences": ["x"], "glossary": [["a", ""]]}, "glossary", "entry 1: no translation of 'a'"),
        ({"sentences": ["x"], "glossary": [["a", "b"], ["a", "c"]]}, "glossary", "but in entry 1 as 'b'"),
        ({"sentences": ["x"], "glossary": "a\tb\nc"}, "glossary", "line 2: expected SOURCE, a tab and TARGET"),
        (
            {"sentences": ["x"], "glossary": [["a", "b"], ["c", "d"], ["e", "f"]]},
            "glossary",
            "at most 2 terms, found 3",
        ),
        ({"sentences": ["x"], "glossary": [["a", "b" * 11]]}, "glossary", "at most 10 characters, found 11"),
        ({"sentences": ["x"], "frobnicate": 1}, "frobnicate", "not permitted"),
        ({str(key): 0 for key in range(101)}, "", "101 fields are too many"),
    ],
)
def test_a_request_beyond_the_limits_is_rejected_by_field(strict: Served, body: Any, where: str, found: str) -> None:
    answer = ask(strict, body)
    assert answer.status_code == 422
    detail = answer.json()["details"][0]
    assert detail["where"] == where
    assert found in detail["message"]


def test_a_request_at_the_limits_is_accepted(strict: Served) -> None:
    body = {"sentences": ["y" * 30] * 4, "history": ["x" * 30] * 4, "beam": 3, "nbest": 3}
    assert ask(strict, body).status_code == 200


def test_a_routing_beyond_the_limit_is_refused_with_what_to_ask_for(strict: Served) -> None:
    body = {"sentences": ["It rained."] * 4, "history": ["It was cold."], "routing": True}
    refused = ask(strict, body)
    assert refused.status_code == 422
    assert refused.json()["error"] == "the routing is too large"
    (detail,) = refused.json()["details"]
    assert detail["where"] == "routing"
    found = re.search(r"at most 20 history words; sentences 1 to (\d) have (\d+): ", detail["message"])
    fewer = re.search(r"ask for at most (\d) sentences .* as `history`, or leave `routing` out$", detail["message"])
    assert found
    assert fewer
    assert int(found[1]) == int(fewer[1]) + 1
    assert int(found[2]) > 20
    accepted = ask(strict, body | {"sentences": body["sentences"][: int(fewer[1])]})
    assert accepted.status_code == 200
    traces = [trace for one in accepted.json()["translations"] for trace in one["routing"]]
    words = sum(len(trace["words"]) for trace in traces)
    assert 0 < words <= 20
    rows = [row for trace in traces for table in ("coupling", "pcc") for each in trace[table] for row in each]
    assert sum(map(len, rows)) == words * ROUTING_NUMBERS
    assert ask(strict, body | {"routing": False}).status_code == 200


def test_a_single_sentence_with_too_large_a_routing_is_refused(strict: Served) -> None:
    body = {"sentences": ["x"], "history": ["It was cold and it rained."] * 4, "routing": True}
    (detail,) = ask(strict, body).json()["details"]
    found = r"at most 20 history words; sentences 1 to 1 have \d+: leave `routing` out"
    assert re.fullmatch(found, detail["message"])


def test_a_routing_beyond_the_limit_ends_a_stream(strict: Served) -> None:
    client = Client(strict.url, token=TOKEN)
    with pytest.raises(ServiceError, match="the routing is too large; routing: at most 20 history words; "):
        list(client.stream(["It rained."] * 4, routing=True))


def test_a_full_queue_returns_retry_after(strict: Served, gate: threading.Event) -> None:
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


def test_runs_of_one_name_are_named_with_their_folders() -> None:
    root = Path(os.sep)
    assert name_runs([root / "a" / "document", root / "b" / "document", root / "b" / "sentence"]) == [
        "a/document",
        "b/document",
        "sentence",
    ]


def test_a_control_that_reads_other_documents_is_not_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "load_trained", lambda *_: tiny.trained(tiny.prepared(tmp_path), "qcn-shuffled"))
    with pytest.raises(RunError, match=r"run: is a control that reads other documents.* use docaps translate"):
        service.load_service([Path("run")], Limits())
