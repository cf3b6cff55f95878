"""Results on contrastive sets (`docaps contrast --keep`): accuracy by set, history and group of items."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
    history = str(data["history"])
    if history not in HISTORIES:
        raise ValueError(f"unknown history {history!r}")
    details = data["details"]
    return ContrastiveResult(
        name=name,
        history=history,
        created=str(data["created"]),
        whole=_share({**data, **data["interval"]}),
        groups={
            form.format(group): _share(values)
            for key, form in _GROUPS.items()
            if len(details[key]) > 1
            for group, values in details[key].items()
        },
        signature=str(data["signature"]),
        command=str(data.get("command", "")),
    )


def _share(data: Mapping[str, Any]) -> AccuracyShare:
    accuracy, low, high, chance = (float(data[key]) for key in ("accuracy", "low", "high", "chance"))
    return AccuracyShare(accuracy, low, high, chance, int(data["items"]))
