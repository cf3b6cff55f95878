"""`docaps experiment routing` and `rivals`: files, a second call, and errors before training."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cli.calling import docaps, listing, settings, succeed, told_by_card

from docaps.cli.console import replace_generated
from docaps.corpus.minidocs import generate_corpus
from docaps.errors import RunError
from docaps.experiments import estimate, minicorpus
from docaps.experiments.rows import LAYOUTS, ROWS

BEFORE, AFTER = "# Results\r\n\r\n<!-- begin routing -->", "<!-- end routing -->\nThe end."
TINY = ["--documents", "60", *settings("history.sentences=3")]
EXPERIMENT = ["experiment", "routing", *TINY, "--only", "qcn", "--only", "capsnet"]


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Few documents to evaluate on, and a look at the choices after every step."""
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(minicorpus, "generate_corpus", partial(generate_corpus, dev=4, test=4, items=6))
        for name in ("routing", "rivals"):
            patch.setitem(LAYOUTS, name, replace(LAYOUTS[name], check_every=1))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished grid, a page that holds its table, and what was printed; tests only read it."""
    folder = tmp_path_factory.mktemp("my experiment")
    (folder / "page.md").write_bytes(f"{BEFORE}old{AFTER}".encode())
    result = succeed(*EXPERIMENT, "--dir", folder / "routing", "--into", folder / "page.md", "--json")
    (folder / "printed.json").write_text(result.out, encoding="utf-8")
    (folder / "old").mkdir()
    (folder / "old" / "request.json").write_text("{}", encoding="utf-8")
    return folder


@pytest.fixture
def desk(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a copy of it."""
    monkeypatch.chdir(shutil.copytree(made, tmp_path / "my desk"))
    return tmp_path / "my desk"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def runs_of(results: Any) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the numbers of each row and seed, without times."""
    return {
        (row["row"], run["seed"]): {key: value for key, value in run.items() if key not in ("seconds", "command")}
        for row in results["rows"]
        for run in row["runs"]
    }


def weights(folder: Path) -> dict[str, int]:
    """Say when each model was written."""
    return {path.parent.name: path.stat().st_mtime_ns for path in folder.rglob("model.safetensors")}


def test_the_results_are_those_of_the_runs(made: Path) -> None:
    results = read(made / "routing" / "routing.json")
    assert (results["recipe"], results["corpus"]["documents"], results["seeds"]) == ("minidocs", 60, [1])
    assert results["steps"] == {"sentence": 2, "document": 2}
    assert set(results["chance"]["by_phenomenon"]) == {"pronoun", "ambiguity"}
    assert [row["row"] for row in results["rows"]] == ["qcn", "capsnet"]
    for row in results["rows"]:
        (numbers,) = row["runs"]
        run = made / "routing" / "seed-1" / row["row"]
        contrastive = read(run / "assessment" / "contrastive.json")
        assert (results["chance"], results["items"]) == (contrastive["chance"], contrastive["items"])
        assert numbers["accuracy"] == contrastive["accuracy"]
        assert numbers["test"]["bleu"] == pytest.approx(read(run / "assessment" / "scores.json")["bleu"]["score"])
        assert numbers["parameters"] == read(run / "run.json")["parameters"]
        assert [step for step, _ in numbers["curve"]] == [1, 2]
        assert all(0 <= share <= 1 for _, share in numbers["curve"])
        assert read(run / "run.json")["system"] == ROWS[row["row"]].system
        assert read(run / "run.json")["init_from"] == "sentence"
        assert read(run / "run.json")["settings"]["stage"]["result"] == "last"  # as the recipe has it
    runs = {path.parent.name for path in (made / "routing" / "seed-1").glob("*/run.json")}
    assert runs == {"sentence", "qcn", "capsnet"}
    assert not list(made.rglob("*.partial"))


@pytest.mark.parametrize("run", ["sentence", "qcn", "capsnet"])
def test_each_run_has_a_card_with_the_command_that_makes_it(made: Path, run: str) -> None:
    """The folder would refuse a command with other settings."""
    words = shlex.split(told_by_card(made / "routing" / "seed-1" / run))
    assert words[:5] == ["docaps", "experiment", "routing", "--dir", str(made / "routing")]
    assert words[5:9] == ["--seeds", "1", "--only", run]
    found = json.loads(succeed(*words[1:], "--dry-run", "--json").out)["runs"]
    assert (found[-1]["row"], found[-1]["seed"], found[-1]["state"]) == (run, 1, "finished")


def test_json_is_the_results_and_nothing_else(made: Path) -> None:
    assert read(made / "printed.json") == read(made / "routing" / "routing.json")


def test_the_table_stands_in_its_file_and_between_the_comments(made: Path) -> None:
    table = (made / "routing" / "routing.md").read_text(encoding="utf-8")
    first = [re.split(r"[|:]", line)[1].strip() for line in table.splitlines()[2:]]
    assert first == ["row", "---", "qcn", "capsnet", "chance"]
    assert (made / "page.md").read_bytes().decode() == f"{BEFORE}\n{table}{AFTER}"


def test_a_second_call_trains_nothing_and_says_the_same(desk: Path) -> None:
    before = weights(desk)
    table = Path("page.md").read_bytes()
    result = succeed(*EXPERIMENT, "--dir", "routing", "--into", "page.md")
    assert weights(desk) == before
    assert Path("page.md").read_bytes() == table
    assert "routing: 3 of 3 runs are finished\n" in result.err
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.decode().splitlines()]
    printed = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.out.splitlines() if "│" in line]
    assert printed == [cells for cells in lines if cells][2:]
    assert "The table is in routing/routing.md, the numbers are in routing/routing.json." in result.err


def test_the_next_command_can_be_typed(desk: Path) -> None:
    result = succeed(*EXPERIMENT, "--dir", desk / "routing")
    (line,) = [line for line in result.err.splitlines() if " report " in line]
    words = shlex.split(line)
    succeed(*words[words.index("report") :])
    assert "Transformer + QCN" in (desk / "routing" / "report.html").read_text(encoding="utf-8")


def test_a_run_that_is_missing_is_trained_to_the_same_numbers(desk: Path) -> None:
    before = weights(desk)
    runs = runs_of(read(Path("routing/routing.json")))
    shutil.rmtree("routing/seed-1/capsnet")
    succeed(*EXPERIMENT, "--dir", "routing")
    after = weights(desk)
    assert {name for name in after if after[name] != before[name]} == {"capsnet"}
    assert runs_of(read(Path("routing/routing.json"))) == runs


def test_a_seed_and_a_row_can_be_added(desk: Path) -> None:
    before = weights(desk / "routing" / "seed-1")
    first = runs_of(read(Path("routing/routing.json")))
    found = json.loads(succeed(*EXPERIMENT, "--only", "joint", "--seeds", "1, 2,1", "--dir", "routing", "--json").out)
    runs = runs_of(found)
    assert list(runs) == [(row, seed) for row in ("qcn", "joint", "capsnet") for seed in (1, 2)]
    assert {key: runs[key] for key in first} == first
    assert found["seeds"] == [1, 2]
    assert weights(desk / "routing" / "seed-1").items() >= before.items()
    assert read(Path("routing/seed-2/qcn/run.json"))["seed"] == 2
    texts = [Path(f"routing/seed-{seed}/corpus/train.en").read_bytes() for seed in (1, 2)]
    assert texts[0] != texts[1]
    assert "; means over the seeds 1, 2 (lowest-highest)." in Path("routing/routing.md").read_text(encoding="utf-8")


def test_a_dry_run_says_what_there_is_to_do_and_does_nothing(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("seconds_per_step", "make_minidocs"):  # neither steps nor mini-documents, which take long
        monkeypatch.setattr(estimate, name, lambda *_: pytest.fail("measured"))
    before = listing(desk)
    options = [*EXPERIMENT, "--only", "raw", "--seeds", "1,2", "--dry-run"]
    runs = json.loads(succeed(*options, "--dir", "routing", "--json").out)["runs"]
    states = {(run["row"], run["seed"]): run["state"] for run in runs}
    finished = [("sentence", 1), ("qcn", 1), ("capsnet", 1)]
    missing = [("raw", 1), ("sentence", 2), ("qcn", 2), ("capsnet", 2), ("raw", 2)]
    assert states == dict.fromkeys(finished, "finished") | dict.fromkeys(missing, "to train")
    out = succeed(*options, "--dir", "routing").out
    assert "3 of 8 runs are finished; 10 training steps are left." in out
    lines = [line for line in out.splitlines() if "│" in line]
    assert sum("finished" in line for line in lines) == 3
    assert "raw: capsules not normalised before attention" in lines[3]
    succeed(*options, "--dir", "new")
    assert listing(desk) == before


@pytest.mark.parametrize("name", ["routing", "rivals"])
def test_what_checks_choices_in_training_is_not_estimated(name: str, tmp_path: Path) -> None:
    fault = docaps("experiment", name, *TINY, "--dir", tmp_path / "new", "--estimate")
    assert (fault.code, fault.out) == (1, "")
    assert f"--estimate: {name} also checks choices while it trains, and their time is not measured" in fault.err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["routing", "rivals"])
def test_all_rows_are_compared_unless_some_are_chosen(name: str, tmp_path: Path) -> None:
    found = json.loads(succeed("experiment", name, *TINY, "--dir", tmp_path / "new", "--dry-run", "--json").out)
    assert [run["row"] for run in found["runs"]] == ["sentence", *LAYOUTS[name].rows]


def test_a_row_of_another_experiment_is_refused(tmp_path: Path) -> None:
    fault = docaps("experiment", "rivals", "--dir", tmp_path / "new", "--only", "joint")
    assert (fault.code, fault.out) == (1, "")
    assert "no row 'joint': there are sentence, transformer, qcn, zhang-all, zhang, " in fault.err
    assert not (tmp_path / "new").exists()


def test_a_row_that_begins_with_the_model_of_another_has_it_trained_first(tmp_path: Path) -> None:
    small = ["--dir", tmp_path / "rivals", *TINY, "--only", "han-joint"]
    found = json.loads(succeed("experiment", "rivals", *small, "--json").out)
    names = ("sentence", "han-joint-first", "han-joint")
    runs = [tmp_path / "rivals" / "seed-1" / name for name in names]
    assert [read(run / "run.json")["begun_from"]["run"] for run in runs[1:]] == ["sentence", "han-joint-first"]
    for name, run in zip(names, runs, strict=True):
        assert f" --seeds 1 --only {name} " in told_by_card(run)
    assert [row["row"] for row in found["rows"]] == ["han-joint-first", "han-joint"]
    assert all(run["speed"] > 0 for row in found["rows"] for run in row["runs"])
    table = (tmp_path / "rivals" / "rivals.md").read_text(encoding="utf-8")
    assert "| row | parameters | speed | all |" in table


NEW = ["--dir", "new"]
FAULTS = [
    (["--dir", "routing", "--documents", "61"], "routing: a grid with other settings is here: choose another"),
    (["--dir", "routing", "--phenomena", "pronoun"], "routing: a grid with other settings is here"),
    ([*NEW, "--phenomena", "pronoun,tense"], "no phenomenon 'tense': there are pronoun, ambiguity, address, profess"),
    (["--dir", "routing", "--set", "qcn.rounds=3"], "routing: a grid with other settings is here"),
    (["--dir", "."], ".: exists and is not a grid: choose another --dir"),
    (["--dir", "page.md"], "page.md: exists and is not a grid: choose another --dir"),
    ([*NEW, "--only", "joit", "--only", "x"], "no row 'joit, x': there are sentence, qcn, joint, last, "),
    ([*NEW, "--only", "reg"], "no row 'reg': there are sentence, qcn, joint, last, "),
    (["--dir", "old"], "old: a comparison of docaps 0.1, which cannot be continued: choose another --dir"),
    ([*NEW, "--corpus", "x"], "--documents and --phenomena are about mini-documents, which --corpus replaces"),
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
def test_an_error_is_reported_before_anything_is_written(
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


def test_the_documents_of_routing_are_generated(tmp_path: Path) -> None:
    result = docaps("experiment", "routing", "--dir", tmp_path / "new", "--corpus", tmp_path)
    assert (result.code, result.out) == (1, "")
    assert "--corpus: routing generates mini-documents for each seed; leave it out" in result.err


BEGIN, END = b"<!-- begin routing -->", b"<!-- end routing -->"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"# Results\n\n", b"\n\nMore.\n"),
        (b"\xef\xbb\xbf# Ergebnisse \xc3\xbc\r\n", b"\r\nno newline at the end"),
        (b"latin \xe4\n", b""),
        (b"<!-- begin other -->1<!-- end other -->", b"<!-- begin routing -->"),
    ],
)
def test_the_rest_of_the_file_stays_byte_for_byte(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "results.md"
    path.write_bytes(before + BEGIN + b"\nold\n" + END + after)
    for text in ("| neü |\n| --- |", "\n| neü |\n| --- |\n\n"):
        replace_generated(path, "routing", text)
        assert path.read_bytes() == before + BEGIN + "\n| neü |\n| --- |\n".encode() + END + after
    assert [file.name for file in tmp_path.iterdir()] == ["results.md"]


@pytest.mark.parametrize("content", [b"", BEGIN, END, END + b"\n" + BEGIN, b"<!-- begin other --><!-- end other -->"])
def test_a_file_without_both_comments_in_order_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "results.md"
    path.write_bytes(content)
    with pytest.raises(RunError, match="expected the lines <!-- begin routing --> and, after it, <!-- end routing"):
        replace_generated(path, "routing", "new")
    assert path.read_bytes() == content


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.md"):
        with pytest.raises(RunError, match="no such file; it should hold the lines <!-- begin routing -->") as caught:
            replace_generated(path, "routing", "new")
        assert caught.value.path == path
    assert list(tmp_path.iterdir()) == []
