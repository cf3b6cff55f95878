"""How well and how fast a model translates in lower precision: a check that int8 must pass before `auto` takes it."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from docaps.corpus.documents import Document, ParallelDocument
from docaps.evaluation.bleu import bleu
from docaps.files import sha256, write_json
from docaps.model.fast.calibration import observe, ranges_of, write_ranges
from docaps.model.fast.packing import Ranges, pack
from docaps.runs.directory import open_run
from docaps.translation.trained_model import TrainedModel, load_trained
from docaps.translation.translator import Translator

LARGEST_LOSS = 0.3
"""BLEU that a lower precision may lose against float32."""
CALIBRATION = 500
"""Sentences from which the ranges of numbers are found."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one precision gave."""

    bleu: float
    loss: float
    sentences_per_second: float
    good: bool
    calibrated: bool = False
    """Whether numbers were rounded by ranges found beforehand."""


def compare_precisions(path: Path, pairs: Sequence[ParallelDocument]) -> dict[str, Finding]:
    """Translate documents in every precision and compare with their reference; the run remembers the result."""
    run = open_run(path)
    weights = sha256(run.weights)
    plain = load_trained(path)
    found = {"float32": _measure(plain, pairs)}
    found["bfloat16"] = _measure(load_trained(path, "bfloat16"), pairs, found["float32"])
    found["int8"], ranges = _measure_int8(plain, pairs, found["float32"])
    run.ranges.unlink(missing_ok=True)  # they never stand beside what was found for others
    notes: dict[str, Any] = {name: asdict(finding) for name, finding in found.items()}
    write_json(run.precision, {**notes, "weights": weights, "sentences": _count(pairs)})
    if ranges:
        write_ranges(run.ranges, ranges, weights=weights)
    return found


def _measure_int8(plain: TrainedModel, pairs: Sequence[ParallelDocument], base: Finding) -> tuple[Finding, Ranges]:
    """Translate in int8 with ranges found beforehand, or without them if that loses too much."""
    ranges = find_ranges(plain, [Document(pair.source) for pair in pairs])
    calibrated = _measure(_with_int8(plain, ranges), pairs, base)
    if calibrated.good:
        return replace(calibrated, calibrated=True), ranges
    return _measure(_with_int8(plain, {}), pairs, base), {}


def _with_int8(plain: TrainedModel, ranges: Ranges) -> TrainedModel:
    return replace(plain, packed=pack(plain.model, torch.int8, ranges), writes_in=torch.int8)


def find_ranges(plain: TrainedModel, documents: Sequence[Document]) -> Ranges:
    """Translate the first documents greedily and return the ranges of the numbers that the model's maps read."""
    observed = observe(plain.model)
    greedy = plain.decoding.model_copy(update={"beam": 1, "nbest": 1})
    packed = replace(plain, packed=observed)
    translator = Translator(packed, greedy, window=CALIBRATION, scored=False, warn=lambda _: None)
    next(translator.stream(documents), None)  # translates the first window
    return ranges_of(observed)


def _measure(trained: TrainedModel, pairs: Sequence[ParallelDocument], base: Finding | None = None) -> Finding:
    """Translate in one precision."""
    translator = Translator(trained)
    start = time.monotonic()
    translated = translator.translate(Document(pair.source) for pair in pairs)
    speed = _count(pairs) / max(time.monotonic() - start, 1e-9)
    texts = [sentence.text for document in translated for sentence in document]
    score = bleu(texts, [sentence for pair in pairs for sentence in pair.target]).score
    loss = 0.0 if base is None else base.bleu - score
    return Finding(score, loss, speed, loss <= LARGEST_LOSS)


def _count(pairs: Sequence[ParallelDocument]) -> int:
    return sum(len(pair.source) for pair in pairs)
