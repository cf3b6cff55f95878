"""The data, and how the results were made: settings, versions, signatures and commands."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from docaps.report.paper import CORPORA, TABLE1
from docaps.report.templating import Table, TableCell, render
from docaps.runs.card import flatten
from docaps.runs.results import RunResults
from docaps.runs.wording import MISSING, decimal, label_runs, thousands

_UNSET = object()
_PARTS = {"train": "Training", "dev": "Development", "test": "Test"}


def data_section(results: Sequence[RunResults]) -> Markup:
    """Show the sizes of our corpora beside those of the paper's; nothing if none is known."""
    found = corpora(results)
    if not found:
        return Markup()
    header, rows = data_rows(found)
    table = Table("Data", [header], rows, caption="Sizes: our corpus, and those of the paper (Table 1).")
    return render("plain_table.html", anchor="data", heading="Data", table=table)


def corpora(results: Sequence[RunResults]) -> list[Mapping[str, Any]]:
    """Return each corpus that the runs were measured on, once."""
    return list({run.measured["data"]["hash"]: run.measured["data"] for run in results if run.measured}.values())


def data_rows(found: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows: documents, sentence pairs and average length of each part, ours and the paper's."""
    header, rows = ["Part"], [[title] for title in _PARTS.values()]
    for number, data in enumerate(found, start=1):
        name = f"ours{f' {number}' if len(found) > 1 else ''}, {data['source_language']}-{data['target_language']}"
        header += [f"{name}: documents", "sentence pairs", "average length"]
        for row, own in zip(rows, map(data["parts"].get, _PARTS), strict=True):
            counts = [thousands(own[key]) for key in ("documents", "sentences")] if own else [MISSING] * 2
            row += [*counts, decimal(own["average"] if own else None, 2)]
    header += [f"paper, {name}: {what}" for name in CORPORA for what in ("sentence pairs", "average length")]
    for row, part in zip(rows, _PARTS, strict=True):
        row += [text for pairs, average in TABLE1[part] for text in (thousands(pairs), f"{average:.2f}")]
    return header, rows


def provenance_section(
    results: Sequence[RunResults], commands: Sequence[tuple[str, str]], every: Sequence[RunResults] = ()
) -> Markup:
    """Show circumstances and settings of the runs, signatures and machines of `every` run, and the commands."""
    flat = [flatten(run.settings) for run in results]
    differing, shared = split_settings(results)
    tables = [_facts("The runs", label_runs(results), _circumstances(results))]
    if differing:
        rows = [(name, [settings.get(name) for settings in flat]) for name in differing]
        tables.append(_facts("Settings in which the runs differ", label_runs(results), rows))
    title = f"{'Settings that all runs share' if len(results) > 1 else 'Settings'} ({len(shared)})"
    return render(
        "provenance.html",
        tables=tables,
        shared=_facts(title, ["Value"], [(name, [flat[0][name]]) for name in shared]),
        environment=_environment(every),
        commands=commands,
    )


def split_settings(results: Sequence[RunResults]) -> tuple[list[str], list[str]]:
    """Separate the names of settings in which the runs differ from those they share."""
    flat = [flatten(run.settings) for run in results]
    names = list(dict.fromkeys(name for settings in flat for name in settings))
    differing = [name for name in names if any(s.get(name, _UNSET) != flat[0].get(name, _UNSET) for s in flat)]
    return differing, [name for name in names if name not in differing]


def signatures(results: Sequence[RunResults]) -> dict[str, list[str]]:
    """Return the signatures of each score, over all runs."""
    found: dict[str, dict[str, None]] = {}
    for part in (part for run in results if run.measured for part in run.measured["parts"].values()):
        for score in part["scores"].values():
            found.setdefault(score["name"], {})[score["signature"]] = None
    return {name: list(known) for name, known in found.items()}


def machines(results: Sequence[RunResults]) -> list[Mapping[str, Any]]:
    """Return the machines that runs were measured on, each once."""
    return list({str(run.measured["machine"]): run.measured["machine"] for run in results if run.measured}.values())


def _circumstances(results: Sequence[RunResults]) -> list[tuple[str, list[Any]]]:
    begun = [run.description.get("begun_from") for run in results]
    versions = dict.fromkeys(name for run in results for name in run.versions)
    rows: dict[str, list[Any]] = {
        "run directory": [run.path for run in results],
        "status": [run.status for run in results],
        **{key: [run.description.get(key) for run in results] for key in ("seed", "steps", "precision", "created")},
        "initialised from": [
            start["run"] if start else run.description.get("init_from")
            for run, start in zip(results, begun, strict=True)
        ],
        **{f"{name} version": [run.versions.get(name) for run in results] for name in versions},
        **{f"corpus {key}": [run.corpus.get(key) for run in results] for key in ("path", "hash")},
    }
    return [(name, values) for name, values in rows.items() if any(value is not None for value in values)]


def _facts(title: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[Any]]]) -> Table:
    """Build a table; a value that all runs share stands once, across their columns, so that differences stand out."""
    body: list[list[TableCell | str]] = []
    for name, values in rows:
        same = all(value == values[0] for value in values)
        body.append([name, *([_cell(values[0], columns=len(values))] if same else map(_cell, values))])
    return Table(title, [["", *columns]], body, caption=title, hide_caption=True, style="facts")


def _environment(results: Sequence[RunResults]) -> Table:
    """List the signatures of the scores and the machines they were measured on."""
    facts = [(f"{name} signature", ", ".join(known)) for name, known in signatures(results).items()]
    for machine in machines(results):
        known = (f"{key} {value}" for key, value in machine.items() if value is not None)
        facts.append(("measured on", ", ".join(known)))
    return Table(
        "Signatures and machines", [], [[name, TableCell(value, code=True)] for name, value in facts], style="facts"
    )


def _cell(value: Any, columns: int = 1) -> TableCell:
    if value is None:
        return TableCell(MISSING, columns=columns)
    if isinstance(value, bool | list | dict):
        return TableCell(json.dumps(value, ensure_ascii=False), code=True, columns=columns)
    if isinstance(value, int) and abs(value) >= 10_000:
        return TableCell(thousands(value), columns=columns)
    text = str(value)
    return TableCell(text, code="/" in text or len(text) > 30, columns=columns)
