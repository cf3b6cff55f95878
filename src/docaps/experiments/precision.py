"""How well and how fast a model translates in lower precision: a check that int8 must pass before `auto` takes it."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from docaps.config import TranslationPrecision
from docaps.corpus.documents import Document, ParallelDocument
from docaps.evaluation.bleu import bleu
from docaps.files import sha256, write_json
from docaps.runs import open_run
from docaps.translation.loading import load_trained
from docaps.translation.translator import Translator

LARGEST_LOSS = 0.3
"""BLEU that a lower precision may lose against float32."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one precision gave."""

    bleu: float
    loss: float
    sentences_per_second: float
    good: bool


def compare_precisions(path: Path, pairs: Sequence[ParallelDocument]) -> dict[str, Finding]:
    """Translate documents in every precision and compare with their reference; the run remembers the result."""
    run = open_run(path)
    found: dict[str, Finding] = {}
    for precision in get_args(TranslationPrecision):
        if precision != "auto":
            found[precision] = _measure(path, precision, pairs, found.get("float32"))
    notes: dict[str, Any] = {name: asdict(finding) for name, finding in found.items()}
    write_json(run.precision, {**notes, "weights": sha256(run.weights), "sentences": _count(pairs)})
    return found


def _measure(
    path: Path, precision: TranslationPrecision, pairs: Sequence[ParallelDocument], base: Finding | None
) -> Finding:
    """Translate in one precision."""
    translator = Translator(load_trained(path, precision))
    start = time.monotonic()
    translated = translator.translate(Document(pair.source) for pair in pairs)
    speed = _count(pairs) / max(time.monotonic() - start, 1e-9)
    texts = [sentence.text for document in translated for sentence in document]
    score = bleu(texts, [sentence for pair in pairs for sentence in pair.target]).score
    loss = 0.0 if base is None else base.bleu - score
    return Finding(score, loss, speed, loss <= LARGEST_LOSS)


def _count(pairs: Sequence[ParallelDocument]) -> int:
    return sum(len(pair.source) for pair in pairs)
