"""Shared by all tests: shapes in annotations are checked at run time, and one demo in miniature is made."""

from pathlib import Path

import pytest
from jaxtyping import install_import_hook

HOOK = install_import_hook(
    ["docaps.model", "docaps.batches", "docaps.training", "docaps.translation"], "beartype.beartype"
)


@pytest.fixture(scope="session")
def tiny_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `runs/demo` in it: the whole chain, trained for two steps only. Tests read it, or copy it first."""
    from tests.cli.calling import finish, settings

    folder = tmp_path_factory.mktemp("demo")
    result = finish("demo", "--dir", "runs/demo", "--documents", "60", *settings("history.sentences=3"), cwd=folder)
    assert result.code == 0, result.err
    return folder
