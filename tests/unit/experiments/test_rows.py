"""Each row is the recipe with what it names changed, and nothing else."""

import json
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from tests.unit.experiments.toy_grid import toy

from docaps.config import bundled_recipes, load_recipe, recipe_path
from docaps.config.model_settings import RegulariserSettings
from docaps.experiments import rows as table
from docaps.experiments.grid import Cell, CorpusSource, Grid, shape
from docaps.experiments.rows import LAYOUTS, ROWS, GridLayout, GridRow

RECIPE = load_recipe(recipe_path("minidocs"))
RECIPE_FIELDS = SimpleNamespace(stage=SimpleNamespace(document=RECIPE.stage["document"]))


def test_a_name_has_one_meaning_in_all_experiments() -> None:
    assert [row.name for row in table._TABLE] == list(ROWS)
    for layout in LAYOUTS.values():
        assert all(row is ROWS[name] for name, row in layout.rows.items())
    assert "sentence" not in ROWS  # a row is a run beside the sentence model


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_changes_what_it_says_and_nothing_else(row: GridRow) -> None:
    changes = {key: value for key, value in row.changes.items() if not key.startswith("stage.")}
    words = [f"{key}={json.dumps(value)}" for key, value in changes.items()]
    found = row.apply(RECIPE)
    assert found.model_copy(update={"stage": RECIPE.stage}) == RECIPE
    assert found.system(row.name) == load_recipe(recipe_path("minidocs"), words).for_system(row.system)
    stage = {key.split(".")[-1]: value for key, value in row.changes.items() if key.startswith("stage.document.")}
    scaled = {key: attrgetter(key)(RECIPE_FIELDS) for key in row.scaled}
    stage |= {key.split(".")[-1]: type(value)(value * row.scaled[key]) for key, value in scaled.items()}
    stage |= {"system": row.system, "init_from": row.starts_from}
    assert found.stage[row.name].training() == RECIPE.stage["document"].model_copy(update=stage).training()
    assert list(found.stage) == ["sentence", *(one.name for one in row.chain)]
    assert found.stage["sentence"] == RECIPE.stage["sentence"]


def test_a_row_wins_over_changes_of_the_document_stage_and_keeps_the_others() -> None:
    recipe = load_recipe(recipe_path("minidocs"), ["stage.document.qcn.scope=sentence", "stage.document.qcn.rounds=2"])
    found = ROWS["joint"].apply(recipe).system("joint").qcn
    assert (found.scope, found.rounds) == ("joint", 2)


def test_the_stages_of_hierarchical_attention_are_those_published() -> None:
    """The encoder first, then both sides from its weights; in the fair row, with the steps of one stage in all."""
    for name, factor in (("han", 2), ("han-joint", 1)):
        recipe = ROWS[name].apply(RECIPE)
        _, first, second = recipe.stage
        assert [recipe.system(stage).han.side for stage in (first, second)] == ["encoder", "joint"]
        assert (recipe.stage[first].init_from, recipe.stage[second].init_from) == ("sentence", first)
        steps = [recipe.stage[stage].steps for stage in (first, second)]
        assert sum(steps) == factor * RECIPE.stage["document"].steps
        assert steps[0] == steps[1]


@pytest.mark.parametrize(("steps", "expected"), [(1, 1), (2, 1), (5, 2), (1800, 900)])
def test_half_of_some_steps_is_a_whole_number_of_them(steps: int, expected: int) -> None:
    recipe = shape(RECIPE, steps)
    assert [ROWS[name].apply(recipe).stage[name].steps for name in ("han-joint-first", "han-joint")] == [expected] * 2


@pytest.mark.parametrize("name", sorted(LAYOUTS["routing"].rows.keys() - {"qcn", "qcn+reg", "capsnet"}))
def test_an_option_of_the_routing_is_not_the_recipes(name: str) -> None:
    changes = ROWS[name].changes
    assert changes
    assert [key for key, value in changes.items() if attrgetter(key)(RECIPE) == value] == []


def test_every_reading_of_the_regulariser_is_an_option_of_the_routing() -> None:
    """Each value that is not the paper's, one at a time."""
    usual, wanted = RegulariserSettings(), set()
    for name, field in RegulariserSettings.model_fields.items():
        values = (True, False) if field.annotation is bool else get_args(field.annotation)
        wanted |= {(f"regulariser.{name}", value) for value in values if value != getattr(usual, name)}
    rows = [row for row in LAYOUTS["routing"].rows.values() if row.name.startswith("reg-")]
    assert all(row.system == "qcn+reg" and len(row.changes) == 1 for row in rows)
    assert {change for row in rows for change in row.changes.items()} == wanted


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_no_two_rows_of_an_experiment_are_the_same_or_have_one_title(layout: GridLayout) -> None:
    recipe = load_recipe(recipe_path("europarl-small" if layout.name == "trials" else "minidocs"))
    applied = [(row.apply(recipe), row) for row in layout.rows.values()]
    described = [(one.system(row.name), one.stage[row.name].training()) for one, row in applied]
    assert [one for number, one in enumerate(described) if one in described[:number]] == []
    titles = [row.title for row in layout.rows.values()]
    assert len(set(titles)) == len(titles)
    assert not any("|" in title for title in titles)  # they stand in Markdown tables


