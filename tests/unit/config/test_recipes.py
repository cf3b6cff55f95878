"""Settings: defaults are in one place, errors are reported all at once with file and line."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from docaps.config import Recipe, bundled_recipes, load_recipe, recipe_path
from docaps.errors import ConfigError

RECIPES = Path(__file__).parents[3] / "recipes"


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(text, encoding="utf-8")
    return path


def faults(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_recipe(path, overrides)
    return str(caught.value).splitlines()


def test_an_empty_recipe_holds_the_defaults_of_the_paper(tmp_path: Path) -> None:
    recipe = load_recipe(write(tmp_path, ""))
    assert recipe == Recipe() == load_recipe(None)
    assert (recipe.model.encoder_layers, recipe.model.size, recipe.model.heads, recipe.model.norm) == (
        4,
        512,
        8,
        "post",
    )
    assert (recipe.history.sentences, recipe.qcn.capsules, recipe.qcn.rounds, recipe.regulariser.weight) == (3, 4, 4, 1)
    assert (recipe.decoding.beam, recipe.decoding.length_penalty, recipe.preparation.merges) == (4, 0.6, 30_000)


def test_all_errors_are_reported_at_once_with_file_line_and_key(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """sed = 1

[model]
sizes = 512
heads = "eight"

[stage.sentence]
steps = true
stepz = 3
learning_rate = -1
qqqqqqqq = 1
""",
    )
    found = sorted(faults(path), key=lambda line: int(line.split(":")[1]))
    assert found[0] == f"{path}:1: sed: unknown key; did you mean 'seed'?"
    assert found[1] == f"{path}:4: model.sizes: unknown key; did you mean 'size'?"
    assert found[2].startswith(f"{path}:5: model.heads: ")
    assert found[2].endswith("(found 'eight')")
    assert found[3].startswith(f"{path}:8: stage.sentence.steps: ")
    assert found[4] == f"{path}:9: stage.sentence.stepz: unknown key; did you mean 'steps'?"
    assert found[5] == f"{path}:10: stage.sentence.learning_rate: Input should be greater than 0 (found -1)"
    assert found[6].startswith(
        f"{path}:11: stage.sentence.qqqqqqqq: unknown key; known keys: system, init_from, freeze, steps,"
    )
    assert len(found) == 7


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ("model.size = 0", 1, "model.size"),
        ("\nmodel = {heads = 0}", 2, "model.heads"),
        ("model = 3", 1, "model"),
        ('[stage."one"]\nsteps = 0', 2, "stage.one.steps"),
        ("[model]\nheads = 8\n[qcn]\nheads = 8", 4, "qcn.heads"),
    ],
)
def test_an_error_is_located_however_the_key_is_written(tmp_path: Path, text: str, line: int, key: str) -> None:
    path = write(tmp_path, text)
    (found,) = faults(path)
    assert found.startswith(f"{path}:{line}: {key}: ")


@pytest.mark.parametrize("value", ["true", '"3"', "3.5", "-1", "9223372036854775808"])
def test_a_seed_is_a_number_that_generators_take(tmp_path: Path, value: str) -> None:
    (found,) = faults(write(tmp_path, f"seed = {value}"))
    assert ":1: seed: " in found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[model]\nsize = 100\nheads = 8", ":1: model: size 100 must be even and divisible by the number of heads, 8"),
        ("[model]\nsize = 9\nheads = 3", "size 9 must be even"),
        ('[stage.a]\nselect = "x"', ":1: stage.a: select and select_share belong together: a file, and a number"),
        ("[stage.a]\nemphasis_weight = 2.0", ":1: stage.a: emphasis and emphasis_weight belong together"),
        ('[stage.a]\nselect_phenomena = ["a"]', ":1: stage.a: select_phenomena needs select, a file of annotations"),
        (
            '[stage.a]\nselect = "x"\nselect_share = 0.5\nsampling = "documents"',
            ':1: stage.a: select needs sampling = "sentences": documents are trained on whole',
        ),
        ("[preparation]\nmarks = ['a', 'a']", ":1: preparation: marks: a, a holds a name twice"),
        ("[preparation]\nmarks = ['A b']", "preparation.marks"),
        ("[stage.a]\nsteps = 10\nwarmup = 10", ":1: stage.a: warm-up of 10 steps must be shorter than the stage, 10"),
        ('[stage.a]\ninit_from = "b"\n[stage.b]', "stage 'a' starts from 'b', which is not an earlier stage"),
        ('[stage.a]\ninit_from = "a"', "stage 'a' starts from 'a', which is not an earlier stage"),
        ('[stage."../a"]', "stage name '../a' must consist of letters"),
        (
            '[concat]\nmode = "2-to-2"\n[stage.a]\nsystem = "concat"',
            'concat.mode = "2-to-2" joins one earlier sentence: set history.sentences = 1 (found 3), '
            'or concat.mode = "n-to-n"',
        ),
        (
            '[concat]\ndiscount = 0.01\n[stage.a]\nsystem = "concat"',
            "concat.discount = 0.01 weights earlier translations, which k-to-1 does not read: set "
            'concat.mode = "n-to-n"',
        ),
        ('[san]\nmode = "onlin"', ":2: san.mode: Input should be 'online' or 'offline' (found 'onlin')"),
        (
            '[regulariser]\nnegatives = "hard"',
            ":2: regulariser.negatives: Input should be 'none', 'batch' or 'infonce' (found 'hard')",
        ),
        ("[regulariser]\ntemperature = 0.0", ":2: regulariser.temperature: Input should be greater than 0 (found 0.0)"),
        ('[han]\nside = "both"', ":2: han.side: Input should be 'encoder', 'decoder' or 'joint' (found 'both')"),
        ('[concat]\nmode = "3-to-3"', "concat.mode: Input should be 'k-to-1', '2-to-2' or 'n-to-n' (found '3-to-3')"),
        ('[san]\nmode = "offline"\ndistances = true', ':1: san: distances need mode = "online"'),
        ("[qcn]\ngradient_to_states = true", ':1: qcn: gradient_to_states needs reads = "states"'),
        ('[qcn]\ncurrent = true\nsides = "target"', ':1: qcn: current needs sides = "source" or "both"'),
        ('[qcn]\ndistances = true\nscope = "joint"', ':1: qcn: distances need scope = "sentence"'),
        (
            '[qcn]\nsharpness = "learned"\nrounds = 1',
            'a gradient other than "last": it would get no gradient (found rounds = 1, gradient = "all")',
        ),
        ('[qcn]\nsharpness = "learned"\ngradient = "last"', '(found rounds = 4, gradient = "last")'),
        ("[qcn]\nsharpness = 0.0", ':2: qcn.sharpness: must be a number above 0, or "learned" (found 0.0)'),
        (
            '[qcn]\nsilent = true\n[context]\nstart = "copied"\n[stage.a]\nsystem = "qcn"',
            'qcn.silent = true contradicts context.start = "copied": choose one',
        ),
        (
            '[qcn]\ngate = true\n[context]\nstart = "silent"\n[stage.a]\nsystem = "capsnet"',
            'context.start = "silent" needs qcn.gate = false',
        ),
        (
            '[qcn]\ncapsule_size = 8\n[context]\nstart = "copied"\n[stage.a]\nsystem = "qcn-noise"',
            "leave qcn.capsule_size out (found 8; model.size is 512)",
        ),
        ('[context]\nstart = "silent"\n[stage.a]\nsystem = "zhang"', 'context.start = "silent" is not for zhang'),
        (
            '[history]\npositions = true\n[qcn]\nreads = "states"\n[stage.a]\nsystem = "qcn+reg"',
            'history.positions = true needs qcn.reads = "embeddings"',
        ),
        (
            '[qcn]\nstart = "parts"\ncapsules = 9\ncapsule_size = 8\n[stage.a]\nsystem = "qcn"',
            'qcn.start = "parts" needs at most 8 capsules, the size of one (found 9)',
        ),
        ("[san]\nreach = 0", "san.reach: Input should be greater than or equal to 1 (found 0)"),
        ("[history]\nsentences = 0", ":2: history.sentences: Input should be greater than or equal to 1 (found 0)"),
        ("[zhang]\nlayer = 2", ":2: zhang.layer: unknown key; did you mean 'layers'?"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (found,) = faults(write(tmp_path, text))
    assert message in found


def test_settings_of_other_systems_do_not_matter(tmp_path: Path) -> None:
    """The recipe's tables hold for all its stages; a sentence model has no context."""
    text = '[qcn]\nsilent = true\n[context]\nstart = "copied"\n[stage.a]\nsystem = "transformer"'
    assert load_recipe(write(tmp_path, text)).context.start == "copied"


