"""A grid's numbers as a Markdown table: means over seeds, marks of significance."""

from collections.abc import Mapping, Sequence
from typing import Any

from docaps.runs.card import markdown_table
from docaps.runs.wording import MISSING, decimal, duration

NAMES = {"bleu": "BLEU", "dbleu": "d-BLEU", "chrf": "chrF2++", "meteor": "METEOR"}
LEVELS = ((0.01, "**"), (0.05, "*"))
OTHER_HISTORIES = {"shuffled": "another's history", "none": "no history"}
SMALLEST = 0.005
"""A difference that rounds to nothing gets no mark, whatever the tests say of it."""
Results = Mapping[str, Any]


def metric_keys(found: Results) -> list[str]:
    """Return the metrics that the rows have, in the order of the table."""
    return [key for key in NAMES if any(key in row["means"] for row in found["rows"])]


def significance_mark(row: Results, key: str) -> str:
    """Mark a difference to a row's baseline that both tests find unlikely to be chance: * below 0.05, ** below 0.01."""
    return _mark((row.get("against") or {}).get(key), SMALLEST)


def _mark(against: Results | None, smallest: float) -> str:
    if against is None or abs(against["difference"]) < smallest:
        return ""
    worst = max(against["p_bootstrap"], against["p_randomisation"])
    return next((mark for level, mark in LEVELS if worst < level), "")


def interval_text(row: Results, key: str) -> str:
    """Write the interval over seeds; of a single seed, that over documents."""
    mean = row["means"][key]
    ends = mean if mean["low"] is not None else (row.get("documents") or {}).get(key)
    return f"[{ends['low']:.2f}, {ends['high']:.2f}]" if ends else ""


def has_choices(found: Results) -> bool:
    """Say whether any row was tested on contrastive items."""
    return any(row.get("choices") for row in found["rows"])


def right_choices(row: Results) -> tuple[str, str]:
    """Write the share of right choices in per cent, and its interval over seeds, empty if there is one seed."""
    found = row.get("choices")
    if not found:
        return MISSING, ""
    ends = f"[{100 * found['low']:.1f}, {100 * found['high']:.1f}]" if found["low"] is not None else ""
    return f"{100 * found['mean']:.1f}", ends