def test_rows_start_from_rows_of_their_experiment() -> None:
    for layout in LAYOUTS.values():
        started = {row.starts_from for row in layout.rows.values()} - {"sentence"}
        assert started <= layout.rows.keys()
        assert all(layout.rows[name].starts_from == "sentence" for name in started)  # `Grid.rows` adds one, no more


def test_every_system_of_table_2_and_every_control_is_a_rival() -> None:
    systems = {row.system for row in LAYOUTS["rivals"].rows.values()}
    assert systems >= {"zhang", "han", "san", "concat", "qcn-shuffled", "qcn-noise"}


def test_the_recipe_is_left_as_it_was() -> None:
    before = RECIPE.model_dump()
    ROWS["joint"].apply(RECIPE)
    assert RECIPE.model_dump() == before


def test_later_stages_of_the_recipe_are_left_out() -> None:
    recipe = load_recipe(recipe_path("minidocs"), ["stage.third.init_from=document"])
    assert list(ROWS["qcn"].apply(recipe).stage) == ["sentence", "qcn"]


def test_every_row_of_the_paper_is_there_and_both_sentence_rows_have_a_second_stage() -> None:
    from docaps.report.paper import TABLE2

    rows = LAYOUTS["table2"].rows
    assert rows.keys() >= TABLE2.keys() | {"capsnet", "qcn-shuffled", "qcn-noise"}
    grid = toy(Path("nowhere"), only=None)
    stages = {row.name: grid.recipe_of(Cell(1, row)).stage[row.name] for row in grid.rows}
    others = {"zhang", "han", "han-joint", "han-joint-first"}
    fixed = {name: {**stage.training(), "system": "qcn"} for name, stage in stages.items() if name not in others}
    assert len({json.dumps(stage) for stage in fixed.values()}) == 1  # steps, dropout and all the rest
    assert fixed["qcn"]["init_from"] == "sentence"
    assert stages["zhang"].inherited_rate == 0


@pytest.mark.parametrize(
    ("name", "values", "fixed"),
    [
        ("history", range(1, 7), (None, 4, 4)),
        ("capsules", range(1, 9), (3, None, 4)),
        ("rounds", range(1, 7), (3, 4, None)),
    ],
)
def test_figures_move_one_setting_and_hold_the_others(name: str, values: range, fixed: tuple[int | None, ...]) -> None:
    grid = toy(Path("nowhere"), layout=LAYOUTS[name], only=None)
    found = []
    for row in grid.rows:
        system = grid.recipe_of(Cell(1, row)).system(row.name)
        found.append((system.history.sentences, system.qcn.capsules, system.qcn.rounds))
        assert system.name == "qcn+reg"
    assert found == [tuple(value if one is None else one for one in fixed) for value in values]


