"""docs/explanation/other-systems.md is true: published forms are defaults, every setting is there, tests exist."""

import re
import tomllib
from typing import Any

import pytest
from tests.architecture.test_equations import ROOT, names_of_tests

from docaps.config import Recipe, bundled_recipes, load_recipe
from docaps.config.systems import SYSTEMS, SystemTables

PAGE = (ROOT / "docs" / "explanation" / "other-systems.md").read_text(encoding="utf-8")
RIVALS = ("zhang", "han", "san")
EARLIER = {name: SYSTEMS[name].settings.EARLIER for name in RIVALS}  # type: ignore[union-attr]


def section(system: str) -> str:
    return PAGE.split(f"\n## {system}: ")[1].split("\n## ")[0]


def points(system: str) -> list[list[str]]:
    """Return the cells of the table of a system's points."""
    lines = [line for line in section(system).splitlines() if line.startswith("|")]
    assert lines[0].startswith("| point | published form, the default | setting | otherwise |")
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


POINTS = [(system, row) for system in RIVALS for row in points(system)]
SET = re.compile(r"`(\w+)\.(\w+) = ([^`]+)`")


def setting(row: list[str]) -> tuple[str, str, Any] | None:
    """Return table, key and value of a point; None if it is a matter of the recipe's stages."""
    found = SET.fullmatch(row[2])
    return (found[1], found[2], tomllib.loads(f"value = {found[3]}")["value"]) if found else None


@pytest.mark.parametrize(("system", "row"), POINTS, ids=[f"{system}: {row[0]}" for system, row in POINTS])
def test_a_published_point_is_the_default_and_has_a_test(system: str, row: list[str]) -> None:
    _, published, where, otherwise, test = row
    assert published
    file, name = test.strip("`").split("::")
    assert name in names_of_tests(ROOT / file)
    found = setting(row)
    if found is None:
        assert (ROOT / "recipes" / f"{system}.toml").is_file()
        assert f"recipes/{system}.toml" in where
        return
    table, key, value = found
    assert table == system
    recipes = Recipe(), load_recipe(bundled_recipes()["paper"]), load_recipe(bundled_recipes()[system])
    assert [getattr(getattr(recipe, table), key) for recipe in recipes] == [value] * 3
    other = tomllib.loads(f"value = {otherwise.split('`')[1]}")["value"]
    assert other != value
    assert EARLIER[table].get(key, other) == other
    changed = {key: other, **({"memory": "current"} if (table, key) == ("san", "gradient") else {})}
    Recipe.model_validate({table: changed})  # the setting has this value, too


@pytest.mark.parametrize("system", EARLIER)
def test_every_point_of_the_earlier_form_is_in_the_table(system: str) -> None:
    found = {one[1] for one in map(setting, points(system)) if one}
    assert EARLIER[system].keys() <= found


@pytest.mark.parametrize("system", [*RIVALS, "concat"])
def test_every_setting_of_a_system_is_on_the_page(system: str) -> None:
    text = section(system)
    for key in SystemTables.model_fields[system].annotation.model_fields:  # type: ignore[union-attr]
        assert re.search(rf"`[^`]*\b{key}\b[^`]*`", text), key


def test_the_stages_of_the_recipes_are_those_of_the_page() -> None:
    zhang, han = (load_recipe(bundled_recipes()[name]) for name in ("zhang", "han"))
    assert zhang.stage["document"].inherited_rate == 0.0
    assert [han.system(name).han.side for name in ("document", "joint")] == ["encoder", "joint"]


@pytest.mark.parametrize("fact", ["a whole sub-layer", "plain ones, without context", "does not attend to itself"])
def test_what_is_published_is_not_called_ours(fact: str) -> None:
    """Three facts that the page once had among its departures."""
    place = PAGE.replace("\n", " ").index(fact)
    before = PAGE.replace("\n", " ")[:place]
    assert max(before.rfind("Ours:"), before.rfind("Departure")) < max(
        before.rfind("Also published:"), before.rfind("## ")
    )
