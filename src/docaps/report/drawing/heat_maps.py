"""Heat maps of routing weights (Figs. 6 and 7 of the paper) and their colour scales."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from docaps.report.drawing.axes import nice_ceiling
from docaps.report.drawing.svg import LETTER, Picture, group, number, shape, text
from docaps.runs.results import Matrix

LONG = 16
"""From this number of words on, a heat map gets the page's whole width."""
_NARROW_CELL, _WIDE_CELL, _CELL_HEIGHT = 27.0, 40.0, 24.0
_SMALLEST = 0.85  # a heat map shrinks to this share on a small screen, then scrolls, so that words stay readable
_HALF_PAGE, _WHOLE_PAGE = 500.0, 1000.0
_LONGEST_WORD = 16
_SLANT = math.sqrt(0.5)  # word labels are rotated by 45 degrees


@dataclass(frozen=True, slots=True)
class Shade:
    """A colour of the diverging scale: blue when high, red when low; `strength` runs from 0 (white) to 1."""

    hue: Literal["high", "low", "neutral", "undefined"]
    strength: float


@dataclass(frozen=True, slots=True)
class ColourScale:
    """A diverging scale: blue above `neutral`, red below, linear on both sides, full strength at the ends."""

    low: float
    neutral: float
    high: float

    def shade(self, value: float) -> Shade:
        """Return the colour of a value; beyond the ends it stays at full strength."""
        if not math.isfinite(value):
            return Shade("undefined", 1.0)
        if value == self.neutral:
            return Shade("neutral", 0.0)
        end = self.high if value > self.neutral else self.low
        strength = min(1.0, (value - self.neutral) / (end - self.neutral)) if end != self.neutral else 1.0
        return Shade("high" if value > self.neutral else "low", strength)


def coupling_scale(values: Iterable[float], capsules: int) -> ColourScale:
    """Scale coupling coefficients: neutral at 1/M, where routing starts, reaching as far as the values do."""
    uniform = 1 / capsules
    reach = _reach((abs(value - uniform) for value in values), most=1.0)
    return ColourScale(max(0.0, uniform - reach), uniform, min(1.0, uniform + reach))


def correlation_scale(values: Iterable[float]) -> ColourScale:
    """Scale correlations: neutral at 0, the same reach on both sides."""
    reach = _reach(map(abs, values), most=1.0)
    return ColourScale(-reach, 0.0, reach)


def _reach(deviations: Iterable[float], most: float) -> float:
    # At least 0.01, so that rounding noise around the neutral value stays invisible.
    largest = max((deviation for deviation in deviations if math.isfinite(deviation)), default=0.0)
    return min(most, nice_ceiling(max(largest, 0.01)))


def heat_map(
    matrix: Matrix, words: Sequence[str], *, kind: str, iteration: int, scale: ColourScale, title: str
) -> Picture:
    """Draw capsules as rows and words as columns, blue high and red low."""
    bottom = _CELL_HEIGHT * len(matrix)
    labels = [_shorten(word) for word in words]
    longest = max((len(label) for label in labels), default=0) * LETTER * _SLANT
    left = max(66.0, longest - 10)
    room = (_WHOLE_PAGE if len(words) >= LONG else _HALF_PAGE) - left
    cell = min(_WIDE_CELL, max(_NARROW_CELL, room / max(len(words), 1)))
    width = left + cell * len(words) + 2
    rows = [
        _row(row, words, capsule=capsule, left=left, cell=cell, kind=kind, scale=scale)
        for capsule, row in enumerate(matrix, start=1)
    ]
    axis = [_word_label(label, left + cell * (column + 0.5), bottom) for column, label in enumerate(labels)]
    background = shape("rect", x=left, y=0, width=cell * len(words), height=bottom, class_="ground")
    body = [shape("g", background, aria_hidden="true"), *rows, shape("g", *axis, aria_hidden="true")]
    style = f"width:{number(width)}px;min-width:{number(_SMALLEST * width)}px"
    attributes: dict[str, str | float] = {"data_kind": kind, "data_iteration": iteration, "style": style}
    return Picture(width, bottom + longest + 18, title, group(body), "heatmap", "table", attributes)


def symbol(kind: str) -> str:
    """Return the paper's symbol for the quantity of a heat map."""
    return "c" if kind == "coupling" else "p"


def _row(
    row: Sequence[float], words: Sequence[str], *, capsule: int, left: float, cell: float, kind: str, scale: ColourScale
) -> str:
    y = (capsule - 1) * _CELL_HEIGHT
    cells = [text(f"capsule {capsule}", left - 8, y + 16, text_anchor="end", role="rowheader")]
    for column, (word, value) in enumerate(zip(words, row, strict=True)):
        shade = scale.shade(value)
        name = f"{word}, capsule {capsule}: {symbol(kind)} = {value:.3f}"
        cells.append(
            shape(
                "rect",
                shape("title", name),
                x=left + column * cell,
                y=y,
                width=cell,
                height=_CELL_HEIGHT,
                class_=f"cell {shade.hue}",
                fill_opacity=shade.strength,
                role="cell",
                aria_label=name,
            )
        )
    return shape("g", *cells, role="row")


def _word_label(label: str, x: float, bottom: float) -> str:
    rotation = f"rotate(-45 {number(x + 3)} {number(bottom + 12)})"
    return text(label, x + 3, bottom + 12, text_anchor="end", transform=rotation, class_="word")


def _shorten(word: str) -> str:
    return word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…"
