"""Systems side by side: every score with its signature and interval, and every difference with its significance."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from docaps.corpus.documents import Document, count_sentences
from docaps.corpus.text.tokenization import Tokenizer
from docaps.errors import ConfigError
from docaps.evaluation.comet import comet_score
from docaps.evaluation.consistency import lexical_consistency
from docaps.evaluation.meteor.settings import LANGUAGES
from docaps.evaluation.pronouns import pronoun_accuracy
from docaps.evaluation.significance import compare, interval_of
from docaps.evaluation.statistics import Bleu, Chrf, MeteorMetric, Metric, Table

Documents = Sequence[Document]
METRICS = ("bleu", "dbleu", "tokbleu", "chrf", "meteor")


@dataclass(frozen=True, slots=True)
class Wishes:
    """What to measure, and how."""

    metrics: tuple[str, ...] | None = None
    language: str = "de"
    source_language: str = "en"
    paraphrases: Path | None = None
    terms: frozenset[str] | None = None
    comet: str | None = None
    draws: int = 1000
    seed: int = 1


def choose_metrics(wishes: Wishes) -> list[Metric]:
    """Return the metrics that are asked for; without a wish, all that know the language."""
    makers: dict[str, Callable[[], Metric]] = {
        "bleu": lambda: Bleu("bleu", "BLEU"),
        "dbleu": lambda: Bleu("dbleu", "d-BLEU", whole_documents=True),
        "tokbleu": lambda: Bleu("tokbleu", "tokenised BLEU", tokenizer=Tokenizer(wishes.language)),
        "chrf": Chrf,
        "meteor": lambda: MeteorMetric(wishes.language, wishes.paraphrases),
    }
    usual = tuple(key for key in METRICS if key != "meteor" or wishes.language in LANGUAGES)
    for key in wishes.metrics or ():
        if key not in makers:
            raise ConfigError(f"no metric '{key}': choose from {', '.join(METRICS)}")
    return [makers[key]() for key in wishes.metrics or usual]


def evaluate_systems(
    systems: Mapping[str, Documents], references: Documents, sources: Documents | None, wishes: Wishes, *, baseline: str
) -> dict[str, Any]:
    """Score every system, and compare the others with the baseline."""
    metrics = choose_metrics(wishes)
    counts = {
        name: {metric.key: metric.count(documents, references) for metric in metrics}
        for name, documents in systems.items()
    }
    rows = [
        {
            "hypothesis": name,
            **_headline(scores := _scores(metrics, counts[name], wishes)),
            "scores": scores,
            **_of_words(systems[name], references, sources, wishes),
        }
        for name in systems
    ]
    others = [name for name in systems if name != baseline]
    return {
        "documents": len(references),
        "sentences": count_sentences(references),
        "draws": wishes.draws,
        "seed": wishes.seed,
        "systems": rows,
        "comparisons": [_comparison(metrics, name, baseline, counts, wishes) for name in others],
        **({} if sources is None else {"reference_consistency": _consistency(sources, references, wishes)}),
    }


def _headline(scores: Mapping[str, Any]) -> dict[str, Any]:
    """Return BLEU where programs look for it first."""
    found = scores.get("bleu")
    return {"bleu": found["score"], "signature": found["signature"]} if found else {}


def _scores(metrics: Sequence[Metric], counts: Mapping[str, Table], wishes: Wishes) -> dict[str, Any]:
    """Return each metric's score, signature and confidence interval (None of a single document)."""
    scores = {}
    for metric in metrics:
        table = counts[metric.key]
        value = float(metric.score(np.sum(table, axis=0, keepdims=True))[0])
        drawn = interval_of(table, metric.score, draws=wishes.draws, seed=wishes.seed) if len(table) > 1 else None
        ends = {"low": drawn and drawn.low, "high": drawn and drawn.high}
        scores[metric.key] = {"name": metric.name, "score": value, "signature": metric.signature, **ends}
    return scores


def _comparison(
    metrics: Sequence[Metric], name: str, baseline: str, counts: Mapping[str, Mapping[str, Table]], wishes: Wishes
) -> dict[str, Any]:
    """Return the differences between a system and the baseline, and what chance has to say to them."""
    scores = {}
    for metric in metrics:
        tables = counts[baseline][metric.key], counts[name][metric.key]
        scores[metric.key] = compare(*tables, metric.score, draws=wishes.draws, seed=wishes.seed).as_dict()
    return {"system": name, "baseline": baseline, "scores": scores}


def _of_words(
    hypotheses: Documents, references: Documents, sources: Documents | None, wishes: Wishes
) -> dict[str, Any]:
    """Return what needs the source: lexical consistency, pronouns (English to German), COMET."""
    if sources is None:
        return {}
    found: dict[str, Any] = {"lexical_consistency": _consistency(sources, hypotheses, wishes)}
    if (wishes.source_language, wishes.language) == ("en", "de"):
        found["pronouns"] = asdict(pronoun_accuracy(sources, hypotheses, references))
    if wishes.comet:
        found["comet"] = comet_score(wishes.comet, sources, hypotheses, references)
    return found


def _consistency(sources: Documents, translations: Documents, wishes: Wishes) -> dict[str, Any]:
    return asdict(lexical_consistency(sources, translations, language=wishes.language, terms=wishes.terms))
