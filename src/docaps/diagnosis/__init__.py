"""Diagnosis of a document model: does it use its context?"""

from dataclasses import dataclass
from typing import Literal

TranslationsShown = Literal["reference", "own"]
"""What a model that reads translations of the history is shown: reference translations, or those it makes itself."""


@dataclass(frozen=True, slots=True)
class DiagnosisOptions:
    """How to diagnose: shuffled histories per sentence, whether to translate, examples to show, draws of the tests.

    `translations` are what a model that reads translations of the history is shown.
    """

    shuffles: int = 3
    bleu: bool = True
    examples: int = 5
    draws: int = 1000
    seed: int = 1
    translations: TranslationsShown = "reference"
