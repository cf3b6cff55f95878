"""Results on contrastive sets (`docaps contrast --keep`): accuracy by set, history and group of items."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from docaps.runs.stored_forms import Natural, StoredForm

HISTORIES = {"own": "own history", "none": "no history", "shuffled": "another's"}
"""The histories that items can be scored with, and their names for readers."""
_GROUPS = {"by_phenomenon": "{}", "by_distance": "{} back", "by_pronoun": "{}", "by_form": "{}"}


@dataclass(frozen=True, slots=True)
class AccuracyShare:
    """The share of right choices among a group of items, with its 95 % interval and the chance level."""

    accuracy: float
    low: float
    high: float
    chance: float
    items: int


@dataclass(frozen=True, slots=True)
class ContrastiveResult:
    """The result of a run on a set with one history."""

    name: str
    history: str
    created: str  # time stamp of the run: a retrained run needs new results
    whole: AccuracyShare
    groups: Mapping[str, AccuracyShare]
    signature: str
    command: str


class _Interval(StoredForm):
    low: float
    high: float
    method: str


class _Group(_Interval):
    accuracy: float
    chance: float
    items: Natural
    ties: Natural


class _Details(StoredForm):
    by_phenomenon: dict[str, _Group]
    by_distance: dict[str, _Group]
    by_pronoun: dict[str, _Group]
    by_form: dict[str, _Group]
    by_phenomenon_and_distance: dict[str, dict[str, _Group]]


class _Example(StoredForm):
    id: str
    phenomenon: str
    history: list[str]
    source: str
    correct: bool
    right: str | None = None
    expected: list[str] = Field(default_factory=list)
    chosen: str | None = None
    translation: str | None = None


class _StoredChoices(StoredForm):
    """The form of `NAME.HISTORY.json`."""

    history: str
    signature: str
    accuracy: float
    chance: float
    items: Natural
    ties: Natural
    interval: _Interval
    details: _Details
    examples: list[_Example]


def is_contrastive_result(data: Any) -> bool:
    """Return whether the content of `NAME.HISTORY.json` is complete, so that it can be shown again."""
    try:
        _StoredChoices.model_validate(data)
    except ValidationError:
        return False
    return True


def parse_contrastive_result(name: str, data: Any) -> ContrastiveResult:
    """Check the content of `NAME.HISTORY.json`."""
    history, details, share = str(data["history"]), data["details"], TypeAdapter(AccuracyShare).validate_python
    if history not in HISTORIES:
        raise ValueError(f"unknown history {history!r}")
    groups = {
        form.format(group): share(values)
        for key, form in _GROUPS.items()
        if len(details[key]) > 1
        for group, values in details[key].items()
    }
    whole, command = share({**data, **data["interval"]}), str(data.get("command", ""))
    return ContrastiveResult(name, history, str(data["created"]), whole, groups, str(data["signature"]), command)
