"""Recipes that build on others, and the two profiles that come with docaps."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from docaps.config import Recipe, StageSettings, bundled_recipes, load_recipe
from docaps.config.recipes import merge
from docaps.errors import ConfigError
from docaps.model.builders import dropout_rates
from docaps.model.layers import DropoutRates

# The decisions about what the paper says and leaves open, once more, by hand.
PAPER: dict[str, Any] = {
    "preparation.merges": 30_000,
    "model.encoder_layers": 4,
    "model.decoder_layers": 4,
    "model.size": 512,
    "model.feed_forward": 2048,
    "model.heads": 8,
    "model.norm": "post",
    "model.embeddings": "separate",
    "model.activation": "relu",
    "model.positions": "vaswani",
    "model.scale_embeddings": True,
    "model.output_bias": False,
    "history.sentences": 3,
    "history.positions": False,
    "qcn.capsules": 4,
    "qcn.rounds": 4,
    "qcn.capsule_size": None,
    "qcn.scope": "sentence",
    "qcn.squash_words": True,
    "qcn.query": "sum",
    "qcn.guide_capsules": True,
    "qcn.guide_agreement": True,
    "qcn.gradient": "all",
    "qcn.spread": None,
    "qcn.normalise": False,
    "qcn.gate": False,
    "qcn.silent": False,
    "zhang.end_mark": True,
    "zhang.dropout": "layers",
    "han.side": "joint",
    "han.queries": "norm",
    "han.query_gradient": False,
    "han.marks": False,
    "han.norm_summaries": True,
    "han.feed_forward_norm": "pre",
    "han.gate_bias": True,
    "han.norm_output": True,
    "han.gradient": False,
    "san.sentences": "sparsemax",
    "san.words": "softmax",
    "san.projection_bias": False,
    "san.marks": False,
    "san.residual": False,
    "san.memory": "initial",
    "san.keys": "attended",
    "san.translations": "drafts",
    "san.gradient": False,
    "qcn.reads": "embeddings",
    "qcn.sides": "source",
    "qcn.current": False,
    "qcn.sharpness": 1.0,
    "qcn.start": "random",
    "qcn.attends": "encoder",
    "qcn.distances": False,
    "context.start": "random",
    "regulariser.weight": 1.0,
    "regulariser.correlation": "capsules",
    "regulariser.positions": True,
    "stage.sentence.system": "transformer",
    "stage.sentence.dropout": 0.1,
    "stage.sentence.label_smoothing": 0.1,
    "stage.document.system": "qcn+reg",
    "stage.document.init_from": "sentence",
    "stage.document.dropout": 0.2,
    "stage.document.label_smoothing": 0.0,
    "stage.document.inherited_rate": 1.0,
    **{
        f"stage.{stage}.dropout_{part}": None  # that is, as `dropout`: "all dropout rates"
        for stage in ("sentence", "document")
        for part in ("embeddings", "sublayers", "attention", "feed_forward")
    },
    "decoding.beam": 4,
    "decoding.length_penalty": 0.6,
} | {
    f"stage.{stage}.{key}": value
    for stage in ("sentence", "document")
    for key, value in {
        "learning_rate": 1e-4,
        "schedule": "fixed",
        "clip": 5.0,
        "batch_tokens": 1500,
        "accumulate": 1,
        "optimizer": "adam",
        "patience": 10,
        "best_by": "dev_loss",
        "result": "best",
    }.items()
}
STRONG: dict[str, Any] = {
    "model.norm": "pre",
    "model.embeddings": "shared",
    "model.size": 512,
    "stage.document.system": "qcn+reg",
} | {
    f"stage.{stage}.{key}": value
    for stage in ("sentence", "document")
    for key, value in {
        "learning_rate": 5e-4,
        "schedule": "inverse-sqrt",
        "warmup": 4000,
        "accumulate": 4,
        "dropout": 0.3,
        "label_smoothing": 0.1,
    }.items()
}


def at(recipe: Recipe, key: str) -> Any:
    place: Any = recipe
    for name in key.split("."):
        place = place[name] if isinstance(place, dict) else getattr(place, name)
    return place


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("profile", "decisions"), [("paper", PAPER), ("strong", STRONG)])
def test_a_profile_is_what_was_decided(profile: str, decisions: dict[str, Any]) -> None:
    recipe = load_recipe(bundled_recipes()[profile])
    assert {key: at(recipe, key) for key in decisions} == decisions


def test_the_paper_profile_writes_every_setting_down() -> None:
    """So it stays what it is when a default changes; what is none by default cannot be written in TOML."""
    written = tomllib.loads(bundled_recipes()["paper"].read_text(encoding="utf-8"))

    def missing(model: type[BaseModel], values: dict[str, Any], place: str) -> list[str]:
        found = []
        for name, field in model.model_fields.items():
            kind = field.annotation
            if name == "stage":
                for stage, table in values["stage"].items():
                    found += missing(StageSettings, table, f"stage.{stage}.")
            elif isinstance(kind, type) and issubclass(kind, BaseModel):
                found += missing(kind, values.get(name, {}), f"{place}{name}.")
            elif name not in values and field.default is not None:
                found.append(f"{place}{name}")
        return found

    assert missing(Recipe, written, "") == []
    assert list(written["stage"]) == ["sentence", "document"]


def test_a_recipe_builds_on_a_profile_and_overrides_build_on_both(tmp_path: Path) -> None:
    path = write(
        tmp_path / "mine.toml",
        'name = "mine"\nprofile = "strong"\n[model]\nsize = 256\n[stage.document]\nsteps = 9000\n',
    )
    recipe = load_recipe(path, ["qcn.rounds=2"])
    assert (recipe.name, recipe.profile) == ("mine", "strong")
    assert (recipe.model.size, recipe.model.norm, recipe.model.feed_forward) == (256, "pre", 2048)
    assert (recipe.stage["document"].steps, recipe.stage["document"].dropout) == (9000, 0.3)
    assert recipe.qcn.rounds == 2
    assert load_recipe(path, ["profile=paper"]).model.norm == "post"


def test_a_profile_may_be_a_file_beside_the_recipe(tmp_path: Path) -> None:
    write(tmp_path / "base.toml", 'profile = "paper"\n[qcn]\ncapsules = 7\n')
    recipe = load_recipe(write(tmp_path / "mine.toml", 'profile = "base.toml"\n[qcn]\nrounds = 2\n'))
    assert (recipe.qcn.capsules, recipe.qcn.rounds, recipe.stage["document"].dropout) == (7, 2, 0.2)


def test_an_error_is_attributed_to_its_file(tmp_path: Path) -> None:
    write(tmp_path / "base.toml", "[qcn]\ncapsules = 7\nroundz = 2\n")
    path = write(tmp_path / "mine.toml", 'profile = "base.toml"\n[qcn]\ncapsules = 0\n')
    with pytest.raises(ConfigError) as caught:
        load_recipe(path)
    assert str(caught.value).splitlines() == [
        f"{path}:3: qcn.capsules: Input should be greater than or equal to 1 (found 0)",
        f"{tmp_path / 'base.toml'}:3: qcn.roundz: unknown key; did you mean 'rounds'?",
    ]


def test_a_missing_profile_names_those_that_come_with_docaps(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.toml", 'profile = "papre"\n')
    with pytest.raises(ConfigError, match=r"mine\.toml: profile: no recipe 'papre'\. Bundled recipes: .*paper"):
        load_recipe(path)


@pytest.mark.parametrize(("one", "other"), [("mine.toml", "mine.toml"), ("base.toml", "mine.toml")])
def test_a_profile_that_builds_on_itself_is_refused(tmp_path: Path, one: str, other: str) -> None:
    write(tmp_path / "base.toml", f'profile = "{other}"\n')
    path = write(tmp_path / "mine.toml", f'profile = "{one}"\n')
    with pytest.raises(ConfigError, match=r"'mine\.toml' builds on itself"):
        load_recipe(path)


def test_a_broken_profile_is_reported_with_its_own_name(tmp_path: Path) -> None:
    write(tmp_path / "base.toml", "[qcn\n")
    path = write(tmp_path / "mine.toml", 'profile = "base.toml"\n')
    with pytest.raises(ConfigError, match=r"base\.toml: not valid TOML"):
        load_recipe(path)


def test_tables_are_merged_and_values_replaced() -> None:
    below = {"a": {"b": 1, "c": {"d": 2}}, "e": [1, 2], "f": {"g": 1}}
    above = {"a": {"c": {"h": 3}}, "e": [3], "f": 5}
    assert merge(below, above) == {"a": {"b": 1, "c": {"d": 2, "h": 3}}, "e": [3], "f": 5}
    assert below == {"a": {"b": 1, "c": {"d": 2}}, "e": [1, 2], "f": {"g": 1}}


CORPORA = {"ted": 1500, "news": 900, "europarl": 900}


@pytest.mark.parametrize(("name", "batch"), CORPORA.items())
def test_the_corpora_of_the_paper_differ_in_batch_and_length_only(name: str, batch: int) -> None:
    paper, recipe = load_recipe(bundled_recipes()["paper"]), load_recipe(bundled_recipes()[name])
    free = {"name", "profile", "stage"}
    assert recipe.model_dump(exclude=free) == paper.model_dump(exclude=free)
    for stage, settings in recipe.stage.items():
        own = {"steps", "batch_tokens", "validate_every"}
        assert settings.model_dump(exclude=own) == paper.stage[stage].model_dump(exclude=own)
        assert settings.batch_tokens == batch


@pytest.mark.parametrize("name", bundled_recipes())
def test_every_recipe_drops_all_parts_at_one_rate(name: str) -> None:
    """Those that were tuned without dropout have a rate of 0; selected sentences come often, with dropout."""
    for key, stage in load_recipe(bundled_recipes()[name]).stage.items():
        rates = dropout_rates(stage)
        assert rates == DropoutRates.everywhere(stage.dropout)
        without = name == "minidocs" or name.endswith("-small")
        assert (stage.dropout == 0) == (without and (name, key) != ("mixed-small", "document"))


@pytest.mark.parametrize("name", CORPORA)
def test_strong_recipes_differ_from_the_strong_profile_in_length_and_dropout_only(name: str) -> None:
    strong, recipe = load_recipe(bundled_recipes()["strong"]), load_recipe(bundled_recipes()[f"{name}-strong"])
    free = {"name", "profile", "stage"}
    assert recipe.model_dump(exclude=free) == strong.model_dump(exclude=free)
    for stage, settings in recipe.stage.items():
        own = {"steps", "dropout"}
        assert settings.model_dump(exclude=own) == strong.stage[stage].model_dump(exclude=own)
        assert settings.dropout == (0.1 if name == "europarl" else 0.3)
