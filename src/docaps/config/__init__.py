"""Settings: TOML in, frozen and validated objects out.

A recipe describes an experiment: preparation, model, training stages and decoding. All errors of a recipe are reported
at once, an unknown key with the nearest known one.

systems    the systems, and the settings of their parts
settings   all other settings, with their defaults
recipes    TOML files, their profiles and overrides
faults     error messages with file and line
"""

from docaps.config.faults import describe_faults
from docaps.config.recipes import bundled_recipes, load_recipe, recipe_path, upgrade_settings
from docaps.config.settings import (
    LARGEST_BEAM,
    CleaningSettings,
    DecodingSettings,
    Distribution,
    Precision,
    PreparationSettings,
    Recipe,
    StageSettings,
    TranslationPrecision,
    parse_duration,
)
from docaps.config.systems import (
    SYSTEM_TITLES,
    SYSTEMS,
    ConcatSettings,
    ContextName,
    HanSettings,
    HistorySettings,
    ModelSettings,
    QcnSettings,
    RegulariserSettings,
    SanSettings,
    System,
    SystemName,
    SystemSettings,
    Weighting,
    ZhangSettings,
)

__all__ = [
    "LARGEST_BEAM",
    "SYSTEMS",
    "SYSTEM_TITLES",
    "CleaningSettings",
    "ConcatSettings",
    "ContextName",
    "DecodingSettings",
    "Distribution",
    "HanSettings",
    "HistorySettings",
    "ModelSettings",
    "Precision",
    "PreparationSettings",
    "QcnSettings",
    "Recipe",
    "RegulariserSettings",
    "SanSettings",
    "StageSettings",
    "System",
    "SystemName",
    "SystemSettings",
    "TranslationPrecision",
    "Weighting",
    "ZhangSettings",
    "bundled_recipes",
    "describe_faults",
    "load_recipe",
    "parse_duration",
    "recipe_path",
    "upgrade_settings",
]
