"""Evaluation of translations: metrics with signatures, confidence intervals and significance tests. Needs no torch."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class EvaluationOptions:
    """What to measure, and how; without `metrics`, all that support the language."""

    metrics: tuple[str, ...] | None = None
    language: str = "de"
    source_language: str = "en"
    paraphrases: Path | None = None
    terms: frozenset[str] | None = None
    comet: str | None = None
    draws: int = 1000
    seed: int = 1
