"""Requests: what a folder of runs was asked for, written down when it was begun."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from docaps.config import Recipe, load_recipe, recipe_path, upgrade_settings


def is_same_request(found: Any, recipe: Recipe, others: Mapping[str, Any]) -> bool:
    """Say whether what was written down is this recipe and these other things.

    A setting that the version which wrote it did not know has its default.
    """
    if not isinstance(found, dict) or not isinstance(found.get("recipe"), dict):
        return False
    same = upgrade_settings(Recipe, found["recipe"]) == recipe.model_dump()
    return same and all(found.get(name) == value for name, value in others.items())


def changed_settings(recipe: Recipe) -> list[str]:
    """Write what tells a recipe from the one for mini-documents, but for the seed, as options."""
    usual = load_recipe(recipe_path("minidocs"), [f"seed={recipe.seed}"])
    changes = _differences(recipe.model_dump(mode="json"), usual.model_dump(mode="json"))
    return [word for change in changes for word in ("--set", change)]


def _differences(values: Mapping[str, Any], usual: Mapping[str, Any], table: str = "") -> Iterator[str]:
    """Go through the settings that differ, as `table.key=value`; a value that is none cannot be set."""
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _differences(value, usual.get(key, {}), f"{table}{key}.")
        elif value is not None and value != usual.get(key):
            yield f"{table}{key}={json.dumps(value, ensure_ascii=False)}"
