"""A comparison of readings as a table: means over seeds, with the range where there are several."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
SPEED = (
    " Speed: target tokens a second in training, as a share of the sentence model's, both measured in turn, each with "
    "batches of its own."
)


def as_markdown(results: Mapping[str, Any]) -> str:
    """Write the table, with a line that says what was measured."""
    header, rows = as_rows(results)
    lines = [f"| {' | '.join(cells)} |" for cells in (header, ["---", *["---:"] * (len(header) - 1)], *rows)]
    return "\n".join([_caption(results), "", *lines, ""])


def _caption(results: Mapping[str, Any]) -> str:
    """Say what the numbers are."""
    seeds = results["seeds"]
    over = (
        f"seed {seeds[0]}" if len(seeds) == 1 else f"means over the seeds {', '.join(map(str, seeds))} (lowest-highest)"
    )
    return (
        f"Right choices in % on {results['items']:,} contrastive items, by phenomenon and distance; {over}. "
        f"Recipe `{results['recipe']}`, {results['documents']:,} training documents, {results['steps']:,} document "
        "steps from one sentence model per seed, if nothing else is said. Steps: until "
        f"{results['learnt']:.0%} of the choices on every {results['checked_items']}th item were right, looked up "
        f"every {results['check_every']} steps (–: never)."
        f"{SPEED if any(row.get('speed') for row in results['rows']) else ''}"
    )


def as_rows(results: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    """Return header and rows: one row a reading, and one for chance."""
    chance = results["chance"]
    groups = [
        (phenomenon, distance)
        for phenomenon, by_distance in chance["by_phenomenon_and_distance"].items()
        for distance in by_distance
    ]
    timed = any(row.get("speed") is not None for row in results["rows"])
    cost = ["parameters", "speed"] if timed else []
    header = ["reading", *cost, "all", *(f"{name} {distance}" for name, distance in groups), "steps", "BLEU"]
    names = list(dict.fromkeys(row["reading"] for row in results["rows"]))
    rows = []
    for name in names:
        cells = [row for row in results["rows"] if row["reading"] == name]
        shares = [_shares(cells, lambda row: row["accuracy"]["all"])]
        shares += [_shares(cells, _in_group(group)) for group in groups]
        spent = [f"{cells[0]['parameters']:,}", _speed(cells)] if timed else []
        rows.append([f"{name}: {cells[0]['title']}", *spent, *shares, _steps(cells), _bleu(cells)])
    guesses = [chance["all"], *(chance["by_phenomenon_and_distance"][name][distance] for name, distance in groups)]
    rows.append(["chance", *("" for _ in cost), *(f"{100 * guess:.1f}" for guess in guesses), "", ""])
    return header, rows


def _in_group(group: tuple[str, str]) -> Callable[[Row], float]:
    """Return what reads the accuracy of a phenomenon at a distance."""
    phenomenon, distance = group
    return lambda row: float(row["accuracy"]["by_phenomenon_and_distance"][phenomenon][distance])


def _shares(cells: Sequence[Row], read: Callable[[Row], float]) -> str:
    return mean_and_range([100 * read(cell) for cell in cells])


def _bleu(cells: Sequence[Row]) -> str:
    return mean_and_range([cell["bleu"]["score"] for cell in cells])


def _speed(cells: Sequence[Row]) -> str:
    """Average the shares of the sentence model's speed, as far as they were measured."""
    shares = [cell["speed"] for cell in cells if cell["speed"] is not None]
    return f"{sum(shares) / len(shares):.2f}" if shares else "–"


def mean_and_range(values: Sequence[float]) -> str:
    """98.5 and 99.3 -> 98.9 (98.5-99.3); a range that rounds to one number is left out."""
    mean, low, high = (f"{value:.1f}" for value in (sum(values) / len(values), min(values), max(values)))
    return mean if low == high else f"{mean} ({low}-{high})"


def _steps(cells: Sequence[Row]) -> str:
    """List the steps to learn of each seed; never is a dash."""
    found = [cell["steps_to_learn"] for cell in cells]
    return ", ".join("–" if steps is None else f"{steps:,}" for steps in found)
