"""The results of a grid in words and as tables: means over seeds, intervals, significance marks, right choices."""

from collections.abc import Mapping, Sequence
from typing import Any

from docaps.report.templating import TableCell
from docaps.runs.card import markdown_table
from docaps.runs.grid_results import Grid
from docaps.runs.wording import MISSING, decimal, duration

METRIC_NAMES = {"bleu": "BLEU", "dbleu": "d-BLEU", "chrf": "chrF2++", "meteor": "METEOR"}
LEVELS = ((0.01, "**"), (0.05, "*"))
OTHER_HISTORIES = {"shuffled": "another's history", "none": "no history"}
SMALLEST = 0.005
"""Differences below this round to nothing and get no mark, however significant."""
Row = Mapping[str, Any]
_SPEED = (
    " Speed: target tokens a second in training, as a share of the sentence model's, both measured in turn, each with "
    "batches of its own."
)


def metric_keys(grid: Grid) -> list[str]:
    """Return the metrics that the rows have, in table order."""
    return [key for key in METRIC_NAMES if any(key in row["means"] for row in grid["rows"])]


def significance_mark(row: Row, key: str) -> str:
    """Mark a significant difference to the baseline of a row: * if both tests give p < 0.05, ** if p < 0.01."""
    return mark_of((row.get("against") or {}).get(key), SMALLEST)


def mark_of(against: Mapping[str, float] | None, smallest: float) -> str:
    """Mark a difference that is significant by both tests, and large enough to be seen."""
    if against is None or abs(against["difference"]) < smallest:
        return ""
    worst = max(against["p_bootstrap"], against["p_randomisation"])
    return next((mark for level, mark in LEVELS if worst < level), "")


