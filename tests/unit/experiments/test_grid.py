"""The request of a grid: what may share a folder, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.experiments.toy_grid import read, toy

from docaps.config import load_recipe, recipe_path
from docaps.config.model_settings import HanSettings, SanSettings, ZhangSettings
from docaps.errors import RunError
from docaps.experiments.grid import (
    Cell,
    CorpusSource,
    Grid,
    as_begun,
    check_request,
    describe_differences,
    list_differences,
    read_request,
    shape,
    write_request,
)
from docaps.experiments.rows import LAYOUTS
from docaps.files import read_json, write_json

pytestmark = pytest.mark.usefixtures("small")
RECIPE = load_recipe(recipe_path("minidocs"))
RIVALS = {"zhang": ZhangSettings, "han": HanSettings, "san": SanSettings}
OTHERS = {"documents": 30}


def test_of_two_that_begin_a_grid_with_other_settings_the_second_is_refused(tmp_path: Path) -> None:
    first, second = toy(tmp_path / "grid"), toy(tmp_path / "grid", source=CorpusSource(None, 31))
    check_request(first)
    check_request(second)  # nothing is there yet
    write_request(first)
    with pytest.raises(RunError, match="a grid with other settings"):
        write_request(second)


def test_a_grid_is_what_its_folder_says(copy: Path) -> None:
    recipe, source, extra = read_request(copy)
    grid = Grid(copy, LAYOUTS["history"], recipe, source, (3,), extra=extra)
    check_request(grid)
    assert (source, extra) == (CorpusSource(None, 30), {})
    difference = r"choose another --dir \(corpus\.documents is 30, asked for: 31\)"
    with pytest.raises(RunError, match=f"a grid with other settings is here: {difference}"):
        check_request(toy(copy, source=CorpusSource(None, 31)))
    with pytest.raises(RunError, match="exists and is not a grid"):
        check_request(toy(copy.parent))


def test_a_recipe_without_the_two_stages_is_refused() -> None:
    recipe = load_recipe(recipe_path("minidocs"))
    short = recipe.model_copy(update={"stage": {"sentence": recipe.stage["sentence"]}})
    with pytest.raises(RunError, match="no 'document'"):
        shape(short, 5)


def stored(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps({"recipe": RECIPE.model_dump(mode="json"), **OTHERS}))
    return found | changes


def test_a_request_equals_itself_and_may_have_more_keys() -> None:
    assert list_differences(stored(), RECIPE, OTHERS) == []
    assert list_differences(stored(seeds=[1]), RECIPE, OTHERS) == []


def test_a_setting_that_an_earlier_version_did_not_know_has_its_default() -> None:
    found = stored()
    del found["recipe"]["decoding"]["length_margin"], found["recipe"]["han"]["distances"]
    assert list_differences(found, RECIPE, OTHERS) == []
    other = RECIPE.model_copy(update={"decoding": RECIPE.decoding.model_copy(update={"length_margin": 7})})
    assert list_differences(found, other, OTHERS) == ["decoding.length_margin is 20, asked for: 7"]


@pytest.mark.parametrize("found", [None, [], "grid", {}, {"recipe": []}, stored(documents=31), stored(recipe={})])
def test_any_other_request_differs(found: Any) -> None:
    assert list_differences(found, RECIPE, OTHERS)


def test_the_differences_of_requests_are_listed_and_the_first_few_described() -> None:
    found = stored(documents=31)
    found["recipe"]["seed"] = 7
    found["recipe"]["stage"]["document"]["steps"] = 3
    found["recipe"]["stage"]["document"]["inherited_exempt"] = ["output"]
    differences = list_differences(found, RECIPE, OTHERS)
    steps = RECIPE.stage["document"].steps
    assert {"documents is 31, asked for: 30", "seed is 7, asked for: 1"} < set(differences)
    assert f"stage.document.steps is 3, asked for: {steps}" in differences
    assert len(differences) == 4
    assert describe_differences(differences) == "; ".join(differences)
    assert describe_differences([*"abcdefgh"]) == "a; b; c; d; e; f; and 2 more"


def test_an_unknown_setting_makes_another_request() -> None:
    found = stored()
    found["recipe"]["qcn"]["magic"] = True
    assert list_differences(found, RECIPE, OTHERS) == ["qcn.magic is true, asked for: null"]


def test_a_grid_of_version_1_continues_only_without_the_rows_that_had_other_stages(tmp_path: Path) -> None:
    grid = toy(tmp_path / "grid", only=("transformer", "qcn", "zhang", "san"))
    write_request(grid)
    write_json(grid.request, {**read(grid.request), "version": 1})
    check_request(grid)
    for name in ("han", "han-joint"):
        with pytest.raises(RunError, match=rf"in which {name} had other stages: choose another --dir, or other rows"):
            check_request(replace(grid, only=("qcn", name)))
    write_json(grid.request, {**read(grid.request), "version": 3})
    with pytest.raises(RunError, match="a grid with other settings is here"):
        check_request(grid)


def test_rows_of_a_grid_begun_before_the_published_forms_keep_the_earlier_ones(tmp_path: Path) -> None:
    grid = toy(tmp_path / "grid", only=("zhang", "han-encoder", "san-decoder"), layout=LAYOUTS["rivals"])
    write_request(grid)
    request = read(grid.request)
    for name, kind in RIVALS.items():
        for key in kind.EARLIER:
            del request["recipe"][name][key]
    write_json(grid.request, {**request, "version": 1})
    with pytest.raises(RunError, match="a grid with other settings is here"):
        check_request(grid)
    older = as_begun(grid)
    check_request(older)
    assert read_request(grid.directory)[0] == older.recipe.model_copy(update={"seed": 0})
    for row in older.rows:
        table = getattr(older.recipe_of(Cell(1, row)).system(row.name), row.system)
        assert {key: getattr(table, key) for key in table.EARLIER} == table.EARLIER


def test_a_folder_of_the_old_comparisons_is_refused(tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text("{}", encoding="utf-8")
    with pytest.raises(RunError, match=r"a comparison of docaps 0\.1, which cannot be continued: choose another --dir"):
        check_request(toy(tmp_path, layout=LAYOUTS["routing"]))


def test_grids_with_documents_of_each_seed_share_no_folder_with_others(tmp_path: Path) -> None:
    table, routing, rivals = (toy(tmp_path / "grid", layout=LAYOUTS[name]) for name in ("table2", "routing", "rivals"))
    write_request(routing)
    check_request(rivals)
    with pytest.raises(RunError, match="a grid with other settings is here"):
        check_request(table)
    assert read_request(tmp_path / "grid")[1] == CorpusSource(None, 30, per_seed=True)


def test_a_row_brings_the_row_that_it_starts_from() -> None:
    grid = toy(Path("nowhere"), layout=LAYOUTS["rivals"], seeds=(1,), only=("han-joint",))
    sentence, encoder, joint = grid.cells()
    assert [cell.name for cell in (sentence, encoder, joint)] == ["sentence", "han-joint-first", "han-joint"]
    first = [grid.predecessor(cell) for cell in (sentence, encoder, joint)]
    assert [cell and cell.name for cell in first] == [None, "sentence", "han-joint-first"]


def test_grids_keep_the_best_model_and_checks_of_choices_keep_the_recipes() -> None:
    usual, checked = shape(RECIPE, None), shape(RECIPE, None, check_every=100)
    assert {stage.result for stage in usual.stage.values()} == {"best"}
    assert {stage.result for stage in checked.stage.values()} == {"last"}
    assert [stage.validate_every for stage in usual.stage.values()] == [200, 200]
    assert [stage.validate_every for stage in checked.stage.values()] == [200, 100]


def test_a_grid_begun_before_attention_had_dropout_goes_on_without(tmp_path: Path) -> None:
    off = {"dropout_attention": 0.0, "dropout_feed_forward": 0.0}
    stages = {name: stage.model_copy(update={"dropout": 0.1}) for name, stage in RECIPE.stage.items()}
    grid = replace(toy(tmp_path / "grid"), recipe=RECIPE.model_copy(update={"stage": stages}))
    assert as_begun(grid) is grid
    write_request(grid)
    assert as_begun(grid) == grid
    request = read_json(grid.request, error=RunError)
    for stage in request["recipe"]["stage"].values():
        for key in off:
            del stage[key]
    write_json(grid.request, request)
    with pytest.raises(RunError, match="a grid with other settings is here"):
        check_request(grid)
    older = as_begun(grid)
    check_request(older)
    assert read_request(grid.directory)[0].stage == older.recipe.stage
    for name, stage in stages.items():
        assert older.recipe.stage[name] == stage.model_copy(update=off)
