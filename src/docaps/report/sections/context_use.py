"""Is context used? The verdict of `docaps diagnose`, its numbers, and the sentences for which context mattered most."""

from collections.abc import Sequence

from markupsafe import Markup

from docaps.report.drawing.charts import Bar, bar_chart
from docaps.report.drawing.svg import Panel
from docaps.report.templating import Table, render
from docaps.runs.diagnosis_results import Diagnosis
from docaps.runs.results import RunResults
from docaps.runs.wording import MISSING, decimal, describe_system, name_seeds, percent, sentence_case

_NAMES = {"true": "the true history", "shuffled": "another document's", "none": "no history"}


def diagnosis_section(results: Sequence[RunResults]) -> Markup:
    """Show the diagnosis of each run that has one; nothing if none has."""
    diagnosed = [(run, run.diagnosis) for run in results if run.diagnosis is not None]
    if not diagnosed:
        return Markup()
    runs = [
        {
            "heading": f"{sentence_case(describe_system(run.system))}, run {run.name}{name_seeds(results, [run])}",
            "found": found,
            "retrained": found.created != str(run.description.get("created")),
            "table": _table(found, run.name),
            "panels": _panels(found),
            "traces": _traces(found),
        }
        for run, found in diagnosed
    ]
    return render("diagnosis.html", runs=runs)


def condition_name(condition: str, other: str | None) -> str:
    """Name a condition for readers."""
    names = _NAMES | {"against": f"run {other}" if other else "the other run"}
    return names.get(condition, f"the {condition}")


def _table(found: Diagnosis, name: str) -> Table:
    """Build the table of conditions."""
    bleu = any(one.bleu is not None for one in found.conditions)
    accuracy = any(one.accuracy is not None for one in found.conditions)
    head = ["History", "perplexity", "change", "p to none", "p to true"]
    rows = [
        [
            sentence_case(condition_name(one.name, found.against)),
            decimal(one.perplexity, 3),
            _signed(found.change(one.name)),
            *(decimal(found.p(one.name, other), 3) if one.name != other else MISSING for other in ("none", "true")),
            *[decimal(one.bleu)] * bleu,
            *[percent(one.accuracy)] * accuracy,
        ]
        for one in found.conditions
    ]
    caption = (
        f"On {found.text}. Change: of perplexity, relative to no history, computed from the two perplexities. "
        "p-values are over documents."
    )
    if found.translations is not None:
        shown = "reference translations" if found.translations == "reference" else "the model's own translations"
        caption += f" Histories are shown with {shown}."
    head += ["BLEU"] * bleu + ["right choices, %"] * accuracy
    return Table(f"Histories of {name}", [head], rows, caption=caption, style="conditions")


def _signed(change: float, places: int = 1) -> str:
    shown = round(100 * change, places) + 0.0  # + 0.0 turns -0.0 into 0.0
    return f"{shown:+.{places}f} %".replace("-", "−").replace(" ", "\u202f")


def _panels(found: Diagnosis) -> list[Panel]:
    """Draw the changes of perplexity by history and by distance."""
    changes = [(one.name, found.change(one.name)) for one in found.conditions if one.name != "none"]
    by_history = [Bar(condition_name(name, found.against), change, _signed(change)) for name, change in changes]
    by_distance = [Bar(f"distance {step.distance}", -step.gain, _signed(-step.gain, 2)) for step in found.steps]
    panels = []
    for title, note, bars in (
        ("Perplexity against no history", "to the left is better", by_history),
        ("Perplexity by distance", "what each sentence of the history adds to the nearer ones", by_distance),
    ):
        values = "; ".join(f"{bar.label} {bar.text}" for bar in bars)
        panels += [Panel(title, note, bar_chart(bars, title=f"{title}: {values}"))] if bars else []
    return panels


def _traces(found: Diagnosis) -> Table:
    """Build the table of quantities measured inside the model."""
    rows = [
        ["" if number else trace.title, one.place, decimal(one.mean, 3), decimal(one.deviation, 3)]
        for trace in found.traces
        for number, one in enumerate(trace.places)
    ]
    return Table("Inside the model", [["Quantity", "where", "mean", "deviation"]], rows, style="facts")
