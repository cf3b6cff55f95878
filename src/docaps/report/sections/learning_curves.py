"""Learning curves: training loss, development scores, and what the regulariser did."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from docaps.report.drawing.charts import Series, line_chart
from docaps.report.drawing.svg import Panel
from docaps.report.templating import render
from docaps.runs.results import RunResults
from docaps.runs.wording import label_runs, name_seeds, number_equals

_MOST_POINTS = 150  # more than a chart of this width can show


@dataclass(frozen=True, slots=True)
class Curve:
    """What one chart shows: the first of `keys` that was logged; `dashed` is a second quantity, and its name."""

    title: str
    note: str
    keys: tuple[str, ...]
    dashed: tuple[str, str] | None = None
    may_be_log: bool = False


_CURVES = (
    Curve("Training loss", "cross-entropy per token", ("cross_entropy", "loss"), may_be_log=True),
    Curve("Perplexity", "of the development set", ("dev_perplexity",), may_be_log=True),
    Curve("BLEU", "of the development set, greedy search", ("dev_bleu",)),
    Curve("Right choices", "share on some contrastive items", ("choices",)),
    Curve("Correlation (PCC)", "solid: own translation, dashed: another's", ("pcc",), ("pcc_mismatched", "mismatched")),
    Curve(
        "Retrieval", "share of development pairs found, dashed: chance", ("retrieval",), ("retrieval_chance", "chance")
    ),
    Curve(
        "Capsules of a sentence",
        "cosine between their weights of words, dashed: between the capsules",
        ("capsule_overlap",),
        ("capsule_cosine", "capsules"),
    ),
    Curve("Entropy of the coupling", "in the last iteration, 1: equal shares", ("coupling_entropy",)),
)


def curves_section(
    results: Sequence[RunResults], *, charted: int | None = None, sentence_models: Sequence[RunResults] = ()
) -> Markup:
    """Draw one chart per quantity, with a line for each of the first `charted` runs.

    Sentence models have charts of their own: their losses start so high that the other lines would merge.
    """
    shown = results[:charted]
    return render(
        "curves.html",
        panels=curve_panels(shown, label_runs(shown), name_seeds(results, shown)),
        missing=[f"{run.name}/metrics.jsonl" for run in shown if not run.training and not run.validation],
        sentence_panels=curve_panels(sentence_models, label_sentence_models(sentence_models), ""),
    )


def label_sentence_models(models: Sequence[RunResults]) -> list[str]:
    """Give each sentence model a short label: its seed if there are several, with a number if seeds repeat."""
    seeds = [f"seed {model.description.get('seed')}" for model in models]
    return ["sentence model"] if len(models) == 1 else number_equals(seeds)


def curve_panels(results: Sequence[RunResults], labels: Sequence[str], seeds: str) -> list[Panel]:
    """Draw the charts for which something was logged; `seeds` names the seeds that are shown."""
    panels = []
    for curve in _CURVES:
        if series := _series(results, labels, curve):
            note = f"{curve.note}{seeds}"
            last = [f"{line.label} ends at {line.points[-1][1]:.3g}" for line in series if not line.dashed]
            title = f"{curve.title}, {note}, over training steps. {'; '.join(last)}"
            thinned = [replace(line, points=thin(line.points)) for line in series]
            panels.append(Panel(curve.title, note, line_chart(thinned, title=title, may_be_log=curve.may_be_log)))
    return panels


def thin(points: Sequence[tuple[float, float]], most: int = _MOST_POINTS) -> list[tuple[float, float]]:
    """Average neighbouring points until at most `most` are left."""
    size = math.ceil(len(points) / most)
    groups = [points[start : start + size] for start in range(0, len(points), max(size, 1))]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]


def _series(results: Sequence[RunResults], labels: Sequence[str], curve: Curve) -> list[Series]:
    series = []
    for index, (run, label) in enumerate(zip(results, labels, strict=True)):
        rows = (*run.training, *run.validation)
        series.append(Series(label, _points(rows, curve.keys), index))
        if curve.dashed:
            key, name = curve.dashed
            series.append(Series(f"{label}, {name}", _points(rows, (key,)), index, dashed=True))
    return [line for line in series if line.points]


def _points(rows: Sequence[Mapping[str, float]], keys: Sequence[str]) -> list[tuple[float, float]]:
    """Return steps and finite values of the first of the keys that was logged."""
    key = next((key for key in keys if any(key in row for row in rows)), None)
    points = [(row["step"], row[key]) for row in rows if key is not None and key in row]
    return [point for point in points if math.isfinite(point[1])]
