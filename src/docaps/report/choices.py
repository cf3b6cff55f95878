"""Contrastive sets that runs have taken (`docaps contrast --keep`): right choices with each history, and by group."""

from collections.abc import Callable, Iterable, Sequence

from docaps.report.figures import DotRow, dot_chart, legend, run_key
from docaps.report.markup import Markup, element, join
from docaps.runs.contrastive_results import HISTORIES, Kept, Share
from docaps.runs.results import RunResults
from docaps.runs.wording import (
    MISSING,
    describe_system,
    label_runs,
    name_seeds,
    percent,
    sentence_case,
    thousands,
)

_EXPLANATION = (
    "Choices that only earlier sentences can decide. A model that uses them is better with an item's own history than "
    "with none, and than with that of another item."
)
Pick = Callable[[RunResults], Share | None]


def choices_section(results: Sequence[RunResults], *, charted: int | None = None) -> Markup:
    """Show a table and a chart for each set; nothing if no run has kept one. Charts show the first `charted` runs."""
    names = kept_names(results)
    if not names:
        return Markup()
    parts = [element("h2", "Choices that need context", id="choices-heading"), element("p", _EXPLANATION)]
    for name in names:
        parts += _set(results, name, charted)
    return element("section", *parts, id="choices", aria_labelledby="choices-heading")


def kept_names(results: Sequence[RunResults]) -> list[str]:
    """Name the sets that any run has kept, once each."""
    return list(dict.fromkeys(kept.name for run in results for kept in run.kept))


def kept_of(run: RunResults, name: str, history: str = "own") -> Kept | None:
    """Find what a run has kept of a set."""
    return next((kept for kept in run.kept if (kept.name, kept.history) == (name, history)), None)


def kept_columns(results: Sequence[RunResults], name: str) -> dict[str, Pick]:
    """Choose the columns of a set: each history that any run took it with, then each group, with its own history."""
    return {**history_columns(results, name), **group_columns(results, name)}


def history_columns(results: Sequence[RunResults], name: str) -> dict[str, Pick]:
    """Choose a column for each history that any run took a set with."""
    taken = {kept.history for run in results for kept in run.kept if kept.name == name}
    return {title: _with_history(name, history) for history, title in HISTORIES.items() if history in taken}


def group_columns(results: Sequence[RunResults], name: str) -> dict[str, Pick]:
    """Choose a column for each group of a set's items, taken with their own history."""
    own = [kept for run in results if (kept := kept_of(run, name)) is not None]
    return {group: _of_group(name, group) for kept in own for group in kept.groups}


def _with_history(name: str, history: str) -> Pick:
    def pick(run: RunResults) -> Share | None:
        kept = kept_of(run, name, history)
        return kept.whole if kept else None

    return pick


def _of_group(name: str, group: str) -> Pick:
    def pick(run: RunResults) -> Share | None:
        kept = kept_of(run, name)
        return kept.groups.get(group) if kept else None

    return pick


def _set(results: Sequence[RunResults], name: str, charted: int | None) -> list[Markup]:
    """Show one set: doubts, table, chart, what the numbers depend on."""
    columns, runs = kept_columns(results, name), [run for run in results if any(one.name == name for one in run.kept)]
    kept = [(run, one) for run in runs for one in run.kept if one.name == name]
    stale = dict.fromkeys(run.name for run, one in kept if one.created != str(run.description.get("created")))
    items = {(one.history, _part(one.signature, "data")) for _, one in kept}
    doubts = {
        f"Trained anew since: {', '.join(stale)}; take the test again.": bool(stale),
        "The runs took different items; their accuracies cannot be compared.": len(items) > len({h for h, _ in items}),
    }
    return [
        element("h3", name),
        *(element("p", doubt, class_="doubt") for doubt, holds in doubts.items() if holds),
        element("div", _table(results, name, columns), class_="scroll", data_scroll=f"Choices of {name}"),
        _chart(results[:charted], name, columns, name_seeds(results, results[:charted])),
        element("details", element("summary", "Signatures"), *_codes(dict.fromkeys(one.signature for _, one in kept))),
    ]


def _part(signature: str, key: str) -> str:
    """Find a part of a signature, `key:value|...`."""
    return next((value for name, _, value in (part.partition(":") for part in signature.split("|")) if name == key), "")


def _codes(signatures: Iterable[str]) -> list[Markup]:
    return [element("p", element("code", signature), class_="note") for signature in signatures]


def _table(results: Sequence[RunResults], name: str, columns: dict[str, Pick]) -> Markup:
    shown = [(index, run) for index, run in enumerate(results) if any(kept.name == name for kept in run.kept)]
    several = len({run.description.get("seed") for _, run in shown}) > 1
    rows = [
        element("tr", _heading(run, index, several), *(_cell(pick(run)) for pick in columns.values()))
        for index, run in shown
    ]
    heads = [element("th", "System", scope="col"), *(element("th", column, scope="col") for column in columns)]
    caption = f"Right choices in {name}, in per cent, with 95\u202f% intervals; groups with their own history."
    return element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        _foot([run for _, run in shown], columns),
        class_="numbers",
    )


def _heading(run: RunResults, index: int, several: bool) -> Markup:
    seed = f", seed {run.description.get('seed')}" if several else ""
    return element(
        "th",
        element("span", run_key(index), sentence_case(describe_system(run.system)), class_="system"),
        element("span", f"{run.system} · run {run.name}{seed}", class_="quiet"),
        scope="row",
    )


def _cell(share: Share | None) -> Markup:
    if share is None:
        return element("td", MISSING)
    interval = f"[{percent(share.low)}, {percent(share.high)}]"
    return element("td", percent(share.accuracy), element("span", interval, class_="interval"))


def _foot(runs: Sequence[RunResults], columns: dict[str, Pick]) -> Markup:
    """Give chance and the number of items; where models translate, each has a chance of its own."""
    found = [[share for run in runs if (share := pick(run))] for pick in columns.values()]
    differ = any(share.chance != shares[0].chance for shares in found for share in shares)
    lines = {
        "Chance (first row)" if differ else "Chance": [percent(shares[0].chance) for shares in found],
        "Items": [thousands(shares[0].items) for shares in found],
    }
    rows = [
        element("tr", element("th", title, scope="row"), *(element("td", text) for text in texts))
        for title, texts in lines.items()
    ]
    return element("tfoot", *rows)


def _chart(results: Sequence[RunResults], name: str, columns: dict[str, Pick], seeds: str) -> Markup:
    """Draw a row of dots for each column; say whose seeds they are."""
    shares = {column: [pick(run) for run in results] for column, pick in columns.items()}
    rows = [
        DotRow(
            column,
            [share.accuracy if share else None for share in found],
            next((share.chance for share in found if share), None),
        )
        for column, found in shares.items()
        if any(found)
    ]
    if not rows:
        return Markup()
    labels = label_runs(results)
    title = f"{name}: right choices in per cent, for each run{seeds}; the values are in the dots' titles"
    caption = element("figcaption", name, element("span", f" right choices, %{seeds}", class_="quiet"))
    figure = element("figure", caption, dot_chart(rows, labels, title=title))
    return join([legend(labels), element("div", figure, class_="panels")])