def as_rows(found: Results) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table."""
    keys = metric_keys(found)
    chosen = has_choices(found)
    header = ["row", *(NAMES[key] for key in keys), *(["right choices, %"] if chosen else []), "seeds"]
    rows = [_cells(row, keys, chosen) for row in found["rows"]]
    if is_trial(found):
        header[1:1] = ["perplexity", *(f"perplexity, {name}" for name in OTHER_HISTORIES.values())]
        for cells, row in zip(rows, found["rows"], strict=True):
            cells[1:1] = [_perplexity(row, history) for history in ("true", *OTHER_HISTORIES)]
    return header, rows


def _perplexity(row: Results, history: str) -> str:
    """Write a perplexity of the development part with its mark; these differ less than scores do."""
    found = (row.get("histories") or {}).get(history)
    return f"{found['perplexity']:.3f}{_mark(found['against'], SMALLEST / 10)}" if found else MISSING


def is_trial(found: Results) -> bool:
    """Say whether the rows are there to choose settings by: their scores are those of the development part."""
    return str(found["experiment"]) == "trials"


def _cells(row: Results, keys: Sequence[str], chosen: bool) -> list[str]:
    cells = [f"{row['row']}: {row['title']}"]
    for key in keys:
        mean = f"{row['means'][key]['mean']:.2f}{significance_mark(row, key)}"
        cells.append(f"{mean} {interval_text(row, key)}".strip())
    if chosen:
        cells.append(" ".join(right_choices(row)).strip())
    return [*cells, ", ".join(str(run["seed"]) for run in row["runs"])]


def caption(found: Results) -> str:
    """Say what the numbers are."""
    corpus = found["corpus"]
    text = (
        f"{corpus['documents']:,} mini-documents ({corpus['phenomena']})" if "documents" in corpus else corpus["path"]
    )
    steps = " and ".join(f"{_taken(found, name)} {name} steps" for name in found["steps"])
    several = len(found["seeds"]) > 1
    what = "over documents (bootstrap), of one seed"
    if several:
        what = "over seeds (Student's t); of a row with one seed, over documents"
    part = "Development" if found.get("part") == "dev" else "Test"
    start = f"{found['title']}. Recipe `{found['recipe']}`, {steps}; {text}. {part} part; 95 % intervals {what}."
    return f"{start}{_marks(found)}"


def _taken(found: Results, name: str) -> str:
    """Write how many steps the runs of a stage took; what a recipe says is a limit."""
    taken = (found.get("taken") or {}).get(name) or [found["steps"][name]]
    return f"{min(taken):,}" + (f" to {max(taken):,}" if min(taken) < max(taken) else "")


def _marks(found: Results) -> str:
    """Say what the marks of significance mean, or why there are none."""
    if not found["baseline"]:
        return ""
    baselines = _baselines(found)
    compared = [f"against {baselines}"] if baselines else []
    if any((row.get("histories") or {}).keys() & OTHER_HISTORIES for row in found["rows"]):
        compared.append("perplexity with another history or none: against the true one")
    missing = "" if baselines else f" No row could be compared with `{found['baseline']}` yet."
    if not compared:
        return missing
    return (
        f"{missing} * p < 0.05, ** p < 0.01 {'; '.join(compared)}, by both the paired bootstrap and approximate "
        f"randomisation over documents, {found['draws']:,} draws, on the seeds that both have."
    )


def _baselines(found: Results) -> str:
    """Name the row that the others are compared with, and in brackets what some are compared with instead."""
    compared = {row["row"]: row.get("baseline") or found["baseline"] for row in found["rows"] if row.get("against")}
    others = {row: base for row, base in compared.items() if base != found["baseline"]}
    if others == compared:
        return ", ".join(f"`{base}` (`{row}`)" for row, base in others.items())
    instead = ", ".join(f"`{row}`: `{base}`" for row, base in others.items())
    return f"`{found['baseline']}`" + (f" ({instead})" if instead else "")


def state_beginnings(found: Results) -> list[str]:
    """Say what the sentence models are that all rows start from."""
    models = [
        f"seed {model['seed']}: {model['steps']:,} steps, {duration(model['seconds'])}, perplexity of the development "
        f"part {decimal(model['perplexity'], 2)}"
        for model in found.get("sentence_models") or []
    ]
    return [f"The sentence models that the rows start from: {'; '.join(models)}."] if models else []


def state_unfinished(found: Results) -> list[str]:
    """Say which runs were begun and are not finished, and which failed."""
    begun = found.get("unfinished") or []
    return [f"Not finished: {', '.join(begun)}."] if begun else []


def as_markdown(found: Results) -> str:
    """Write the tables of the test and development parts, with lines that say what was measured and how."""
    parts = [caption(found), *state_unfinished(found), markdown_table(*as_rows(found))]
    if not is_trial(found) and any("dev" in run for row in found["rows"] for run in row["runs"]):
        parts += ["Development part, on which models were chosen:", markdown_table(*_dev_rows(found))]
    signatures = [f"{NAMES[key]} `{signature}`" for key, signature in (found.get("signatures") or {}).items()]
    parts += [f"Signatures: {', '.join(signatures)}."] if signatures else []
    return "\n\n".join([*parts, *state_beginnings(found)]) + "\n"


def _dev_rows(found: Results) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the scores of the development part, means over seeds."""
    keys = metric_keys(found)
    rows = []
    for row in found["rows"]:
        measured = [run["dev"] for run in row["runs"] if "dev" in run]
        means = [sum(scores[key] for scores in measured) / len(measured) if measured else None for key in keys]
        rows.append([row["row"], *(decimal(mean, 2) for mean in means)])
    return ["row", *(NAMES[key] for key in keys)], rows
