"""The endpoints of a grid and of its runs (`docaps endpoints`), read and checked."""

from pathlib import Path
from typing import Any

from pydantic import Field

from docaps.errors import RunError
from docaps.files import read_json
from docaps.runs.stored_forms import Natural, StoredForm, check_form

ENDPOINTS = "endpoints.json"
"""The file in a grid's folder."""
VERSION = 1


class _ItemsResult(StoredForm):
    """The form of SET.items.json."""

    request: dict[str, Any]
    documents: list[str | None]
    labels: list[str | None]
    chance: float
    right: dict[str, dict[str, list[Natural]]]


class _Checkpoint(StoredForm):
    """The form of STEP.checkpoint.json."""

    request: dict[str, Any]
    step: Natural
    tokens: Natural
    choices: dict[str, dict[str, float]]
    perplexity: dict[str, float]


class _Ends(StoredForm):
    low: float | None
    high: float | None


class _SeedMean(_Ends):
    mean: float


class _Tested(StoredForm):
    difference: float
    low: float
    high: float
    p_bootstrap: float
    p_randomisation: float


class _TestedAnswers(_Tested):
    p: float
    p_mcnemar: float
    gained: Natural
    lost: Natural


class _PartScore(StoredForm):
    mean: _SeedMean
    documents: _Ends | None = None
    against: _Tested | None = None


class _ChoiceShare(_Ends):
    share: float


class _ItemsEndpoint(StoredForm):
    histories: dict[str, _ChoiceShare]
    gains: dict[str, _TestedAnswers | None]
    against: _TestedAnswers | None = None


class _CheckpointMeans(StoredForm):
    step: Natural
    tokens: Natural
    choices: dict[str, dict[str, float]]
    perplexity: dict[str, float]


class _EndpointRow(StoredForm):
    row: str
    title: str
    seeds: list[Natural]
    parts: dict[str, dict[str, _PartScore]]
    items: dict[str, dict[str, _ItemsEndpoint]]
    checkpoints: list[_CheckpointMeans] = Field(default_factory=list)


class _ItemsDescription(StoredForm):
    items: Natural
    documents: Natural
    chance: float
    labels: dict[str, Natural]


class _Endpoints(StoredForm):
    """The form of endpoints.json."""

    version: Natural
    experiment: str
    title: str
    baseline: str
    draws: Natural
    parts: dict[str, str]
    signatures: dict[str, str]
    items: dict[str, _ItemsDescription]
    rows: list[_EndpointRow]


def read_items_result(path: Path) -> dict[str, Any]:
    """Read which items a run got right."""
    return check_form(_read(path), _ItemsResult, path, error=RunError)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """Read what was measured with kept weights."""
    return check_form(_read(path), _Checkpoint, path, error=RunError)


def read_endpoints(folder: Path) -> dict[str, Any] | None:
    """Read the endpoints of a grid; None if none were measured."""
    path = folder / ENDPOINTS
    if not path.exists():
        return None
    return check_form(_read(path), _Endpoints, path, error=RunError)


def _read(path: Path) -> Any:
    """Read a file; a missing one was not measured."""
    if not path.exists():
        raise RunError("was not measured yet: run `docaps endpoints`", path=path)
    return read_json(path, error=RunError)
