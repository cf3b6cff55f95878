"""Evaluation of translations: metrics with signatures, confidence intervals and significance tests. Needs no torch."""

from dataclasses import dataclass
from pathlib import Path

DRAWS, SEED = 1000, 1
"""Draws of intervals and significance tests, and their seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """What to measure, and how; without `metrics`, all that support the language of the translations."""

    language: str
    source_language: str | None = None
    metrics: tuple[str, ...] | None = None
    paraphrases: Path | None = None
    terms: frozenset[str] | None = None
    comet: str | None = None
    draws: int = DRAWS
    seed: int = SEED
