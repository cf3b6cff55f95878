"""The paper's numbers, and how our experiments differ from it."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.report.fake_grids import DATA

from docaps.config import Recipe, load_recipe, recipe_path
from docaps.report import build_page
from docaps.report.paper import CORPORA, OUR_CHOICES, PAPER_SETTINGS, TABLE1, TABLE2, find_corpus, state_differences
from docaps.runs.card import flatten
from docaps.runs.grid_results import Grid
from docaps.runs.results import RunResults


def test_a_corpus_of_the_paper_is_known_by_its_sizes() -> None:
    sizes = {part: [size for size, _ in row] for part, row in TABLE1.items()}
    for place, name in enumerate(CORPORA):
        assert find_corpus({part: row[place] for part, row in sizes.items()}) == name
    assert find_corpus({"train": 206_126, "dev": 8_967, "test": 2_270}) is None
    assert find_corpus({}) is None


ALIKE = {f"dropout_{part}": None for part in ("embeddings", "sublayers", "attention", "feed_forward")}
"""Rates of parts that are that of all."""


def test_exactly_the_differences_from_the_paper_are_listed(grids: list[Grid], results: list[RunResults]) -> None:
    said = state_differences(grids[0], results)
    assert [text.split(":")[0] for text in said] == ["Other data", "Long sentences", "Other metrics"]
    assert "the authors left them out for lack of memory; our recipes keep them all." in said[1]
    run = next(run for run in results if run.system == "qcn+reg")
    flat = {"system": {"model": {"size": 128}, "history": {"sentences": 3}}, "stage": {"dropout": 0.2, **ALIKE}}
    other = replace(run, description={**run.description, "settings": flat})
    assert "Other settings than the paper's: model.size 128 (paper: 512)." in state_differences(grids[0], [other])
    parts = {part: {"documents": 1, "sentences": row[0][0], "average": 1.0} for part, row in TABLE1.items()}
    ted = {**(run.measured or {}), "data": {**DATA, "parts": parts}}
    same = replace(other, measured=ted)
    assert not any(text.startswith("Other data") for text in state_differences(grids[0], [same]))
    page = build_page([same], title="T", grids=[grids[0]])
    assert "Paper, TED" in page
    assert "Paper, News" not in page


def test_the_papers_table_is_typed_right() -> None:
    typed = """
        zhang           24.00 44.69  23.08 42.40  29.32 46.72
        han             24.58 45.48  25.03 44.02  28.60 46.09
        san             24.42 45.38  24.84 44.27  29.75 47.22
        transformer     23.28 44.17  21.67 41.11  28.72 46.22
        transformer+reg 24.55 45.57  22.09 41.77  29.42 47.59
        qcn             24.41 46.09  22.22 41.90  29.48 47.49
        qcn+reg         25.19 45.91  22.37 41.88  29.82 47.86
    """
    rows = [line.split() for line in typed.strip().splitlines()]
    assert {row: [f"{x:.2f}" for pair in pairs for x in pair] for row, pairs in TABLE2.items()} == {
        name: numbers for name, *numbers in rows
    }


def described(run: RunResults, **settings: Any) -> RunResults:
    return replace(run, description={**run.description, "settings": settings})


def said_of(title: str, grid: Grid, runs: list[RunResults]) -> str:
    """Return what is said under a title; empty if nothing is."""
    found = [text.removeprefix(f"{title}: ") for text in state_differences(grid, runs) if text.startswith(f"{title}: ")]
    return found[0] if found else ""


OTHER = "Other settings than the paper's"


def test_other_settings_are_listed_for_all_runs(grids: list[Grid], results: list[RunResults]) -> None:
    one = {system: next(run for run in results if run.system == system) for system in ("transformer", "qcn", "zhang")}
    model, stage = {"model": {"size": 128}, "history": {"sentences": 1}}, {"batch_tokens": 3000, "beta2": 0.98}
    plain = described(one["transformer"], system=model, stage=stage | {"dropout": 0.2, **ALIKE, "accumulate": 4})
    alone = "model.size 128 (paper: 512), stage.dropout 0.2 (paper: 0.1), stage.beta2 0.98 (paper: 0.999), "
    alone += "stage.accumulate 4 (paper: 1) and stage.batch_tokens 3000 (paper: 900 or 1500)."
    assert said_of(OTHER, grids[0], [plain]) == alone
    context = described(one["qcn"], system=model, stage={"dropout": 0.2, **ALIKE, "accumulate": 1, "batch_tokens": 900})
    both = "model.size 128 (paper: 512), stage.dropout 0.2 (paper: 0.1; only in transformer), "
    both += "stage.beta2 0.98 (paper: 0.999), stage.accumulate 4 (paper: 1; only in transformer), "
    both += "stage.batch_tokens 3000 (paper: 900 or 1500; only in transformer) and history.sentences 1 (paper: 3)."
    assert said_of(OTHER, grids[0], [plain, context]) == both
    none = [described(run, stage={"dropout": 0.0, "inherited_rate": 0.0}) for run in one.values()]
    same = "stage.dropout 0.0 (paper: 0.1 or 0.2) and stage.inherited_rate 0.0 (paper: 1.0)."
    assert said_of(OTHER, grids[0], none) == same
    rival = described(
        one["zhang"], system={"qcn": {"capsules": 9}}, stage={"inherited_rate": 0.0, "dropout": 0.2, **ALIKE}
    )
    assert said_of(OTHER, grids[0], [rival]) == ""


def test_dropout_rates_of_parts_are_compared_where_they_are_not_that_of_all(
    grids: list[Grid], results: list[RunResults]
) -> None:
    run = next(run for run in results if run.system == "qcn")
    own = described(run, stage={"dropout": 0.2, **ALIKE, "dropout_attention": 0.1, "dropout_sublayers": 0.2})
    assert said_of(OTHER, grids[0], [own]) == "stage.dropout_attention 0.1 (paper: 0.2)."
    older = described(run, stage={"dropout": 0.2})  # by a version that dropped embeddings and sub-layers only
    said = "stage.dropout_attention 0.0 (paper: 0.2) and stage.dropout_feed_forward 0.0 (paper: 0.2)."
    assert said_of(OTHER, grids[0], [older]) == said


def test_the_weight_of_the_regulariser_is_compared_where_there_is_one(
    grids: list[Grid], results: list[RunResults]
) -> None:
    systems = ("transformer", "transformer+reg", "qcn", "qcn+reg")
    runs = [next(run for run in results if run.system == system) for system in systems]
    for weight, said in ((1.0, ""), (0.3, "regulariser.weight 0.3 (paper: 1.0).")):
        told = [described(run, system={"regulariser": {"weight": weight}}) for run in runs]
        assert said_of(OTHER, grids[0], told) == said
        assert said_of(OTHER, grids[0], [told[0], told[2]]) == ""
    mixed = [told[1], described(runs[3], system={"regulariser": {"weight": 1.0}})]
    assert said_of(OTHER, grids[0], mixed) == "regulariser.weight 0.3 (paper: 1.0; only in transformer+reg)."


def test_how_the_corpus_was_prepared_is_compared_where_it_is_known(
    grids: list[Grid], results: list[RunResults]
) -> None:
    def prepared(**settings: Any) -> list[RunResults]:
        return [replace(results[0], measured={**(results[0].measured or {}), "data": {**DATA, **settings}})]

    assert said_of(OTHER, grids[0], prepared()) == ""
    same = {"subwords": "bpe", "truecase": True, "merges": 30_000, "minimum_frequency": 2, "cleaning": {"copies": True}}
    assert said_of(OTHER, grids[0], prepared(preparation=same)) == ""
    other = "preparation.truecase False (paper: True) and preparation.merges 8000 (paper: 30000)."
    assert said_of(OTHER, grids[0], prepared(preparation=same | {"truecase": False, "merges": 8000})) == other


def settings_of(recipe: Recipe, stage: str) -> dict[str, Any]:
    """Return the settings as a run has them, and those of its corpus."""
    parts = {"system": recipe.system(stage), "stage": recipe.stage[stage], "preparation": recipe.preparation}
    return {name: part.model_dump(mode="json") for name, part in parts.items()}


def test_every_setting_that_is_compared_is_one_and_the_papers_recipe_differs_in_none(
    grids: list[Grid], results: list[RunResults]
) -> None:
    recipe = load_recipe(recipe_path("paper"))
    assert {*PAPER_SETTINGS, *OUR_CHOICES} <= flatten(settings_of(recipe, "document")).keys()
    runs = [
        described(next(run for run in results if run.system == system), **settings_of(recipe, stage))
        for system, stage in (("transformer", "sentence"), ("qcn+reg", "document"), ("capsnet", "document"))
    ]
    for title in (OTHER, "Settings that the paper does not give"):
        assert said_of(title, grids[0], runs) == ""


@pytest.mark.parametrize("name", [*PAPER_SETTINGS, *OUR_CHOICES])
def test_every_setting_that_differs_is_said_of_the_run_that_has_everything(
    grids: list[Grid], results: list[RunResults], name: str
) -> None:
    run = next(run for run in results if run.system == "qcn+reg")
    found = said_of(OTHER, grids[0], [described(run, **{name: "another"})])
    found += said_of("Settings that the paper does not give", grids[0], [described(run, **{name: "another"})])
    assert found.startswith(f"{name.removeprefix('system.')} another (")


def test_the_place_of_the_norm_is_our_choice(grids: list[Grid], results: list[RunResults]) -> None:
    run = described(results[0], system={"model": {"norm": "pre", "size": 512}})
    assert said_of(OTHER, grids[0], [run]) == ""
    ours = said_of("Settings that the paper does not give", grids[0], [run])
    assert ours == "model.norm pre (our choice: post)."
    post = described(results[0], system={"model": {"norm": "post"}})
    assert not any("norm" in text for text in state_differences(grids[0], [post]))


def test_the_settings_of_the_sentence_models_are_compared_where_they_are_known(
    grids: list[Grid], results: list[RunResults]
) -> None:
    models = [
        {"seed": seed, "steps": 1, "seconds": 1.0, "perplexity": 2.0, "settings": {"stage": {**stage, **ALIKE}}}
        for seed, stage in ((1, {"dropout": 0.2, "accumulate": 4}), (2, {"dropout": 0.1, "accumulate": 4}))
    ]
    said = said_of("Other settings of the sentence models", {**grids[0], "sentence_models": models}, results)
    assert said == "stage.dropout 0.2 (paper: 0.1; only in seed 1) and stage.accumulate 4 (paper: 1)."
    for model in models:
        del model["settings"]
    assert said_of("Other settings of the sentence models", {**grids[0], "sentence_models": models}, results) == ""
