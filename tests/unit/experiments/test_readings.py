"""Each reading is the recipe with what it names changed, and nothing else."""

import json
from operator import attrgetter

import pytest

from docaps.config import Recipe, load_recipe, recipe_path
from docaps.experiments.readings import READINGS, Reading, apply
from docaps.experiments.rivals import RIVALS

RECIPE = load_recipe(recipe_path("minidocs"))


def in_words(changes: dict[str, object]) -> list[str]:
    """Write changes as a user would after --set."""
    return [f"{key}={json.dumps(value)}" for key, value in changes.items()]


@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
def test_a_reading_changes_what_it_says_and_nothing_else(reading: Reading) -> None:
    found = apply(reading, RECIPE, check_every=7)
    expected = load_recipe(recipe_path("minidocs"), in_words(dict(reading.changes)))
    assert found.model_copy(update={"stage": RECIPE.stage}) == expected
    assert [key for key, value in reading.changes.items() if attrgetter(key)(RECIPE) == value] == []
    document = RECIPE.stage["document"].model_copy(update={"system": reading.system, "validate_every": 7})
    assert found.stage == {"sentence": RECIPE.stage["sentence"], reading.name: document}


@pytest.mark.parametrize("rival", RIVALS.values(), ids=RIVALS)
def test_a_rival_changes_its_own_settings_only(rival: Reading) -> None:
    found = apply(rival, RECIPE, check_every=7)
    changes = {key: value for key, value in rival.changes.items() if not key.startswith("stage.")}
    assert found.model_copy(update={"stage": RECIPE.stage}) == load_recipe(recipe_path("minidocs"), in_words(changes))
    stage = {key.split(".")[-1]: value for key, value in rival.changes.items() if key.startswith("stage.document.")}
    document = RECIPE.stage["document"].model_copy(update={"system": rival.system, "validate_every": 7, **stage})
    assert found.stage == {"sentence": RECIPE.stage["sentence"], rival.name: document}


def test_every_system_of_table_2_and_every_control_is_a_rival() -> None:
    assert {rival.system for rival in RIVALS.values()} >= {"zhang", "han", "san", "concat", "qcn-shuffled", "qcn-noise"}
    recipes = [(apply(rival, RECIPE, check_every=7), rival) for rival in RIVALS.values()]
    described = [(one.system(rival.name), one.stage[rival.name].inherited_rate, rival.after) for one, rival in recipes]
    assert [one for place, one in enumerate(described) if one in described[:place]] == []


def test_no_two_readings_are_the_same_model() -> None:
    systems = [apply(reading, RECIPE, check_every=7).system(name) for name, reading in READINGS.items()]
    assert [one for place, one in enumerate(systems) if one in systems[:place]] == []


def test_readings_are_found_by_their_names_and_told_apart_by_their_titles() -> None:
    assert [reading.name for reading in READINGS.values()] == list(READINGS)
    assert "sentence" not in READINGS  # a reading is a run beside the sentence model
    titles = [reading.title for reading in READINGS.values()]
    assert len(set(titles)) == len(titles)
    assert not any("|" in title for title in titles)  # they stand in Markdown tables


def test_the_recipe_is_left_as_it_was() -> None:
    before = RECIPE.model_dump()
    apply(READINGS["joint"], RECIPE, check_every=7)
    assert RECIPE.model_dump() == before


def test_later_stages_of_the_recipe_are_left_out() -> None:
    recipe: Recipe = load_recipe(recipe_path("minidocs"), ["stage.third.init_from=document"])
    assert list(apply(READINGS["qcn"], recipe, check_every=7).stage) == ["sentence", "qcn"]
