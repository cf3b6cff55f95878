"""Endpoints of a grid's rows: means over seeds, intervals and tests against the baseline, in one JSON file."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from docaps import progress
from docaps.corpus.store import Store
from docaps.corpus.text.codec import load_codec
from docaps.diagnosis.conditions import AGAINST, NONE, SHUFFLED, TRUE
from docaps.diagnosis.phenomenon_evidence import PairedAnswers, compare_answers
from docaps.errors import RunError
from docaps.evaluation import DRAWS, SEED
from docaps.evaluation.intervals import Table, mean_over_seeds, share_interval
from docaps.evaluation.significance import score_of
from docaps.experiments.aggregate import compare_counts, read_counts
from docaps.experiments.endpoint_measures import EndpointMeter, EndpointRequest
from docaps.experiments.measure import metrics_of
from docaps.files import read_json, write_json
from docaps.runs.directory import Run, open_run
from docaps.runs.endpoint_results import ENDPOINTS, VERSION, read_checkpoint, read_items_result
from docaps.runs.grid_results import Grid

TEST = "test"
"""The name of the grid's own test part in the tables."""
Runs = Mapping[int, Run]
"""The runs of a row, by seed."""


def list_runs(folder: Path, grid: Grid) -> list[Run]:
    """List a grid's finished runs: sentence models first, then rows in the order of the table, seed by seed."""
    models = [folder / model["path"] for model in grid.get("sentence_models") or []]
    rows = [folder / run["path"] for row in grid["rows"] for run in row["runs"]]
    return [open_run(path) for path in [*models, *rows]]


def measure_endpoints(folder: Path, grid: Grid, request: EndpointRequest, store: Store) -> None:
    """Measure what is missing of every run."""
    meters = [EndpointMeter(run, request, store) for run in list_runs(folder, grid)]
    left = sum(1 for meter in meters for _ in meter.missing())
    with progress.start("endpoints", len(meters), clock=False) as task:
        if left:
            progress.say(f"{left:,} endpoints of {len(meters)} runs are left")
        for meter in meters:
            meter.measure()
            task.advance(1, str(meter.run.path.name))


def compare_endpoints(folder: Path, grid: Grid, request: EndpointRequest) -> dict[str, Any]:
    """Compare the rows of a grid by their endpoints, and write the result; all must have been measured."""
    rows = {str(row["row"]): row for row in grid["rows"]}
    runs = {name: {run["seed"]: open_run(folder / run["path"]) for run in row["runs"]} for name, row in rows.items()}
    models = {model["seed"]: open_run(folder / model["path"]) for model in grid.get("sentence_models") or []}
    titles = {name: str(row["title"]) for name, row in rows.items()}
    baseline = str(grid["baseline"])
    found = {
        "version": VERSION,
        "experiment": grid["experiment"],
        "title": grid["title"],
        "baseline": baseline,
        "draws": DRAWS,
        "parts": {part.name: str(part.source) for part in request.parts},
        "signatures": _signatures([*runs.values(), models], request),
        "items": {name: _describe_items([*runs.values(), models], name) for name in request.items},
        "rows": [
            _row(
                name, titles.get(name, "the sentence model that rows start from"), some, runs.get(baseline, {}), request
            )
            for name, some in {"sentence": models, **runs}.items()
            if some
        ],
    }
    write_json(folder / ENDPOINTS, found)
    return found


def _signatures(rows: Sequence[Runs], request: EndpointRequest) -> dict[str, str]:
    """Return the signatures of the metrics, which the first measured part has."""
    runs = [run for some in rows for run in some.values()]
    if not runs or not request.parts:
        return {}
    return dict(read_json(runs[0].endpoints / request.parts[0].name / "request.json", error=RunError)["signatures"])


def _describe_items(rows: Sequence[Runs], name: str) -> dict[str, Any]:
    """Count a set's items, documents and answers; refuse runs that were tested on different ones."""
    read = [_read_items(run, name) for some in rows for run in some.values()]
    if any(one["request"]["items"] != read[0]["request"]["items"] for one in read):
        raise RunError(f"the runs were tested on different items of {name!r}: remove the older results")
    labels = [label or "?" for label in read[0]["labels"]]
    counts = {label: labels.count(label) for label in sorted(set(labels))}
    documents = len(set(read[0]["documents"]))
    return {"items": len(labels), "documents": documents, "chance": read[0]["chance"], "labels": counts}


