"""Tables: the TOML files of `data`, read, and checked for what they lack."""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from docaps.errors import CorpusError


def data_folder() -> Traversable:
    """Return the folder of tables that comes with the package."""
    return files("docaps.corpus.minidocs") / "data"


def read_table(file: Traversable) -> dict[str, Any]:
    """Read a TOML file of the package."""
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CorpusError(f"mini-documents: {error}", path=Path(file.name)) from error


def require(place: str, table: dict[str, Any], least: dict[str, int]) -> None:
    """Check that each key is there with enough entries."""
    for key, count in least.items():
        found = len(table.get(key, ()))
        if found < count:
            raise CorpusError(
                f"mini-documents: {key!r} has {found} entries, expected {count} or more", path=Path(place)
            )


@contextmanager
def naming(place: str) -> Iterator[None]:
    """Name the table in which an entry is faulty."""
    try:
        yield
    except ValueError as error:
        raise CorpusError(f"mini-documents: {error}", path=Path(place)) from error
