"""A histogram of sentence lengths for the terminal: one line for each bin, one bar for each side, 80 columns wide."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

BAR_WIDTH = 20
LABEL_WIDTH, COUNT_WIDTH = 9, 11
EIGHTHS = "▏▎▍▌▋▊▉█"


def draw_histogram(bins: Sequence[Mapping[str, Any]]) -> list[str]:
    """Draw the bins up to the last one that is not empty, one line each; the longest bar has the full width."""
    last = max((number for number, item in enumerate(bins) if item["source"] or item["target"]), default=0)
    most = max((count for item in bins for count in (item["source"], item["target"])), default=0)
    heads = f"{'source':>{COUNT_WIDTH}}  {'':{BAR_WIDTH}}  {'target':>{COUNT_WIDTH}}"
    lines = [f"{'tokens':>{LABEL_WIDTH}}  {heads}"]
    for item in bins[: last + 1]:
        source, target = (f"{count:>{COUNT_WIDTH},}  {bar(count, most)}" for count in (item["source"], item["target"]))
        lines.append(f"{_label(item):>{LABEL_WIDTH}}  {source:<{COUNT_WIDTH + 2 + BAR_WIDTH}}  {target}".rstrip())
    return lines


def _label(item: Mapping[str, Any]) -> str:
    """Format the lengths of a bin."""
    if item["to"] is None:
        return f">{item['from'] - 1}"
    return str(item["from"]) if item["from"] == item["to"] else f"{item['from']}-{item['to']}"


def bar(count: float, most: float, width: int = BAR_WIDTH) -> str:
    """Draw a bar in eighths of a character; a count above zero is always visible."""
    if not count:
        return ""
    eighths = max(round(8 * width * count / most), 1)
    if not _draws_blocks():
        return "#" * max(round(eighths / 8), 1)
    whole, rest = divmod(eighths, 8)
    return EIGHTHS[-1] * whole + (EIGHTHS[rest - 1] if rest else "")


def _draws_blocks() -> bool:
    """Return whether stdout can show block characters."""
    try:
        EIGHTHS.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
