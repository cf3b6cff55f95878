"""Running services that the tests share."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent))

pytest.importorskip("fastapi", reason="fastapi is not installed (docaps[serve])")


@pytest.fixture(scope="session")
def served(tiny_demo: Path) -> Iterator[object]:
    import torch
    from tests.unit.web.serving import models, serving

    torch.set_num_threads(1)
    with serving(models(tiny_demo)) as running:
        yield running


@pytest.fixture(scope="session")
def strict(tiny_demo: Path) -> Iterator[object]:
    """A service with small limits and a token."""
    from docaps.web.schemas import Limits
    from serving import TOKEN, models, serving

    limits = Limits(body=1000, sentences=4, characters=30, beam=3, queue=6, seconds=30.0)
    with serving(models(tiny_demo)[:1], limits, token=TOKEN) as running:
        yield running


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Models wait until this event is set, and fail on the sentence POISON."""
    from docaps.translation.translator import Translator
    from serving import POISON

    opened = threading.Event()
    translate = Translator.translate_pieces

    def wait(self: Any, pieces: Any, options: Any) -> Any:
        opened.wait(60)
        (poison,) = self.read([POISON])
        if any(poison in piece.passages for piece in pieces):
            raise RuntimeError("secret of the machine room")
        return translate(self, pieces, options)

    monkeypatch.setattr(Translator, "translate_pieces", wait)
    yield opened
    opened.set()
