"""Recipes: TOML files layered on one another, with `--set` on top."""

import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from docaps.config.faults import SettingsFile, describe_faults
from docaps.config.model_settings import Settings, merge
from docaps.config.settings import Recipe
from docaps.errors import ConfigError
from docaps.files import DEEPEST_JSON, check_depth, read_text

LARGEST_RECIPE = 2**20  # bytes


def load_recipe(path: Path | None, overrides: Sequence[str] = ()) -> Recipe:
    """Read a recipe (None: all defaults) and apply `--set a.b=c` overrides; report all errors in one message."""
    layers: list[SettingsFile] = []
    values = _read(path, layers) if path else {}
    for override in overrides:
        _apply_override(values, override)
    values = _on_profile(values, layers)
    kind = Recipe.accepting(values)
    try:
        return kind.model_validate(values)
    except ValidationError as fault:
        raise ConfigError(describe_faults(fault, kind, layers=layers, overrides=overrides)) from None


def upgrade_settings(kind: type[Settings], stored: Mapping[str, Any]) -> dict[str, Any]:
    """Complete stored settings so that they mean what they meant to the version that wrote them.

    Keys that it did not know have their defaults, or (`Settings.complete`) whatever does what that version did.
    """
    try:
        return kind.model_validate(kind.complete(stored)).model_dump()
    except ValidationError:
        return dict(stored)  # written by a version with other keys: they equal no settings of this version


def _read(path: Path, layers: list[SettingsFile]) -> dict[str, Any]:
    """Read and parse a recipe; its text is added to `layers`."""
    if not path.exists():
        near = get_close_matches(str(path), bundled_recipes(), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        raise ConfigError(f"no such recipe{hint} Bundled recipes: {', '.join(bundled_recipes())}", path=path)
    layers.append(SettingsFile(path, read_text(path, error=ConfigError, limit=LARGEST_RECIPE, regular=False)))
    try:
        return parse_toml(layers[-1].text)
    except ValueError as fault:
        raise ConfigError(f"not valid TOML: {fault}", path=path) from None


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML; raise `ValueError` also for a number of thousands of digits and for very deep nesting."""
    try:
        values = tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"nested more than {DEEPEST_JSON} levels deep") from None
    check_depth(values)
    return values


def _on_profile(values: dict[str, Any], layers: list[SettingsFile]) -> dict[str, Any]:
    """Merge a recipe's values into those of its profile, which may have one itself; `layers` is nearest first."""
    name = values.get("profile")
    if not isinstance(name, str):  # no profile, or an error that is reported with all others
        return values
    user = layers[-1].path if layers else None
    base = _find_profile(name, user)
    if any(base.resolve() == layer.path.resolve() for layer in layers):
        raise ConfigError(f"profile: {name!r} builds on itself", path=user)
    return merge(_on_profile(_read(base, layers), layers), values)


def _find_profile(name: str, user: Path | None) -> Path:
    """Return the path of a profile: a file beside the recipe, or a bundled recipe."""
    beside = user.parent / name if user else Path(name)
    found = beside if beside.suffix == ".toml" else bundled_recipes().get(name, beside)
    if not found.is_file():
        raise ConfigError(f"profile: no recipe {name!r}. Bundled recipes: {', '.join(bundled_recipes())}", path=user)
    return found


def recipe_path(name: str) -> Path:
    """Return the path of a recipe, given as a file or as the name of a bundled one."""
    path = Path(name)
    if path.suffix == ".toml" or path.exists():
        return path
    return bundled_recipes().get(name, path)


def bundled_recipes() -> dict[str, Path]:
    """List the bundled recipes, in an installed package or in a clone."""
    package = Path(__file__).parents[1]
    folders = (package / "recipes", package.parents[1] / "recipes")
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.toml"))}


def _apply_override(values: dict[str, Any], override: str) -> None:
    """Set one dotted key, `a.b=c`; a value that is not TOML is taken as text."""
    key, separator, value = override.partition("=")
    names = key.strip().split(".")
    if not separator or not all(names):
        raise ConfigError(f"--set {override}: expected KEY=VALUE, for example --set stage.sentence.steps=100")
    for depth, name in enumerate(names[:-1], start=1):
        values = values.setdefault(name, {})
        if not isinstance(values, dict):
            raise ConfigError(f"--set {override}: {'.'.join(names[:depth])} is a single value, not a table")
    try:
        values[names[-1]] = parse_toml(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        values[names[-1]] = value.strip()
    except ValueError as fault:
        raise ConfigError(f"--set {key}: {fault}") from None