SELECTED = {
    ("stage", "select"): "mined/annotations.jsonl",
    ("stage", "select_share"): 0.33,
    ("stage", "select_phenomena"): ["pronoun", "pronoun-likely"],
}
EMPHASISED = {
    ("stage", "emphasis"): "mined/annotations.jsonl",
    ("stage", "emphasis_weight"): 5.0,
    ("stage", "emphasis_phenomena"): ["pronoun", "pronoun-likely"],
}
CHANGED = {
    "joint": {("qcn", "scope"): "joint"},
    "mean": {("qcn", "query"): "mean"},
    "gate": {("qcn", "gate"): True},
    "positions": {("history", "positions"): True},
    "raw": {("qcn", "normalise"): False},
    "weight-0.1": {("regulariser", "weight"): 0.1},
    "weight-0.3": {("regulariser", "weight"): 0.3},
    "new-3": {("stage", "learning_rate"): 3e-3, ("stage", "inherited_rate"): 1 / 3 * 0.2},
    "new-10": {("stage", "learning_rate"): 1e-2, ("stage", "inherited_rate"): 0.1 * 0.2},
    "routed-1": {("qcn", "rounds"): 1},
    "routed-2": {("qcn", "rounds"): 2},
    "routed-3": {("qcn", "rounds"): 3},
    "silent": {("qcn", "silent"): True},
    "exempt": {("stage", "inherited_exempt"): ["embeddings"]},
    "transformer-longer": {("stage", "steps"): 2000, ("stage", "warmup"): 200},
    "longer": {("stage", "steps"): 2000, ("stage", "warmup"): 200},
    "reg-centred": {("regulariser", "centre"): "batch"},
    "reg-difference": {("regulariser", "negatives"): "batch"},
    "reg-infonce": {("regulariser", "negatives"): "infonce"},
    "states": {("qcn", "reads"): "states"},
    "states-gradient": {("qcn", "reads"): "states", ("qcn", "gradient_to_states"): True},
    "target": {("qcn", "sides"): "target"},
    "target-states": {("qcn", "sides"): "target", ("qcn", "reads"): "states"},
    "both-sides": {("qcn", "sides"): "both"},
    "current": {("qcn", "current"): True},
    "at-decoder": {("qcn", "attends"): "decoder"},
    "at-both": {("qcn", "attends"): "both"},
    "distances": {("qcn", "distances"): True},
    "sharp": {("qcn", "sharpness"): 1000.0},
    "sharp-learned": {("qcn", "sharpness"): "learned"},
    "identity": {("qcn", "start"): "identity"},
    "parts": {("qcn", "start"): "parts"},
    "copied": {
        ("context", "start"): "copied",
        ("qcn", "reads"): "states",
        ("qcn", "start"): "identity",
        ("qcn", "attends"): "both",
    },
    "source-dropout": {("stage", "source_dropout"): 0.1},
    "sampled-histories": {("stage", "history_sampling"): True},
    "halves": {("stage", "split"): 0.3},
    "selected": SELECTED,
    "transformer-selected": SELECTED,
    "emphasised": EMPHASISED,
    "transformer-emphasised": EMPHASISED,
    "frozen": {("stage", "freeze_inherited_steps"): 100},
}


REGULARISED = ("weight-0.1", "weight-0.3", "reg-centred", "reg-difference", "reg-infonce")
SENTENCE_LEVEL = ("transformer-longer", "transformer-selected", "transformer-emphasised")
USUAL = {**dict.fromkeys(SENTENCE_LEVEL, "transformer"), **dict.fromkeys(REGULARISED, "qcn+reg")}


@pytest.mark.parametrize("name", CHANGED)
def test_trials_change_one_thing_and_leave_the_test_part_alone(name: str) -> None:
    grid = Grid(Path("nowhere"), LAYOUTS["trials"], load_recipe(recipe_path("europarl-small")), CorpusSource(None, 30))
    rows = grid.layout.rows
    usual = rows[USUAL.get(name, "qcn")]
    one, other = (_settings(grid, row) for row in (usual, rows[name]))
    found = {key: value for key, value in other.items() if one[key] != value}
    assert {
        key: pytest.approx(value) if isinstance(value, float) else value for key, value in CHANGED[name].items()
    } == found
    assert grid.layout.skips_test(rows[name])
    assert not grid.layout.skips_test(usual)


def test_trials_are_all_there() -> None:
    assert LAYOUTS["trials"].rows.keys() == CHANGED.keys() | {"transformer", "qcn", "qcn+reg", "concat-n"}


def _settings(grid: Grid, row: GridRow) -> dict[tuple[str, str], Any]:
    recipe = grid.recipe_of(Cell(1, row))
    values = {**recipe.system(row.name).model_dump(), "stage": recipe.stage[row.name].training()}
    return {
        (table, key): value
        for table in ("qcn", "context", "history", "regulariser", "stage")
        for key, value in values[table].items()
    }


def test_rows_are_compared_with_rows_that_are_there() -> None:
    for layout in LAYOUTS.values():
        baselines = {row.baseline for row in layout.rows.values() if row.baseline}
        assert baselines <= layout.rows.keys()
    for name in ("longer", "selected", "emphasised"):
        assert LAYOUTS["trials"].rows[name].baseline == f"transformer-{name}"


def test_signals_are_trained_only_if_named() -> None:
    trials = LAYOUTS["trials"]
    assert {name for name, row in trials.rows.items() if SIGNALS & row.changes.keys()} < trials.on_demand


SIGNALS = {f"stage.document.{name}" for name in ("source_dropout", "history_sampling", "split", "select", "emphasis")}


@pytest.mark.parametrize("name", sorted(ROWS.keys() & bundled_recipes().keys()))
def test_a_recipe_trains_what_the_row_of_its_name_does(name: str) -> None:
    recipe = load_recipe(recipe_path(name))
    row = ROWS[name].apply(load_recipe(recipe_path(str(recipe.profile))))
    assert recipe.system(list(recipe.stage)[-1]) == row.system(name)
    assert len(recipe.stage) == len(row.stage)
