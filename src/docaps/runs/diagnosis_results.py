"""The result of `docaps diagnose` in a run directory: conditions, verdict, sentences, traces."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """The scores with one history; None if not measured."""

    name: str
    perplexity: float
    bleu: float | None
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class DistanceGain:
    """The relative fall of perplexity when a sentence of the history is added to the nearer ones."""

    distance: int
    gain: float
    p: float


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence for which the history mattered, with translations with and without it if they were made."""

    document: str
    number: int
    history: tuple[str, ...]
    source: str
    reference: str
    cxmi: float
    translations: tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """A quantity measured inside the model: place, mean and deviation."""

    title: str
    places: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Whether a run uses context, and the evidence."""

    verdict: str
    code: str
    explanation: tuple[str, ...]
    created: str
    text: str
    against: str | None
    conditions: tuple[ConditionResult, ...]
    p_values: Mapping[frozenset[str], float]
    steps: tuple[DistanceGain, ...]
    better: tuple[MarkedSentence, ...]
    worse: tuple[MarkedSentence, ...]
    traces: tuple[TraceSummary, ...]
    signature: str
    command: str

    def change(self, name: str) -> float:
        """Return the relative change of perplexity in a condition against no history."""
        perplexity = {one.name: one.perplexity for one in self.conditions}
        return perplexity[name] / perplexity["none"] - 1

    def p(self, one: str, other: str) -> float | None:
        """Return the p-value of a difference in perplexity, if it was tested."""
        return self.p_values.get(frozenset((one, other)))


def parse_diagnosis(data: Any) -> Diagnosis:
    """Check the content of `diagnosis.json`."""
    float(data["cxmi"]["per_token"])
    found = Diagnosis(
        verdict=str(data["verdict"]),
        code=str(data["verdict_code"]),
        explanation=tuple(map(str, data["explanation"])),
        created=str(data["created"]),
        text=_text(data),
        against=None if data["against"] is None else str(data["against"]["name"]),
        conditions=tuple(_condition(row) for row in data["conditions"] if row["perplexity"] is not None),
        p_values={
            frozenset((str(row["condition"]), str(row["baseline"]))): _larger_p(row)
            for row in data["comparisons"]
            if row["measure"] == "perplexity"
        },
        steps=tuple(
            DistanceGain(int(row["distance"]), float(row["gain"]), float(row["p"]))
            for row in data["by_distance"]["perplexity"]
        ),
        better=tuple(map(_sentence, data["better"])),
        worse=tuple(map(_sentence, data["worse"])),
        traces=tuple(map(_trace, data["traces"])),
        signature=str(data["signature"]),
        command=str(data.get("command", "")),
    )
    if missing := {"true", "shuffled", "none"} - {one.name for one in found.conditions}:
        raise ValueError(f"no perplexity with the history {', '.join(sorted(missing))}")
    return found


def _text(data: Mapping[str, Any]) -> str:
    """Describe the text that the model was diagnosed on."""
    where = f"the {data['part']} part of its corpus" if "part" in data else str(data.get("source", "text"))
    return f"{int(data['documents']):,} documents ({int(data['sentences']):,} sentences) of {where}"


def _condition(row: Mapping[str, Any]) -> ConditionResult:
    bleu, accuracy = (None if row.get(key) is None else float(row[key]) for key in ("bleu", "accuracy"))
    return ConditionResult(str(row["condition"]), float(row["perplexity"]), bleu, accuracy)


def _larger_p(row: Mapping[str, Any]) -> float:
    return max(float(row["p_bootstrap"]), float(row["p_randomisation"]))


def _sentence(row: Mapping[str, Any]) -> MarkedSentence:
    made = "translation_true" in row and "translation_none" in row
    return MarkedSentence(
        document=str(row["document"]),
        number=int(row["sentence"]),
        history=tuple(map(str, row["history"])),
        source=str(row["source"]),
        reference=str(row["reference"]),
        cxmi=float(row["cxmi"]),
        translations=(str(row["translation_true"]), str(row["translation_none"])) if made else None,
    )


def _trace(row: Mapping[str, Any]) -> TraceSummary:
    places = ((str(place["place"]), float(place["mean"]), float(place["deviation"])) for place in row["places"])
    return TraceSummary(str(row["title"]), tuple(places))
