"""The table of results and the accuracy charts beneath it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from docaps.report.figures import DotRow, dot_chart, legend, run_key
from docaps.report.headline import state_doubts
from docaps.report.markup import Markup, element, join
from docaps.runs.results import Breakdown, RunResults
from docaps.runs.wording import (
    MISSING,
    decimal,
    describe_system,
    duration,
    label_runs,
    name_seeds,
    percent,
    sentence_case,
    thousands,
)

Pick = Callable[[Breakdown], float | None]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of accuracies: its group, its heading and how its value is found."""

    group: str
    heading: str
    pick: Pick


def results_section(results: Sequence[RunResults], *, charted: int | None = None) -> Markup:
    """Show every run's size, time and scores, best values in bold, and accuracy by what was tested.

    The charts show the first `charted` runs.
    """
    return element(
        "section",
        element("h2", "Results", id="results-heading"),
        *[element("p", doubt, class_="doubt") for doubt in state_doubts(results)],
        element("div", _table(results), class_="scroll", data_scroll="Table of results"),
        _footnotes(results),
        _charts(results[:charted], name_seeds(results, results[:charted])),
        aria_labelledby="results-heading",
    )


def accuracy_columns(results: Sequence[RunResults]) -> list[Column]:
    """Choose the columns: all items, each phenomenon, each distance that any run was tested on."""
    breakdowns = [run.contrastive.accuracy for run in results if run.contrastive]
    if not breakdowns:
        return []
    phenomena = _keys([breakdown.by_phenomenon for breakdown in breakdowns])
    distances = ordered(_keys([breakdown.by_distance for breakdown in breakdowns]))
    columns = [Column("", "all", lambda breakdown: breakdown.all)]
    columns += [Column("by phenomenon", name, _picker("by_phenomenon", name)) for name in phenomena]
    columns += [Column("by distance", name, _picker("by_distance", name)) for name in distances]
    return columns


def ordered(distances: Sequence[str]) -> list[str]:
    """Sort distances as numbers, "10" after "9"; anything else keeps its place after them."""
    return sorted(distances, key=lambda distance: int(distance) if distance.isdigit() else len(distances) + 10**6)


def best_text(texts: Sequence[str]) -> str | None:
    """Find the highest number as it is shown, so that what looks equal is equally bold; None if nothing competes."""
    shown = [text for text in texts if text != MISSING]
    return max(shown, key=float) if len(shown) > 1 and len(set(shown)) > 1 else None


def _keys(mappings: Sequence[Mapping[str, float]]) -> list[str]:
    return list(dict.fromkeys(key for mapping in mappings for key in mapping))


def _picker(attribute: str, key: str) -> Pick:
    def pick(breakdown: Breakdown) -> float | None:
        mapping: Mapping[str, float] = getattr(breakdown, attribute)
        return mapping.get(key)

    return pick


def _table(results: Sequence[RunResults]) -> Markup:
    columns = accuracy_columns(results)
    scores = [[decimal(run.scores.bleu if run.scores else None), *_accuracies(run, columns)] for run in results]
    best = [best_text(column) for column in zip(*scores, strict=True)]
    several = len({run.description.get("seed") for run in results}) > 1
    seeds = [f", seed {run.description.get('seed')}" if several else "" for run in results]
    rows = [
        _row(run, index, texts, best, seed)
        for index, (run, texts, seed) in enumerate(zip(results, scores, seeds, strict=True))
    ]
    caption = (
        "All runs. Training: by the clock, whatever else ran. Tokens/s: of the target, the median. Perplexity: of the "
        "development part, the lowest."
    )
    if columns:
        caption += " Accuracy: share of contrastive items whose right translation got the best score, in per cent."
    parts = [
        element("caption", element("span", caption)),
        _head(columns),
        element("tbody", *rows),
        _foot(results, columns),
    ]
    return element("table", *parts, id="results")


def _accuracies(run: RunResults, columns: Sequence[Column]) -> list[str]:
    return [percent(column.pick(run.contrastive.accuracy) if run.contrastive else None) for column in columns]


def _head(columns: Sequence[Column]) -> Markup:
    plain = ("System", "Parameters", "Training", "Tokens/s", "Perplexity", "BLEU")
    if not columns:
        return element("thead", element("tr", *[element("th", heading, scope="col") for heading in plain]))
    first = [element("th", heading, scope="col", rowspan=3) for heading in plain]
    first.append(element("th", "Contrastive accuracy, %", scope="colgroup", colspan=len(columns), class_="group"))
    groups = list(dict.fromkeys(column.group for column in columns if column.group))
    second = [element("th", "all", scope="col", rowspan=2, class_="group")]
    second += [_group_heading(group, columns) for group in groups]
    third = [
        element("th", _column_heading(column), scope="col", class_="group" if opens else None)
        for column, opens in _with_openings(columns)
        if column.group
    ]
    return element("thead", element("tr", *first), element("tr", *second), element("tr", *third))


