"""Precision check: BLEU, speed and perplexity in float32, bfloat16 and int8; `auto` uses int8 only after it passed."""

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from docaps.corpus.documents import Document, ParallelDocument, count_sentences
from docaps.evaluation.translation_metrics import bleu
from docaps.files import sha256, write_json
from docaps.model.fast.calibration import observe, ranges_of, write_ranges
from docaps.model.fast.packing import Ranges, pack
from docaps.runs.directory import open_run
from docaps.translation.scoring import Likelihood, score_documents
from docaps.translation.trained_model import TrainedModel, load_trained
from docaps.translation.translator import Translator

LARGEST_LOSS = 0.3
"""The largest BLEU loss against float32 at which a precision is good."""
CALIBRATION = 500
"""Sentences for the calibration of int8."""


@dataclass(frozen=True, slots=True)
class PrecisionResult:
    """Quality and speed of one precision."""

    bleu: float
    loss: float
    sentences_per_second: float
    good: bool
    perplexity: float | None = None
    """Of the references; None without any word."""
    calibrated: bool = False
    """Whether int8 rounded by calibrated ranges."""


def compare_precisions(path: Path, pairs: Sequence[ParallelDocument]) -> dict[str, PrecisionResult]:
    """Translate documents in every precision, score them against their references, and store the result in the run."""
    run, plain = open_run(path), load_trained(path)
    weights, found = sha256(run.weights), {"float32": _measure(plain, pairs)}
    found["bfloat16"] = _measure(load_trained(path, "bfloat16"), pairs, found["float32"])
    found["int8"], ranges = _measure_int8(plain, pairs, found["float32"])
    run.ranges.unlink(missing_ok=True)  # ranges of an earlier check must not stand beside a new result
    results: dict[str, Any] = {name: asdict(result) for name, result in found.items()}
    write_json(run.precision, {**results, "weights": weights, "sentences": count_sentences(pairs)})
    if ranges:
        write_ranges(run.ranges, ranges, weights=weights)
    return found


def _measure_int8(
    plain: TrainedModel, pairs: Sequence[ParallelDocument], base: PrecisionResult
) -> tuple[PrecisionResult, Ranges]:
    """Translate in int8 with calibrated ranges, or without them if that loses too much."""
    ranges = find_ranges(plain, [Document(pair.source) for pair in pairs])
    calibrated = _measure(_with_int8(plain, ranges), pairs, base)
    if calibrated.good:
        return replace(calibrated, calibrated=True), ranges
    return _measure(_with_int8(plain, {}), pairs, base), {}


def _with_int8(plain: TrainedModel, ranges: Ranges) -> TrainedModel:
    return replace(plain, packed=pack(plain.model, torch.int8, ranges), writes_in=torch.int8)


def find_ranges(plain: TrainedModel, documents: Sequence[Document]) -> Ranges:
    """Translate the first documents greedily and return the ranges of the inputs of the linear layers."""
    observed = observe(plain.model)
    greedy, packed = plain.decoding.model_copy(update={"beam": 1, "nbest": 1}), replace(plain, packed=observed)
    translator = Translator(packed, greedy, window=CALIBRATION, scored=False, warn=lambda _: None)
    next(translator.stream(documents), None)  # translates the first window
    return ranges_of(observed)


def _measure(
    trained: TrainedModel, pairs: Sequence[ParallelDocument], base: PrecisionResult | None = None
) -> PrecisionResult:
    """Translate and score in one precision: measure BLEU, loss, speed and perplexity."""
    start = time.monotonic()
    translated = Translator(trained).translate(Document(pair.source) for pair in pairs)
    speed = count_sentences(pairs) / max(time.monotonic() - start, 1e-9)
    texts = [sentence.text for document in translated for sentence in document]
    score = bleu(texts, [sentence for pair in pairs for sentence in pair.target]).score
    loss = 0.0 if base is None else base.bleu - score
    likelihoods = (one for _, scored in score_documents(trained, pairs) for one in scored)
    return PrecisionResult(score, loss, speed, loss <= LARGEST_LOSS, sum(likelihoods, Likelihood()).perplexity)
