"""A stage may change the tables of its system; each mistake in such a change is reported with its place."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from docaps.config import Recipe, bundled_recipes, load_recipe
from docaps.config.settings import StageSettings
from docaps.config.systems import StageTables, SystemTables
from docaps.errors import ConfigError

TWO_STAGES = """
[model]
size = 16
heads = 2
[han]
distances = true
[stage.first]
system = "han"
[stage.first.han]
side = "encoder"
[stage.first.history]
sentences = 2
[stage.second]
system = "han"
init_from = "first"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_stage_changes_its_own_system_and_no_other(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, TWO_STAGES))
    first, second = (recipe.system(name) for name in ("first", "second"))
    assert (first.han.side, first.han.distances, first.history.sentences) == ("encoder", True, 2)
    assert (second.han.side, second.han.distances, second.history.sentences) == ("joint", True, 3)
    assert recipe.han.side == "joint"
    assert first.model == second.model == recipe.model
    assert recipe.stage["first"].changes == {"history": {"sentences": 2}, "han": {"side": "encoder"}}
    assert recipe.stage["second"].changes == {}


def test_an_option_changes_a_table_of_one_stage(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, TWO_STAGES), ["stage.second.han.side=decoder", "stage.second.model.norm=pre"])
    assert [recipe.system(name).han.side for name in recipe.stage] == ["encoder", "decoder"]
    assert [recipe.system(name).model.norm for name in recipe.stage] == ["post", "pre"]


def test_every_table_of_a_system_may_be_changed_and_none_is_a_setting_of_training() -> None:
    tables = SystemTables.model_fields.keys() - {"name"}
    assert StageTables.model_fields.keys() == tables
    assert not tables & StageSettings().training().keys()
    assert StageSettings().training().keys() | tables == StageSettings.model_fields.keys()


def test_changes_are_the_same_after_a_json_file(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, TWO_STAGES))
    stored = json.loads(json.dumps(recipe.model_dump()))
    assert Recipe.model_validate(stored) == recipe
    assert Recipe.model_validate(stored).system("first") == recipe.system("first")


def test_all_mistakes_are_reported_with_their_lines(tmp_path: Path) -> None:
    text = TWO_STAGES.replace('side = "encoder"', 'sied = "encoder"\ngradient = 1').replace(
        "sentences = 2", "sentences = 0"
    )
    path = write(tmp_path, f"{text}[stage.second.hann]\nside = 1\n")
    with pytest.raises(ConfigError) as caught:
        load_recipe(path, ["stage.second.qcn.scope=everything"])
    assert set(str(caught.value).splitlines()) == {
        f"{path}:10: stage.first.han.sied: unknown key; did you mean 'side'?",
        f"{path}:11: stage.first.han.gradient: Input should be a valid boolean (found 1)",
        f"{path}:13: stage.first.history.sentences: Input should be greater than or equal to 1 (found 0)",
        f"{path}:17: stage.second.hann: unknown key; did you mean 'han'?",
        "--set stage.second.qcn.scope=everything: stage.second.qcn.scope: Input should be 'sentence' or 'joint' (found "
        "'everything')",
    }


@pytest.mark.parametrize(
    ("option", "fault"),
    [
        ("stage.second.model.heads=3", r"stage 'second': model: size 16 must be even and divisible .* heads, 3"),
        (
            "stage.first.san={mode = 'offline', distances = true}",
            r"stage 'first': san: distances need mode = \"online\"",
        ),
        ("stage.second={system = 'concat', concat = {mode = '2-to-2'}}", r"stage 'second': .*2-to-2.* \(found 3\)"),
    ],
)
def test_changes_that_contradict_the_rest_are_refused_with_the_stage(tmp_path: Path, option: str, fault: str) -> None:
    with pytest.raises(ConfigError, match=fault):
        load_recipe(write(tmp_path, TWO_STAGES), [option])


def test_a_change_may_make_settings_agree() -> None:
    tables = {"concat": {"mode": "2-to-2"}, "history": {"sentences": 1}}
    assert Recipe.model_validate({"stage": {"a": {"system": "concat", **tables}}}).system("a").history.sentences == 1
    with pytest.raises(ValidationError, match=r"set history\.sentences = 1"):
        Recipe.model_validate({"stage": {"a": {"system": "concat", "concat": tables["concat"]}}})


def test_the_recipe_of_hierarchical_attention_trains_its_encoder_first() -> None:
    recipe = load_recipe(bundled_recipes()["han"])
    assert list(recipe.stage) == ["sentence", "document", "joint"]
    assert [recipe.system(name).name for name in recipe.stage] == ["transformer", "han", "han"]
    assert [recipe.system(name).han.side for name in ("document", "joint")] == ["encoder", "joint"]
    assert [stage.init_from for stage in recipe.stage.values()] == [None, "sentence", "document"]
    document, joint = (recipe.stage[name].training() for name in ("document", "joint"))
    assert {key for key in document if document[key] != joint[key]} == {"init_from"}
