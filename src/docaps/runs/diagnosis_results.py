"""The result of `docaps diagnose` in a run directory: conditions, verdicts, sentences, traces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, TypeAdapter

Text = Annotated[str, BeforeValidator(str)]


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """The scores with one history; None if not measured."""

    name: Annotated[Text, Field(alias="condition")]
    perplexity: float
    bleu: float | None = None
    accuracy: float | None = None


@dataclass(frozen=True, slots=True)
class DistanceGain:
    """The relative fall of perplexity when a sentence of the history is added to the nearer ones."""

    distance: int
    gain: float
    p: float


@dataclass(frozen=True, slots=True)
class MarkedSentence:
    """A sentence for which the history mattered, with translations with and without it if they were made."""

    document: Text
    number: Annotated[int, Field(alias="sentence")]
    history: tuple[Text, ...]
    source: Text
    reference: Text
    cxmi: float
    translation_true: Text | None = None
    translation_none: Text | None = None


@dataclass(frozen=True, slots=True)
class TracePlace:
    """The mean of a quantity at one place in the model, and its deviation."""

    place: Text
    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """A quantity measured inside the model."""

    title: Text
    places: tuple[TracePlace, ...]


@dataclass(frozen=True, slots=True)
class PhenomenonGain:
    """What one history gains over another: bits per token, or a share of right choices."""

    condition: Text
    baseline: Text
    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class TokenGains:
    """The gains of the tokens that a phenomenon decides."""

    tokens: int
    comparisons: tuple[PhenomenonGain, ...]
    over_all: Mapping[str, float]
    smallest_gain: float | None = None


@dataclass(frozen=True, slots=True)
class ChoiceGains:
    """Right choices among the items of a phenomenon."""

    items: int
    accuracy: Mapping[str, float]
    comparisons: tuple[PhenomenonGain, ...]
    smallest_gain: float | None = None


@dataclass(frozen=True, slots=True)
class PhenomenonDiagnosis:
    """Whether a run uses context for one phenomenon, and the evidence."""

    name: Annotated[Text, Field(alias="phenomenon")]
    verdict: Text
    code: Annotated[Text, Field(alias="verdict_code")]
    explanation: tuple[Text, ...]
    level: float
    tokens: TokenGains | None = None
    choices: ChoiceGains | None = None

    @property
    def hidden_below(self) -> float | None:
        """Return the gain in bits per token below which the verdict over all tokens does not see this phenomenon.

        None where its own tokens show no smaller one.
        """
        known = self.tokens.over_all if self.tokens else {}
        return known["needed"] if known.get("blind") else None


def _larger_p_values(rows: Sequence[Mapping[str, Any]]) -> dict[frozenset[str], float]:
    """Return the larger p-value of both tests, for each pair of conditions."""
    return {
        frozenset((str(row["condition"]), str(row["baseline"]))): max(row["p_bootstrap"], row["p_randomisation"])
        for row in rows
        if row["measure"] == "perplexity"
    }


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Whether a run uses context, and the evidence."""

    verdict: Text
    code: Annotated[Text, Field(alias="verdict_code")]
    explanation: tuple[Text, ...]
    created: Text
    text: str  # in words, the text that the model was diagnosed on
    against: Annotated[str | None, BeforeValidator(lambda other: other and other["name"])]
    conditions: Annotated[
        tuple[ConditionResult, ...],
        BeforeValidator(lambda rows: [row for row in rows if row["perplexity"] is not None]),
    ]
    p_values: Annotated[Mapping[frozenset[str], float], BeforeValidator(_larger_p_values), Field(alias="comparisons")]
    steps: Annotated[
        tuple[DistanceGain, ...], BeforeValidator(lambda found: found["perplexity"]), Field(alias="by_distance")
    ]
    cxmi: Annotated[float, BeforeValidator(lambda found: found["per_token"])]
    better: tuple[MarkedSentence, ...]
    worse: tuple[MarkedSentence, ...]
    traces: tuple[TraceSummary, ...]
    signature: Text
    command: Text = ""
    translations: str | None = None
    """What histories were shown with: "reference" or "own" translations; None for a model that reads none."""
    phenomena: tuple[PhenomenonDiagnosis, ...] = ()
    """Empty in a diagnosis of version 1."""

    def __post_init__(self) -> None:
        """Refuse a diagnosis without the conditions that a verdict needs."""
        if missing := {"true", "shuffled", "none"} - {one.name for one in self.conditions}:
            raise ValueError(f"no perplexity with the history {', '.join(sorted(missing))}")

    def change(self, name: str) -> float:
        """Return the relative change of perplexity in a condition against no history."""
        perplexity = {one.name: one.perplexity for one in self.conditions}
        return perplexity[name] / perplexity["none"] - 1

    def p(self, one: str, other: str) -> float | None:
        """Return the p-value of a difference in perplexity, if it was tested."""
        return self.p_values.get(frozenset((one, other)))


def parse_diagnosis(data: Any) -> Diagnosis:
    """Check the content of `diagnosis.json`."""
    where = f"the {data['part']} part of its corpus" if "part" in data else data.get("source", "text")
    text = f"{int(data['documents']):,} documents ({int(data['sentences']):,} sentences) of {where}"
    return TypeAdapter(Diagnosis).validate_python({**data, "text": text})
