"""`docaps demo`: its files, a second run in the same folder, and Ctrl-C."""

import html
import inspect
import json
import shlex
import shutil
import signal
import time
from pathlib import Path

import pytest
from tests.cli.calling import docaps, finish, listing, settings, start, succeed, told_by_card

from docaps.cli.demo import demo as command
from docaps.config import load_recipe, recipe_path
from docaps.experiments import DEMO_DIRECTORY, DOCUMENTS
from docaps.experiments.demo_chain import DemoFolder, changed_settings, command_for

TINY = ["--documents", "60", *settings("history.sentences=3")]


@pytest.fixture
def demo(tiny_demo: Path, tmp_path: Path) -> Path:
    """A copy of the finished demo."""
    return Path(shutil.copytree(tiny_demo / "runs" / "demo", tmp_path / "demo"))


def test_the_demo_leaves_what_others_build_on(tiny_demo: Path) -> None:
    folder = tiny_demo / "runs" / "demo"
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    assert summary.keys() >= {"sentence", "document", "chance", "seconds"}
    for model in ("sentence", "document"):
        assert 0 <= summary[model]["bleu"] <= 100
        assert (folder / "runs" / model / "model.safetensors").is_file()
    for part in (summary["sentence"]["contrastive"], summary["document"]["contrastive"], summary["chance"]):
        assert 0 <= part["all"] <= 1
        assert set(part["by_phenomenon"]) == {"pronoun", "ambiguity", "address", "profession", "ellipsis"}
        assert set(part["by_distance"]) == {"1", "2", "3"}
    assert summary["seconds"]["total"] > summary["seconds"]["train_document"] > 0
    assert "<table" in (folder / "report.html").read_text(encoding="utf-8")
    assert not list(tiny_demo.rglob("*.partial"))


@pytest.mark.parametrize("model", ["sentence", "document"])
def test_each_model_has_a_card_with_the_command_that_makes_it(tiny_demo: Path, model: str) -> None:
    folder = tiny_demo / "runs" / "demo"
    words = shlex.split(told_by_card(folder / "runs" / model))
    assert words[:6] == ["docaps", "demo", "--seed", "1", "--documents", "60"]  # the folder is the usual one
    assert set(words[6::2]) == {"--set"}
    recipe = load_recipe(recipe_path("minidocs"), words[7::2])
    assert recipe.model_dump(mode="json") == json.loads((folder / "demo.json").read_text(encoding="utf-8"))["recipe"]
    page = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    assert f"{shlex.join(words[1:])} --overwrite" in page


def test_what_a_card_leaves_out_is_what_the_command_does_by_itself() -> None:
    usual = {name: parameter.default for name, parameter in inspect.signature(command).parameters.items()}
    assert (usual["dir"], usual["documents"]) == (DEMO_DIRECTORY, DOCUMENTS)
    recipe = load_recipe(recipe_path("minidocs"), ["seed=2"])
    assert command_for(DemoFolder(DEMO_DIRECTORY), recipe, DOCUMENTS) == "docaps demo --seed 2"


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
    options = changed_settings(recipe)
    assert options[::2] == ["--set"] * (change != "seed=7")
    assert load_recipe(recipe_path("minidocs"), [*options[1::2], f"seed={recipe.seed}"]) == recipe


def test_a_sentence_model_is_at_chance_exactly(tiny_demo: Path) -> None:
    summary = json.loads((tiny_demo / "runs" / "demo" / "summary.json").read_text(encoding="utf-8"))
    for name, shares in summary["chance"]["by_phenomenon_and_distance"].items():
        found = summary["sentence"]["contrastive"]["by_phenomenon_and_distance"][name]
        assert found == pytest.approx(shares, abs=1e-9)


def test_a_second_demo_says_what_is_there_and_how_to_start_over(demo: Path) -> None:
    before = (demo / "summary.json").read_bytes()
    result = succeed("demo", "--dir", demo, *TINY)
    (line,) = (line for line in result.err.splitlines() if "holds this demo, finished." in line)
    again = shlex.split(line.partition("Start over: ")[2])
    assert again[again.index("demo") :][:7] == ["demo", "--seed", "1", "--dir", str(demo), "--documents", "60"]
    assert again[-1] == "--overwrite"
    assert "chance" in result.out
    assert (demo / "summary.json").read_bytes() == before


OTHER = [
    (["--seed", "2"], "seed is 1, asked for: 2"),
    (["--documents", "61"], "documents is 60, asked for: 61"),
    (["--set", "stage.document.steps=3"], "stage.document.steps is 2, asked for: 3"),
]


