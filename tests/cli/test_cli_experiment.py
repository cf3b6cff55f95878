"""`docaps experiment routing`: what it leaves, what a second call does, what it refuses before it trains."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cli.calling import docaps, listing, settings, succeed, told_by_card

from docaps.config import load_recipe, recipe_path
from docaps.corpus.minidocs import generate_corpus
from docaps.experiments import probes as comparison, grid as requests
from docaps.experiments.readings import READINGS
from docaps.experiments.rivals import RIVALS

BEFORE, AFTER = "# Results\r\n\r\n<!-- begin routing -->", "<!-- end routing -->\nThe end."
TINY = ["--documents", "60", *settings("history.sentences=3")]
EXPERIMENT = ["experiment", "routing", *TINY, "--only", "qcn", "--only", "capsnet"]


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Few documents to evaluate on, and a look at the choices after every step."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "generate_corpus", partial(generate_corpus, dev=4, test=4, items=6))
        patch.setattr(comparison, "CHECK_EVERY", 1)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished comparison, a page that holds its table, and what was printed; tests only read it."""
    folder = tmp_path_factory.mktemp("my experiment")
    (folder / "page.md").write_bytes(f"{BEFORE}old{AFTER}".encode())
    result = succeed(*EXPERIMENT, "--dir", folder / "routing", "--into", folder / "page.md", "--json")
    (folder / "printed.json").write_text(result.out, encoding="utf-8")
    return folder


@pytest.fixture
def desk(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a copy of it."""
    monkeypatch.chdir(shutil.copytree(made, tmp_path / "my desk"))
    return tmp_path / "my desk"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def weights(folder: Path) -> dict[str, int]:
    """Say when each model was written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in folder.rglob("model.safetensors")}


def test_the_results_are_those_of_the_runs(made: Path) -> None:
    results = read(made / "routing" / "results.json")
    runs = made / "routing" / "seed-1" / "runs"
    assert (results["recipe"], results["documents"], results["steps"], results["seeds"]) == ("minidocs", 60, 2, [1])
    assert [(row["reading"], row["seed"]) for row in results["rows"]] == [("qcn", 1), ("capsnet", 1)]
    assert set(results["phenomena"]) == set(results["chance"]["by_phenomenon"]) == {"pronoun", "ambiguity"}
    for row in results["rows"]:
        run = runs / row["reading"]
        contrastive = read(run / "assessment" / "contrastive.json")
        assert (results["chance"], results["items"]) == (contrastive["chance"], contrastive["items"])
        assert row["accuracy"] == contrastive["accuracy"]
        assert row["bleu"] == read(run / "assessment" / "scores.json")["bleu"]
        assert row["parameters"] == read(run / "run.json")["parameters"]
        assert [step for step, _ in row["curve"]] == [1, 2]
        assert all(0 <= share <= 1 for _, share in row["curve"])
        assert read(run / "run.json")["system"] == READINGS[row["reading"]].system
        assert read(run / "run.json")["init_from"] == "sentence"
    assert {path.name for path in runs.iterdir()} == {"sentence", "qcn", "capsnet"}
    assert not list(made.rglob("*.partial"))


@pytest.mark.parametrize(("run", "row"), [("sentence", "qcn"), ("qcn", "qcn"), ("capsnet", "capsnet")])
def test_each_run_has_a_card_with_the_command_that_makes_it(made: Path, run: str, row: str) -> None:
    """The folder would refuse a command with other settings."""
    words = shlex.split(told_by_card(made / "routing" / "seed-1" / "runs" / run))
    assert words[:7] == ["docaps", "experiment", "routing", "--seeds", "1", "--only", row]
    (found,) = json.loads(succeed(*words[1:], "--dry-run", "--json").out)["runs"]
    assert (found["reading"], found["seed"], found["finished"]) == (row, 1, True)


CHANGES = [
    "model.norm=post",
    "qcn.normalise=false",
    "stage.sentence.learning_rate=1e-5",
    'stage.document.inherited_exempt=["embeddings", "output"]',
    'name="true"',
    "seed=7",
]


@pytest.mark.parametrize("change", CHANGES)
def test_the_settings_of_a_command_make_the_same_recipe(change: str) -> None:
    recipe = load_recipe(recipe_path("minidocs"), [change])
    options = requests.changed_settings(recipe)
    assert options[::2] == ["--set"] * (change != "seed=7")
    assert load_recipe(recipe_path("minidocs"), [*options[1::2], f"seed={recipe.seed}"]) == recipe


