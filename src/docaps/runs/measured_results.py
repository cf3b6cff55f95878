"""The numbers that experiments store as JSON, and their forms: results.json, speed and counts of runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from docaps.errors import RunError
from docaps.files import read_json
from docaps.runs.directory import Run
from docaps.runs.stored_forms import Natural, Seconds, StoredForm, check_form


class _Score(StoredForm):
    name: str
    score: float
    signature: str


class _MeasuredPart(StoredForm):
    set: str
    documents: Natural
    sentences: Natural
    scores: dict[str, _Score]
    search: dict[str, Any] = Field(default_factory=dict)
    seconds: Seconds | None = None


class _DataPart(StoredForm):
    documents: Natural
    sentences: Natural
    average: float


class _Data(StoredForm):
    source_language: str
    target_language: str
    hash: str
    parts: dict[str, _DataPart]
    vocabulary: Natural | None = None
    preparation: dict[str, Any] = Field(default_factory=dict)
    command: str | None = None


class _Measured(StoredForm):
    """The form of results.json."""

    parts: dict[str, _MeasuredPart]
    data: _Data
    machine: dict[str, str | int | float | None]
    command: str | None = None


class _Speed(StoredForm):
    share: float


def read_measured(run: Run) -> Mapping[str, Any] | None:
    """Return all scores of a run, with their data and machine; None if it was not measured."""
    if not run.results.exists():
        return None
    return check_form(read_json(run.results, error=RunError), _Measured, run.results, error=RunError)


def read_speed(path: Path) -> float | None:
    """Return a stored training speed, as a share of the sentence model's; None if there is none."""
    return (
        float(check_form(read_json(path, error=RunError), _Speed, path, error=RunError)["share"])
        if path.exists()
        else None
    )


def read_tables(path: Path) -> dict[str, list[list[float]]]:
    """Return the counts of each document by metric: tables of numbers, with rows of one length."""
    kind = TypeAdapter(dict[str, list[list[float]]])
    try:
        tables = kind.validate_python(read_json(path, error=RunError), strict=True)
    except ValidationError as fault:
        first = fault.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise RunError(f"not in the expected form: {place}: {first['msg']}", path=path) from None
    for name, table in tables.items():
        if len({len(row) for row in table}) != 1:
            raise RunError(f"not in the expected form: {name}: the rows must have one length", path=path)
    return tables
