"""How it was made: everything needed to do it again."""

import json
from collections.abc import Sequence
from typing import Any

from docaps.report.markup import Markup, element
from docaps.runs.card import flatten
from docaps.runs.results import RunResults
from docaps.runs.wording import MISSING, label_runs, thousands

_UNSET = object()
_NOTHING = Markup()
_FEW = 6


def provenance_section(
    results: Sequence[RunResults], commands: Sequence[tuple[str, str]], environment: Markup = _NOTHING
) -> Markup:
    """Show the runs' circumstances, the settings in which they differ, what else is known, and the commands."""
    parts = [element("h2", "How it was made", id="provenance-heading"), _circumstances(results)]
    parts += [_settings(results), environment]
    if commands:
        parts.append(_commands(commands))
    return element("section", *parts, id="provenance", aria_labelledby="provenance-heading")


def split_settings(results: Sequence[RunResults]) -> tuple[list[str], list[str]]:
    """Separate the names of settings in which the runs differ from those they share."""
    flat = [flatten(run.settings) for run in results]
    names = list(dict.fromkeys(name for settings in flat for name in settings))
    differing = [name for name in names if any(s.get(name, _UNSET) != flat[0].get(name, _UNSET) for s in flat)]
    return differing, [name for name in names if name not in differing]


def _circumstances(results: Sequence[RunResults]) -> Markup:
    rows: list[tuple[str, list[Any]]] = [
        ("run directory", [run.path for run in results]),
        ("status", [run.status for run in results]),
    ]
    for key in ("seed", "steps", "precision", "created"):
        rows.append((key, [run.description.get(key) for run in results]))
    rows.append(("began with the weights of", [_beginning(run) for run in results]))
    versions = dict.fromkeys(name for run in results for name in run.versions)
    rows += [(f"{name} version", [run.versions.get(name) for run in results]) for name in versions]
    rows += [(f"corpus {key}", [run.corpus.get(key) for run in results]) for key in ("path", "hash")]
    return _by_run("The runs", rows, results)


def _beginning(run: RunResults) -> str | None:
    """Name the run whose weights were taken over, if any."""
    begun = run.description.get("begun_from")
    return begun["run"] if begun else run.description.get("init_from")


def _settings(results: Sequence[RunResults]) -> Markup:
    flat = [flatten(run.settings) for run in results]
    differing, shared = split_settings(results)
    parts = []
    if differing:
        rows = [(name, [settings.get(name) for settings in flat]) for name in differing]
        parts.append(_by_run("Settings in which the runs differ", rows, results))
    if shared:
        rows = [(name, [flat[0][name]]) for name in shared]
        title = "Settings that all runs share" if len(results) > 1 else "Settings"
        table = _table(f"{title} ({len(shared)})", ["Value"], rows)
        parts.append(element("details", element("summary", element("h3", f"{title} ({len(shared)})")), table))
    return element("div", *parts)


def _by_run(title: str, rows: Sequence[tuple[str, Sequence[Any]]], results: Sequence[RunResults]) -> Markup:
    known = [(name, values) for name, values in rows if any(value is not None for value in values)]
    table = _table(title, label_runs(results), known)
    return element("div", element("h3", title), table)


def _table(title: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[Any]]]) -> Markup:
    head = element("tr", element("td"), *[element("th", column, scope="col") for column in columns])
    body = [element("tr", element("th", name, scope="row"), *_cells(values)) for name, values in rows]
    caption = element("caption", title, class_="visually-hidden")
    table = element("table", caption, element("thead", head), element("tbody", *body), class_="facts")
    return element("div", table, class_="scroll", data_scroll=title)


def _cells(values: Sequence[Any]) -> list[Markup]:
    """Write a value that all runs share once, across their columns: what differs then stands out."""
    if all(value == values[0] for value in values):
        return [element("td", *_value(values[0]), colspan=len(values))]
    return [element("td", *_value(value)) for value in values]


def _value(value: Any) -> list[str]:
    if value is None:
        return [MISSING]
    if isinstance(value, bool | list | dict):
        return [element("code", json.dumps(value, ensure_ascii=False))]
    if isinstance(value, int) and abs(value) >= 10_000:
        return [thousands(value)]
    text = str(value)
    return [element("code", text)] if "/" in text or len(text) > 30 else [text]


def _commands(commands: Sequence[tuple[str, str]]) -> Markup:
    """List commands; many of them are folded away."""
    listed = element("ol", *[_command(purpose, command) for purpose, command in commands], class_="commands")
    if len(commands) <= _FEW:
        return element("div", element("h3", "Commands"), listed)
    heading = element("h3", f"Commands: how to make each number again ({len(commands)})")
    return element("details", element("summary", heading), listed)


def _command(purpose: str, command: str) -> Markup:
    button = element("button", "Copy", type="button", class_="copy", hidden=True, aria_label=f"Copy: {purpose}")
    code = element("pre", element("code", command))
    return element("li", element("p", purpose), element("div", code, button, class_="command"))
