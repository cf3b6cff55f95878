"""Shared by all tests: run-time checks of tensor shapes, and one tiny demo."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
from hypothesis import settings as examples
from jaxtyping import install_import_hook

HOOK = install_import_hook(
    ["docaps.model", "docaps.batches", "docaps.training", "docaps.translation"], "beartype.beartype"
)


CHECKED = int(os.environ.get("DOCAPS_CHECKED", "16"))
"""One test in this many checks shapes, always the same ones: checks are slow, and thousands call the same functions."""


# The same generated examples everywhere, so that a machine that only runs the tests sees what their author saw.
# `make stress` sets "random": other examples in each run, and more of them where a test does not say how many.
examples.register_profile("repeatable", derandomize=True, database=None, deadline=None)
examples.register_profile("random", max_examples=400, deadline=None, print_blob=True)
examples.load_profile(os.environ.get("DOCAPS_EXAMPLES", "repeatable"))


LONG = tuple(
    f"tests/{name}" for name in ("cli/test_readme.py", "cli/", "chaos/", "learning/", "browser/", "invariants/")
)
"""Slow files first, so that no process is left with a slow file when the others are done."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort slow files first; the order within a file stays."""
    items.sort(key=lambda item: next((n for n, start in enumerate(LONG) if item.nodeid.startswith(start)), len(LONG)))


@pytest.fixture(autouse=True)
def shapes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Check shapes in some tests only."""
    before = jaxtyping.config.jaxtyping_disable
    jaxtyping.config.update("jaxtyping_disable", zlib.crc32(request.node.nodeid.encode()) % CHECKED != 0)
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(scope="session")
def tiny_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with `runs/demo`: the whole chain, trained for two steps. Tests read it, or copy it first."""
    from tests.cli.calling import finish, settings

    folder = tmp_path_factory.mktemp("demo")
    result = finish("demo", "--dir", "runs/demo", "--documents", "60", *settings("history.sentences=3"), cwd=folder)
    assert result.code == 0, result.err
    return folder
