"""What settings mean that an earlier version stored: those that it did not know do what it did."""

import json
from typing import Any

import pytest

from docaps.config import Recipe, Settings, StageSettings, SystemSettings, leave_out, upgrade_settings
from docaps.config.model_settings import HanSettings, SanSettings, ZhangSettings

KINDS: list[type[Settings]] = [ZhangSettings, HanSettings, SanSettings, StageSettings]
FORMS = {"zhang": ZhangSettings.EARLIER, "han": HanSettings.EARLIER, "san": SanSettings.EARLIER}
STAGE = StageSettings.EARLIER


OF_0_2 = {
    ZhangSettings: "layers decoder",
    HanSettings: "side gradient distances",
    SanSettings: "mode side attention sentences words reach gradient distances",
}
"""The settings that version 0.2 knew: run.json of that version has these."""


@pytest.mark.parametrize("kind", OF_0_2)
def test_what_version_0_2_did_is_known_for_every_setting_since(kind: type[Settings]) -> None:
    assert kind.EARLIER.keys() == kind.model_fields.keys() - set(OF_0_2[kind].split())


@pytest.mark.parametrize("kind", KINDS)
def test_what_earlier_versions_did_is_not_the_default_and_may_be_set(kind: type[Settings]) -> None:
    defaults = kind().model_dump()
    assert [key for key, value in kind.EARLIER.items() if defaults[key] == value] == []
    assert kind.model_validate(dict(kind.EARLIER)).model_dump() == defaults | dict(kind.EARLIER)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_stored_stays_and_what_was_unknown_is_added(kind: type[Settings]) -> None:
    first, *others = kind.EARLIER
    stored = {first: kind().model_dump()[first]}
    assert kind.unknown_to(stored) == {key: kind.EARLIER[key] for key in others}
    assert kind.complete(stored) == {**stored, **kind.unknown_to(stored)}
    assert kind.unknown_to(kind().model_dump()) == {}


@pytest.mark.parametrize("stored", [{"name": "han"}, {"name": "han", "han": {}}, {"name": "han", "zhang": None}, None])
def test_a_table_that_is_missing_was_unknown_as_a_whole(stored: Any) -> None:
    assert SystemSettings.unknown_to(stored) == FORMS


def test_settings_of_all_tables_and_stages_are_completed() -> None:
    recipe = Recipe.model_validate({"stage": {"a": {}, "b": {"dropout": 0.0}}})
    assert recipe.as_begun(recipe.model_dump()) is recipe
    unknown = {**FORMS, "stage": {"a": STAGE, "b": STAGE}}
    stored = json.loads(json.dumps(leave_out(recipe.model_dump(), unknown)))
    assert Recipe.unknown_to(stored) == {**FORMS, "stage": {"a": STAGE}}  # a stage without dropout had none to lack
    begun = recipe.as_begun(stored)
    assert upgrade_settings(Recipe, stored) == begun.model_dump()
    assert {name: {key: getattr(getattr(begun, name), key) for key in form} for name, form in FORMS.items()} == FORMS
    assert (begun.stage["a"].dropout_attention, begun.stage["b"].dropout_attention) == (0.0, None)


def test_stages_that_are_not_there_are_not_invented() -> None:
    recipe = Recipe.model_validate({"stage": {"a": {}}})
    stored = {**recipe.model_dump(), "stage": {"other": {"dropout": 0.2}}}
    assert recipe.as_begun(stored) == recipe


def test_leaving_out_goes_into_tables_and_keeps_the_rest() -> None:
    values = {"a": 1, "b": {"c": 2, "d": {"e": 3, "f": 4}}, "g": {"h": 5}}
    assert leave_out(values, {"a": 0, "b": {"d": {"e": 0}}, "x": 1}) == {"b": {"c": 2, "d": {"f": 4}}, "g": {"h": 5}}
