"""Jinja templates of the page, and the table that they draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from docaps.report.drawing.svg import run_key
from docaps.runs.results import RunResults
from docaps.runs.wording import count, describe_system, routed_sentence, sentence_case


@dataclass(frozen=True, slots=True)
class TableCell:
    """A cell of a table, where plain text is not enough."""

    text: str
    run: int | None = None  # the marker of this run stands before the text
    quiet: str = ""  # a second, quieter line
    interval: str = ""
    mark: str = ""  # of significance
    title: str = ""  # tooltip of the mark, or of the text if there is no mark
    strong: bool = False
    code: bool = False
    style: str = ""
    columns: int = 1
    rows: int = 1

    def __str__(self) -> str:
        """Return the value with its mark and interval as plain text."""
        return f"{self.text}{self.mark} {self.interval}".strip()


@dataclass(frozen=True, slots=True)
class Table:
    """A table of the page: the first cell of a row is its heading; `name` is for screen readers."""

    name: str
    head: Sequence[Sequence[TableCell | str]]
    rows: Sequence[Sequence[TableCell | str]]
    foot: Sequence[Sequence[TableCell | str]] = ()
    caption: str = ""
    hide_caption: bool = False
    style: str = "numbers"
    id: str = ""


def render(template: str, **values: Any) -> Markup:
    """Fill in a template."""
    return Markup(_environment().get_template(template).render(values))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("docaps.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(run_key=run_key)
    environment.filters.update(counted=count, sentence_case=sentence_case, routed_sentence=routed_sentence)
    return environment


def run_heading(run: RunResults, index: int, results: Sequence[RunResults]) -> TableCell:
    """Name a run in a row heading, with its seed where the runs of the table differ in it."""
    several = len({one.description.get("seed") for one in results}) > 1
    seed = f", seed {run.description.get('seed')}" if several else ""
    quiet = f"{run.system} · run {run.name}{seed}"
    return TableCell(sentence_case(describe_system(run.system)), run=index, quiet=quiet)
