"""Heat maps of the routing: where the words of the history go, and what the query makes of them (Figs. 6 and 7)."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from docaps.report.figures import LONG, heat_map, symbol
from docaps.report.markup import Markup, element, join
from docaps.report.scales import ColourScale, correlation_scale, coupling_scale
from docaps.report.table import code_list
from docaps.runs.results import Matrix, RoutedHistory, RoutingSample, RunResults
from docaps.runs.wording import decimal, describe_system, distance_words, name_seeds, sees_context, sentence_case

_SPECIAL = re.compile(r"</?s>|<pad>")
_EXPLANATION = (
    "Each word of a history sentence is shared out among the capsules. The coupling coefficients c (Figure 6 of the "
    "paper) start equal and sum to 1 over the capsules of a word. The Pearson correlation p (Figure 7) says how well a "
    "word fits the current sentence, which is the query; it starts equal for all capsules. Blue is high, red is low."
)


_MOST_CELLS = 12_000  # squares of heat maps on a page: about 4 MB


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the two quantities, with the colours it has throughout a sample."""

    name: str
    title: str
    scale: ColourScale
    neutral_words: str


def routing_section(every: Sequence[RunResults], *, detailed: int | None = None) -> Markup:
    """Show the routing samples of those of the first `detailed` runs that have some."""
    results = every[:detailed]
    with_routing = [run for run in results if run.routing]
    parts = [element("h2", "How the history is routed", id="routing-heading")]
    parts += [element("p", _EXPLANATION)] if with_routing else []
    firsts = [count_cells(run.routing[:1]) for run in with_routing]
    left = max(_MOST_CELLS - sum(firsts), 0)  # every run has one sentence at least
    for index, run in enumerate(with_routing):
        name = f"run {run.name}{name_seeds(every, [run])}"
        parts.append(element("h3", f"{sentence_case(describe_system(run.system))}, {name}"))
        shown = _fitting(run.routing, left + firsts[index])
        left -= count_cells(shown) - firsts[index]
        parts += [
            _sample(sample, f"routing-{index}-{position}", unfolded=position == 0)
            for position, sample in enumerate(shown)
        ]
        if len(shown) < len(run.routing):
            file = element("code", f"{run.name}/assessment/routing.json")
            parts.append(
                element("p", "More sentences, left out to keep the page small, are in ", file, ".", class_="note")
            )
    missing = [f"{run.name}/assessment/routing.json" for run in results if not run.routing and sees_context(run.system)]
    if missing:
        parts.append(element("p", "Not found: ", code_list(missing), ".", class_="note missing"))
    elif not with_routing:
        parts.append(element("p", "None of these runs routes a history.", class_="missing"))
    return element("section", *parts, id="routing", aria_labelledby="routing-heading")


def count_cells(samples: Sequence[RoutingSample]) -> int:
    """Count the squares of all heat maps of some samples."""
    parts = [part for sample in samples for part in sample.history]
    return sum(len(_values([*part.coupling, *part.pcc])) for part in parts)


def _fitting(samples: Sequence[RoutingSample], cells: int) -> Sequence[RoutingSample]:
    """Return as many of the first samples as there is room for."""
    fits = [count_cells(samples[: place + 1]) <= cells for place in range(len(samples))]
    return samples[: sum(fits)]


def _sample(sample: RoutingSample, identity: str, *, unfolded: bool) -> Markup:
    history = _in_reading_order(sample.history)
    iterations = max((len(part.coupling) for part in history), default=0)
    kinds = _kinds(history)
    title = element("q", sample.source)
    place = f"document {sample.document}, sentence {sample.sentence + 1}"
    summary = element("summary", element("h4", title), element("span", place, class_="quiet"))
    parts = [_context(sample, history), _controls(identity, iterations), _legends(kinds)]
    parts += [_history(part, kinds) for part in history]
    return element("details", summary, *parts, class_="routed", id=identity, open=unfolded)


def _in_reading_order(history: Iterable[RoutedHistory]) -> list[RoutedHistory]:
    return sorted(history, key=lambda part: -(part.distance or 0))


