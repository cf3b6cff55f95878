"""Learning curves: how the loss fell, what unseen text said, and what the regulariser did."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from docaps.report.figures import Series, line_chart
from docaps.report.markup import Markup, element
from docaps.report.table import code_list
from docaps.runs.results import RunResults
from docaps.runs.wording import label_runs, name_seeds, number_equals

_MOST_POINTS = 150  # more than a chart of this width can show


@dataclass(frozen=True, slots=True)
class Chart:
    """What one chart shows: the first key a row has is drawn; `dashed` is a second quantity of the same run."""

    title: str
    note: str
    keys: tuple[str, ...]
    dashed: str | None = None
    may_be_log: bool = False


_CHARTS = (
    Chart("Training loss", "cross-entropy per token", ("cross_entropy", "loss"), may_be_log=True),
    Chart("Perplexity", "of the development set", ("dev_perplexity",), may_be_log=True),
    Chart("BLEU", "of the development set, greedy search", ("dev_bleu",)),
    Chart("Right choices", "share on some contrastive items", ("choices",)),
    Chart("Correlation (PCC)", "solid: own translation, dashed: another's", ("pcc",), "pcc_mismatched"),
)


def curves_section(
    results: Sequence[RunResults], *, charted: int | None = None, beginnings: Sequence[RunResults] = ()
) -> Markup:
    """Draw one chart per quantity, one line per run of the first `charted`, and the like for the sentence models.

    These have charts of their own: their losses fall from so high that nothing could be told apart beneath them.
    """
    shown = results[:charted]
    missing = [f"{run.name}/metrics.jsonl" for run in shown if not run.training and not run.validation]
    parts = [element("h2", "Learning curves", id="curves-heading")]
    parts += _panels(_drawn(shown, label_runs(shown), name_seeds(results, shown)))
    if missing:
        parts.append(element("p", "No training log: ", code_list(missing), ".", class_="note missing"))
    if first := _drawn(beginnings, label_beginnings(beginnings), ""):
        parts += [element("h3", "The sentence models that the rows start from"), *_panels(first)]
    return element("section", *parts, id="curves", aria_labelledby="curves-heading")


def label_beginnings(models: Sequence[RunResults]) -> list[str]:
    """Give each sentence model a short label: of several, its seed; at worst, with a number."""
    seeds = [f"seed {model.description.get('seed')}" for model in models]
    return ["sentence model"] if len(models) == 1 else number_equals(seeds)


def _drawn(results: Sequence[RunResults], labels: Sequence[str], seeds: str) -> list[Markup]:
    """Draw the charts that there are numbers for; `seeds` tells whose they are."""
    drawn = [(chart, _series(results, labels, chart)) for chart in _CHARTS]
    return [_figure(chart, series, seeds) for chart, series in drawn if series]


def _panels(figures: Sequence[Markup]) -> list[Markup]:
    return [element("div", *figures, class_="panels")] if figures else []


def thin(points: Sequence[tuple[float, float]], most: int = _MOST_POINTS) -> list[tuple[float, float]]:
    """Average neighbouring points until at most `most` are left: the eye does the same, with more ink."""
    size = math.ceil(len(points) / most)
    groups = [points[start : start + size] for start in range(0, len(points), max(size, 1))]
    return [(sum(x for x, _ in group) / len(group), sum(y for _, y in group) / len(group)) for group in groups]


def _figure(chart: Chart, series: Sequence[Series], seeds: str) -> Markup:
    note = element("span", f"{chart.note}{seeds}", class_="quiet")
    title = f"{chart.title}, {chart.note}{seeds}, over training steps. {_last_values(series)}"
    thinned = [replace(line, points=thin(line.points)) for line in series]
    picture = line_chart(thinned, title=title, may_be_log=chart.may_be_log)
    return element("figure", element("figcaption", chart.title, note), picture)


def _last_values(series: Sequence[Series]) -> str:
    """Say in words which value each run logged last, for those who cannot see where its line ends."""
    return "; ".join(f"{line.label} ends at {line.points[-1][1]:.3g}" for line in series if not line.dashed)


def _series(results: Sequence[RunResults], labels: Sequence[str], chart: Chart) -> list[Series]:
    series = []
    for index, (run, label) in enumerate(zip(results, labels, strict=True)):
        rows = (*run.training, *run.validation)
        series.append(Series(label, curve_points(rows, chart.keys), index))
        if chart.dashed:
            series.append(Series(f"{label}, mismatched", curve_points(rows, (chart.dashed,)), index, dashed=True))
    return [line for line in series if line.points]


def curve_points(rows: Sequence[Mapping[str, float]], keys: Sequence[str]) -> list[tuple[float, float]]:
    """Return steps and values of the first of the keys that the rows have, as they were logged."""
    key = next((key for key in keys if any(key in row for row in rows)), None)
    points = [(row["step"], row[key]) for row in rows if key is not None and key in row]
    return [point for point in points if math.isfinite(point[1])]
