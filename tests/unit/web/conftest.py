"""Running services that the tests share."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from tests.unit.web.serving import ROUTING_NUMBERS, TOKEN, Served, gated, model_with_tags, models, serving

from docaps.web.schemas import Limits

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def served(tiny_demo: Path) -> Iterator[Served]:
    torch.set_num_threads(1)
    with serving(models(tiny_demo)) as running:
        yield running


@pytest.fixture(scope="session")
def strict(tiny_demo: Path) -> Iterator[Served]:
    """A service with small limits and a token."""
    limits = Limits(
        body=1000,
        sentences=4,
        characters=30,
        beam=3,
        queue=6,
        routing=20 * ROUTING_NUMBERS + 1,
        terms=2,
        term=10,
        seconds=30.0,
        answer=400,
    )
    with serving(models(tiny_demo)[:1], limits, token=TOKEN) as running:
        yield running


@pytest.fixture(scope="session")
def with_tags(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service whose model can choose the form of address."""
    with serving([model_with_tags(tmp_path_factory.mktemp("tags"))]) as running:
        yield running


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Models wait until this event is set, and fail on the sentence POISON."""
    with gated(monkeypatch) as opened:
        yield opened
