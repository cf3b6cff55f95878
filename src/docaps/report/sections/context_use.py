"""Is context used? The verdict of `docaps diagnose`, its numbers, and the sentences for which context mattered most."""

from collections.abc import Sequence

from markupsafe import Markup

from docaps.report.drawing.charts import Bar, IntervalMark, bar_chart, interval_chart
from docaps.report.drawing.svg import Panel
from docaps.report.templating import Table, render
from docaps.runs.diagnosis_results import ChoiceGains, Diagnosis, PhenomenonDiagnosis, TokenGains
from docaps.runs.results import RunResults
from docaps.runs.wording import (
    MISSING,
    decimal,
    describe_system,
    listing,
    name_seeds,
    percent,
    sentence_case,
    thousands,
)

_NAMES = {"true": "the true history", "shuffled": "another document's", "none": "no history"}
_BASELINES = ("none", "shuffled")
_GAINS = {
    "tokens": ("Gains of the tokens it decides", "bits per token over no history (first) and another document's"),
    "choices": ("Gains in right choices", "points over no history (first) and another document's"),
}


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
            "phenomena": _phenomena(found),
            "gains": [*_gain_panels(found, "tokens"), *_gain_panels(found, "choices")],
            "hidden": _list_hidden(found),
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


def _phenomena(found: Diagnosis) -> Table:
    """Build the table of phenomena: gains of their tokens, right choices among their items, verdicts."""
    tokens = any(one.tokens for one in found.phenomena)
    choices = any(one.choices for one in found.phenomena)
    head = ["Phenomenon", *["tokens", "bits to none", "to another's", "p", "would be found"] * tokens]
    head += ["items", "own, %", "another's, %", "none, %", "p", "would be found"] * choices + ["verdict"]
    rows = [
        [
            sentence_case(one.name),
            *(_token_cells(one.tokens) if tokens else ()),
            *(_choice_cells(one.choices) if choices else ()),
            one.verdict,
        ]
        for one in found.phenomena
    ]
    caption = (
        "Bits per token that the true history gains over none and over another document's; right choices with each. "
        "p: the larger one of both comparisons. Would be found: the smallest gain that these tokens or items show with "
        "probability 0.8."
    )
    return Table("By phenomenon", [head], rows, caption=caption, style="facts")


def _list_hidden(found: Diagnosis) -> str:
    """List the gains that the verdict over all tokens does not see; empty if there are none."""
    hidden = [(one.name, one.hidden_below) for one in found.phenomena]
    known = [f"{name} below {decimal(bits, 2)} bits per token" for name, bits in hidden if bits is not None]
    return listing(known) if known else ""


def _token_cells(found: TokenGains | None) -> list[str]:
    """Return the cells of the tokens of a phenomenon."""
    if found is None:
        return [MISSING] * 5
    gains = {one.baseline: one for one in found.comparisons if one.condition == "true"}
    bits = [decimal(gains[name].difference, 3) if name in gains else MISSING for name in _BASELINES]
    return [thousands(found.tokens), *bits, _larger_p(found), decimal(found.smallest_gain, 3)]


def _choice_cells(found: ChoiceGains | None) -> list[str]:
    """Return the cells of the items of a phenomenon."""
    if found is None:
        return [MISSING] * 6
    shares = [percent(found.accuracy.get(name)) for name in ("true", "shuffled", "none")]
    smallest = MISSING if found.smallest_gain is None else f"{100 * found.smallest_gain:.1f} points"
    return [thousands(found.items), *shares, _larger_p(found), smallest]


def _larger_p(found: TokenGains | ChoiceGains) -> str:
    """Write the larger p-value of the comparisons with none and with another document's history."""
    known = [one.p for one in found.comparisons if one.condition == "true" and one.baseline in _BASELINES]
    return decimal(max(known), 3) if known else MISSING


def _gain_panels(found: Diagnosis, kind: str) -> list[Panel]:
    """Draw the gains of each phenomenon over none and over another document's history, with their intervals."""
    rows = {one.name: marks for one in found.phenomena if (marks := _gain_marks(one, kind))}
    if not rows:
        return []
    title, unit = _GAINS[kind]
    ends = [end for marks in rows.values() for mark in marks for end in (mark.low, mark.high)]
    span = (min(0.0, *ends), max(0.0, *ends)) if any(ends) else (-0.001, 0.001)
    told = "; ".join(mark.title for marks in rows.values() for mark in marks)
    return [Panel(title, unit, interval_chart(rows, marks=len(_BASELINES), span=span, title=f"{title}: {told}"))]


def _gain_marks(one: PhenomenonDiagnosis, kind: str) -> list[IntervalMark]:
    """Return the gains of a phenomenon, in bits or points, with their intervals."""
    found, scale = (one.tokens, 1) if kind == "tokens" else (one.choices, 100)
    marks = []
    for gain in found.comparisons if found else ():
        if gain.condition == "true" and gain.baseline in _BASELINES:
            value, low, high = (scale * number for number in (gain.difference, gain.low, gain.high))
            shown, *ends = (f"{number:+.3g}".replace("-", "−") for number in (value, low, high))
            title = f"{one.name}, over {_NAMES[gain.baseline]}: {shown} [{', '.join(ends)}]"
            marks.append(IntervalMark(_BASELINES.index(gain.baseline), value, low, high, shown, title))
    return marks


def _traces(found: Diagnosis) -> Table:
    """Build the table of quantities measured inside the model."""
    rows = [
        ["" if number else trace.title, one.place, decimal(one.mean, 3), decimal(one.deviation, 3)]
        for trace in found.traces
        for number, one in enumerate(trace.places)
    ]
    return Table("Inside the model", [["Quantity", "where", "mean", "deviation"]], rows, style="facts")
