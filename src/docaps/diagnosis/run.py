"""The diagnosis of a run: is context used? Everything ends in one JSON object, which the report reads.

The run's own development part (or any documents) and a contrastive set go through the model with the true history, with
another document's, with none and with the nearest sentences only; then through the model it is compared with.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from docaps import __version__, progress
from docaps.config import DecodingSettings
from docaps.corpus.documents import count_sentences
from docaps.diagnosis import measures as statistics
from docaps.diagnosis.choices import Choices, take_choices
from docaps.diagnosis.conditions import check_documents
from docaps.diagnosis.data import Material, Request, find_base, gather
from docaps.diagnosis.evidence import Evidence
from docaps.diagnosis.examination import Findings, Subject, Wishes, examine
from docaps.diagnosis.measures import ACCURACY, AGAINST, BLEU, PERPLEXITY, Measure, perplexity_of, share_of
from docaps.diagnosis.verdict import judge
from docaps.errors import CorpusError, RunError
from docaps.files import sha256
from docaps.runs.directory import Run, open_run
from docaps.translation.trained_model import TrainedModel, load_trained

FILE = "diagnosis.json"
VERSION = 1


def diagnose_run(
    path: Path, request: Request, wishes: Wishes, *, against: Path | None = None, beam: int | None = None
) -> dict[str, Any]:
    """Diagnose a finished run."""
    run = open_run(path)
    trained = load_trained(path)
    if not trained.model.history:
        raise RunError(
            "the run looks at no earlier sentence, so there is no use of context to diagnose: name a document model, "
            "and this one with --against",
            path=path,
        )
    material = gather(run, trained, request)
    other = against or _announce(run, find_base(run))
    decoding = trained.decoding.model_copy(update={"beam": beam} if beam else {})
    found = diagnose(trained, load_trained(other) if other else None, material, wishes, decoding)
    return {
        "version": VERSION,
        **_describe(run, trained),
        "against": None if other is None else _describe(open_run(other), None) | {"given": against is not None},
        **found,
        "signature": sign(run, material, decoding, wishes),
    }


def _announce(run: Run, base: Path | None) -> Path | None:
    """Say which model is compared with, or how to name one."""
    if base is None:
        progress.say(f"{run.path}: the sentence model it started from is not beside it; name one with --against RUN")
    return base


def _describe(run: Run, trained: TrainedModel | None) -> dict[str, Any]:
    """Say which run it is."""
    description = run.read()
    known = {key: description.get(key) for key in ("name", "system", "created")}
    return {"run": str(run.path), **known, **({"history": trained.model.history} if trained else {})}


def diagnose(
    trained: TrainedModel,
    other: TrainedModel | None,
    material: Material,
    wishes: Wishes,
    decoding: DecodingSettings | None = None,
) -> dict[str, Any]:
    """Examine a model, compare it with another, and judge."""
    check_documents(material.documents)
    subjects = Subject(trained, decoding), Subject(other, decoding) if other else None
    found = examine(*subjects, material.documents, wishes)
    choices = _choose(trained, other, material, wishes, decoding)
    measures = list_measures(found, choices)
    if not measures[0].counts[statistics.TRUE][:, 1].sum():
        raise CorpusError("the documents have no sentence with words: there is nothing to score")
    history, tests = trained.model.history, {"draws": wishes.draws, "seed": wishes.seed}
    contests = statistics.contests(measures, history, **tests)
    evidence = Evidence(measures, contests, history, statistics.frequency_perplexity(found.tokens))
    return {
        **judge(evidence).as_dict(),
        "thresholds": asdict(evidence.thresholds) | {"level_of_each_measure": evidence.level},
        **material.origin,
        "documents": len(material.documents),
        "sentences": count_sentences(material.documents),
        "tokens": int(measures[0].counts[statistics.TRUE][:, 1].sum()),
        "frequency_perplexity": evidence.frequencies,
        **tests,
        "shuffles": wishes.shuffles,
        "conditions": [_row(condition, measures) for condition in [*statistics.conditions(history), AGAINST]],
        "bleu_signature": found.metric.signature or None,
        "comparisons": statistics.as_rows(contests),
        "by_distance": {measure.key: statistics.by_distance(contests, measure.key, history) for measure in measures},
        "cxmi": statistics.cxmi(measures[0], found.cxmi, **tests),
        "better": found.better.records(),
        "worse": found.worse.records(),
        "choices": choices and _choices_as_dict(choices),
        "traces": found.book.as_list(),
    }


def _choose(
    trained: TrainedModel,
    other: TrainedModel | None,
    material: Material,
    wishes: Wishes,
    decoding: DecodingSettings | None,
) -> Choices | None:
    """Take the contrastive set, if there is one."""
    if not material.items:
        return None
    return take_choices(trained, other, material.items, shuffles=wishes.shuffles, seed=wishes.seed, decoding=decoding)


def list_measures(found: Findings, choices: Choices | None) -> list[Measure]:
    """Return all that was measured: perplexity first, then BLEU and right choices, where there are any."""
    likelihoods = {condition: np.concatenate(tables) for condition, tables in found.likelihoods.items()}
    measures = [Measure(PERPLEXITY, likelihoods, perplexity_of, lower_is_better=True)]
    if found.bleu:
        counts = {condition: np.concatenate(tables) for condition, tables in found.bleu.items()}
        measures.append(Measure(BLEU, counts, found.metric.score))
    if choices:
        measures.append(Measure(ACCURACY, choices.counts, share_of))
    return measures


def _row(condition: str, measures: list[Measure]) -> dict[str, Any]:
    """Return all scores under a condition; None where a score was not measured."""
    scores = {measure.key: measure.score(condition) for measure in measures if condition in measure.counts}
    return {"condition": condition, **{key: scores.get(key) for key in (PERPLEXITY, BLEU, ACCURACY)}}


def _choices_as_dict(choices: Choices) -> dict[str, Any]:
    """Return accuracies by condition and group as plain JSON values."""
    groups = ("by_phenomenon", "by_distance")
    accuracy: Mapping[str, Any] = {name: found.as_dict() for name, found in choices.accuracy.items()}
    return {
        "items": choices.items,
        "chance": choices.chance,
        **{group: {name: values[group] for name, values in accuracy.items()} for group in groups},
    }


def sign(run: Run, material: Material, decoding: DecodingSettings, wishes: Wishes) -> str:
    """Return what the numbers depend on: text, items, weights, search, draws and version."""
    text = "\n".join(map(repr, [*material.documents, *material.items])).encode("utf-8", "backslashreplace")
    parts = {
        "documents": len(material.documents),
        "items": len(material.items),
        "data": hashlib.sha256(text).hexdigest()[:12],
        "weights": sha256(run.weights)[:12],
        "beam": decoding.beam if wishes.bleu else "-",
        "shuffles": wishes.shuffles,
        "seed": wishes.seed,
        "docaps": __version__,
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items())