def test_a_stage_may_start_from_an_earlier_one_and_keeps_its_order(tmp_path: Path) -> None:
    path = write(tmp_path, '[qcn]\nrounds = 2\n[stage.z]\n[stage.a]\nsystem = "qcn"\ninit_from = "z"')
    recipe = load_recipe(path)
    assert list(recipe.stage) == ["z", "a"]
    system = recipe.system("a")
    assert (system.name, system.qcn.rounds) == ("qcn", 2)
    assert recipe.system("z").name == "transformer"


def test_broken_toml_is_reported_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, "seed = 1\n[model\nsize = 1")
    (found,) = faults(path)
    assert found.startswith(f"{path}: not valid TOML: ")
    assert "line 2" in found


def test_a_missing_recipe_names_those_that_come_with_docaps(tmp_path: Path) -> None:
    path = tmp_path / "absent.toml"
    (found,) = faults(path)
    assert found == f"{path}: no such recipe. Bundled recipes: {', '.join(bundled_recipes())}"
    assert "minidocs" in found


def test_a_binary_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_bytes(b"name = '\xff'")
    assert faults(path)[0] == f"{path}:1: cannot be read: not UTF-8 (0xff)"
    assert faults(tmp_path)[0].startswith(f"{tmp_path}: cannot be read: ")


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_bytes(b"\xef\xbb\xbfseed = 4")
    assert load_recipe(path).seed == 4


