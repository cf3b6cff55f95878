"""Settings: TOML in, frozen and checked objects out.

A recipe says everything about an experiment: how the corpus is prepared, how large the model is, which stages train
it and how it decodes. All faults of a recipe are reported at once, an unknown key with the nearest known one.

settings   what can be set, and every default
recipes    TOML files, the recipes they build on, and overrides
faults     what is wrong, in words, with file and line
"""

from docaps.config.faults import describe_faults
from docaps.config.recipes import bundled_recipes, load_recipe, recipe_path
from docaps.config.settings import (
    LARGEST_BEAM,
    SYSTEM_TITLES,
    SYSTEMS,
    CleaningSettings,
    ContextName,
    DecodingSettings,
    Distribution,
    HistorySettings,
    ModelSettings,
    Precision,
    PreparationSettings,
    QcnSettings,
    Recipe,
    RegulariserSettings,
    StageSettings,
    System,
    SystemName,
    SystemSettings,
    TranslationPrecision,
    parse_duration,
)

__all__ = [
    "LARGEST_BEAM",
    "SYSTEMS",
    "SYSTEM_TITLES",
    "CleaningSettings",
    "ContextName",
    "DecodingSettings",
    "Distribution",
    "HistorySettings",
    "ModelSettings",
    "Precision",
    "PreparationSettings",
    "QcnSettings",
    "Recipe",
    "RegulariserSettings",
    "StageSettings",
    "System",
    "SystemName",
    "SystemSettings",
    "TranslationPrecision",
    "bundled_recipes",
    "describe_faults",
    "load_recipe",
    "parse_duration",
    "recipe_path",
]
