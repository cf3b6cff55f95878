"""A grid's numbers as a Markdown table: means over seeds, marks of significance."""

from collections.abc import Mapping, Sequence
from typing import Any

from docaps.report.card import markdown_table
from docaps.report.wording import MISSING

NAMES = {"bleu": "BLEU", "dbleu": "d-BLEU", "chrf": "chrF2++", "meteor": "METEOR"}
LEVELS = ((0.01, "**"), (0.05, "*"))
SMALLEST = 0.005
"""A difference that rounds to nothing gets no mark, whatever the tests say of it."""
Results = Mapping[str, Any]


def metric_keys(found: Results) -> list[str]:
    """Return the metrics that the rows have, in the order of the table."""
    return [key for key in NAMES if any(key in row["means"] for row in found["rows"])]


def significance_mark(row: Results, key: str) -> str:
    """Mark a difference to the baseline that both tests find unlikely to be chance: * below 0.05, ** below 0.01."""
    against = (row.get("against") or {}).get(key)
    if against is None or abs(against["difference"]) < SMALLEST:
        return ""
    worst = max(against["p_bootstrap"], against["p_randomisation"])
    return next((mark for level, mark in LEVELS if worst < level), "")


def interval_text(row: Results, key: str) -> str:
    """Write the interval over seeds; of a single seed, that over documents."""
    mean = row["means"][key]
    ends = mean if mean["low"] is not None else (row.get("documents") or {}).get(key)
    return f"[{ends['low']:.2f}, {ends['high']:.2f}]" if ends else ""


def as_rows(found: Results) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table."""
    keys = metric_keys(found)
    chosen = any(row["choices"] for row in found["rows"])
    header = ["row", *(NAMES[key] for key in keys), *(["right choices, %"] if chosen else []), "seeds"]
    return header, [_cells(row, keys, chosen) for row in found["rows"]]


def _cells(row: Results, keys: Sequence[str], chosen: bool) -> list[str]:
    cells = [f"{row['row']}: {row['title']}"]
    for key in keys:
        mean = f"{row['means'][key]['mean']:.2f}{significance_mark(row, key)}"
        cells.append(f"{mean} {interval_text(row, key)}".strip())
    if chosen:
        cells.append(f"{100 * row['choices']['mean']:.1f}" if row["choices"] else MISSING)
    return [*cells, ", ".join(str(run["seed"]) for run in row["runs"])]


def caption(found: Results) -> str:
    """Say what the numbers are."""
    corpus = found["corpus"]
    text = (
        f"{corpus['documents']:,} mini-documents ({corpus['phenomena']})" if "documents" in corpus else corpus["path"]
    )
    steps = " and ".join(f"{steps:,} {name} steps" for name, steps in found["steps"].items())
    several = len(found["seeds"]) > 1
    what = "over seeds (Student's t)" if several else "over documents (bootstrap), of one seed"
    marks = (
        f" * p < 0.05, ** p < 0.01 against `{found['baseline']}`, by both the paired bootstrap and approximate "
        f"randomisation over documents, {found['draws']:,} draws."
        if found["baseline"]
        else ""
    )
    return f"{found['title']}. Recipe `{found['recipe']}`, {steps}; {text}. Test part; 95 % intervals {what}.{marks}"


def as_markdown(found: Results) -> str:
    """Write the table, with a line that says what was measured."""
    header, rows = as_rows(found)
    return f"{caption(found)}\n\n{markdown_table(header, rows)}\n"
