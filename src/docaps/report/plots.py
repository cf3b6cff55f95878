"""Figures for a paper, as SVG and PDF: drawn by matplotlib, which only this needs (`pip install 'docaps[plots]'`)."""

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from docaps.errors import DocapsError
from docaps.files import replacing
from docaps.report.curves import curve_points, thin
from docaps.report.grids import NAMES
from docaps.report.page import places
from docaps.report.scales import correlation_scale, coupling_scale
from docaps.report.sweeps import AXES, DRAWN, points_of
from docaps.report.table import ordered
from docaps.report.worth import ACROSS, KINDS, Rise, pointed, rises_of, span_of
from docaps.runs.grid_results import Grid, arrange
from docaps.runs.results import RoutedHistory, RunResults
from docaps.runs.wording import label_runs

FORMATS = ("svg", "pdf")
Drawing = Callable[[Any], None]
"""What draws on a figure of matplotlib's."""


def load_matplotlib() -> Any:
    """Return matplotlib's figures, or say how to get them."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise DocapsError("--figures needs matplotlib: pip install 'docaps[plots]'") from None
    return Figure, rc_context


def write_figures(directory: Path, results: Sequence[RunResults], grids: Sequence[Grid]) -> list[Path]:
    """Draw every figure that the runs have something to say to, each as SVG and as PDF."""
    figure, settings = load_matplotlib()
    written = []
    # Text stays text in the SVG, and dates stay out: the same numbers make the same bytes.
    with settings({"svg.fonttype": "none", "svg.hashsalt": "docaps", "pdf.fonttype": 42, "font.size": 9}):
        for name, (size, draw) in _drawings(results, grids).items():
            picture = figure(figsize=size, layout="constrained")
            draw(picture)
            written += [_save(picture, directory / f"{name}.{kind}", kind) for kind in FORMATS]
    return written


def _save(picture: Any, path: Path, kind: str) -> Path:
    with replacing(path) as temporary:
        picture.savefig(temporary, format=kind, metadata={"Date": None} if kind == "svg" else {"CreationDate": None})
    return path


def _drawings(results: Sequence[RunResults], grids: Sequence[Grid]) -> dict[str, tuple[tuple[float, float], Drawing]]:
    """Name the figures, with their sizes in inches and what draws them."""
    runs, detailed, charted = arrange(results)
    shown = runs[:charted]
    found: dict[str, tuple[tuple[float, float], Drawing]] = {}
    for grid, place in zip(grids, places(grids), strict=True):
        if grid.get("axis") and points_of(grid, "bleu"):
            found[place] = ((6.3, 2.6), partial(_draw_sweep, grid=grid))
        if rises := rises_of(grid):
            found[f"{place}-worth"] = ((6.3, 1.2 + 0.3 * len(rises)), partial(_draw_worth, rises=rises))
    if any(run.validation for run in runs):
        found["curves"] = ((6.3, 3.2), partial(_draw_curves, runs=shown))
    if any(run.contrastive and run.contrastive.accuracy.by_distance for run in runs):
        found["distances"] = ((6.3, 3.2), partial(_draw_distances, runs=shown))
    names = Counter(run.name for run in runs[:detailed])
    labels = label_runs(runs[:detailed])
    for run, label in zip(runs[:detailed], labels, strict=True):
        for history in run.routing[0].history[:1] if run.routing else ():
            name = re.sub(r"\W+", "-", f"routing-{run.name if names[run.name] == 1 else label}")
            found[name] = ((6.3, 6.0), partial(_draw_routing, history=history))
    return found


def _draw_sweep(picture: Any, grid: Grid) -> None:
    """Draw BLEU and METEOR beside each other, with intervals (Figs. 4 and 5)."""
    keys = [key for key in DRAWN if points_of(grid, key)]
    for axes, key in zip(picture.subplots(1, len(keys), squeeze=False)[0], keys, strict=True):
        points = points_of(grid, key)
        reach = _reach([(p.low, p.mean, p.high) for p in points])
        axes.errorbar([p.value for p in points], [p.mean for p in points], yerr=reach, marker="o", capsize=3)
        axes.set_xlabel(AXES.get(str(grid["axis"]), str(grid["axis"])))
        axes.set_ylabel(NAMES[key])
        axes.set_xticks([p.value for p in points])


def _reach(ends: Sequence[tuple[float, float, float]]) -> list[list[float]]:
    """Return how far intervals reach below and above their values; one that leaves its value out does not reach there.

    The ends are those of draws, which need not lie around the value.
    """
    return [[max(0.0, value - low) for low, value, _ in ends], [max(0.0, high - value) for _, value, high in ends]]


def _draw_worth(picture: Any, rises: Mapping[str, Sequence[Rise]]) -> None:
    """Draw by how much perplexity is higher without the own history, with intervals, row by row."""
    axes = picture.subplots()
    low, high = span_of(rises)
    axes.axvline(0, color="grey", linewidth=0.8)
    for place, (kind, label) in enumerate(KINDS.items()):
        found = [(row, rise) for row, all_rises in enumerate(rises.values()) for rise in all_rises if rise.kind == kind]
        reach = _reach([(rise.low, rise.value, rise.high) for _, rise in found])
        heights = [row + 0.22 * (place - 1) for row, _ in found]
        values = [rise.value for _, rise in found]
        axes.errorbar(values, heights, xerr=reach, marker="osD"[place], markersize=4, linestyle="none", label=label)
        for height, (_, rise) in zip(heights, found, strict=True):
            if not low <= rise.value <= high:
                side = {"ha": "left", "x": low} if rise.value < low else {"ha": "right", "x": high}
                axes.text(y=height, s=pointed(rise.value), va="center", fontsize=6, color=f"C{place}", **side)
    axes.set_xlim(low - 0.03 * (high - low), high + 0.03 * (high - low))
    axes.set_yticks(range(len(rises)), list(rises))
    axes.invert_yaxis()
    axes.set_xlabel(ACROSS)
    picture.legend(loc="outside upper center", fontsize=7, ncols=3)


def _draw_curves(picture: Any, runs: Sequence[RunResults]) -> None:
    """Draw the perplexity of the development part over steps."""
    axes = picture.subplots()
    for run, label in zip(runs, label_runs(runs), strict=True):
        points = thin(curve_points(run.validation, ("dev_perplexity",)))
        if points:
            axes.plot(*zip(*points, strict=True), label=label)
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("perplexity, development part")
    axes.legend(fontsize=7, ncols=2)


def _draw_distances(picture: Any, runs: Sequence[RunResults]) -> None:
    """Draw contrastive accuracy by the distance of what decides."""
    axes = picture.subplots()
    for run, label in zip(runs, label_runs(runs), strict=True):
        if run.contrastive:
            shares = run.contrastive.accuracy.by_distance
            names = ordered(list(shares))
            axes.plot(names, [100 * shares[name] for name in names], marker="o", label=label)
    axes.set_xlabel("sentences back")
    axes.set_ylabel("right choices, %")
    axes.legend(fontsize=7, ncols=2)


def _draw_routing(picture: Any, history: RoutedHistory) -> None:
    """Draw the heat maps of one history sentence: iterations downwards, c on the left, p on the right (Figs. 6, 7)."""
    kinds = [(name, maps) for name, maps in (("c", history.coupling), ("p", history.pcc)) if maps]
    grid = picture.subplots(max(len(maps) for _, maps in kinds), len(kinds), squeeze=False)
    for column, (name, maps) in enumerate(kinds):
        values = [value for matrix in maps for row in matrix for value in row if math.isfinite(value)]
        scale = coupling_scale(values, len(maps[0])) if name == "c" else correlation_scale(values)
        for iteration, matrix in enumerate(maps):
            axes = grid[iteration][column]
            drawn = axes.imshow(matrix, cmap="RdBu", vmin=scale.low, vmax=scale.high, aspect="auto")
            axes.set_title(f"{name}, iteration {iteration}", fontsize=8)
            axes.set_yticks(range(len(matrix)), [str(row + 1) for row in range(len(matrix))], fontsize=6)
            last = iteration == len(maps) - 1
            axes.set_xticks(
                range(len(history.words)), history.words if last else [], rotation=60, ha="right", fontsize=6
            )
        picture.colorbar(drawn, ax=grid[:, column].tolist(), shrink=0.6)
