"""The table of systems: one entry each, tables that fit it, and names that are checked."""

from typing import Any

import pytest
from pydantic import ValidationError

from docaps.config import SYSTEMS, Recipe, System, SystemSettings
from docaps.config.systems import BUILT_IN, GROUP, SystemTables
from docaps.errors import ConfigError
from docaps.model import builders


@pytest.mark.parametrize("system", BUILT_IN, ids=lambda system: system.name)
def test_every_built_in_system_has_a_builder_and_its_table(system: System) -> None:
    assert SYSTEMS[system.name] is system
    assert callable(system.load_builder())
    assert system.load_builder().__module__ == builders.__name__
    tables = {field.annotation for field in SystemTables.model_fields.values()}
    assert system.settings is None or system.settings in tables
    assert system.settings is not None or system.context == "none"


def test_every_table_of_a_context_belongs_to_a_system() -> None:
    shared = {"name", "model", "history", "context", "regulariser"}
    tables = {field.annotation for name, field in SystemTables.model_fields.items() if name not in shared}
    assert tables == {system.settings for system in BUILT_IN} - {None}


def test_a_misspelt_system_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(ValidationError, match="unknown system; did you mean 'capsnet'"):
        SystemSettings(name="capsnt")
    with pytest.raises(ValidationError, match="unknown system; known systems: transformer, transformer\\+reg, qcn,"):
        SystemSettings(name="xxxxxxxxxxxx")


def test_a_system_gets_the_tables_of_its_recipe() -> None:
    recipe = Recipe.model_validate({"qcn": {"rounds": 2}, "stage": {"a": {"system": "qcn"}, "b": {}}})
    assert recipe.system("a") == SystemSettings.model_validate({"name": "qcn", "qcn": {"rounds": 2}})
    assert recipe.system("b").name == "transformer"
    assert list(recipe.system("a").model_dump()) == [
        *("name", "model", "history", "context", "qcn", "zhang", "han", "san", "concat", "regulariser")
    ]


@pytest.mark.parametrize("name", [1, None, ["qcn"]])
def test_a_system_is_named_by_a_string(name: Any) -> None:
    with pytest.raises(ValidationError, match="name"):
        SystemSettings.model_validate({"name": name})


def test_a_table_is_found_by_its_class() -> None:
    settings = SystemSettings.model_validate({"name": "qcn", "qcn": {"rounds": 2}})
    assert settings.table(type(settings.qcn)) is settings.qcn


def test_a_builder_that_is_not_there_is_named() -> None:
    system = System(name="odd", title="odd", builder="docaps.model.builders:build_nothing")
    with pytest.raises(ConfigError, match=r"'odd'.*docaps\.model\.builders:build_nothing"):
        system.load_builder()


def test_the_table_is_read_only_and_complete() -> None:
    assert list(SYSTEMS)[: len(BUILT_IN)] == [system.name for system in BUILT_IN]
    assert len(SYSTEMS) == len(list(SYSTEMS))
    assert SYSTEMS.get("nothing of this name") is None
    with pytest.raises(KeyError):
        SYSTEMS["nothing of this name"]
    assert GROUP == "docaps.systems"
