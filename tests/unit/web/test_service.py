"""Limits of the service, the queue, and the names of models."""

import os
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.invariants import tiny
from tests.unit.web.serving import Served, ask, wait_until

from docaps.errors import RunError
from docaps.web import service
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
def test_a_request_beyond_the_limits_is_rejected_by_field(strict: Served, body: Any, where: str, found: str) -> None:
    answer = ask(strict, body)
    assert answer.status_code == 422
    detail = answer.json()["details"][0]
    assert detail["where"] == where
    assert found in detail["message"]


def test_a_request_at_the_limits_is_accepted(strict: Served) -> None:
    body = {"sentences": ["y" * 30] * 4, "history": ["x" * 30] * 4, "beam": 3, "nbest": 3}
    assert ask(strict, body).status_code == 200


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