def test_json_is_the_results_and_nothing_else(made: Path) -> None:
    assert read(made / "printed.json") == read(made / "routing" / "results.json")


def test_the_table_stands_in_its_file_and_between_the_marks(made: Path) -> None:
    table = (made / "routing" / "results.md").read_text(encoding="utf-8")
    first = [re.split(r"[|:]", line)[1].strip() for line in table.splitlines()[2:]]
    assert first == ["reading", "---", "qcn", "capsnet", "chance"]
    assert (made / "page.md").read_bytes().decode() == f"{BEFORE}\n{table}{AFTER}"


def test_a_second_call_trains_nothing_and_says_the_same(desk: Path) -> None:
    before, results = weights(desk), listing(desk)
    result = succeed(*EXPERIMENT, "--dir", "routing", "--into", "page.md")
    assert weights(desk) == before
    assert listing(desk) == results
    assert result.err.count("finished already, kept") == 3
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in Path("page.md").read_text().splitlines()]
    printed = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.out.splitlines() if "│" in line]
    assert printed == [cells for cells in table if cells][2:]
    assert "The table is in routing/results.md, the numbers are in routing/results.json." in result.err


def test_the_next_command_can_be_typed(desk: Path) -> None:
    result = succeed(*EXPERIMENT, "--dir", desk / "routing")
    (line,) = [line for line in result.err.splitlines() if " report " in line]
    words = shlex.split(line)
    succeed(*words[words.index("report") :])
    assert "Transformer + QCN" in Path("routing.html").read_text(encoding="utf-8")


def test_a_run_that_is_missing_is_trained_to_the_same_numbers(desk: Path) -> None:
    before = weights(desk)
    rows = read(Path("routing/results.json"))["rows"]
    shutil.rmtree("routing/seed-1/runs/capsnet")
    succeed(*EXPERIMENT, "--dir", "routing")
    after = weights(desk)
    assert {name for name in after if after[name] != before[name]} == {"capsnet"}
    assert without_times(read(Path("routing/results.json"))["rows"]) == without_times(rows)


def test_a_seed_and_a_reading_can_be_added(desk: Path) -> None:
    before = weights(desk / "routing" / "seed-1")
    first = read(Path("routing/results.json"))["rows"]
    found = json.loads(succeed(*EXPERIMENT, "--only", "joint", "--seeds", "1, 2,1", "--dir", "routing", "--json").out)
    rows = {(row["reading"], row["seed"]): row for row in found["rows"]}
    names = [("qcn", 1), ("joint", 1), ("capsnet", 1), ("qcn", 2), ("joint", 2), ("capsnet", 2)]
    assert list(rows) == names
    assert [rows["qcn", 1], rows["capsnet", 1]] == first
    assert found["seeds"] == [1, 2]
    assert weights(desk / "routing" / "seed-1").items() >= before.items()
    assert read(Path("routing/seed-2/runs/qcn/run.json"))["seed"] == 2
    texts = [Path(f"routing/seed-{seed}/corpus/train.en").read_bytes() for seed in (1, 2)]
    assert texts[0] != texts[1]
    assert "; means over the seeds 1, 2 (lowest-highest)." in Path("routing/results.md").read_text(encoding="utf-8")


def test_a_dry_run_says_what_there_is_to_do_and_does_nothing(desk: Path) -> None:
    before = listing(desk)
    options = [*EXPERIMENT, "--only", "raw", "--seeds", "1,2", "--dry-run"]
    runs = json.loads(succeed(*options, "--dir", "routing", "--json").out)["runs"]
    finished = [(run["reading"], run["seed"]) for run in runs if run["finished"]]
    assert finished == [("qcn", 1), ("capsnet", 1)]
    assert [(run["reading"], run["seed"]) for run in runs if not run["finished"]] == [
        ("raw", 1),
        ("qcn", 2),
        ("capsnet", 2),
        ("raw", 2),
    ]
    lines = [line for line in succeed(*options, "--dir", "routing").out.splitlines() if "│" in line]
    assert [line.split()[-2] for line in lines].count("finished") == 2
    assert "raw: capsules not normalised before attention" in lines[2]
    succeed(*options, "--dir", "new")
    assert listing(desk) == before


