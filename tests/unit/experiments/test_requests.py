"""What a folder was asked for, against what is asked for now."""

import json
from typing import Any

import pytest

from docaps.config import load_recipe, recipe_path
from docaps.experiments.grid import is_same_request

RECIPE = load_recipe(recipe_path("minidocs"))
OTHERS = {"documents": 30}


def stored(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps({"recipe": RECIPE.model_dump(mode="json"), **OTHERS}))
    return found | changes


def test_the_same_is_the_same_and_more_does_no_harm() -> None:
    assert is_same_request(stored(), RECIPE, OTHERS)
    assert is_same_request(stored(seeds=[1]), RECIPE, OTHERS)


def test_a_setting_that_an_earlier_version_did_not_know_has_its_default() -> None:
    found = stored()
    del found["recipe"]["decoding"]["length_margin"], found["recipe"]["han"]["distances"]
    assert is_same_request(found, RECIPE, OTHERS)
    other = RECIPE.model_copy(update={"decoding": RECIPE.decoding.model_copy(update={"length_margin": 7})})
    assert not is_same_request(found, other, OTHERS)


@pytest.mark.parametrize("found", [None, [], "grid", {}, {"recipe": []}, stored(documents=31), stored(recipe={})])
def test_anything_else_is_not(found: Any) -> None:
    assert not is_same_request(found, RECIPE, OTHERS)


def test_a_setting_that_nobody_knows_any_more_is_another_request() -> None:
    found = stored()
    found["recipe"]["qcn"]["magic"] = True
    assert not is_same_request(found, RECIPE, OTHERS)
