"""Shared by all tests: shapes in annotations are checked at run time, and one demo in miniature is made."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path

import jaxtyping
import pytest
from jaxtyping import install_import_hook

HOOK = install_import_hook(
    ["docaps.model", "docaps.batches", "docaps.training", "docaps.translation"], "beartype.beartype"
)


CHECKED = int(os.environ.get("DOCAPS_CHECKED", "4"))
"""One test in so many checks shapes, always the same ones: thousands call the same functions, and checks take long."""


LONG = ("tests/cli/test_readme.py", "tests/cli/", "tests/learning/", "tests/browser/", "tests/invariants/")
"""What takes long begins first, so that no process has a long file left when the others have nothing."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put long files first; tests of a file stay as they are."""
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
    """A folder with `runs/demo` in it: the whole chain, trained for two steps only. Tests read it, or copy it first."""
    from tests.cli.calling import finish, settings

    folder = tmp_path_factory.mktemp("demo")
    result = finish("demo", "--dir", "runs/demo", "--documents", "60", *settings("history.sentences=3"), cwd=folder)
    assert result.code == 0, result.err
    return folder
