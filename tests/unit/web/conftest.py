"""One service for all tests that only ask it."""

import sys
from collections.abc import Iterator
from pathlib import Path

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
