"""Contrastive choices of the rows of a grid as a table: means over seeds, with the range where there are several."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from docaps.report.grid_tables import state_unfinished
from docaps.runs.wording import MISSING

Results = Mapping[str, Any]
SPEED = (
    " Speed: target tokens a second in training, as a share of the sentence model's, both measured in turn, each with "
    "batches of its own."
)


def as_markdown(results: Results) -> str:
    """Return the table, with a caption that says what was measured."""
    header, rows = as_rows(results)
    lines = [f"| {' | '.join(cells)} |" for cells in (header, ["---", *["---:"] * (len(header) - 1)], *rows)]
    parts = [_caption(results), *state_unfinished(results), "\n".join(lines)]
    return "\n\n".join(parts) + "\n"


def _caption(results: Results) -> str:
    seeds = results["seeds"]
    over = f"means over the seeds {', '.join(map(str, seeds))} (lowest-highest)"
    if len(seeds) == 1:
        over = f"seed {seeds[0]}"
    return (
        f"Right choices in % on {results['items']:,} contrastive items, by phenomenon and distance; {over}. "
        f"Recipe `{results['recipe']}`, {results['corpus']['documents']:,} training documents, "
        f"{results['steps']['document']:,} document steps from one sentence model per seed, unless the row says "
        f"otherwise. Steps: until {results['learnt']:.0%} of the choices on every {results['probed_items']}th item "
        f"were right, checked every {results['check_every']} steps ({MISSING}: never)."
        f"{SPEED if _is_timed(results) else ''}"
    )


def _is_timed(results: Results) -> bool:
    return any(run["speed"] is not None for row in results["rows"] for run in row["runs"])


def as_rows(results: Results) -> tuple[list[str], list[list[str]]]:
    """Return header and rows: one for each row of the grid, and one for chance."""
    chance = results["chance"] or {"all": 0.0, "by_phenomenon_and_distance": {}}
    groups = [
        (phenomenon, distance)
        for phenomenon, by_distance in chance["by_phenomenon_and_distance"].items()
        for distance in by_distance
    ]
    timed = _is_timed(results)
    cost = ["parameters", "speed"] if timed else []
    header = ["row", *cost, "all", *(f"{name} {distance}" for name, distance in groups), "steps", "BLEU"]
    rows = []
    for row in results["rows"]:
        runs = row["runs"]
        shares = [_shares(runs, lambda run: run["accuracy"]["all"])]
        shares += [_shares(runs, _in_group(group)) for group in groups]
        spent = [f"{runs[0]['parameters']:,}", _speed(runs)] if timed else []
        bleu = mean_and_range([run["test"]["bleu"] for run in runs])
        rows.append([f"{row['row']}: {row['title']}", *spent, *shares, _steps(runs), bleu])
    if results["rows"]:
        guesses = [chance["all"], *(chance["by_phenomenon_and_distance"][name][distance] for name, distance in groups)]
        rows.append(["chance", *("" for _ in cost), *(f"{100 * guess:.1f}" for guess in guesses), "", ""])
    return header, rows


def _in_group(group: tuple[str, str]) -> Callable[[Results], float]:
    """Return a function that reads the accuracy of a phenomenon at a distance."""
    phenomenon, distance = group
    return lambda run: float(run["accuracy"]["by_phenomenon_and_distance"][phenomenon][distance])


def _shares(runs: Sequence[Results], read: Callable[[Results], float]) -> str:
    return mean_and_range([100 * read(run) for run in runs])


def _speed(runs: Sequence[Results]) -> str:
    """Return the mean share of the sentence model's speed, as far as it was measured."""
    shares = [run["speed"] for run in runs if run["speed"] is not None]
    return f"{sum(shares) / len(shares):.2f}" if shares else MISSING


def mean_and_range(values: Sequence[float]) -> str:
    """98.5 and 99.3 -> 98.9 (98.5-99.3); a range that rounds to one number is left out."""
    mean, low, high = (f"{value:.1f}" for value in (sum(values) / len(values), min(values), max(values)))
    return mean if low == high else f"{mean} ({low}-{high})"


def _steps(runs: Sequence[Results]) -> str:
    """List the steps to learn of each seed."""
    found = [run["steps_to_learn"] for run in runs]
    return ", ".join(MISSING if steps is None else f"{steps:,}" for steps in found)
