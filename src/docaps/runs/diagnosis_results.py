"""What `docaps diagnose` has left in a run directory, checked once: conditions, verdict, sentences, traces."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Condition:
    """A history and what came of it; what was not measured is None."""

    name: str
    perplexity: float
    bleu: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """How easily chance would make as large a difference of perplexity between two conditions."""

    condition: str
    baseline: str
    p: float


@dataclass(frozen=True, slots=True)
class Step:
    """What a sentence of the history adds to the nearer ones: the share by which perplexity falls."""

    distance: int
    gain: float
    p: float


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence for which the history mattered; translations with and without it where some were made."""

    document: str
    number: int
    history: tuple[str, ...]
    source: str
    reference: str
    cxmi: float
    translations: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class Told:
    """A quantity that the model tells about its use of the history: place, mean and deviation."""

    title: str
    places: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Is context used?"""

    verdict: str
    code: str
    explanation: tuple[str, ...]
    created: str
    text: str
    against: str | None
    conditions: tuple[Condition, ...]
    comparisons: tuple[Comparison, ...]
    steps: tuple[Step, ...]
    bits_per_token: float
    better: tuple[Sentence, ...]
    worse: tuple[Sentence, ...]
    told: tuple[Told, ...]
    signature: str
    command: str

    def condition(self, name: str) -> Condition:
        """Return a condition by its name."""
        return next(one for one in self.conditions if one.name == name)

    def change(self, name: str) -> float:
        """Return by which share the perplexity of a condition lies above that without history."""
        return self.condition(name).perplexity / self.condition("none").perplexity - 1

    def p(self, one: str, other: str) -> float | None:
        """Return the p-value of a difference, if it was tested."""
        tested = {frozenset((row.condition, row.baseline)): row.p for row in self.comparisons}
        return tested.get(frozenset((one, other)))


def diagnosis(data: Any) -> Diagnosis:
    """Check what a file holds."""
    found = Diagnosis(
        verdict=str(data["verdict"]),
        code=str(data["verdict_code"]),
        explanation=tuple(map(str, data["explanation"])),
        created=str(data["created"]),
        text=_text(data),
        against=None if data["against"] is None else str(data["against"]["name"]),
        conditions=tuple(_condition(row) for row in data["conditions"] if row["perplexity"] is not None),
        comparisons=tuple(_comparison(row) for row in data["comparisons"] if row["measure"] == "perplexity"),
        steps=tuple(
            Step(int(row["distance"]), float(row["gain"]), float(row["p"])) for row in data["by_distance"]["perplexity"]
        ),
        bits_per_token=float(data["cxmi"]["per_token"]),
        better=tuple(map(_sentence, data["better"])),
        worse=tuple(map(_sentence, data["worse"])),
        told=tuple(map(_told, data["traces"])),
        signature=str(data["signature"]),
        command=str(data.get("command", "")),
    )
    if missing := {"true", "shuffled", "none"} - {one.name for one in found.conditions}:
        raise ValueError(f"no perplexity with the history {', '.join(sorted(missing))}")
    return found


def _text(data: Mapping[str, Any]) -> str:
    """Say what the model was diagnosed on."""
    where = f"the {data['part']} part of its corpus" if "part" in data else str(data.get("source", "text"))
    return f"{int(data['documents']):,} documents ({int(data['sentences']):,} sentences) of {where}"


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _condition(row: Mapping[str, Any]) -> Condition:
    numbers = float(row["perplexity"]), _number(row.get("bleu")), _number(row.get("accuracy"))
    return Condition(str(row["condition"]), *numbers)


def _comparison(row: Mapping[str, Any]) -> Comparison:
    p = max(float(row["p_bootstrap"]), float(row["p_randomisation"]))
    return Comparison(str(row["condition"]), str(row["baseline"]), p)


def _sentence(row: Mapping[str, Any]) -> Sentence:
    made = "translation_true" in row and "translation_none" in row
    return Sentence(
        document=str(row["document"]),
        number=int(row["sentence"]),
        history=tuple(map(str, row["history"])),
        source=str(row["source"]),
        reference=str(row["reference"]),
        cxmi=float(row["cxmi"]),
        translations=(str(row["translation_true"]), str(row["translation_none"])) if made else None,
    )


def _told(row: Mapping[str, Any]) -> Told:
    places = ((str(place["place"]), float(place["mean"]), float(place["deviation"])) for place in row["places"])
    return Told(str(row["title"]), tuple(places))
