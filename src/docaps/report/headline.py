"""The main result in sentences, whichever way it came out, and warnings about comparability."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from docaps.runs.card import flatten
from docaps.runs.results import Contrastive, RunResults
from docaps.runs.training_log import has_collapsed, has_one_capsule, pair_correlations
from docaps.runs.wording import (
    count,
    decimal,
    describe_system,
    is_control,
    label_runs,
    listing,
    percent_with_sign,
    sees_context,
    small_number,
)

Measured = tuple[RunResults, Contrastive]


def state_result(results: Sequence[RunResults]) -> str:
    """State what context gained; empty unless two runs took the contrastive test."""
    measured = [(run, run.contrastive) for run in results if run.contrastive is not None]
    with_context = [pair for pair in measured if sees_context(pair[0].system) and not is_control(pair[0].system)]
    without = [pair for pair in measured if not sees_context(pair[0].system)]
    if with_context and without:
        context, plain = (max(pairs, key=lambda pair: pair[1].accuracy.all) for pairs in (with_context, without))
        return _with_and_without(context, plain, len(with_context), len(without))
    return _first_and_best(measured) if len(measured) > 1 else ""


def state_bleu(results: Sequence[RunResults]) -> str:
    """State the BLEU scores of the runs; of many, the lowest and the highest."""
    scored = [
        (run.scores, f"{decimal(run.scores.bleu)} ({describe_system(run.system)})") for run in results if run.scores
    ]
    if not scored:
        return ""
    (name, documents), *others = {(scores.set, scores.documents) for scores, _ in scored}
    where = "on different sets" if others else f"on {count(documents, 'document')} of the {name} set"
    if len(scored) > 3:
        ends = sorted(scored, key=lambda pair: pair[0].bleu)[:: len(scored) - 1]
        return f"BLEU {where}: from {' to '.join(text for _, text in ends)}."
    return f"BLEU {where}: {listing([text for _, text in scored])}."


def state_doubts(results: Sequence[RunResults]) -> list[str]:
    """List why runs may not be comparable: other items, text or scoring, or unfinished training."""
    items = {(run.contrastive.file, run.contrastive.items) for run in results if run.contrastive}
    sets = {(run.scores.set, run.scores.documents, run.scores.sentences) for run in results if run.scores}
    signatures = {run.scores.signature for run in results if run.scores}
    corpora = {run.corpus.get("hash") for run in results}
    unfinished = [run.name for run in results if run.status != "finished"]
    doubts = {
        "The runs took different contrastive tests; their accuracies are not comparable.": len(items) > 1,
        "The runs translated different test sets; their BLEU scores are not comparable.": len(sets) > 1,
        "BLEU was computed in different ways (see the signatures); the scores are not comparable.": len(signatures) > 1,
        "The runs were trained on different corpora (see the hashes below).": len(corpora) > 1,
        f"Training has not finished: {', '.join(unfinished)}.": bool(unfinished),
    }
    return [doubt for doubt, holds in doubts.items() if holds]


def state_collapses(results: Sequence[RunResults]) -> list[str]:
    """Name the runs whose regulariser does not tell pairs apart, with the correlations that have met."""
    found = []
    for run, label in zip(results, label_runs(results), strict=True):
        row = run.regularisation
        if row is not None and has_collapsed(row):
            matched, mismatched = (decimal(value, 3) for value in pair_correlations(row) or ())
            where = f", retrieval {decimal(row['retrieval'], 3)}" if "retrieval" in row else ""
            found.append(f"{label} ({matched} and {mismatched}{where})")
    if not found:
        return []
    means = "The regulariser does not tell pairs apart (PCC of matched and of mismatched pairs)"
    return [f"{means}: {listing(found)}."]


def state_alike_capsules(results: Sequence[RunResults]) -> list[str]:
    """Name the runs whose capsules of a sentence are one, or hold the same words."""
    found = []
    for run, label in zip(results, label_runs(results), strict=True):
        row = run.capsules
        if row is not None and has_one_capsule(row):
            cosine, overlap, entropy = (
                decimal(row.get(name), 3) for name in ("capsule_cosine", "capsule_overlap", "coupling_entropy")
            )
            found.append(f"{label} ({cosine}, {overlap} and {entropy})")
    if not found:
        return []
    means = (
        "The capsules of a sentence hold the same (cosine between capsules, cosine between their weights of words, and "
        "entropy of the coupling, 1 being equal shares)"
    )
    return [f"{means}: {listing(found)}."]


def history_size(settings: Mapping[str, Any]) -> int | None:
    """Return the number of history sentences (K) from a run's settings."""
    sizes = (size for name, size in flatten(settings).items() if f".{name}".endswith(".history.sentences"))
    return next((size for size in sizes if isinstance(size, int)), None)


def _with_and_without(context: Measured, plain: Measured, contexts: int, plains: int) -> str:
    (run, contrastive), (_, other) = context, plain
    model = "the model" if contexts == 1 else f"the best of {small_number(contexts)} models ({run.name})"
    baseline = "without context" if plains == 1 else f"the best of {small_number(plains)} without context"
    size = history_size(run.settings)
    view = f"the {small_number(size)} previous sentences" if size else "the sentences before"
    right, guessed, chance = map(percent_with_sign, (contrastive.accuracy.all, other.accuracy.all, other.chance.all))
    return (
        f"With {'the previous sentence' if size == 1 else view} in view, {model} gets {right} of context-dependent "
        f"choices right; {baseline} {guessed} (chance {chance}){_verdict(contrastive, other)}."
    )


def _verdict(one: Contrastive, other: Contrastive) -> str:
    """Say so if context hurt, or if the difference is within two standard errors."""
    shares = [(found.accuracy.all, max(found.items, 1)) for found in (one, other)]
    error = math.sqrt(sum(max(share * (1 - share), 0.0) / items for share, items in shares))
    gap = one.accuracy.all - other.accuracy.all
    if abs(gap) <= 2 * error:
        return f": no clear difference on {count(one.items, 'item')}"
    return "" if gap > 0 else ": context did not help"


def _first_and_best(measured: Sequence[Measured]) -> str:
    """Compare the best run with the first (or, if the first is best, with the runner-up)."""
    labels = label_runs([run for run, _ in measured])
    best, second, *_ = sorted(range(len(measured)), key=lambda place: -measured[place][1].accuracy.all)
    baseline = second if best == 0 else 0
    one, other = measured[best][1], measured[baseline][1]
    right, less, chance = map(percent_with_sign, (one.accuracy.all, other.accuracy.all, other.chance.all))
    start = f"Of context-dependent choices, {labels[best]} gets {right} right and {labels[baseline]} {less}"
    return f"{start} (chance {chance}){_verdict(one, other)}."