def _group_heading(group: str, columns: Sequence[Column]) -> Markup:
    span = sum(column.group == group for column in columns)
    return element("th", group, scope="colgroup", colspan=span, class_="group")


def _column_heading(column: Column) -> str:
    return f"{column.heading} back" if column.group == "by distance" else column.heading


def _with_openings(columns: Sequence[Column]) -> list[tuple[Column, bool]]:
    """Pair each column with whether it opens a group, for the rule before it."""
    groups = [None, *(column.group for column in columns)]
    return [(column, column.group != before) for column, before in zip(columns, groups, strict=False)]


def _row(run: RunResults, index: int, texts: Sequence[str], best: Sequence[str | None], seed: str) -> Markup:
    name = element(
        "th",
        element("span", run_key(index), sentence_case(describe_system(run.system)), class_="system"),
        element("span", f"{run.system} · run {run.name}{seed}", class_="quiet"),
        scope="row",
    )
    parameters, seconds = run.description.get("parameters"), run.description.get("seconds")
    plain = thousands(parameters), duration(seconds), thousands(run.speed), decimal(run.perplexity, 2)
    cells = [element("td", text) for text in plain]
    cells += [_score(text, text == top) for text, top in zip(texts, best, strict=True)]
    return element("tr", name, *cells)


def _score(text: str, best: bool) -> Markup:
    if text == MISSING:
        return element("td", element("span", text, title="not assessed", class_="quiet"))
    return element("td", element("strong", text) if best else text)


def _foot(results: Sequence[RunResults], columns: Sequence[Column]) -> Markup:
    tested = next((run.contrastive for run in results if run.contrastive), None)
    if tested is None:
        return Markup()
    rows = []
    for name, breakdown, write in (("Chance", tested.chance, percent), ("Items", tested.counts, thousands)):
        cells = [element("td", write(column.pick(breakdown))) for column in columns]
        rows.append(element("tr", element("th", name, scope="row"), element("td", colspan=5), *cells))
    return element("tfoot", *rows)


def _footnotes(results: Sequence[RunResults]) -> Markup:
    notes = dict.fromkeys(_signature(run) for run in results if run.scores)
    lines = [element("p", "BLEU: ", element("code", signature), search, class_="note") for signature, search in notes]
    missing = [f"{run.name}/assessment/{file}" for run in results for file in _missing(run, results)]
    if missing:
        lines.append(element("p", "Not assessed yet, so left out: ", code_list(missing), ".", class_="note missing"))
    return join(lines)


def _missing(run: RunResults, results: Sequence[RunResults]) -> list[str]:
    """Name the files a run lacks; contrastive items only where other runs had some: not every corpus has.

    A trial, measured on the development part alone, lacks nothing.
    """
    if run.measured and "test" not in run.measured["parts"]:
        return []
    files = ["scores.json"] if run.scores is None else []
    expected = run.scores is None or any(other.contrastive for other in results)
    return [*files, "contrastive.json"] if expected and run.contrastive is None else files


def code_list(names: Sequence[str]) -> Markup:
    """Name files as files, with commas between them."""
    return join([element("code", name) for name in names], ", ")


def _signature(run: RunResults) -> tuple[str, str]:
    if run.scores is None:
        return "", ""
    search = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in run.scores.search.items())
    return run.scores.signature, f" ({search})" if search else ""


def _charts(results: Sequence[RunResults], seeds: str) -> Markup:
    """Draw one chart per phenomenon: does accuracy hold when the answer lies further back?"""
    breakdowns = [run.contrastive.accuracy.by_phenomenon_and_distance for run in results if run.contrastive]
    phenomena = list(dict.fromkeys(name for breakdown in breakdowns for name in breakdown))
    if not phenomena:
        return Markup()
    panels = [_panel(results, phenomenon, seeds) for phenomenon in phenomena]
    heading = element("h3", "Accuracy by phenomenon and distance")
    return join([heading, legend(label_runs(results)), element("div", *panels, class_="panels")])


def _panel(results: Sequence[RunResults], phenomenon: str, seeds: str) -> Markup:
    tables = [run.contrastive and run.contrastive.accuracy.by_phenomenon_and_distance for run in results]
    values = [(table or {}).get(phenomenon, {}) for table in tables]
    tested = next((run.contrastive for run in results if run.contrastive), None)
    chance = tested.chance.by_phenomenon_and_distance.get(phenomenon, {}) if tested else {}
    rows = [
        DotRow(f"{distance} back", [value.get(distance) for value in values], chance.get(distance))
        for distance in ordered(_keys(values))
    ]
    title = f"{phenomenon}: accuracy in per cent by distance, for each run{seeds}; the values are in the dots' titles"
    return element(
        "figure",
        element("figcaption", phenomenon, element("span", f" accuracy, %{seeds}", class_="quiet")),
        dot_chart(rows, label_runs(results), title=title),
    )