def test_all_readings_are_compared_unless_some_are_chosen(tmp_path: Path) -> None:
    found = json.loads(succeed("experiment", "routing", "--dir", tmp_path / "new", "--dry-run", "--json").out)
    assert [run["reading"] for run in found["runs"]] == list(READINGS)


def test_the_rivals_are_the_rows_of_the_other_experiment(tmp_path: Path) -> None:
    found = json.loads(succeed("experiment", "rivals", "--dir", tmp_path / "new", "--dry-run", "--json").out)
    assert [run["reading"] for run in found["runs"]] == list(RIVALS)
    fault = docaps("experiment", "rivals", "--dir", tmp_path / "new", "--only", "joint")
    assert (fault.code, fault.out) == (1, "")
    assert "no reading 'joint': there are transformer, qcn, zhang, " in fault.err
    assert not (tmp_path / "new").exists()


def test_a_row_that_begins_with_the_model_of_another_has_it_trained_first(tmp_path: Path) -> None:
    small = ["--dir", tmp_path, *TINY, "--only", "han-joint"]
    succeed("experiment", "rivals", *small)
    runs = tmp_path / "seed-1" / "runs"
    begun = [
        json.loads((runs / name / "run.json").read_text())["begun_from"]["run"] for name in ("han-encoder", "han-joint")
    ]
    assert begun == ["sentence", "han-encoder"]
    for name, row in (("sentence", "han-joint"), ("han-encoder", "han-encoder"), ("han-joint", "han-joint")):
        assert f"docaps experiment rivals --seeds 1 --only {row} " in told_by_card(runs / name)
    assert "finished already, kept" in succeed("experiment", "rivals", *small, "--only", "han-encoder").err


NEW = ["--dir", "new"]
FAULTS = [
    (["--dir", "routing", "--documents", "61"], "routing: a comparison with other settings is here: choose another"),
    (["--dir", "routing", "--phenomena", "pronoun"], "routing: a comparison with other settings is here"),
    ([*NEW, "--phenomena", "pronoun,tense"], "no phenomenon 'tense': there are pronoun, ambiguity, address, profess"),
    (["--dir", "routing", "--set", "qcn.rounds=3"], "routing: a comparison with other settings is here"),
    (["--dir", "."], ".: exists and is not a comparison: choose another --dir"),
    (["--dir", "page.md"], "page.md: exists and is not a comparison: choose another --dir"),
    ([*NEW, "--only", "joit", "--only", "x"], "no reading 'joit, x': there are qcn, joint, last, "),
    ([*NEW, "--seeds", ""], "--seeds : expected whole numbers with commas between, for example 1,2,3"),
    ([*NEW, "--seeds", "1,"], "--seeds 1,: expected whole numbers"),
    ([*NEW, "--seeds=-1"], "--seeds -1: expected whole numbers"),
    ([*NEW, "--seeds", "1 2"], "--seeds 1 2: expected whole numbers"),
    ([*NEW, "--seeds", f"{2**63},1"], f"--set seed={2**63}: seed: Input should be less than {2**63}"),
    ([*NEW, "--set", "qcn.round=3"], "--set qcn.round=3: qcn.round: unknown key; did you mean 'rounds'?"),
    ([*NEW, "--into", "absent.md"], "absent.md: no such file; it should hold the lines <!-- begin routing --> and"),
    ([*NEW, "--into", "routing"], "routing: no such file"),
    ([*NEW, "--into", "printed.json"], "printed.json: expected the lines <!-- begin routing --> and, after it,"),
]


@pytest.mark.parametrize("dry", [[], ["--dry-run"]], ids=["", "dry"])
@pytest.mark.parametrize(("options", "message"), FAULTS, ids=[" ".join(options) for options, _ in FAULTS])
def test_a_fault_is_told_before_anything_is_written(
    desk: Path, options: list[str], message: str, dry: list[str]
) -> None:
    before = listing(desk)
    result = docaps(*EXPERIMENT, *options, *dry)
    assert (result.code, result.out) == (1, "")
    assert f"docaps: {message}" in result.err
    assert listing(desk) == before


def test_an_unknown_experiment_is_answered_with_the_known_one(tmp_path: Path) -> None:
    result = docaps("experiment", "rooting", "--dir", tmp_path)
    assert result.code == 2
    assert "'rooting' is not" in result.err
    assert "routing" in result.err
