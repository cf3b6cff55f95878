"""docs/explanation/equations.md is complete and true: every equation and line, existing code and tests, defaults."""

import ast
import importlib
import math
import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
import torch

from docaps.config import Recipe, StageSettings, bundled_recipes, load_recipe
from docaps.model.regulariser import Regulariser, RegulariserOptions
from docaps.model.routing.algorithm import RoutingOptions

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "equations.md").read_text(encoding="utf-8")
EQUATIONS, LINES = 11, 35


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the table under a heading, without its first two lines."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


EQUATION_ROWS, LINE_ROWS, OPEN_ROWS = (
    rows(heading) for heading in ("Equations", "Algorithm 1, improved dynamic routing", "What the paper leaves open")
)


def resolve(name: str) -> Any:
    """Find a function, class or method by its dotted name."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            found = getattr(found, part)
        return found
    raise AssertionError(name)


def names_of_tests(path: Path) -> set[str]:
    """List the tests of a file."""
    return {node.name for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.FunctionDef)}


def test_every_equation_has_a_row() -> None:
    numbers = [int(row[0].removeprefix("Eq. ")) for row in EQUATION_ROWS if row[0].startswith("Eq. ")]
    assert numbers == list(range(1, EQUATIONS + 1))


def test_every_line_of_algorithm_1_has_one_row() -> None:
    found: list[int] = []
    for first, _, last in (row[0].partition("-") for row in LINE_ROWS):
        found += range(int(first), int(last or first) + 1)
    assert found == list(range(1, LINES + 1))


@pytest.mark.parametrize("row", [*EQUATION_ROWS, *LINE_ROWS], ids=lambda row: row[0])
def test_code_and_tests_of_a_row_exist(row: list[str]) -> None:
    _, words, code, test = row
    assert words
    function = resolve(code.strip("`"))
    assert callable(function)
    assert function.__doc__
    file, name = test.strip("`").split("::")
    assert name in names_of_tests(ROOT / file)


def defaults(key: str) -> list[Any]:
    """Return the values of a setting by default and in the recipe `paper`; of a stage's, in all of its stages."""
    paper = load_recipe(bundled_recipes()["paper"])
    table, _, name = key.rpartition(".")
    if table == "stage.document":
        return [getattr(stage, name) for stage in (StageSettings(), *paper.stage.values())]
    return [getattr(getattr(recipe, table), name) for recipe in (Recipe(), paper)]


@pytest.mark.parametrize("row", [row for row in OPEN_ROWS if row[2]], ids=lambda row: row[2])
def test_defaults_are_as_stated(row: list[str]) -> None:
    _, stated, key, others = row
    values = defaults(key.strip("`"))
    assert len(values) > 1
    assert all(value == values[0] for value in values)
    if values[0] is None:
        assert stated.startswith("none")
    else:
        written = f'"{values[0]}"' if isinstance(values[0], str) else str(values[0]).lower()
        assert f"`{written}`" in stated + others


def test_the_batch_sizes_of_the_paper_are_those_of_its_recipes() -> None:
    (row,) = [row for row in OPEN_ROWS if row[2] == "`stage.document.batch_tokens`"]
    for corpus, size in (("ted", 1500), ("news", 900), ("europarl", 900)):
        stages = load_recipe(bundled_recipes()[corpus]).stage.values()
        assert {stage.batch_tokens for stage in stages} == {size}
        assert str(size) in row[0]


def test_every_value_of_a_choice_of_the_regulariser_is_stated() -> None:
    stated = {row[2].strip("`"): row[1] + row[3] for row in OPEN_ROWS}
    for name, field in type(Recipe().regulariser).model_fields.items():
        for value in get_args(field.annotation) if get_origin(field.annotation) is Literal else ():
            assert f'`"{value}"`' in stated[f"regulariser.{name}"]


def test_the_readings_of_the_regulariser_are_told_with_what_constants_earn() -> None:
    """Compute it again: capsules that are the same for all pairs."""
    told = {cells[0]: cells[2] for cells in rows("The regulariser collapses as printed")}
    words, mask = torch.ones(5, 1, 4).cumsum(dim=-1), torch.ones(5, 1, dtype=torch.bool)
    earned = {}
    for name, options in (
        ("as printed", {}),
        ('`regulariser.centre = "batch"`', {"centred": True}),
        ('`regulariser.negatives = "batch"`', {"negatives": "batch"}),
        ('`regulariser.negatives = "infonce"`', {"negatives": "infonce"}),
    ):
        chosen = RegulariserOptions(**options)
        one = Regulariser(size=4, capsules=2, routing=RoutingOptions(rounds=2), options=chosen)
        one.target.load_state_dict(one.source.state_dict())
        found = one(words, mask, words, mask)
        earned[name] = found.matched if found.reward is None else found.reward
    assert told.keys() == earned.keys()
    numbers = {"1": 1.0, "0": 0.0, "-log B": -math.log(5)}
    for name, reward in earned.items():
        assert reward.tolist() == pytest.approx([numbers[told[name]]] * 5, abs=1e-5)


def test_every_setting_of_the_method_is_on_the_page() -> None:
    stated = {row[2].strip("`") for row in OPEN_ROWS if row[2]}
    for table in ("qcn", "history", "regulariser"):
        fields = type(getattr(Recipe(), table)).model_fields
        assert {f"{table}.{name}" for name in fields} <= stated


def test_the_page_names_the_slips_of_the_paper() -> None:
    """Compute the differences again from the numbers of its Table 2."""
    gains = (25.19 - 24.58, 45.91 - 45.48, 46.09 - 45.48)
    assert [f"+{gain:.2f}" for gain in gains] == ["+0.61", "+0.43", "+0.61"]
    slips = PAGE.split("## Slips in the paper")[1]
    for fact in ("+0.59", "+0.61 BLEU", "+0.43 Meteor", "44.02", "44.27", "2 history sentences", "Maruf and Haffari"):
        assert re.search(re.escape(fact), slips.replace("\n  ", " ")), fact
