"""The report: one HTML file that needs nothing else, on a screen, on a phone or on paper."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from docaps.files import write_text_atomically
from docaps.report.choices import choices_section
from docaps.report.curves import curves_section
from docaps.report.data import corpora, data_section, environment
from docaps.report.diagnosis import diagnosis_section
from docaps.report.grids import is_trial
from docaps.report.headline import state_bleu, state_result
from docaps.report.markup import Markup, element, join
from docaps.report.provenance import provenance_section
from docaps.report.routing import routing_section
from docaps.report.samples import samples_section
from docaps.report.scores import scores_section
from docaps.report.sweeps import sweep_section
from docaps.report.table import results_section
from docaps.report.table2 import table2_section
from docaps.report.trials import trials_section
from docaps.runs.grid_results import Grid, arrange, own_runs
from docaps.runs.results import RunResults

_CONTENTS = (
    ("table2", "Table 2"),
    ("history", "Figure 4"),
    ("capsules", "Figure 5"),
    ("rounds", "Iterations"),
    ("trials", "Trials"),
    ("results", "Results"),
    ("scores", "Scores"),
    ("choices", "Choices"),
    ("diagnosis", "Is context used?"),
    ("samples", "Sample documents"),
    ("routing", "Routing"),
    ("curves", "Learning curves"),
    ("data", "Data"),
    ("provenance", "How it was made"),
)


def build_page(
    results: Sequence[RunResults],
    *,
    title: str,
    subtitle: str = "",
    commands: Sequence[tuple[str, str]] = (),
    grids: Sequence[Grid] = (),
    beginnings: Sequence[RunResults] = (),
) -> str:
    """Build the whole page; `commands` are (what it does, command) pairs, `beginnings` the models that rows start from.

    These have learning curves on the page, and nothing else.
    """
    ordered, detailed, charted = arrange(results)
    sections = [
        *[grid_section(grid, own_runs(grid, results), place) for grid, place in zip(grids, places(grids), strict=True)],
        results_section(ordered, charted=charted),
        Markup() if grids else scores_section(ordered),
        choices_section(ordered, charted=charted),
        diagnosis_section(ordered),
        samples_section(ordered, detailed=detailed),
        routing_section(ordered, detailed=detailed),
        curves_section(ordered, charted=charted, beginnings=beginnings),
        data_section(ordered) if corpora(ordered) else Markup(),
        provenance_section(ordered[:detailed], commands, environment(ordered)),
    ]
    main = element("main", _header(ordered, title, subtitle), *sections, id="main")
    skip = element("a", "Skip to the results", href="#results", class_="skip")
    body = element("body", skip, _navigation(join(sections)), main, element("script", _asset("page.js")))
    return f"<!doctype html>\n{element('html', _head(title), body, lang='en')}\n"


def places(grids: Sequence[Grid]) -> list[str]:
    """Give each grid a place on the page: its experiment's name, with a number if there are several of it."""
    names = [str(grid["experiment"]) for grid in grids]
    counts = [names[: place + 1].count(name) for place, name in enumerate(names)]
    return [name if number == 1 else f"{name}-{number}" for name, number in zip(names, counts, strict=True)]


def grid_section(grid: Grid, results: Sequence[RunResults], place: str) -> Markup:
    """Show the numbers of a grid: as Table 2, as trials, or as a figure over the setting that its rows differ in."""
    if is_trial(grid):
        return trials_section(grid, place)
    return sweep_section(grid, place) if grid.get("axis") else table2_section(grid, results, place)


def write_report(
    path: Path,
    results: Sequence[RunResults],
    *,
    title: str,
    subtitle: str = "",
    commands: Sequence[tuple[str, str]] = (),
    grids: Sequence[Grid] = (),
    beginnings: Sequence[RunResults] = (),
) -> None:
    """Write the page; it is complete or not there at all."""
    page = build_page(results, title=title, subtitle=subtitle, commands=commands, grids=grids, beginnings=beginnings)
    write_text_atomically(path, page)


def _asset(name: str) -> Markup:
    return Markup(files("docaps.report").joinpath(name).read_text(encoding="utf-8"))


def _head(title: str) -> Markup:
    # An empty icon of its own: otherwise a browser asks the server, or the disk, for one.
    icon = element("link", rel="icon", href="data:,")
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        icon,
        element("style", _asset("page.css")),
    )


def _navigation(page: str) -> Markup:
    """Link to whatever parts the page has."""
    places = [(place, words) for place, words in _CONTENTS if f' id="{place}"' in page]
    links = [element("li", element("a", words, href=f"#{place}")) for place, words in places]
    return element("nav", element("ul", *links), aria_label="Contents")


def _header(results: Sequence[RunResults], title: str, subtitle: str) -> Markup:
    parts = [element("h1", title)]
    parts += [element("p", subtitle, class_="subtitle")] if subtitle else []
    parts += [element("p", text, class_="headline") for text in [state_result(results)] if text]
    parts += [element("p", text, class_="second") for text in [state_bleu(results)] if text]
    return element("header", join(parts))
