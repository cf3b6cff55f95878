"""Trials: settings changed one at a time, on the development part; nothing of the paper's stands beside them."""

from docaps.report.grids import as_rows, caption, state_unfinished
from docaps.report.markup import Markup, element
from docaps.report.worth import worth_figure
from docaps.runs.grid_results import Grid


def trials_section(grid: Grid, place: str) -> Markup:
    """Show what each change did to the scores."""
    header, rows = as_rows(grid)
    head = element("thead", element("tr", *[element("th", name, scope="col") for name in header]))
    body = [element("tr", element("th", cells[0], scope="row"), *[_cell(cell) for cell in cells[1:]]) for cells in rows]
    words = element("caption", element("span", caption(grid).replace("`", "")))
    return element(
        "section",
        element("h2", "Trials", id=f"{place}-heading"),
        *[element("p", text, class_="doubt") for text in state_unfinished(grid)],
        worth_figure(grid),
        element("div", element("table", words, head, element("tbody", *body), class_="numbers"), class_="scroll"),
        element("p", _NOTE, class_="note"),
        id=place,
        aria_labelledby=f"{place}-heading",
    )


def _cell(text: str) -> Markup:
    """Show a number, and its interval beneath it."""
    value, _, interval = text.partition(" [")
    beneath = [" ", element("span", f"[{interval}", class_="interval")] if interval else []
    return element("td", value, *beneath)


_NOTE = (
    "Beside the sentence model, each row is the QCN with one setting changed, from the same sentence model and, unless "
    "that is the setting, with as many steps. Settings are chosen by such numbers, so the best row's are too good by "
    "what chance gave it; the test part was not looked at. A row that is not better with its own history than with "
    "another's shows no use of it."
)
