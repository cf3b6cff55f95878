"""Evaluate systems side by side: every score with signature and interval, every difference with its significance."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from docaps.corpus.documents import count_sentences
from docaps.corpus.text.tokenization import Tokenizer
from docaps.errors import ConfigError, CorpusError
from docaps.evaluation import EvaluationOptions
from docaps.evaluation.discourse import lexical_consistency, pronoun_accuracy
from docaps.evaluation.external import comet_score
from docaps.evaluation.intervals import Table, score_interval
from docaps.evaluation.meteor.resources import LANGUAGES
from docaps.evaluation.significance import compare, score_of
from docaps.evaluation.translation_metrics import Bleu, Chrf, Documents, MeteorMetric, Metric

METRICS: dict[str, Callable[[EvaluationOptions], Metric]] = {
    "bleu": lambda _: Bleu("bleu", "BLEU"),
    "dbleu": lambda _: Bleu("dbleu", "d-BLEU", whole_documents=True),
    "tokbleu": lambda options: Bleu("tokbleu", "tokenised BLEU", tokenizer=Tokenizer(options.language)),
    "chrf": lambda _: Chrf(),
    "meteor": lambda options: MeteorMetric(options.language, options.paraphrases),
}


def check_same_shape(hypotheses: Documents, references: Documents, *, path: Path, what: str = "translated") -> None:
    """Refuse documents that differ from the reference in number or length, naming the first difference."""
    for number, (one, other) in enumerate(zip(hypotheses, references, strict=False), start=1):
        ours, theirs = len(one.sentences), len(other.sentences)
        if ours != theirs:
            message = f"document {number} has {ours} {what} sentences, but {theirs} in the reference"
            raise CorpusError(message, path=path, line=one.layout.line if one.layout else None)
    if len(hypotheses) != len(references):
        message = f"{len(hypotheses)} {what} documents, but {len(references)} in the reference"
        raise CorpusError(message, path=path)


def choose_metrics(options: EvaluationOptions) -> list[Metric]:
    """Build the metrics asked for, by default all that support the language."""
    supported = tuple(key for key in METRICS if key != "meteor" or options.language in LANGUAGES)
    for key in options.metrics or ():
        if key not in METRICS:
            raise ConfigError(f"no metric '{key}': choose from {', '.join(METRICS)}")
    return [METRICS[key](options) for key in options.metrics or supported]


def evaluate_systems(
    systems: Mapping[str, Documents],
    references: Documents,
    sources: Documents | None,
    options: EvaluationOptions,
    baseline: str,
) -> dict[str, Any]:
    """Score every system and compare the others with the baseline; return plain JSON values."""
    metrics = choose_metrics(options)
    counts = {
        name: {metric.key: metric.count(documents, references) for metric in metrics}
        for name, documents in systems.items()
    }
    tests = {"draws": options.draws, "seed": options.seed}
    rows = []
    for name, documents in systems.items():
        scores = {metric.key: _score(metric, counts[name][metric.key], tests) for metric in metrics}
        bleu = scores.get("bleu")  # again at the top level, where programs look first
        first = {"bleu": bleu["score"], "signature": bleu["signature"]} if bleu else {}
        more = {} if sources is None else _with_source(documents, references, sources, options)
        rows.append({"hypothesis": name, **first, "scores": scores, **more})
    comparisons = [
        {
            "system": name,
            "baseline": baseline,
            "scores": {
                metric.key: asdict(compare(counts[baseline][metric.key], found[metric.key], metric.score, **tests))
                for metric in metrics
            },
        }
        for name, found in counts.items()
        if name != baseline
    ]
    return {
        "documents": len(references),
        "sentences": count_sentences(references),
        **tests,
        "systems": rows,
        "comparisons": comparisons,
        **({} if sources is None else {"reference_consistency": _consistency(sources, references, options)}),
    }


def _score(metric: Metric, counts: Table, tests: Mapping[str, int]) -> dict[str, Any]:
    """Return a metric's score, signature and confidence interval (None for a single document)."""
    interval = score_interval(counts, metric.score, **tests) if len(counts) > 1 else {"low": None, "high": None}
    return {"name": metric.name, "score": score_of(counts, metric.score), "signature": metric.signature, **interval}


def _with_source(
    hypotheses: Documents, references: Documents, sources: Documents, options: EvaluationOptions
) -> dict[str, Any]:
    """Return the metrics that need the source: lexical consistency, pronouns (English to German), COMET."""
    found: dict[str, Any] = {"lexical_consistency": _consistency(sources, hypotheses, options)}
    if (options.source_language, options.language) == ("en", "de"):
        found["pronouns"] = asdict(pronoun_accuracy(sources, hypotheses, references))
    if options.comet:
        found["comet"] = comet_score(options.comet, sources, hypotheses, references)
    return found


def _consistency(sources: Documents, translations: Documents, options: EvaluationOptions) -> dict[str, Any]:
    return asdict(lexical_consistency(sources, translations, language=options.language, terms=options.terms))
