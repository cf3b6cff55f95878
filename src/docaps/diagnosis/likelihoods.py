"""Likelihoods of the development part, by document and history: what tells trials apart that BLEU does not.

A model is asked for the translations that people made, with the true history of each sentence, with another document's
and with none. The counts of documents are kept, so that runs can be compared, and histories within a run.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from docaps import progress
from docaps.corpus.documents import ParallelDocument, count_sentences
from docaps.corpus.store import Store
from docaps.diagnosis.conditions import Histories, View
from docaps.diagnosis.examination import Subject, portions
from docaps.diagnosis.measures import NONE, SHUFFLED, TRUE, perplexity_of
from docaps.evaluation.significance import Table, compare, score_of
from docaps.files import write_json
from docaps.runs.directory import Run
from docaps.translation.trained_model import TrainedModel, load_trained

Likelihoods = Mapping[str, Table]
"""For each history, a table with negative log-probability and number of tokens of each document."""
SEED = 1
"""Of the draw of other documents' histories."""


def measure_likelihoods(run: Run, store: Store) -> None:
    """Score the development part with each history, once."""
    if not run.likelihoods.exists():
        found = score_histories(load_trained(run.path), store.raw("dev"))
        write_json(run.likelihoods, {history: table.tolist() for history, table in found.items()})


def score_histories(trained: TrainedModel, documents: Sequence[ParallelDocument]) -> dict[str, Table]:
    """Score documents with the true history, another's and none; a model that looks at none has the first alone."""
    subject = Subject(trained)
    views = _views(Histories(documents, subject.history, seed=SEED), documents, looks_back=subject.history > 0)
    tables: dict[str, list[Table]] = {history: [] for history in views}
    with progress.start("score the development part", len(views) * count_sentences(documents)) as task:
        for portion in portions(documents):
            windows = subject.windows(portion)
            for history, view in views.items():
                scores = subject.score(subject.looking_back(portion, windows, view))
                tables[history].append(portion.by_document(scores))
                task.advance(len(windows), history)
    return {history: np.concatenate(found) for history, found in tables.items()}


def _views(histories: Histories, documents: Sequence[ParallelDocument], *, looks_back: bool) -> dict[str, View]:
    """List the histories that are worth a look: where there is no other document, none has another's."""
    views: dict[str, View] = {TRUE: histories.own}
    if looks_back:
        views |= {SHUFFLED: histories.other(0)} if len(documents) > 1 else {}
        views[NONE] = histories.nothing
    return views


def compare_likelihoods(
    own: Mapping[int, Likelihoods], baseline: Mapping[int, Likelihoods], *, draws: int, seed: int
) -> dict[str, dict[str, Any]]:
    """Return the perplexity with each history, and how it differs: the true one's from a baseline's, others from it.

    Runs come by seed. The seeds are taken together, for a baseline those that both have.
    """
    counts, shared = _pooled(own, sorted(own)), sorted(own.keys() & baseline.keys())
    pairs = {history: (counts[TRUE], table) for history, table in counts.items() if history != TRUE}
    if shared:
        pairs[TRUE] = _pooled(baseline, shared)[TRUE], _pooled(own, shared)[TRUE]
    tested = {
        history: compare(base, table, perplexity_of, draws=draws, seed=seed).as_dict()
        for history, (base, table) in pairs.items()
        if len(table) > 1
    }
    return {
        history: {"perplexity": score_of(table, perplexity_of), "against": tested.get(history)}
        for history, table in counts.items()
    }


def _pooled(runs: Mapping[int, Likelihoods], seeds: Sequence[int]) -> dict[str, Table]:
    """Add up the counts of each document over seeds."""
    return {history: np.sum([runs[seed][history] for seed in seeds], axis=0) for history in runs[seeds[0]]}
