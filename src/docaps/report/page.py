"""The report: one self-contained HTML file for screen, phone and print."""

from collections.abc import Sequence
from importlib.resources import files

from markupsafe import Markup

from docaps.report.headline import state_bleu, state_result
from docaps.report.sections.context_use import diagnosis_section
from docaps.report.sections.contrastive_choices import choices_section
from docaps.report.sections.endpoint_section import endpoints_section
from docaps.report.sections.experiment_results import grid_section
from docaps.report.sections.learning_curves import curves_section
from docaps.report.sections.provenance import data_section, provenance_section
from docaps.report.sections.routing_maps import routing_section
from docaps.report.sections.run_table import results_section, scores_section
from docaps.report.sections.samples import samples_section
from docaps.report.templating import render
from docaps.runs.grid_results import Grid, arrange, own_runs
from docaps.runs.results import RunResults

_GRID_NAMES = {
    "table2": "Table 2",
    "history": "Figure 4",
    "capsules": "Figure 5",
    "rounds": "Iterations",
    "trials": "Trials",
    "routing-options": "Routing options",
    "rivals": "Rivals",
    "series": "The series",
}


def build_page(
    results: Sequence[RunResults],
    *,
    title: str,
    subtitle: str = "",
    commands: Sequence[tuple[str, str]] = (),
    grids: Sequence[Grid] = (),
    sentence_models: Sequence[RunResults] = (),
) -> str:
    """Build the page; `commands` are pairs of purpose and command.

    `sentence_models` are the models that the rows of grids start from; the page shows their learning curves only.
    """
    ordered, detailed, charted = arrange(results)
    sections = [
        *(
            (anchor, _GRID_NAMES.get(anchor, ""), grid_section(grid, own_runs(grid, results), anchor))
            for grid, anchor in zip(grids, anchors(grids), strict=True)
        ),
        *((f"{one['experiment']}-endpoints", "Endpoints", endpoints_section(one)) for one in _endpoints(grids)),
        ("results", "Results", results_section(ordered, charted=charted)),
        ("scores", "Scores", Markup() if grids else scores_section(ordered)),
        ("choices", "Choices", choices_section(ordered, charted=charted)),
        ("diagnosis", "Is context used?", diagnosis_section(ordered)),
        ("samples", "Sample documents", samples_section(ordered, detailed=detailed)),
        ("routing", "Routing", routing_section(ordered, detailed=detailed)),
        ("curves", "Learning curves", curves_section(ordered, charted=charted, sentence_models=sentence_models)),
        ("data", "Data", data_section(ordered)),
        ("provenance", "How it was made", provenance_section(ordered[:detailed], commands, ordered)),
    ]
    page = render(
        "page.html",
        title=title,
        subtitle=subtitle,
        headline=state_result(ordered),
        bleu=state_bleu(ordered),
        contents=[(anchor, name) for anchor, name, section in sections if name and section],
        sections=[section for _, _, section in sections],
        style=Markup(read_asset("page.css")),
        script=Markup(read_asset("page.js")),
    )
    return str(page)


def _endpoints(grids: Sequence[Grid]) -> list[Grid]:
    """Return the endpoints of the grids that have any, once for each experiment."""
    return list({one["experiment"]: one for grid in grids if (one := grid.get("endpoints"))}.values())


def anchors(grids: Sequence[Grid]) -> list[str]:
    """Give each grid an anchor on the page: the name of its experiment, numbered from the second of a name on."""
    taken = {"routing": "routing-options"}  # the heat maps have the anchor `routing`
    names = [taken.get(grid["experiment"], str(grid["experiment"])) for grid in grids]
    counts = [names[: place + 1].count(name) for place, name in enumerate(names)]
    return [name if number == 1 else f"{name}-{number}" for name, number in zip(names, counts, strict=True)]


def read_asset(name: str) -> str:
    """Read a style sheet or script of the page."""
    return files("docaps.report").joinpath(name).read_text(encoding="utf-8")
