"""Heat maps of routing weights (Figs. 6 and 7 of the paper) and their colour scales."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from docaps.report.drawing.charts import nice_ceiling
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
class ColourScale:
    """A diverging scale: blue above `neutral`, red below, linear on both sides, full strength at the ends."""

    low: float
    neutral: float
    high: float

    @classmethod
    def over(cls, values: Iterable[float], *, neutral: float, lowest: float) -> "ColourScale":
        """Reach as far as the values do on both sides of `neutral`, within [lowest, 1]."""
        # At least 0.01, so that rounding noise around the neutral value stays invisible.
        reach = nice_ceiling(max([0.01, *(abs(value - neutral) for value in values if math.isfinite(value))]))
        return cls(max(lowest, neutral - reach), neutral, min(1.0, neutral + reach))

    def shade(self, value: float) -> tuple[str, float]:
        """Return the hue of a value and its strength, from 0 (white) to 1; beyond the ends it stays at 1."""
        if not math.isfinite(value):
            return "undefined", 1.0
        if value == self.neutral:
            return "neutral", 0.0
        hue, end = ("high", self.high) if value > self.neutral else ("low", self.low)
        return hue, min(1.0, (value - self.neutral) / (end - self.neutral)) if end != self.neutral else 1.0


def heat_map(
    matrix: Matrix, words: Sequence[str], *, kind: str, iteration: int, scale: ColourScale, title: str
) -> Picture:
    """Draw capsules as rows and words as columns, blue high and red low."""
    bottom = _CELL_HEIGHT * len(matrix)
    labels = [word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…" for word in words]
    longest = max(map(len, labels), default=0) * LETTER * _SLANT
    left = max(66.0, longest - 10)
    room = (_WHOLE_PAGE if len(words) >= LONG else _HALF_PAGE) - left
    cell = min(_WIDE_CELL, max(_NARROW_CELL, room / max(len(words), 1)))
    width = left + cell * len(words) + 2
    rows = [
        _row(row, words, capsule=capsule, left=left, cell=cell, kind=kind, scale=scale)
        for capsule, row in enumerate(matrix, start=1)
    ]
    axis = []
    for column, label in enumerate(labels):
        x, y = left + cell * (column + 0.5) + 3, bottom + 12
        slanted = {"text_anchor": "end", "transform": f"rotate(-45 {number(x)} {number(y)})", "class_": "word"}
        axis.append(text(label, x, y, **slanted))
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
        hue, strength = scale.shade(value)
        name = f"{word}, capsule {capsule}: {symbol(kind)} = {value:.3f}"
        place = {"x": left + column * cell, "y": y, "width": cell, "height": _CELL_HEIGHT}
        names = {"role": "cell", "aria_label": name, "title": name}
        cells.append(shape("rect", **place, class_=f"cell {hue}", fill_opacity=strength, **names))
    return shape("g", *cells, role="row")
