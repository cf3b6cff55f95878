"""Settings: TOML in, frozen and checked objects out.

A recipe says everything about an experiment: how the corpus is prepared, how large the model is, which stages train
it and how it decodes. All faults of a recipe are reported at once, an unknown key with the nearest known one.

systems    which systems there are, what each is made of, and the settings of their parts
settings   what else can be set; every default stands here or there
recipes    TOML files, the recipes they build on, and overrides
faults     what is wrong, in words, with file and line
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