def as_rows(grid: Grid) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the table as text."""
    header, rows = grid_cells(grid)
    return header, [[str(cell) for cell in row] for row in rows]


def grid_cells(grid: Grid) -> tuple[list[str], list[list[TableCell]]]:
    """Return header and rows of the table: name, perplexities of trials, scores, right choices, seeds."""
    keys, chosen = metric_keys(grid), any(row.get("choices") for row in grid["rows"])
    compared = is_trial(grid) or any(row.get("histories") for row in grid["rows"])
    histories = ("true", *OTHER_HISTORIES) if compared else ()
    perplexities = ["perplexity", *(f"perplexity, {name}" for name in OTHER_HISTORIES.values())] if histories else []
    choices = ["right choices, %"] * chosen
    rows = [
        [
            TableCell(f"{row['row']}: {row['title']}"),
            *(_perplexity_cell(row, history) for history in histories),
            *(_score_cell(row, key) for key in keys),
            *[_choices_cell(row)] * chosen,
            TableCell(", ".join(str(run["seed"]) for run in row["runs"])),
        ]
        for row in grid["rows"]
    ]
    return ["row", *perplexities, *(METRIC_NAMES[key] for key in keys), *choices, "seeds"], rows


def _score_cell(row: Row, key: str) -> TableCell:
    """Format a mean with its interval over seeds, or over documents if there is one seed."""
    mean = row["means"].get(key)
    if mean is None:
        return TableCell(MISSING)
    ends = mean if mean["low"] is not None else (row.get("documents") or {}).get(key)
    interval = f"[{ends['low']:.2f}, {ends['high']:.2f}]" if ends else ""
    mark = significance_mark(row, key)
    title = _explain(row["against"][key]) if mark else ""
    return TableCell(f"{mean['mean']:.2f}", interval=interval, mark=mark, title=title)


def _choices_cell(row: Row) -> TableCell:
    """Format the percentage of right choices with its interval over seeds, if there are several."""
    found = row.get("choices")
    if not found:
        return TableCell(MISSING)
    interval = f"[{100 * found['low']:.1f}, {100 * found['high']:.1f}]" if found["low"] is not None else ""
    return TableCell(f"{100 * found['mean']:.1f}", interval=interval)


def _perplexity_cell(row: Row, history: str) -> TableCell:
    """Format a perplexity with its mark; perplexities differ less than scores, so the threshold is lower."""
    found = (row.get("histories") or {}).get(history)
    if not found:
        return TableCell(MISSING)
    mark = mark_of(found["against"], SMALLEST / 10)
    return TableCell(f"{found['perplexity']:.3f}", mark=mark, title=_explain(found["against"], 3) if mark else "")


def _explain(found: Mapping[str, float], places: int = 2) -> str:
    p = f"p = {found['p_bootstrap']:.4f} (bootstrap), {found['p_randomisation']:.4f} (randomisation)"
    return f"difference {found['difference']:+.{places}f}, {p}"


def is_trial(grid: Grid) -> bool:
    """Return whether the grid is for choosing settings; its scores are then of the development part."""
    return str(grid["experiment"]) == "trials"


def caption(grid: Grid) -> str:
    """Describe recipe, data, part, intervals and significance tests."""
    corpus = grid["corpus"]
    made = (
        f"{corpus['documents']:,} mini-documents ({corpus['phenomena']})" if "documents" in corpus else corpus["path"]
    )
    # The recipe only sets a limit: the caption says how many steps the runs of a stage took.
    taken = {name: (grid.get("taken") or {}).get(name) or [limit] for name, limit in grid["steps"].items()}
    ranges = {name: " to ".join(f"{steps:,}" for steps in sorted({min(of), max(of)})) for name, of in taken.items()}
    steps = " and ".join(f"{number} {name} steps" for name, number in ranges.items())
    several = "over seeds (Student's t); of a row with one seed, over documents"
    what = several if len(grid["seeds"]) > 1 else "over documents (bootstrap), of one seed"
    part = "Development" if grid.get("part") == "dev" else "Test"
    start = f"{grid['title']}. Recipe `{grid['recipe']}`, {steps}; {made}. {part} part; 95 % intervals {what}."
    return f"{start}{_marks(grid)}"


def _marks(grid: Grid) -> str:
    """Explain the significance marks, or why there are none."""
    if not grid["baseline"]:
        return ""
    baselines = _baselines(grid)
    compared = [f"against {baselines}"] if baselines else []
    if any((row.get("histories") or {}).keys() & OTHER_HISTORIES for row in grid["rows"]):
        compared.append("perplexity with another history or none: against the true one")
    missing = "" if baselines else f" No row could be compared with `{grid['baseline']}` yet."
    if not compared:
        return missing
    return (
        f"{missing} * p < 0.05, ** p < 0.01 {'; '.join(compared)}, by both the paired bootstrap and approximate "
        f"randomisation over documents, {grid['draws']:,} draws, on the seeds that both have."
    )


def _baselines(grid: Grid) -> str:
    """Name the baseline, with exceptions in brackets."""
    compared = {row["row"]: row.get("baseline") or grid["baseline"] for row in grid["rows"] if row.get("against")}
    others = {row: base for row, base in compared.items() if base != grid["baseline"]}
    if others == compared:
        return ", ".join(f"`{base}` (`{row}`)" for row, base in others.items())
    instead = ", ".join(f"`{row}`: `{base}`" for row, base in others.items())
    return f"`{grid['baseline']}`" + (f" ({instead})" if instead else "")


def state_sentence_models(grid: Grid) -> list[str]:
    """Describe the sentence models that all rows start from."""
    models = [
        f"seed {model['seed']}: {model['steps']:,} steps, {duration(model['seconds'])}, perplexity of the development "
        f"part {decimal(model['perplexity'], 2)}"
        for model in grid.get("sentence_models") or []
    ]
    return [f"The sentence models that the rows start from: {'; '.join(models)}."] if models else []


def state_unfinished(grid: Grid) -> list[str]:
    """Name the runs that were started and are unfinished or failed."""
    begun = grid.get("unfinished") or []
    return [f"Not finished: {', '.join(begun)}."] if begun else []


def as_markdown(grid: Grid) -> str:
    """Format the table of right choices, or those of the scores on both parts, with captions and signatures."""
    if "chance" in grid:
        parts = [_choice_caption(grid), *state_unfinished(grid), markdown_table(*choice_rows(grid), numbers=True)]
        return "\n\n".join(parts) + "\n"
    parts = [caption(grid), *state_unfinished(grid), markdown_table(*as_rows(grid))]
    if not is_trial(grid) and any("dev" in run for row in grid["rows"] for run in row["runs"]):
        parts += ["Development part, on which models were chosen:", markdown_table(*_dev_rows(grid))]
    signatures = [f"{METRIC_NAMES[key]} `{signature}`" for key, signature in (grid.get("signatures") or {}).items()]
    parts += [f"Signatures: {', '.join(signatures)}."] if signatures else []
    return "\n\n".join([*parts, *state_sentence_models(grid)]) + "\n"


def _dev_rows(grid: Grid) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of the mean scores of the development part."""
    keys = metric_keys(grid)
    rows = []
    for row in grid["rows"]:
        measured = [run["dev"] for run in row["runs"] if "dev" in run]
        means = [sum(scores[key] for scores in measured) / len(measured) if measured else None for key in keys]
        rows.append([row["row"], *(decimal(mean, 2) for mean in means)])
    return ["row", *(METRIC_NAMES[key] for key in keys)], rows


