"""The endpoints of a grid (`docaps endpoints`): tables by part and set, and gain from context over training."""

from markupsafe import Markup

from docaps.report.drawing.charts import Series, line_chart
from docaps.report.drawing.svg import Panel
from docaps.report.endpoint_tables import (
    Endpoints,
    checkpoint_caption,
    checkpoint_rows,
    describe_items,
    gain_of,
    item_rows,
    part_names,
    part_rows,
)
from docaps.report.templating import Table, render

MILLION = 1e6


def endpoints_section(found: Endpoints) -> Markup:
    """Show the tables of all endpoints and the curves."""
    tables = []
    for part in part_names(found):
        header, rows = part_rows(found, part)
        tables.append(Table(f"Scores of {part}", [header], rows, caption=f"Scores of the part {part}."))
    for name, described in found["items"].items():
        header, rows = item_rows(found, name)
        plain = [cell.replace("`", "") for cell in header]
        caption = f"Right choices among the items {name}, in percent: {describe_items(described)}."
        tables.append(Table(f"Choices of {name}", [plain], rows, caption=caption))
    header, rows = checkpoint_rows(found)
    if rows:
        tables.append(Table("Gain from context against training", [header], rows, caption=checkpoint_caption()))
    anchor = f"{found['experiment']}-endpoints"
    return render("endpoints.html", anchor=anchor, tables=tables, panels=gain_panels(found))


def gain_panels(found: Endpoints) -> list[Panel]:
    """Draw the gain from context at each kept step, a line for each row: one chart for each set, one of perplexity."""
    panels = []
    for name in (*found["items"], None):
        lines = _lines(found, name)
        if lines:
            heading = "Perplexity" if name is None else name
            unit = "% of perplexity" if name is None else "points of right choices"
            note = f"gain of the own history over another's, {unit}"
            ends = "; ".join(f"{line.label} ends at {line.points[-1][1]:+.2f}" for line in lines)
            title = f"{heading}: {note}, over target tokens in millions. {ends}"
            panels.append(Panel(heading, note, line_chart(lines, title=title, across="million target tokens")))
    return panels


def _lines(found: Endpoints, name: str | None) -> list[Series]:
    """Return a line for each row that has the gain at some step."""
    lines: list[Series] = []
    for row in found["rows"]:
        gains = [(one["tokens"] / MILLION, gain_of(one, name)) for one in row["checkpoints"]]
        points = [(tokens, gain) for tokens, gain in gains if gain is not None]
        if points:
            lines.append(Series(str(row["row"]), points, len(lines)))
    return lines
