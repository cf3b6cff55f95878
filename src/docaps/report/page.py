"""The report: one HTML file that needs nothing else, on a screen, on a phone or on paper."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from docaps.files import write_text_atomically
from docaps.report.curves import curves_section
from docaps.report.diagnosis import diagnosis_section
from docaps.report.headline import state_bleu, state_result
from docaps.report.markup import Markup, element, join
from docaps.report.provenance import provenance_section
from docaps.report.results import RunResults
from docaps.report.routing import routing_section
from docaps.report.samples import samples_section
from docaps.report.table import results_section

_CONTENTS = (
    ("results", "Results"),
    ("diagnosis", "Is context used?"),
    ("samples", "Sample documents"),
    ("routing", "Routing"),
    ("curves", "Learning curves"),
    ("provenance", "How it was made"),
)


def build_page(
    results: Sequence[RunResults], *, title: str, subtitle: str = "", commands: Sequence[tuple[str, str]] = ()
) -> str:
    """Build the whole page; `commands` are (what it does, command) pairs."""
    main = element(
        "main",
        _header(results, title, subtitle),
        results_section(results),
        diagnosis_section(results),
        samples_section(results),
        routing_section(results),
        curves_section(results),
        provenance_section(results, commands),
        id="main",
    )
    skip = element("a", "Skip to the results", href="#results", class_="skip")
    body = element("body", skip, _navigation(results), main, element("script", _asset("page.js")))
    return f"<!doctype html>\n{element('html', _head(title), body, lang='en')}\n"


def write_report(
    path: Path,
    results: Sequence[RunResults],
    *,
    title: str,
    subtitle: str = "",
    commands: Sequence[tuple[str, str]] = (),
) -> None:
    """Write the page; it is complete or not there at all."""
    write_text_atomically(path, build_page(results, title=title, subtitle=subtitle, commands=commands))


def _asset(name: str) -> Markup:
    return Markup(files("docaps.report").joinpath(name).read_text(encoding="utf-8"))


def _head(title: str) -> Markup:
    # An empty icon of its own: otherwise a browser asks the server, or the disk, for one.
    icon = element("link", rel="icon", href="data:,")
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        icon,
        element("style", _asset("page.css")),
    )


def _navigation(results: Sequence[RunResults]) -> Markup:
    absent = set() if any(run.diagnosis for run in results) else {"diagnosis"}
    places = [(place, words) for place, words in _CONTENTS if place not in absent]
    links = [element("li", element("a", words, href=f"#{place}")) for place, words in places]
    return element("nav", element("ul", *links), aria_label="Contents")


def _header(results: Sequence[RunResults], title: str, subtitle: str) -> Markup:
    parts = [element("h1", title)]
    parts += [element("p", subtitle, class_="subtitle")] if subtitle else []
    parts += [element("p", text, class_="headline") for text in [state_result(results)] if text]
    parts += [element("p", text, class_="second") for text in [state_bleu(results)] if text]
    return element("header", join(parts))
