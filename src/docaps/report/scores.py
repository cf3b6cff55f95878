"""All scores of runs, where no grid's table has them."""

from collections.abc import Sequence

from docaps.report.grids import NAMES
from docaps.report.markup import Markup, element
from docaps.runs.results import RunResults, score_of
from docaps.runs.wording import decimal, label_runs


def scores_section(results: Sequence[RunResults]) -> Markup:
    """Show each run's scores of the test part; nothing, if no run has more than BLEU."""
    keys = [key for key in NAMES if any(score_of(run, "test", key) is not None for run in results)]
    if len(keys) < 2:
        return Markup()
    head = element("tr", *[element("th", name, scope="col") for name in ("Run", *(NAMES[key] for key in keys))])
    rows = [
        element(
            "tr",
            element("th", label, scope="row"),
            *[element("td", decimal(score_of(run, "test", key), 2)) for key in keys],
        )
        for run, label in zip(results, label_runs(results), strict=True)
    ]
    caption = element("caption", element("span", "Scores of the test part; signatures are at the end of the page."))
    table = element("table", caption, element("thead", head), element("tbody", *rows), class_="numbers")
    return element(
        "section",
        element("h2", "Scores", id="scores-heading"),
        element("div", table, class_="scroll", data_scroll="Scores"),
        id="scores",
        aria_labelledby="scores-heading",
    )
