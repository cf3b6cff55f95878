"""Results on contrastive sets (`docaps contrast --keep`): accuracy by set, history and group of items."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

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
