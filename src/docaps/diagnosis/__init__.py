"""Diagnosis of a document model: does it use its context?"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DiagnosisOptions:
    """How to diagnose: shuffled histories per sentence, whether to translate, examples to show, draws of the tests."""

    shuffles: int = 3
    bleu: bool = True
    examples: int = 5
    draws: int = 1000
    seed: int = 1