@pytest.mark.parametrize("resume", [[], ["--resume"]], ids=["", "resume"])
@pytest.mark.parametrize(("options", "difference"), OTHER, ids=[difference for _, difference in OTHER])
def test_a_finished_demo_with_other_settings_is_not_taken_for_the_one_asked_for(
    demo: Path, options: list[str], difference: str, resume: list[str]
) -> None:
    before = listing(demo)
    result = docaps("demo", "--dir", demo, *TINY, *options, *resume, "--json")
    assert (result.code, result.out) == (1, "")
    assert f"a finished demo with another seed or other settings is here ({difference})" in result.err
    assert "choose another --dir, or start over with --overwrite" in result.err
    assert listing(demo) == before


def test_json_is_the_summary_and_nothing_else(demo: Path) -> None:
    result = succeed("demo", "--dir", demo, *TINY, "--json")
    assert json.loads(result.out) == json.loads((demo / "summary.json").read_text(encoding="utf-8"))


def test_an_unfinished_demo_is_not_touched_without_being_told_to(demo: Path) -> None:
    (demo / "summary.json").unlink()
    result = docaps("demo", "--dir", demo, *TINY)
    assert result.code == 1
    assert "an unfinished demo is here (mini-documents, prepared corpus, sentence model, document model, report)" in (
        result.err
    )
    assert "--resume" in result.err
    assert "--overwrite" in result.err


def test_resuming_repeats_only_what_is_missing(demo: Path) -> None:
    before = json.loads((demo / "summary.json").read_text(encoding="utf-8"))
    weights = (demo / "runs" / "sentence" / "model.safetensors").stat().st_mtime_ns
    (demo / "summary.json").unlink()
    shutil.rmtree(demo / "runs" / "document")
    succeed("demo", "--dir", demo, "--resume", *TINY)
    after = json.loads((demo / "summary.json").read_text(encoding="utf-8"))
    assert (demo / "runs" / "sentence" / "model.safetensors").stat().st_mtime_ns == weights
    assert {key: after[key] for key in ("sentence", "document", "chance")} == {
        key: before[key] for key in ("sentence", "document", "chance")
    }  # the same seed, the same table
    assert f"docaps demo --seed 1 --dir {shlex.quote(str(demo))} --documents 60 " in told_by_card(
        demo / "runs" / "document"
    )


def test_resuming_with_other_settings_is_refused(demo: Path) -> None:
    (demo / "summary.json").unlink()
    result = docaps("demo", "--dir", demo, "--resume", "--seed", "2", *TINY)
    assert result.code == 1
    assert "an unfinished demo with another seed or other settings is here (seed is 1, asked for: 2)" in result.err


def test_a_folder_that_is_no_demo_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", encoding="utf-8")
    for option in ((), ("--resume",), ("--overwrite",)):
        result = docaps("demo", "--dir", tmp_path, *option, *TINY)
        assert result.code == 1
        assert "is not a demo" in result.err
    assert (tmp_path / "thesis.txt").read_text(encoding="utf-8") == "years of work"


@pytest.mark.parametrize("place", ["corpus", "prepared", "prepared/text", "runs/sentence", "runs/document/text"])
def test_overwriting_a_demo_refuses_folders_with_files_of_others(demo: Path, place: str) -> None:
    (demo / place / "thesis.txt").write_text("years of work", encoding="utf-8")
    before = listing(demo)
    result = docaps("demo", "--dir", demo, "--overwrite", *TINY)
    assert result.code == 1
    assert "holds something that is not of the demo (" in result.err
    assert "thesis.txt): move it away or choose another --dir" in result.err
    assert listing(demo) == before


def test_overwriting_a_demo_keeps_other_files_beside_it_and_the_targets_of_links(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docaps.experiments.demo_chain.train_and_assess", interrupt)
    shutil.move(demo / "prepared", tmp_path / "elsewhere")
    (demo / "prepared").symlink_to(tmp_path / "elsewhere")
    elsewhere = listing(tmp_path / "elsewhere")
    (demo / "thesis.txt").write_text("years of work", encoding="utf-8")
    assert docaps("demo", "--dir", demo, "--overwrite", *TINY).code == 130
    assert listing(tmp_path / "elsewhere") == elsewhere
    left = {name: content for name, content in listing(demo).items() if content is not None}
    assert left.keys() == {"thesis.txt", "demo.json"}
    assert left["thesis.txt"] == b"years of work"


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_ctrl_c_leaves_nothing_half_written_and_the_demo_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    process = start("demo", "--dir", folder, *TINY, "--set", "stage.sentence.steps=100000")
    run = folder / "runs" / "sentence" / "metrics.jsonl"
    deadline = time.monotonic() + 60
    while not (run.exists() and run.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert not list(folder.rglob("*.partial"))
    assert not (folder / "runs" / "sentence" / "model.safetensors").exists()
    again = shlex.split(errors.strip().splitlines()[-1].partition("Go on: ")[2])
    assert again[-1] == "--resume"
    options = again[again.index("demo") + 1 : -1]
    assert "an unfinished demo is here" in finish("demo", *options).err  # the same settings
