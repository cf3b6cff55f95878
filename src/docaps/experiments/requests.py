"""Requests: what a folder of runs was asked for, written down when it was begun."""

from collections.abc import Mapping
from typing import Any

from docaps.config import Recipe, as_known_now


def is_same_request(found: Any, recipe: Recipe, others: Mapping[str, Any]) -> bool:
    """Say whether what was written down is this recipe and these other things.

    A setting that the version which wrote it did not know has its default.
    """
    if not isinstance(found, dict) or not isinstance(found.get("recipe"), dict):
        return False
    same = as_known_now(Recipe, found["recipe"]) == recipe.model_dump()
    return same and all(found.get(name) == value for name, value in others.items())
