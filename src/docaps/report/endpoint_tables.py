"""The endpoints of a grid as Markdown tables: scores by part, right choices by set, gain from context in training."""

from collections.abc import Mapping, Sequence
from typing import Any

from docaps.report.grid_tables import METRIC_NAMES, OTHER_HISTORIES, SMALLEST, mark_of
from docaps.runs.card import markdown_table
from docaps.runs.wording import MISSING, decimal

MARGIN = 0.2
"""BLEU points by which a row may be worse than the baseline and still count as not worse."""
SHOWN = {"reference": "", "own": ", own translations"}
"""The translations that a history is shown with, behind the name of a row."""
TRUE, SHUFFLED, NONE = "true", "shuffled", "none"
HISTORY_NAMES = {TRUE: "own history", **OTHER_HISTORIES}
Endpoints = Mapping[str, Any]
Rows = list[list[str]]


def endpoints_as_markdown(found: Endpoints) -> str:
    """Format all tables with their captions."""
    blocks = [f"Endpoints of: {found['title']}. {_tests(found)}"]
    for part in part_names(found):
        blocks += [f"**Scores of the part `{part}`**", markdown_table(*part_rows(found, part))]
    if found["signatures"]:
        blocks.append(f"Signatures: {', '.join(f'{METRIC_NAMES[k]} `{v}`' for k, v in found['signatures'].items())}.")
    for name, described in found["items"].items():
        blocks += [f"**Right choices among the items `{name}`, %** ({describe_items(described)})"]
        blocks.append(markdown_table(*item_rows(found, name)))
    if any(row["checkpoints"] for row in found["rows"]):
        blocks += [
            "**Gain from context against training**",
            checkpoint_caption(),
            markdown_table(*checkpoint_rows(found)),
        ]
    return "\n\n".join(blocks) + "\n"


def part_names(found: Endpoints) -> list[str]:
    """Return the parts that rows have scores of, in their order."""
    return list(dict.fromkeys(part for row in found["rows"] for part in row["parts"]))


def _tests(found: Endpoints) -> str:
    return (
        "Scores are means over seeds; brackets hold 95 % intervals, over seeds (Student's t) or, of one seed, over "
        f"documents (bootstrap). * p < 0.05, ** p < 0.01 against `{found['baseline']}` by both the paired bootstrap "
        f"and approximate randomisation over documents, {found['draws']:,} draws, on the seeds that both have. Not "
        f"worse: the interval of the difference in BLEU is above -{MARGIN}."
    )


def part_rows(found: Endpoints, part: str) -> tuple[list[str], Rows]:
    """Return header and rows of a part's scores."""
    rows = [row for row in found["rows"] if part in row["parts"]]
    keys = [key for key in METRIC_NAMES if any(key in row["parts"][part] for row in rows)]
    header = ["row", *(METRIC_NAMES[key] for key in keys), "difference in BLEU", "not worse", "seeds"]
    return header, [[row["row"], *_scores(row["parts"][part], keys), _seeds(row)] for row in rows]


def _scores(scores: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    """Format the scores of a row, its difference in BLEU, and whether it is not worse."""
    cells = [_score(scores.get(key)) for key in keys]
    against = (scores.get("bleu") or {}).get("against")
    if against is None:
        return [*cells, MISSING, MISSING]
    return [*cells, _difference(against, 2), "yes" if against["low"] > -MARGIN else "no"]


def _score(score: Mapping[str, Any] | None) -> str:
    """Format a mean with its interval and mark."""
    if score is None:
        return MISSING
    mean = score["mean"]
    ends = mean if mean["low"] is not None else score["documents"]
    interval = f" [{ends['low']:.2f}, {ends['high']:.2f}]" if ends else ""
    return f"{mean['mean']:.2f}{mark_of(score['against'], SMALLEST)}{interval}"


def _difference(found: Mapping[str, float], places: int, factor: float = 1.0) -> str:
    """Format a difference with its interval."""
    value, low, high = (f"{factor * found[key]:+.{places}f}" for key in ("difference", "low", "high"))
    return f"{value} [{low}, {high}]"


def _seeds(row: Mapping[str, Any]) -> str:
    return ", ".join(map(str, row["seeds"]))


def describe_items(described: Mapping[str, Any]) -> str:
    """Describe a set: items by answer, documents and chance."""
    labels = ", ".join(f"{count:,} {label}" for label, count in described["labels"].items())
    size = f"{described['items']:,} items of {described['documents']:,} documents: {labels}"
    return f"{size}; chance {100 * described['chance']:.1f}"


def item_rows(found: Endpoints, name: str) -> tuple[list[str], Rows]:
    """Return header and rows of the right choices in a set: with each history, and the tests."""
    header = ["row", *HISTORY_NAMES.values(), "own - another's", "p", f"against `{found['baseline']}`", "p", "seeds"]
    rows = []
    for row in found["rows"]:
        for shown, results in row["items"].get(name, {}).items():
            shares = [_share(results["histories"].get(history)) for history in HISTORY_NAMES]
            tests = [*_tested(results["gains"].get(SHUFFLED)), *_tested(results.get("against"))]
            rows.append([f"{row['row']}{SHOWN[shown]}", *shares, *tests, _seeds(row)])
    return header, rows


def _share(found: Mapping[str, float] | None) -> str:
    if found is None:
        return MISSING
    return f"{100 * found['share']:.1f} [{100 * found['low']:.1f}, {100 * found['high']:.1f}]"


def _tested(found: Mapping[str, Any] | None) -> list[str]:
    """Format a difference in points, and the p-values of McNemar's test and of the tests over documents."""
    if found is None:
        return [MISSING, MISSING]
    over_documents = max(found["p_bootstrap"], found["p_randomisation"])
    return [_difference(found, 1, 100), f"{found['p_mcnemar']:.3f}; {over_documents:.3f}"]


def checkpoint_caption() -> str:
    """Explain the table and the picture of checkpoints."""
    return (
        "At each kept step: right choices with the own history minus those with another's, in points, and by how much "
        "another's history raises the perplexity of the development part above that with the own one, in per cent. "
        "Target tokens are in proportion to steps. Only rows that see a history."
    )


def checkpoint_rows(found: Endpoints) -> tuple[list[str], Rows]:
    """Return header and rows of the gains at each kept step."""
    names = list(found["items"])
    header = ["row", "step", "target tokens", *(f"{name}: gain" for name in names), "perplexity", "gain, %"]
    rows = []
    for row in found["rows"]:
        for one in row["checkpoints"]:
            if SHUFFLED in one["perplexity"]:
                gains = [decimal(gain_of(one, name), 1) for name in names]
                perplexity = [decimal(one["perplexity"][TRUE], 3), decimal(gain_of(one, None), 3)]
                rows.append([row["row"], f"{one['step']:,}", f"{one['tokens']:,}", *gains, *perplexity])
    return header, rows


def gain_of(checkpoint: Mapping[str, Any], name: str | None) -> float | None:
    """Return the gain of a set's choices from the own history, in points, or that of perplexity, in per cent."""
    found = checkpoint["perplexity"] if name is None else checkpoint["choices"].get(name, {})
    if TRUE not in found or SHUFFLED not in found:
        return None
    if name is None:
        return float(100 * (found[SHUFFLED] / found[TRUE] - 1))
    return float(100 * (found[TRUE] - found[SHUFFLED]))
