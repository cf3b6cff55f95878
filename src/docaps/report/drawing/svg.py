"""SVG elements, with everything escaped; the page's style sheet gives the colours by class."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

WIDTH = 360.0
LETTER = 6.6  # width of an average letter at the charts' font size
COLOURS = 8  # runs beyond the eighth share colours; their labels distinguish them
_MARKERS = (
    "M-4.5,0a4.5,4.5 0 1,0 9,0a4.5,4.5 0 1,0 -9,0z",
    "M-4,-4h8v8h-8z",
    "M0,-5.5L5.5,0L0,5.5L-5.5,0z",
    "M0,-5L5,4H-5z",
    "M0,5L5,-4H-5z",
    "M-5,-1.7h3.3v-3.3h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3z",
)


@dataclass(frozen=True, slots=True)
class Picture:
    """A finished drawing: its size, its text alternative and its SVG elements."""

    width: float
    height: float
    title: str
    body: Markup
    kind: str = "chart"
    role: str = "img"
    attributes: Mapping[str, str | float] = field(default_factory=dict)

    def svg(self) -> Markup:
        """Return the picture as an `<svg>` element of the page."""
        view = f"0 0 {number(self.width)} {number(self.height)}"
        named = {"viewBox": view, "role": self.role, "aria_label": self.title}
        return shape("svg", self.body, class_=self.kind, **self.attributes, **named)


@dataclass(frozen=True, slots=True)
class Panel:
    """A picture with its caption."""

    title: str
    note: str
    picture: Picture


def shape(tag: str, *children: str, **attributes: str | float) -> Markup:
    """Build an SVG element: `title` is its tooltip, `class_` stands for class, `text_anchor` for text-anchor."""
    title = attributes.pop("title", "")
    names = {name: name if name == "viewBox" else name.rstrip("_").replace("_", "-") for name in attributes}
    written = "".join(
        f' {names[name]}="{escape(number(value) if isinstance(value, float) else value)}"'
        for name, value in attributes.items()
    )
    tooltip = shape("title", str(title)) if title else ""
    return Markup(f"<{tag}{written}>{tooltip}{group(children)}</{tag}>")


def group(parts: Sequence[str]) -> Markup:
    """Concatenate elements, escaping plain text."""
    return Markup("").join(map(escape, parts))


def number(value: float) -> str:
    """Format a coordinate with at most two decimals, to keep the page small."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def text(content: str, x: float, y: float, **attributes: str) -> Markup:
    """Draw text at a position."""
    return shape("text", content, x=float(x), y=float(y), **attributes)


def rule(x1: float, y1: float, x2: float, y2: float, class_: str, title: str = "") -> Markup:
    """Draw a straight line."""
    return shape("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), class_=class_, title=title)


def polyline(places: Sequence[tuple[float, float]], style: str, title: str = "") -> Markup:
    """Draw a line through some points."""
    points = " ".join(f"{number(x)},{number(y)}" for x, y in places)
    return shape("polyline", points=points, class_=f"curve {style}", title=title)


def marker(run: int, x: float = 6, y: float = 6, title: str = "") -> Markup:
    """Draw the marker of a run: both colour and shape distinguish runs."""
    position = f"translate({number(x)} {number(y)})"
    return shape("path", class_=f"dot {run_class(run)}", d=_MARKERS[run % 6], transform=position, title=title)


def run_class(run: int) -> str:
    """Name the style of a run, which is the same on the whole page."""
    return f"run-{run % COLOURS}"


def run_key(run: int) -> Markup:
    """Draw the marker of a run for use in running text."""
    return shape("svg", marker(run), viewBox="0 0 12 12", class_="key", aria_hidden="true")
