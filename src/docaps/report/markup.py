"""HTML and SVG from function calls: plain text is always escaped, so no sentence of a corpus can become markup."""

import html
from collections.abc import Iterable

Attribute = str | int | float | bool | None

# Elements that HTML closes by itself.
_VOID = frozenset({"br", "col", "input", "link", "meta"})


class Markup(str):
    """Text that is HTML already; every other string is escaped on its way into the page."""

    __slots__ = ()


def escape(text: str) -> Markup:
    """Make a string safe between tags and inside quoted attributes; markup passes unchanged."""
    return text if isinstance(text, Markup) else Markup(html.escape(text, quote=True))


def join(parts: Iterable[str], separator: str = "") -> Markup:
    """String the parts together, escaping those that are plain text."""
    return Markup(escape(separator).join(escape(part) for part in parts))


def element(tag: str, *children: str, **attributes: Attribute) -> Markup:
    """Build one element: `class_` is class, `data_kind` is data-kind; None and False leave an attribute out."""
    opening = f"<{tag}{''.join(_attribute(name, value) for name, value in attributes.items())}>"
    return Markup(opening) if tag in _VOID else Markup(f"{opening}{join(children)}</{tag}>")


def number(value: float) -> str:
    """Write a coordinate with at most two decimals: pages full of `12.000000001` are large for nothing."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escape(number(value) if isinstance(value, float) else str(value))}"'