def _row(name: str, title: str, runs: Runs, base: Runs, request: EndpointRequest) -> dict[str, Any]:
    """Return all endpoints of a row."""
    base = {} if runs is base else base
    parts = (
        [TEST, *(part.name for part in request.parts)] if name != "sentence" else [part.name for part in request.parts]
    )
    return {
        "row": name,
        "title": title,
        "seeds": sorted(runs),
        "parts": {part: _compare_part(runs, base, part) for part in parts},
        "items": {items: _compare_items(runs, base, items) for items in request.items},
        "checkpoints": _average_checkpoints(runs) if request.checkpoints else [],
    }


def _compare_part(runs: Runs, base: Runs, part: str) -> dict[str, Any]:
    """Return the mean of each metric on a part, with its interval and its difference to the baseline."""
    own, other = ({seed: _counts(run, part) for seed, run in some.items()} for some in (runs, base))
    language = _language(next(iter(runs.values())))
    metrics = [metric for metric in metrics_of(language) if all(metric.key in counts for counts in own.values())]
    compared = compare_counts(own, other, metrics)
    means = {
        one.key: mean_over_seeds([score_of(counts[one.key], one.score) for counts in own.values()]) for one in metrics
    }
    return {key: {"mean": asdict(means[key]), **found} for key, found in compared.items()}


def _counts(run: Run, part: str) -> dict[str, Table]:
    return read_counts(run.counts() if part == TEST else run.endpoints / part / "counts.json")


def _language(run: Run) -> str:
    """Return the language that a run translates into."""
    return load_codec(run.text).target.code


def _compare_items(runs: Runs, base: Runs, name: str) -> dict[str, Any]:
    """Return the shares of right choices by translations shown and history, and the tests."""
    own = {seed: _read_items(run, name) for seed, run in sorted(runs.items())}
    other = {seed: _read_items(run, name)["right"]["reference"] for seed, run in sorted(base.items())}
    first = next(iter(own.values()))
    return {
        shown: _compare_answers({seed: found["right"][shown] for seed, found in own.items()}, other, first["documents"])
        for shown in first["right"]
    }


def _compare_answers(
    own: Mapping[int, Mapping[str, Sequence[int]]],
    other: Mapping[int, Mapping[str, Sequence[int]]],
    documents: Sequence[str | None],
) -> dict[str, Any]:
    """Return each history's share with its interval, and the own history's gain over others and over the baseline."""
    histories = list(next(iter(own.values())))
    shared = sorted(own.keys() & other.keys())
    tables = {history: np.array([own[seed][history] for seed in own], dtype=np.float64) for history in histories}
    found: dict[str, Any] = {"histories": {name: _share(table, documents) for name, table in tables.items()}}
    found["gains"] = {name: _test(tables[TRUE], tables[name], documents) for name in (SHUFFLED, NONE) if name in tables}
    if shared:
        one, base = (np.array([runs[seed][TRUE] for seed in shared], dtype=np.float64) for runs in (own, other))
        found["against"] = _test(one, base, documents)
    return found


def _share(right: Table, documents: Sequence[str | None]) -> dict[str, float]:
    """Return the mean share of right choices over seeds, with its interval over documents."""
    mean = right.mean(axis=0).tolist()
    interval = share_interval(mean, documents)
    return {"share": float(np.mean(mean)), "low": interval.low, "high": interval.high}


def _test(one: Table, other: Table, documents: Sequence[str | None]) -> dict[str, Any] | None:
    """Test a difference of right choices over documents, and by McNemar's exact test with the first seed."""
    answers = PairedAnswers({TRUE: one, AGAINST: other}, documents, [""] * len(documents))
    found = compare_answers(answers, TRUE, AGAINST, draws=DRAWS, seed=SEED)
    return None if found is None else {**asdict(found), "p": found.p}


def _read_items(run: Run, name: str) -> dict[str, Any]:
    return read_items_result(run.endpoints / f"{name}.items.json")


def _average_checkpoints(runs: Runs) -> list[dict[str, Any]]:
    """Return the means over seeds of the choices and perplexities at each kept step."""
    found: dict[int, list[dict[str, Any]]] = {}
    for run in runs.values():
        for path in sorted(run.endpoints.glob("*.checkpoint.json")):
            one = read_checkpoint(path)
            found.setdefault(one["step"], []).append(one)
    return [_average(step, some) for step, some in sorted(found.items())]


def _average(step: int, some: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Average the results of one step over seeds; a set that one of them lacks is left out."""
    names = [name for name in some[0]["choices"] if all(name in one["choices"] for one in some)]
    choices = {name: _means([one["choices"][name] for one in some]) for name in names}
    tokens = round(float(np.mean([one["tokens"] for one in some])))
    return {
        "step": step,
        "tokens": tokens,
        "choices": choices,
        "perplexity": _means([one["perplexity"] for one in some]),
    }


def _means(values: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: float(np.mean([one[key] for one in values])) for key in values[0]}
