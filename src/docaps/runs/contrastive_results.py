"""What `docaps contrast --keep` has left in run directories: shares of right choices, by set, history and group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

HISTORIES = {"own": "own history", "none": "no history", "shuffled": "another's"}
"""The histories that a set can be taken with, and their names for people."""
_GROUPS = {"by_phenomenon": "{}", "by_distance": "{} back", "by_pronoun": "{}", "by_form": "{}"}


@dataclass(frozen=True, slots=True)
class Share:
    """Right choices among items that have something in common, with the 95 % interval, beside guessing."""

    accuracy: float
    low: float
    high: float
    chance: float
    items: int


@dataclass(frozen=True, slots=True)
class Kept:
    """A set that a run has taken with one history."""

    name: str
    history: str
    created: str  # when the run was: a run trained anew has other answers
    whole: Share
    groups: Mapping[str, Share]
    signature: str
    command: str


def kept_choices(name: str, data: Any) -> Kept:
    """Check what the file `NAME.HISTORY.json` holds."""
    history = str(data["history"])
    if history not in HISTORIES:
        raise ValueError(f"unknown history {history!r}")
    details = data["details"]
    return Kept(
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


def _share(data: Mapping[str, Any]) -> Share:
    accuracy, low, high, chance = (float(data[key]) for key in ("accuracy", "low", "high", "chance"))
    return Share(accuracy, low, high, chance, int(data["items"]))