def _choice_caption(grid: Grid) -> str:
    seeds = ", ".join(map(str, grid["seeds"]))
    over = f"means over the seeds {seeds} (lowest-highest)" if len(grid["seeds"]) > 1 else f"seed {seeds}"
    return (
        f"Right choices in % on {grid['items']:,} contrastive items, by phenomenon and distance; {over}. "
        f"Recipe `{grid['recipe']}`, {grid['corpus']['documents']:,} training documents, "
        f"{grid['steps']['document']:,} document steps from one sentence model per seed, unless the row says "
        f"otherwise. Steps: until {grid['learnt']:.0%} of the choices on every {grid['probed_items']}th item "
        f"were right, checked every {grid['check_every']} steps ({MISSING}: never).{_SPEED if _is_timed(grid) else ''}"
    )


def _is_timed(grid: Grid) -> bool:
    return any(run["speed"] is not None for row in grid["rows"] for run in row["runs"])


def choice_rows(grid: Grid) -> tuple[list[str], list[list[str]]]:
    """Return header and rows of right choices by phenomenon and distance: one for each row, and one for chance."""
    timed, chance = _is_timed(grid), _by_group(grid["chance"] or {"all": 0.0, "by_phenomenon_and_distance": {}})
    cost = ["parameters", "speed"] * timed
    rows = []
    for row in grid["rows"]:
        runs = row["runs"]
        shares = [_by_group(run["accuracy"]) for run in runs]
        speeds = [run["speed"] for run in runs if run["speed"] is not None]
        speed = decimal(sum(speeds) / len(speeds) if speeds else None, 2)
        means = [mean_and_range([100 * share[group] for share in shares]) for group in chance]
        steps = ", ".join(MISSING if run["steps_to_learn"] is None else f"{run['steps_to_learn']:,}" for run in runs)
        bleu = mean_and_range([run["test"]["bleu"] for run in runs])
        spent = [f"{runs[0]['parameters']:,}", speed] if timed else []
        rows.append([f"{row['row']}: {row['title']}", *spent, *means, steps, bleu])
    if rows:
        rows.append(["chance", *("" for _ in cost), *(f"{100 * guess:.1f}" for guess in chance.values()), "", ""])
    return ["row", *cost, *chance, "steps", "BLEU"], rows


def _by_group(accuracy: Mapping[str, Any]) -> dict[str, float]:
    """Return the accuracy on all items, and on those of each phenomenon at each distance."""
    groups = accuracy["by_phenomenon_and_distance"].items()
    return {"all": accuracy["all"]} | {f"{name} {far}": share for name, some in groups for far, share in some.items()}


def mean_and_range(values: Sequence[float]) -> str:
    """98.5 and 99.3 -> 98.9 (98.5-99.3); a range that rounds to one number is left out."""
    mean, low, high = (f"{value:.1f}" for value in (sum(values) / len(values), min(values), max(values)))
    return mean if low == high else f"{mean} ({low}-{high})"
