"""Readings of the method: what the paper leaves open, what it claims, and what can be switched off, one at a time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from docaps.config import Recipe, SystemName


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read or change the method: the system and the settings that differ from the recipe's."""

    name: str
    title: str
    system: SystemName = "qcn"
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Dotted keys of the recipe and their values; those of the document stage are `stage.document.KEY`."""
    after: "Reading | None" = None
    """The reading whose model it starts from; the sentence model if there is none."""
    scaled: Mapping[str, float] = field(default_factory=dict)
    """Dotted keys like these, and what their values in the recipe are multiplied by."""
    baseline: str | None = None
    """The row that it is compared with; that of its grid if there is none."""
    trial: bool = False
    """Whether it is there to choose settings by: then the test part is never looked at."""


READINGS: Mapping[str, Reading] = {
    reading.name: reading
    for reading in (
        Reading("qcn", "the QCN as the recipe has it"),
        Reading("joint", "all history words routed at once", changes={"qcn.scope": "joint"}),
        Reading("last", "gradient through the last iteration only", changes={"qcn.gradient": "last"}),
        Reading("detached", "votes detached in the agreement", changes={"qcn.gradient": "detached-votes"}),
        Reading("capsnet", "plain capsules, no query", "capsnet"),
        Reading("no-p-in-s", "p taken out of s (line 20)", changes={"qcn.guide_capsules": False}),
        Reading("no-p-in-alpha", "p taken out of alpha (line 27)", changes={"qcn.guide_agreement": False}),
        Reading("raw", "capsules not normalised before attention", changes={"qcn.normalise": False}),
        Reading("reg", "with the regularisation term", "qcn+reg"),
        Reading("mean", "query from the mean of the words", changes={"qcn.query": "mean"}),
        Reading("positions", "history words with positions", changes={"history.positions": True}),
        Reading("gate", "a gate on the context sub-layer", changes={"qcn.gate": True}),
        Reading("silent", "context sub-layers add nothing at first", changes={"qcn.silent": True}),
        Reading("unsquashed", "input capsules not squashed", changes={"qcn.squash_words": False}),
        Reading("spread", "vote matrices started at 0.01", changes={"qcn.spread": 0.01}),
    )
}


def apply(reading: Reading, recipe: Recipe, *, check_every: int) -> Recipe:
    """Return the recipe with the reading as its only stage after the sentence model, named after the reading."""
    values = recipe.model_dump()
    for key, value in reading.changes.items():
        table, last = _place(values, key)
        table[last] = value
    for key, factor in reading.scaled.items():
        table, last = _place(values, key)
        table[last] *= factor
    document = values["stage"]["document"] | {"system": reading.system, "validate_every": check_every}
    values["stage"] = {"sentence": values["stage"]["sentence"], reading.name: document}
    return Recipe.model_validate(values)


def _place(values: dict[str, Any], key: str) -> tuple[dict[str, Any], str]:
    """Find the table that a dotted key is in, and its name there."""
    *tables, last = key.split(".")
    for table in tables:
        values = values[table]
    return values, last
