"""Tables in terminals: wrapped or listed where they are too wide, never cut."""

import io
import re
import sys
from typing import Any

import pytest
from rich.text import Text

from docaps.cli.console import print_table
from docaps.cli.histogram import draw_histogram

HEADER = ["translation", "BLEU", "tokenised BLEU", "METEOR-1.5[de,exact+stem]"]
ROWS = [
    ["a first system.de", "12.34 [11.20, 13.50]", "12.00 [11.00, 13.00]", "30.10 [29.00, 31.20]"],
    ["other.de", "12.50 [11.30, 13.60]", "", Text("30.20 [29.10, 31.30]")],
]


class Terminal(io.StringIO):
    """A stdout that is a terminal."""

    def isatty(self) -> bool:
        return True


def printed(
    width: int, monkeypatch: pytest.MonkeyPatch, header: Any = HEADER, rows: Any = ROWS, *, terminal: bool = True
) -> str:
    """Return a table as printed in a terminal of some width."""
    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setattr(sys, "stdout", Terminal() if terminal else io.StringIO())
    print_table("Scores", header, rows)
    text = sys.stdout.getvalue()  # type: ignore[attr-defined]
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@pytest.mark.parametrize("width", [30, 40, 60, 80, 100, 120, 200])
def test_no_table_is_cut(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(width, monkeypatch)
    assert "…" not in text
    words = set(text.replace("│", " ").replace("┃", " ").split())
    for cell in [*HEADER[1:], *(str(cell) for row in ROWS for cell in row)]:
        assert words.issuperset(cell.split())
    assert max(len(line) for line in text.splitlines()) <= max(width, 50)


def test_headers_are_wrapped_and_then_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    header, rows = ["run", "dev perplexity"], [["a long name", "1.5"]]
    assert printed(32, monkeypatch, header, rows).splitlines()[2] == "┃ run         ┃ dev perplexity ┃"
    narrower = printed(28, monkeypatch, header, rows).splitlines()
    assert narrower[2:4] == ["┃             ┃        dev ┃", "┃ run         ┃ perplexity ┃"]
    narrow = printed(23, monkeypatch, header, rows).splitlines()
    assert narrow[2:4] == ["┃        ┃        dev ┃", "┃ run    ┃ perplexity ┃"]
    assert narrow[5:7] == ["│ a long │        1.5 │", "│ name   │            │"]
    assert printed(18, monkeypatch, header, rows).splitlines() == ["Scores", "a long name", "  dev perplexity  1.5"]


def test_a_table_that_is_too_wide_is_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(80, monkeypatch).splitlines() == [
        "Scores",
        "a first system.de",
        "  BLEU                       12.34 [11.20, 13.50]",
        "  tokenised BLEU             12.00 [11.00, 13.00]",
        "  METEOR-1.5[de,exact+stem]  30.10 [29.00, 31.20]",
        "other.de",
        "  BLEU                       12.50 [11.30, 13.60]",
        "  METEOR-1.5[de,exact+stem]  30.20 [29.10, 31.30]",
    ]


def test_a_file_gets_the_whole_table(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "│ a first system.de │ 12.34 [11.20, 13.50] │" in printed(40, monkeypatch, terminal=False)


def test_a_histogram_has_at_most_80_columns() -> None:
    bins = [{"from": 1, "to": 10, "source": 1_000_000, "target": 1_000_000}]
    assert max(map(len, draw_histogram(bins))) <= 80
