"""Settings: TOML in, frozen and validated objects out.

A recipe describes an experiment: preparation, model, training stages and decoding. All errors of a recipe are reported
at once, an unknown key with the nearest known one.

systems         the table of systems, built-in and of other packages
model_settings  the settings of a model's parts
plugins         entry points of other packages
settings        all other settings; every default is here or in model_settings
recipes         TOML files, their profiles and overrides
faults          error messages with file and line
"""

from docaps.config.model_settings import Settings, leave_out
from docaps.config.recipes import bundled_recipes, load_recipe, recipe_path, upgrade_settings
from docaps.config.settings import (
    LARGEST_BEAM,
    DecodingSettings,
    PreparationSettings,
    Recipe,
    StageSettings,
    TranslationPrecision,
    parse_duration,
)
from docaps.config.systems import SYSTEMS, System, SystemName, SystemSettings

__all__ = [
    "LARGEST_BEAM",
    "SYSTEMS",
    "DecodingSettings",
    "PreparationSettings",
    "Recipe",
    "Settings",
    "StageSettings",
    "System",
    "SystemName",
    "SystemSettings",
    "TranslationPrecision",
    "bundled_recipes",
    "leave_out",
    "load_recipe",
    "parse_duration",
    "recipe_path",
    "upgrade_settings",
]


def __dir__() -> list[str]:
    """List the public API only."""
    return __all__
