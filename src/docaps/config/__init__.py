"""Settings: TOML in, frozen and checked objects out.

A recipe says everything about an experiment: how the corpus is prepared, how large the model is, which stages train
it and how it decodes. All faults of a recipe are reported at once, an unknown key with the nearest known one.

systems         the table of systems, built-in and of other packages
model_settings  the settings of a model's parts
plugins         entry points of other packages
settings        all other settings; every default stands here or in model_settings
recipes         TOML files, the recipes they build on, and overrides
faults          what is wrong, in words, with file and line
"""

from docaps.config.faults import describe_faults
from docaps.config.model_settings import (
    ConcatSettings,
    HanSettings,
    HistorySettings,
    ModelSettings,
    QcnSettings,
    RegulariserSettings,
    SanSettings,
    Settings,
    Weighting,
    ZhangSettings,
)
from docaps.config.recipes import as_known_now, bundled_recipes, load_recipe, recipe_path
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
from docaps.config.systems import SYSTEMS, System, SystemName, SystemSettings, SystemTables

__all__ = [
    "LARGEST_BEAM",
    "SYSTEMS",
    "CleaningSettings",
    "ConcatSettings",
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
    "Settings",
    "StageSettings",
    "System",
    "SystemName",
    "SystemSettings",
    "SystemTables",
    "TranslationPrecision",
    "Weighting",
    "ZhangSettings",
    "as_known_now",
    "bundled_recipes",
    "describe_faults",
    "load_recipe",
    "parse_duration",
    "recipe_path",
]