def test_overrides_read_toml_values_and_plain_text(tmp_path: Path) -> None:
    path = write(tmp_path, "seed = 1\n[model]\nsize = 64")
    overrides = [
        "seed=5",
        "model.size = 32",
        "stage.first.steps=1_000",
        "stage.first.learning_rate=2e-3",
        "stage.first.system=qcn+reg",
        "qcn.normalise=true",
        'name="a = b"',
        "preparation.source_language=fr",
    ]
    recipe = load_recipe(path, overrides)
    assert (recipe.seed, recipe.model.size, recipe.qcn.normalise, recipe.name) == (5, 32, True, "a = b")
    assert recipe.preparation.source_language == "fr"
    first = recipe.stage["first"]
    assert (first.steps, first.learning_rate, first.system) == (1000, 2e-3, "qcn+reg")


def test_the_last_override_wins(tmp_path: Path) -> None:
    assert load_recipe(write(tmp_path, "seed = 1"), ["seed=2", "seed=3"]).seed == 3


@pytest.mark.parametrize("override", ["seed", "=3", "model..size=3", ".seed=3", "model.=3", ""])
def test_an_override_that_is_none_is_refused(tmp_path: Path, override: str) -> None:
    (found,) = faults(write(tmp_path, ""), override)
    assert found == f"--set {override}: expected KEY=VALUE, for example --set stage.sentence.steps=100"


def test_an_override_cannot_go_through_a_single_value(tmp_path: Path) -> None:
    (found,) = faults(write(tmp_path, "[model]\nsize = 3"), "model.size.half=3")
    assert found == "--set model.size.half=3: model.size is a single value, not a table"


def test_an_error_in_an_override_is_not_attributed_to_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "[model]\nsize = 64\nheads = 0")
    found = faults(path, "model.size=large", "model.layer=3")
    assert found[0].startswith("--set model.size=large: model.size: Input should be a valid integer")
    assert found[1].startswith(f"{path}:3: model.heads: ")
    assert found[2].startswith("--set model.layer=3: model.layer: unknown key; did you mean 'encoder_layers'?")


def test_settings_are_frozen() -> None:
    recipe = Recipe()
    with pytest.raises(ValidationError, match="frozen"):
        recipe.seed = 2  # type: ignore[misc]
    with pytest.raises(ValidationError, match="frozen"):
        recipe.model.size = 2  # type: ignore[misc]


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_bundled_recipe_loads_and_trains_something(path: Path) -> None:
    recipe = load_recipe(path)
    assert recipe.stage
    assert recipe.name != "unnamed"
    assert recipe_path(path.stem) == path


@pytest.mark.parametrize("path", [None, *sorted(RECIPES.glob("*.toml"))], ids=lambda path: path.stem if path else "")
def test_settings_are_the_same_after_a_json_file(path: Path | None) -> None:
    """Runs, prepared corpora and demos are recognised by comparing settings with what a file holds."""
    recipe = load_recipe(path, ["stage.more.inherited_exempt=['a', 'b']", "preparation.marks=['a', 'b']"])
    dumped = recipe.model_dump()
    assert json.loads(json.dumps(dumped)) == dumped
    assert Recipe.model_validate(dumped) == recipe


def test_a_recipe_is_found_by_name_or_by_path(tmp_path: Path) -> None:
    own = write(tmp_path, "")
    assert recipe_path(str(own)) == own
    assert recipe_path("minidocs").name == "minidocs.toml"
    assert recipe_path("minidocs.toml") == Path("minidocs.toml")
    assert recipe_path("absent") == Path("absent")
