"""The table of choices: one line for each row, means over seeds, chance at the end."""

import json
from typing import Any

import pytest

from docaps.report.grid_tables import as_markdown, choice_rows, mean_and_range


def accuracy(everything: float, pronoun: float, ambiguity: float) -> dict[str, Any]:
    groups = {"ambiguity": {"1": ambiguity}, "pronoun": {"1": pronoun, "3": everything}}
    return {"all": everything, "by_phenomenon_and_distance": groups}


def run(seed: int, share: float, steps: int | None, bleu: float) -> dict[str, Any]:
    return {
        "seed": seed,
        "accuracy": accuracy(share, share / 2, share / 4),
        "steps_to_learn": steps,
        "speed": None,
        "test": {"bleu": bleu},
    }


def results(**rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "recipe": "minidocs",
        "corpus": {"documents": 8000},
        "steps": {"document": 1800},
        "seeds": list(dict.fromkeys(run["seed"] for runs in rows.values() for run in runs)),
        "check_every": 100,
        "probed_items": 7,
        "learnt": 0.9,
        "chance": accuracy(0.45, 0.4, 0.5),
        "items": 2400,
        "rows": [{"row": name, "title": f"the {name} one", "runs": runs} for name, runs in rows.items()],
    }


ONE_SEED = results(qcn=[run(3, 0.9, 1200, 99.31)], joint=[run(3, 0.5, None, 90.0)])
TWO_SEEDS = results(
    qcn=[run(1, 0.9, 1200, 99.3), run(2, 0.8, None, 99.3)],
    joint=[run(1, 0.5, 400, 90.0), run(2, 0.5, 300, 80.0)],
)


def test_the_markdown_is_a_caption_and_a_table() -> None:
    caption, empty, *table = as_markdown(ONE_SEED).splitlines()
    assert caption == (
        "Right choices in % on 2,400 contrastive items, by phenomenon and distance; seed 3. Recipe `minidocs`, 8,000 "
        "training documents, 1,800 document steps from one sentence model per seed, unless the row says otherwise. "
        "Steps: until 90% of the choices on every 7th item were right, checked every 100 steps (–: never)."
    )
    assert empty == ""
    assert table == [
        "| row | all | ambiguity 1 | pronoun 1 | pronoun 3 | steps | BLEU |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| qcn: the qcn one | 90.0 | 22.5 | 45.0 | 90.0 | 1,200 | 99.3 |",
        "| joint: the joint one | 50.0 | 12.5 | 25.0 | 50.0 | – | 90.0 |",
        "| chance | 45.0 | 50.0 | 40.0 | 45.0 |  |  |",
    ]
    assert as_markdown(ONE_SEED).endswith("|\n")


def timed(*speeds: float | None) -> dict[str, Any]:
    """Return the results of two seeds with parameters and speeds."""
    found, left = json.loads(json.dumps(TWO_SEEDS)), iter(speeds)
    for row in found["rows"]:
        row["runs"] = [{**run, "parameters": 1234567, "speed": next(left)} for run in row["runs"]]
    return dict(found)


def test_cost_stands_beside_accuracy_where_it_was_measured() -> None:
    header, found = choice_rows(timed(0.5, 1.0, 1.0, 1.2))
    assert header[:4] == ["row", "parameters", "speed", "all"]
    assert [cells[1:3] for cells in found] == [["1,234,567", "0.75"], ["1,234,567", "1.10"], ["", ""]]
    partly = choice_rows(timed(0.5, 1.0, None, None))[1]
    assert [cells[1:3] for cells in partly][:2] == [["1,234,567", "0.75"], ["1,234,567", "–"]]
    assert {len(cells) for cells in found} == {len(header)}
    told = "as a share of the sentence model's, both measured in turn, each with batches of its own."
    assert told in as_markdown(timed(0.5, 1.0, 1.0, 1.2))
    assert "as a share" not in as_markdown(TWO_SEEDS)


def test_without_rows_there_is_a_header_only() -> None:
    found = {**results(), "chance": None, "items": 0}
    assert choice_rows(found) == (["row", "all", "steps", "BLEU"], [])


def test_unfinished_runs_are_named() -> None:
    assert "Not finished: raw with seed 1 (to train)." in as_markdown(
        {**ONE_SEED, "unfinished": ["raw with seed 1 (to train)"]}
    )


def test_seeds_of_a_row_share_a_line() -> None:
    _, rows = choice_rows(TWO_SEEDS)
    shares = ["85.0 (80.0-90.0)", "21.2 (20.0-22.5)", "42.5 (40.0-45.0)", "85.0 (80.0-90.0)"]
    assert rows == [
        ["qcn: the qcn one", *shares, "1,200, –", "99.3"],
        ["joint: the joint one", "50.0", "12.5", "25.0", "50.0", "400, 300", "85.0 (80.0-90.0)"],
        ["chance", "45.0", "50.0", "40.0", "45.0", "", ""],
    ]
    assert "; means over the seeds 1, 2 (lowest-highest)." in as_markdown(TWO_SEEDS)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([98.5], "98.5"),
        ([98.5, 99.3], "98.9 (98.5-99.3)"),
        ([99.3, 98.5, 98.6], "98.8 (98.5-99.3)"),
        ([99.31, 99.34], "99.3"),
        ([0.0, 0.0], "0.0"),
    ],
)
def test_a_range_stands_only_where_it_says_something(values: list[float], text: str) -> None:
    assert mean_and_range(values) == text
