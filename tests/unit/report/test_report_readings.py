"""The table of a comparison: one row a reading, means over seeds, chance at the end."""

from typing import Any

import pytest

from docaps.report.readings import as_markdown, as_rows
from docaps.report.choice_table import mean_and_range


def accuracy(everything: float, pronoun: float, ambiguity: float) -> dict[str, Any]:
    groups = {"ambiguity": {"1": ambiguity}, "pronoun": {"1": pronoun, "3": everything}}
    return {"all": everything, "by_phenomenon_and_distance": groups}


def row(reading: str, seed: int, share: float, steps: int | None, bleu: float) -> dict[str, Any]:
    return {
        "reading": reading,
        "title": f"the {reading} one",
        "seed": seed,
        "accuracy": accuracy(share, share / 2, share / 4),
        "steps_to_learn": steps,
        "bleu": {"score": bleu, "signature": "tok:13a"},
    }


def results(*rows: dict[str, Any]) -> dict[str, Any]:
    return {
        "recipe": "minidocs",
        "documents": 8000,
        "steps": 1800,
        "seeds": list(dict.fromkeys(row["seed"] for row in rows)),
        "check_every": 100,
        "checked_items": 7,
        "learnt": 0.9,
        "chance": accuracy(0.45, 0.4, 0.5),
        "items": 2400,
        "rows": list(rows),
    }


ONE_SEED = results(row("qcn", 3, 0.9, 1200, 99.31), row("joint", 3, 0.5, None, 90.0))
TWO_SEEDS = results(
    row("qcn", 1, 0.9, 1200, 99.3),
    row("joint", 1, 0.5, 400, 90.0),
    row("qcn", 2, 0.8, None, 99.3),
    row("joint", 2, 0.5, 300, 80.0),
)


SPEEDS = [0.5, 1.0, 1.0, 1.2]


def test_the_markdown_is_a_caption_and_a_table() -> None:
    caption, empty, *table = as_markdown(ONE_SEED).splitlines()
    assert caption == (
        "Right choices in % on 2,400 contrastive items, by phenomenon and distance; seed 3. Recipe `minidocs`, 8,000 "
        "training documents, 1,800 document steps from one sentence model per seed, if nothing else is said. "
        "Steps: until 90% of the choices on every 7th item were right, looked up every 100 steps (–: never)."
    )
    assert empty == ""
    assert table == [
        "| reading | all | ambiguity 1 | pronoun 1 | pronoun 3 | steps | BLEU |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| qcn: the qcn one | 90.0 | 22.5 | 45.0 | 90.0 | 1,200 | 99.3 |",
        "| joint: the joint one | 50.0 | 12.5 | 25.0 | 50.0 | – | 90.0 |",
        "| chance | 45.0 | 50.0 | 40.0 | 45.0 |  |  |",
    ]
    assert as_markdown(ONE_SEED).endswith("|\n")


def test_cost_stands_beside_accuracy_where_it_was_measured() -> None:
    rows = [
        {**one, "parameters": 1234567, "speed": speed} for one, speed in zip(TWO_SEEDS["rows"], SPEEDS, strict=True)
    ]
    header, found = as_rows(results(*rows))
    assert header[:4] == ["reading", "parameters", "speed", "all"]
    assert [cells[1:3] for cells in found] == [["1,234,567", "0.75"], ["1,234,567", "1.10"], ["", ""]]
    partly = [{**row, "speed": None} if row["reading"] == "joint" else row for row in rows]
    assert [cells[1:3] for cells in as_rows(results(*partly))[1]][:2] == [["1,234,567", "0.75"], ["1,234,567", "–"]]
    assert {len(cells) for cells in found} == {len(header)}
    assert "as a share of the sentence model's, both measured in turn, each with batches of its own." in as_markdown(
        results(*rows)
    )
    assert "as a share" not in as_markdown(TWO_SEEDS)


def test_seeds_of_a_reading_share_a_row() -> None:
    _, rows = as_rows(TWO_SEEDS)
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
