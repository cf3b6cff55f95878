"""Is context used? The verdict, the numbers of all histories, and the sentences for which history mattered most."""

from collections.abc import Sequence

from docaps.report.bars import Bar, bar_chart
from docaps.report.markup import Markup, element, join
from docaps.runs.diagnosis_results import Condition, Diagnosis, Sentence, Told
from docaps.runs.results import RunResults
from docaps.runs.wording import MISSING, decimal, describe_system, name_seeds, percent, sentence_case

_EXPLANATION = (
    "The same text with the true history, with another document's, with none, and with the nearest sentences only. "
    "Context is used where the true history is better than none and better than another document's: a model may "
    "profit from any history as from noise, without reading it."
)
_NAMES = {"true": "the true history", "shuffled": "another document's", "none": "no history"}


def diagnosis_section(results: Sequence[RunResults]) -> Markup:
    """Show the diagnoses of the runs that have one; nothing if none has."""
    diagnosed = [(run, run.diagnosis) for run in results if run.diagnosis is not None]
    if not diagnosed:
        return Markup()
    parts = [element("h2", "Is context used?", id="diagnosis-heading"), element("p", _EXPLANATION)]
    for run, found in diagnosed:
        parts += _run(run, found, name_seeds(results, [run]))
    return element("section", *parts, id="diagnosis", aria_labelledby="diagnosis-heading")


def name_of(condition: str, other: str | None) -> str:
    """Name a history for people."""
    if condition == "against":
        return f"run {other}" if other else "the other run"
    return _NAMES.get(condition, f"the {condition}")


def _run(run: RunResults, found: Diagnosis, seed: str) -> list[Markup]:
    """Show the diagnosis of one run."""
    parts = [
        element("h3", f"{sentence_case(describe_system(run.system))}, run {run.name}{seed}"),
        element("p", f"{sentence_case(found.verdict)}.", class_=f"headline verdict {found.code}"),
        *(element("p", f"{sentence_case(sentence)}.", class_="second") for sentence in found.explanation),
    ]
    if found.created != str(run.description.get("created")):
        doubt = "The run was trained anew since: diagnose it again."
        parts.append(element("p", doubt, class_="doubt"))
    parts += [_table(found, run.name), element("div", *_figures(found), class_="panels")]
    parts += _sentences("History helped most", found.better, unfolded=True)
    parts += _sentences("History harmed most", found.worse, unfolded=False)
    parts += [_told(found.told)] if found.told else []
    return [*parts, element("p", element("code", found.signature), class_="note")]


def _table(found: Diagnosis, name: str) -> Markup:
    """Show the numbers of all histories."""
    columns = ["perplexity", "change", "p to none", "p to true"]
    columns += ["BLEU"] if any(one.bleu is not None for one in found.conditions) else []
    columns += ["right choices, %"] if any(one.accuracy is not None for one in found.conditions) else []
    heads = [element("th", "History", scope="col"), *(element("th", column, scope="col") for column in columns)]
    rows = [_row(one, found, columns) for one in found.conditions]
    caption = (
        f"On {found.text}. A change is that of the perplexity beside it against the one without history, worked out "
        "from the two; p-values are over documents."
    )
    table = element(
        "table",
        element("caption", element("span", caption)),
        element("thead", element("tr", *heads)),
        element("tbody", *rows),
        class_="conditions",
    )
    return element("div", table, class_="scroll", data_scroll=f"Histories of {name}")


def _row(one: Condition, found: Diagnosis, columns: Sequence[str]) -> Markup:
    cells = [
        decimal(one.perplexity, 3),
        _signed(found.change(one.name)),
        *(decimal(found.p(one.name, other), 3) if one.name != other else MISSING for other in ("none", "true")),
    ]
    cells += [decimal(one.bleu)] if "BLEU" in columns else []
    cells += [percent(one.accuracy)] if "right choices, %" in columns else []
    head = element("th", sentence_case(name_of(one.name, found.against)), scope="row")
    return element("tr", head, *(element("td", cell) for cell in cells))


def _signed(change: float, places: int = 1) -> str:
    shown = round(100 * change, places) + 0.0  # nothing is never below zero
    return f"{shown:+.{places}f} %".replace("-", "−").replace(" ", "\u202f")


def _figures(found: Diagnosis) -> list[Markup]:
    """Draw the changes of perplexity: by history, and by distance."""
    changes = [(one.name, found.change(one.name)) for one in found.conditions if one.name != "none"]
    by_history = [Bar(name_of(name, found.against), change, _signed(change)) for name, change in changes]
    by_distance = [Bar(f"distance {step.distance}", -step.gain, _signed(-step.gain, 2)) for step in found.steps]
    figures = [_figure("Perplexity against no history", "to the left is better", by_history)]
    note = "what each sentence of the history adds to the nearer ones"
    return [*figures, *([_figure("Perplexity by distance", note, by_distance)] if by_distance else [])]


def _figure(title: str, note: str, bars: Sequence[Bar]) -> Markup:
    told = "; ".join(f"{bar.label} {bar.text}" for bar in bars)
    caption = element("figcaption", title, element("span", note, class_="quiet"))
    return element("figure", caption, bar_chart(bars, title=f"{title}: {told}"))


def _sentences(title: str, sentences: Sequence[Sentence], *, unfolded: bool) -> list[Markup]:
    """Show sentences with their histories."""
    if not sentences:
        return []
    summary = element("summary", element("h4", title), element("span", "CXMI in bits", class_="quiet"))
    return [element("details", summary, *map(_sentence, sentences), class_="mattered", open=unfolded)]


def _sentence(sentence: Sentence) -> Markup:
    """Tell the little story: history, sentence, reference, and both translations where they differ."""
    back = len(sentence.history)
    rows = [(f"{back - place} back", text) for place, text in enumerate(sentence.history)]
    rows += [("sentence", sentence.source), ("reference", sentence.reference)]
    if sentence.translations and sentence.translations[0] != sentence.translations[1]:
        rows += zip(("with history", "without"), sentence.translations, strict=True)
    bits = f"{sentence.cxmi:+.2f} bits".replace("-", "−")
    head = element("p", element("b", bits), f" document {sentence.document}, sentence {sentence.number}")
    listed = [join([element("dt", name), element("dd", text)]) for name, text in rows]
    return element("div", head, element("dl", *listed, class_="context"))


def _told(told: Sequence[Told]) -> Markup:
    """Show what the model tells about its use of the history."""
    rows = [
        element(
            "tr",
            element("th", one.title, scope="row") if not number else element("td"),
            *(element("td", cell) for cell in (place, decimal(mean, 3), decimal(deviation, 3))),
        )
        for one in told
        for number, (place, mean, deviation) in enumerate(one.places)
    ]
    heads = [element("th", name, scope="col") for name in ("What the model tells", "where", "mean", "deviation")]
    table = element("table", element("thead", element("tr", *heads)), element("tbody", *rows), class_="facts")
    summary = element("summary", element("h4", "Inside the model"), element("span", "means", class_="quiet"))
    scroll = element("div", table, class_="scroll", data_scroll="Inside the model")
    return element("details", summary, scroll, class_="mattered")
