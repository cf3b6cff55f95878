"""Heat maps of the routing: coupling coefficients and correlations of history words (Figs. 6 and 7)."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from docaps.report.drawing.heat_maps import LONG, ColourScale, heat_map, symbol
from docaps.report.drawing.svg import Picture
from docaps.report.templating import render
from docaps.runs.results import HistoryRouting, Matrix, RoutingSample, RunResults
from docaps.runs.wording import decimal, describe_system, name_seeds, routed_sentence, sees_context, sentence_case

_SPECIAL = re.compile(r"</?s>|<pad>")
_MOST_CELLS = 12_000  # heat map cells on a page: about 4 MB


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the two quantities, with its colour scale."""

    name: str
    title: str
    scale: ColourScale
    neutral_words: str

    @property
    def ends(self) -> list[str]:
        """Lower end, neutral value and upper end of the scale, as text."""
        ends = (self.scale.low, self.scale.neutral, self.scale.high)
        return [f"{value:.3g}".replace("-", "−") for value in ends]


def routing_section(every: Sequence[RunResults], *, detailed: int | None = None) -> Markup:
    """Show the routing samples of the first `detailed` runs."""
    results = every[:detailed]
    routed = [run for run in results if run.routing]
    lack = [run for run in results if not run.routing and sees_context(run.system)]
    return render(
        "routing.html",
        runs=[
            {
                "heading": f"{sentence_case(describe_system(run.system))}, run {run.name}{name_seeds(every, [run])}",
                "samples": [_sample(sample) for sample in shown],
                "more": f"{run.name}/assessment/routing.json" if len(shown) < len(run.routing) else "",
            }
            for run, shown in _fitting(routed)
        ],
        missing=[f"{run.name}/assessment/routing.json" for run in lack],
        join_subwords=join_subwords,
        routing_steps=routing_steps,
        long=LONG,
    )


def count_cells(samples: Sequence[RoutingSample]) -> int:
    """Count the cells of all heat maps of some samples."""
    parts = [part for sample in samples for part in sample.history]
    return sum(len(_values([*part.coupling, *part.pcc])) for part in parts)


def join_subwords(pieces: Sequence[str]) -> str:
    """Join subwords for reading, without special tokens such as </s>; the maps show all of them."""
    return " ".join(piece for piece in pieces if not _SPECIAL.fullmatch(piece)).replace("@@ ", "")


def routing_kinds(history: Sequence[HistoryRouting]) -> list[Kind]:
    """Fix one colour scale per quantity over all sentences and iterations of a sample, so that maps compare."""
    capsules = max((len(matrix) for part in history for matrix in part.coupling), default=1)
    # Coupling coefficients start at 1/M, which is their neutral value.
    couplings = _values(matrix for part in history for matrix in part.coupling)
    scale = ColourScale.over(couplings, neutral=1 / capsules, lowest=0.0)
    kinds = [Kind("coupling", "Coupling coefficients c", scale, f"1/{capsules}, equal shares")]
    if correlations := _values(matrix for part in history for matrix in part.pcc):  # none without a query
        scale = ColourScale.over(correlations, neutral=0.0, lowest=-1.0)
        kinds.append(Kind("pcc", "Pearson correlation p", scale, "no correlation"))
    return kinds


def routing_steps(kind: Kind, part: HistoryRouting) -> list[tuple[Picture, str]]:
    """Draw the map of each iteration; return it with its range of values."""
    steps = []
    for iteration, matrix in enumerate(part.coupling if kind.name == "coupling" else part.pcc):
        values = _range(kind, matrix)
        title = f"{kind.title}, iteration {iteration}, {routed_sentence(part)}; {values}"
        chart = heat_map(matrix, part.words, kind=kind.name, iteration=iteration, scale=kind.scale, title=title)
        steps.append((chart, values))
    return steps


def _fitting(runs: Sequence[RunResults]) -> Iterator[tuple[RunResults, Sequence[RoutingSample]]]:
    """Choose the first samples of each run that fit on the page; every run has one at least."""
    left = max(_MOST_CELLS - sum(count_cells(run.routing[:1]) for run in runs), 0)
    for run in runs:
        first = count_cells(run.routing[:1])
        fits = [count_cells(run.routing[: place + 1]) <= left + first for place in range(len(run.routing))]
        shown = run.routing[: sum(fits)]
        left -= count_cells(shown) - first
        yield run, shown


def _sample(sample: RoutingSample) -> dict[str, Any]:
    """Return a sentence with its history in reading order, and the quantities to draw."""
    history = sorted(sample.history, key=lambda part: -(part.distance or 0))
    last = max([1, *(len(part.coupling) for part in history)]) - 1
    return {"sample": sample, "history": history, "kinds": routing_kinds(history), "last": last}


def _values(matrices: Iterable[Matrix]) -> list[float]:
    return [value for matrix in matrices for row in matrix for value in row]


def _range(kind: Kind, matrix: Matrix) -> str:
    values = [value for value in _values([matrix]) if math.isfinite(value)]
    if not values:
        return f"{symbol(kind.name)} is not defined"
    low, high = (decimal(value, 2).replace("-", "−") for value in (min(values), max(values)))
    return f"{symbol(kind.name)} = {low}" if low == high else f"{symbol(kind.name)} from {low} to {high}"