def _kinds(history: Sequence[RoutedHistory]) -> list[Kind]:
    """Fix the colours of a sample: one scale per quantity over all its sentences and iterations, so maps compare."""
    capsules = max((len(matrix) for part in history for matrix in part.coupling), default=1)
    coupling = coupling_scale(_values(matrix for part in history for matrix in part.coupling), capsules)
    correlations = _values(matrix for part in history for matrix in part.pcc)
    kinds = [Kind("coupling", "Coupling coefficients c", coupling, f"1/{capsules}, equal shares")]
    if correlations:  # capsules without a query have none
        kinds.append(Kind("pcc", "Pearson correlation p", correlation_scale(correlations), "no correlation"))
    return kinds


def _values(matrices: Iterable[Matrix]) -> list[float]:
    return [value for matrix in matrices for row in matrix for value in row]


def _context(sample: RoutingSample, history: Sequence[RoutedHistory]) -> Markup:
    """Tell the little story: the sentences before, the sentence, its translation."""
    rows = [join([element("dt", distance_words(part.distance)), element("dd", rejoin(part.words))]) for part in history]
    rows.append(join([element("dt", "current sentence"), element("dd", element("b", sample.source))]))
    rows.append(join([element("dt", "translation"), element("dd", element("b", sample.translation))]))
    return element("dl", *rows, class_="context")


def rejoin(pieces: Sequence[str]) -> str:
    """Put subword pieces together for reading, without marks such as </s>; the maps keep them all."""
    return " ".join(piece for piece in pieces if not _SPECIAL.fullmatch(piece)).replace("@@ ", "")


def _controls(identity: str, iterations: int) -> Markup:
    """Offer a slider over the iterations; hidden until the script runs, because without it all maps are shown."""
    last = max(iterations - 1, 0)
    slider = element(
        "input", type="range", min=0, max=last, value=last, step=1, id=f"{identity}-slider", class_="iteration-slider"
    )
    everything = element("input", type="checkbox", class_="iteration-all", id=f"{identity}-all")
    return element(
        "div",
        element("label", "Routing iteration", for_=f"{identity}-slider"),
        slider,
        element("output", f"{last} of {last}", for_=f"{identity}-slider"),
        element("label", everything, " show all", for_=f"{identity}-all"),
        class_="controls",
        hidden=True,
    )


def _legends(kinds: Sequence[Kind]) -> Markup:
    return element("div", *[_legend(kind) for kind in kinds], class_="scales")


def _legend(kind: Kind) -> Markup:
    low, neutral, high = (_end(value) for value in (kind.scale.low, kind.scale.neutral, kind.scale.high))
    numbers = [
        element("span", low),
        element("span", f"{neutral} ({kind.neutral_words})"),
        element("span", high),
    ]
    name = element("span", f"{kind.title}: colours from {low} to {high}", class_="scale-name")
    return element("div", name, element("div", class_="ramp"), element("div", *numbers, class_="ends"), class_="scale")


def _end(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def _history(part: RoutedHistory, kinds: Sequence[Kind]) -> Markup:
    heading = element("h5", sentence_case(distance_words(part.distance)))
    style = "history long" if len(part.words) >= LONG else "history"
    maps = {"coupling": part.coupling, "pcc": part.pcc}
    figures = [_figure(kind, maps[kind.name], part) for kind in kinds if maps[kind.name]]
    return element("div", heading, element("div", *figures, class_="kinds"), class_=style)


def _figure(kind: Kind, matrices: Sequence[Matrix], part: RoutedHistory) -> Markup:
    steps = [_iteration(kind, matrix, iteration, part) for iteration, matrix in enumerate(matrices)]
    name = f"{kind.title}, {distance_words(part.distance)}"
    return element(
        "figure", element("figcaption", kind.title), element("div", *steps, class_="scroll", data_scroll=name)
    )


def _iteration(kind: Kind, matrix: Matrix, iteration: int, part: RoutedHistory) -> Markup:
    title = f"{kind.title}, iteration {iteration}, {distance_words(part.distance)}; {_range(kind, matrix)}"
    picture = heat_map(matrix, part.words, kind=kind.name, iteration=iteration, scale=kind.scale, title=title)
    note = element("span", _range(kind, matrix), class_="quiet")
    return element("div", element("p", f"Iteration {iteration} ", note), picture, class_="step", data_step=iteration)


def _range(kind: Kind, matrix: Matrix) -> str:
    values = [value for value in _values([matrix]) if math.isfinite(value)]
    if not values:
        return f"{symbol(kind.name)} is not defined"
    low, high = (decimal(value, 2).replace("-", "−") for value in (min(values), max(values)))
    return f"{symbol(kind.name)} = {low}" if low == high else f"{symbol(kind.name)} from {low} to {high}"
