"""The data table (the paper's Table 1), and what the numbers were measured on and how."""

from collections.abc import Mapping, Sequence
from typing import Any

from docaps.report.markup import Markup, element
from docaps.report.paper import CORPORA, TABLE1
from docaps.runs.results import RunResults
from docaps.runs.wording import MISSING, thousands

_PARTS = {"train": "Training", "dev": "Development", "test": "Test"}


def data_section(results: Sequence[RunResults]) -> Markup:
    """Show the sizes of our corpora beside those of the paper's."""
    return element(
        "section",
        element("h2", "Data", id="data-heading"),
        element("div", _table(corpora(results)), class_="scroll", data_scroll="Data"),
        id="data",
        aria_labelledby="data-heading",
    )


def corpora(results: Sequence[RunResults]) -> list[Mapping[str, Any]]:
    """Return each corpus that the runs were measured on, once."""
    found = {run.measured["data"]["hash"]: run.measured["data"] for run in results if run.measured}
    return list(found.values())


def data_rows(found: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows: documents, sentence pairs and average length of each part, ours and the paper's."""
    header = ["Part"]
    for number, data in enumerate(found, start=1):
        name = f"ours{f' {number}' if len(found) > 1 else ''}, {data['source_language']}-{data['target_language']}"
        header += [f"{name}: documents", "sentence pairs", "average length"]
    header += [f"paper, {name}: {what}" for name in CORPORA for what in ("sentence pairs", "average length")]
    return header, [_row(part, title, found) for part, title in _PARTS.items()]


def _row(part: str, title: str, found: Sequence[Mapping[str, Any]]) -> list[str]:
    cells = [title]
    for data in found:
        own = data["parts"].get(part)
        cells += (
            [thousands(own["documents"]), thousands(own["sentences"]), f"{own['average']:.2f}"]
            if own
            else [MISSING] * 3
        )
    for sentences, average in TABLE1[part]:
        cells += [thousands(sentences), f"{average:.2f}"]
    return cells


def _table(found: Sequence[Mapping[str, Any]]) -> Markup:
    header, rows = data_rows(found)
    head = [element("th", name, scope="col") for name in header]
    body = [
        element("tr", element("th", row[0], scope="row"), *[element("td", cell) for cell in row[1:]]) for row in rows
    ]
    caption = element("caption", "Sizes: our corpus, and those of the paper (Table 1).")
    return element("table", caption, element("thead", element("tr", *head)), element("tbody", *body), class_="numbers")


def signatures(results: Sequence[RunResults]) -> dict[str, list[str]]:
    """Return the signatures of each score, those of all runs together."""
    found: dict[str, list[str]] = {}
    for run in results:
        for part in (run.measured or {"parts": {}})["parts"].values():
            for score in part["scores"].values():
                known = found.setdefault(score["name"], [])
                known += [score["signature"]] * (score["signature"] not in known)
    return found


def machines(results: Sequence[RunResults]) -> list[Mapping[str, Any]]:
    """Return the machines that runs were measured on, each once."""
    found = {str(run.measured["machine"]): run.measured["machine"] for run in results if run.measured}
    return list(found.values())


def environment(results: Sequence[RunResults]) -> Markup:
    """List machines and signatures; nothing if the runs do not say."""
    rows = [(f"{name} signature", ", ".join(known)) for name, known in signatures(results).items()]
    for machine in machines(results):
        words = [f"{key} {value}" for key, value in machine.items() if value is not None]
        rows.append(("measured on", ", ".join(words)))
    if not rows:
        return Markup()
    listed = [
        element("tr", element("th", name, scope="row"), element("td", element("code", value))) for name, value in rows
    ]
    table = element("table", element("tbody", *listed), class_="facts")
    return element("div", element("h3", "Signatures and machines"), element("div", table, class_="scroll"))
