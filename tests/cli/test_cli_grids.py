"""`docaps experiment table2` and its like: started, stopped, killed, started twice, planned, listed."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.calling import docaps, listing, settings, start, succeed
from tests.cli.conftest import Chain

from docaps.experiments import estimate
from docaps.experiments.grid import Grid, read_request
from docaps.experiments.rows import LAYOUTS
from docaps.runs.directory import Run
from docaps.training import stages as training

ROWS = ["--only", "transformer", "--only", "qcn", "--only", "concat"]
FEW = ROWS[:4]


def options(chain: Chain, folder: Path, *more: str) -> list[str | Path]:
    tiny = [*settings("history.sentences=3"), "--steps", "4", "--set", "stage.document.save_every=1"]
    return ["experiment", "table2", "--dir", folder, "--corpus", chain.corpus, *tiny, *more]


@pytest.fixture(scope="module")
def made(chain: Chain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished grid of three rows, made by two processes; tests only read it."""
    folder = tmp_path_factory.mktemp("grids") / "my grid"
    result = succeed(*options(chain, folder, *ROWS, "--jobs", "2", "--json"))
    (folder / "printed.json").write_text(result.out, encoding="utf-8")
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "my grid")


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def models(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("model.safetensors")}


def test_a_grid_leaves_runs_numbers_and_a_table(made: Path) -> None:
    assert read(made / "printed.json") == read(made / "table2.json")
    assert {path.name for path in (made / "seed-1").iterdir()} == {"sentence", "transformer", "qcn", "concat"}
    table = (made / "table2.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| ([\w-]+):", table, flags=re.MULTILINE) == ["transformer", "qcn", "concat"]
    assert not [path for path in made.rglob("*") if path.suffix == ".partial"]
    for run in (made / "seed-1").iterdir():
        assert "docaps experiment table2" in (run / "MODEL_CARD.md").read_text(encoding="utf-8")


def test_a_second_start_says_the_same_and_does_nothing(copy: Path, chain: Chain) -> None:
    before = models(copy)
    result = succeed(*options(chain, copy, *ROWS, "--json"))
    found, first = json.loads(result.out), read(copy / "printed.json")
    assert models(copy) == before
    for one in (found, first):
        for row in one["rows"]:
            for run in row["runs"]:
                del run["command"]  # it names the folder
    assert found == first


def test_a_folder_knows_its_settings(copy: Path) -> None:
    before = models(copy)
    assert "Table 2" in succeed("experiment", "table2", "--dir", copy, *ROWS).out
    assert models(copy) == before


@pytest.mark.stress
def test_killed_anywhere_it_is_finished_by_a_second_start_without_repeating_a_run(chain: Chain, tmp_path: Path) -> None:
    """The kill comes when the second run is being trained, so that one is finished, one is torn, one not begun."""
    folder = tmp_path / "grid"
    process = start(*options(chain, folder, *FEW, "--jobs", "2"))
    wait_for(folder / "seed-1" / "transformer" / "run.json", process)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    wait_until_idle(folder)
    before = models(folder)
    assert "seed-1/sentence/model.safetensors" in before
    assert not (folder / "table2.json").exists()
    succeed(*options(chain, folder, *FEW))
    after = models(folder)
    assert {path: after[path] for path in before} == before
    assert len(after) == 3
    assert [row["row"] for row in read(folder / "table2.json")["rows"]] == ["transformer", "qcn"]


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    wait_until(path.exists, process)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 300
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_run_that_is_killed_is_tried_again_and_goes_on_where_it_was(made: Path, copy: Path) -> None:
    """One is killed while it trains, one while it measures; the scores are those of a grid left alone."""
    trained, measured = (Run(copy / "seed-1" / row) for row in ("qcn", "concat"))
    for run in (trained, measured):
        shutil.rmtree(run.path)
    main = start("experiment", "table2", "--dir", copy, *ROWS, "--jobs", "2", "--json")
    wait_for(trained.state, main)
    kill_process_of(trained, main)
    assert not trained.finished
    wait_until(lambda: measured.finished, main)
    kill_process_of(measured, main)
    assert not measured.results.exists()
    before = models(copy)
    out, err = main.communicate(timeout=300)
    assert main.returncode == 0, err
    assert "seed-1.qcn: failed: ended without notice, perhaps because memory ran out: see" in err
    assert models(copy).items() >= before.items()
    assert scores(json.loads(out)) == scores(read(made / "table2.json"))
    assert events(trained) == ["started", "ended without notice", "continued", "finished"]
    assert events(measured) == ["started", "finished"]


def kill_process_of(run: Run, main: subprocess.Popen[str]) -> None:
    """Kill the process that holds the lock of a run, and not the main one."""
    process = owner(run)
    assert process not in (None, main.pid)
    os.kill(process, signal.SIGKILL)


def owner(run: Run) -> int | None:
    """Return the process that holds the lock of a run, as the kernel lists it."""
    path = run.path.parents[1] / "locks" / f"{run.path.parent.name}.{run.path.name}.lock"
    inode = path.stat().st_ino if path.exists() else None
    locks = (line.split() for line in Path("/proc/locks").read_text(encoding="ascii").splitlines())
    return next((int(words[4]) for words in locks if words[5].endswith(f":{inode}") and words[1] == "FLOCK"), None)


def scores(results: Any) -> list[Any]:
    return [(row["row"], run["dev"], run["test"]) for row in results["rows"] for run in row["runs"]]


def events(run: Run) -> list[str]:
    return [entry["event"] for entry in run.read()["history"]]


def wait_until_idle(folder: Path) -> None:
    """Wait for the runs to notice that their parent is gone, and to end."""
    grid = Grid(folder, LAYOUTS["table2"], *read_request(folder)[:2])
    end = time.monotonic() + 120
    while any(grid.is_running(cell) for cell in grid.cells()):
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.stress
def test_ctrl_c_stops_all_runs_which_are_continued_later(chain: Chain, tmp_path: Path) -> None:
    folder = tmp_path / "grid"
    process = start(*options(chain, folder, *FEW, "--jobs", "2"))
    wait_for(folder / "seed-1" / "transformer" / "run.json", process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    grid = Grid(folder, LAYOUTS["table2"], *read_request(folder)[:2])
    assert not any(grid.is_running(cell) for cell in grid.cells())
    assert not list(folder.glob("attempts/*"))
    before = models(folder)
    succeed(*options(chain, folder, *FEW))
    assert models(folder).items() >= before.items()


@pytest.mark.stress
def test_two_commands_on_one_folder_never_train_a_run_twice(chain: Chain, tmp_path: Path) -> None:
    """As the jobs of a scheduler do: each trains its own row; one waits while the other trains the sentence model."""
    folder = tmp_path / "grid"
    lines = succeed(*options(chain, folder, *FEW, "--list")).out.splitlines()
    words = [shlex.split(line) for line in lines]
    commands = [line[line.index("experiment") :] for line in words if line[line.index("--only") + 1] != "sentence"]
    assert len(commands) == 2
    others = [start(*command) for command in commands]
    for other in others:
        _, err = other.communicate(timeout=300)
        assert other.returncode == 0, err
    for run in (folder / "seed-1").iterdir():
        assert events(Run(run)) == ["started", "finished"], run
    assert [row["row"] for row in read(folder / "table2.json")["rows"]] == ["transformer", "qcn"]


def test_a_failing_row_is_reported_and_the_others_are_trained(chain: Chain, copy: Path) -> None:
    shutil.rmtree(copy / "seed-1" / "qcn")
    (copy / "seed-1" / "qcn").mkdir()
    (copy / "seed-1" / "qcn" / "precious.txt").write_text("mine", encoding="utf-8")
    (copy / "seed-1" / "qcn" / "run.json").write_text('{"tool": "other"}', encoding="utf-8")
    shutil.rmtree(copy / "seed-1" / "concat")
    result = docaps(*options(chain, copy, *ROWS))
    assert result.code == 1
    assert "1 of the runs failed, each tried twice" in result.err
    assert "seed-1.qcn: " in result.err
    assert "exists and is not a run directory" in result.err
    assert listing(copy / "seed-1" / "qcn") == {"precious.txt": b"mine", "run.json": b'{"tool": "other"}'}
    assert len(read(copy / "attempts" / "seed-1.qcn.json")) == 2
    assert [row["row"] for row in read(copy / "table2.json")["rows"]] == ["transformer", "concat"]


def test_the_list_has_a_command_for_each_run_that_is_missing(copy: Path, chain: Chain, tmp_path: Path) -> None:
    shutil.rmtree(copy / "seed-1" / "concat")
    lines = succeed("experiment", "table2", "--dir", copy, *ROWS, "--seeds", "1,2", "--list").out.splitlines()
    words = [shlex.split(line) for line in lines]
    assert [(line[line.index("--seeds") + 1], line[line.index("--only") + 1]) for line in words] == [
        ("2", "sentence"),
        ("1", "concat"),
        ("2", "transformer"),
        ("2", "qcn"),
        ("2", "concat"),
    ]
    arguments = words[1][words[1].index("experiment") :]
    succeed(*arguments)
    assert (copy / "seed-1" / "concat" / "results.json").exists()


PLANNED = ["--only", "qcn", "--only", "san"]


def test_a_dry_run_trains_nothing_builds_no_model_and_writes_nothing(
    copy: Path, chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("seconds_per_step", "build_model", "make_minidocs", "corpus_to_measure"):
        monkeypatch.setattr(estimate, name, lambda *_, **__: pytest.fail("measured"))
    monkeypatch.setattr(training, "build_model", lambda *_, **__: pytest.fail("trained"))
    before = listing(copy)
    found = json.loads(succeed(*options(chain, copy, *PLANNED, "--dry-run", "--json")).out)
    assert [(run["row"], run["stage"], run["state"]) for run in found["runs"]] == [
        ("sentence", "sentence", "finished"),
        ("qcn", "document", "finished"),
        ("san", "document", "to train"),
    ]
    assert [(run["taken"], run["steps"]) for run in found["runs"]] == [(4, 4), (4, 4), (0, 4)]
    assert found.keys() == {"runs"}
    assert {"seconds", "bytes"}.isdisjoint(found["runs"][2])
    text = succeed(*options(chain, copy, *PLANNED, "--dry-run")).out
    assert "2 of 3 runs are finished; 4 training steps are left." in text
    assert "About" not in text
    assert listing(copy) == before


def test_an_estimate_measures_time_and_disk_and_writes_nothing(copy: Path, chain: Chain) -> None:
    before = listing(copy)
    found = json.loads(succeed(*options(chain, copy, *PLANNED, "--estimate", "--json")).out)
    assert [run["state"] for run in found["runs"]] == ["finished", "finished", "to train"]
    assert (found["runs"][1]["seconds"], found["runs"][1]["bytes"]) == (None, None)
    assert 0 < found["runs"][2]["seconds"] == found["seconds"]
    # What stays, a state of three times the weights while the next is written, and the best weights likewise.
    assert found["bytes"] == (1 + 2 * 3 + 2) * found["runs"][2]["bytes"] > 0
    text = succeed(*options(chain, copy, "--only", "san", "--estimate", "--jobs", "2")).out
    assert re.search(r"About \d+ s with 2 processes, and at most \d+ MiB of disk\.", text)
    assert listing(copy) == before


def test_a_started_run_is_planned_from_its_last_step(copy: Path, chain: Chain) -> None:
    begun = copy / "seed-1" / "san"
    begun.mkdir()
    (begun / "metrics.jsonl").write_text('{"step": 1, "loss": 2.0}\n')
    arguments = options(chain, copy, "--only", "san", "--dry-run")
    found = json.loads(succeed(*arguments, "--json").out)["runs"][-1]
    assert found["taken"] == 1
    text = succeed(*arguments).out
    assert f"1 of {found['steps']}" in text
    assert "3 training steps are left" in text
    (begun / "metrics.jsonl").write_text(f'{{"step": {found["steps"]}}}\n')
    later = json.loads(succeed(*arguments, "--json").out)["runs"][-1]
    assert later["taken"] == found["steps"]


def test_a_dry_run_does_not_choose_the_steps_of_a_budget(chain: Chain, tmp_path: Path) -> None:
    wanted = ["experiment", "table2", "--dir", tmp_path / "grid", "--corpus", chain.corpus, *settings()]
    fault = docaps(*wanted, "--budget", "30s", "--dry-run")
    assert (fault.code, fault.out) == (1, "")
    assert "--budget 30s: the steps that fit are found by training a few, and a dry run trains nothing" in fault.err
    assert not (tmp_path / "grid").exists()


def test_a_budget_is_turned_into_the_same_steps_for_all_once(chain: Chain, tmp_path: Path) -> None:
    folder = tmp_path / "grid"
    wanted = ["experiment", "table2", "--dir", folder, "--corpus", chain.corpus, *settings(), "--only", "qcn"]
    succeed(*wanted, "--budget", "30s", "--list")
    first = read(folder / "grid.json")
    stages = first["recipe"]["stage"]
    assert stages["sentence"]["steps"] == stages["document"]["steps"] > 2
    succeed(*wanted, "--budget", "30s", "--list")
    assert read(folder / "grid.json") == first
    steps = str(stages["sentence"]["steps"])
    assert first["options"][first["options"].index("--steps") + 1] == steps
    succeed(*wanted, "--steps", steps, "--list")  # the same grid, said in another way


FAULTS = [
    (["--steps", "3"], "a grid with other settings is here: choose another --dir"),
    (["--budget", "5m", "--steps", "2"], "--steps and --budget: give the one or the other"),
    (["--budget", "soon", "--dir", "new"], "--budget 'soon' is not a duration"),
    (["--dry-run", "--estimate"], "--dry-run and --estimate: give one of them"),
    (["--corpus", "nowhere"], "nowhere: no such prepared corpus"),
    (["--documents", "5", "--corpus", "x"], "--documents and --phenomena are about mini-documents"),
    (["--only", "qnc"], "no row 'qnc': there are sentence, transformer, transformer+reg, qcn,"),
    (["--profile", "papr", "--dir", "new"], "papr: no such recipe; did you mean 'paper'? Bundled recipes: "),
    (["--seeds", "x"], "--seeds x: expected whole numbers"),
    (["--dir", "."], ".: exists and is not a grid: choose another --dir"),
]


@pytest.mark.parametrize(("words", "message"), FAULTS, ids=[" ".join(words) for words, _ in FAULTS])
def test_errors_are_reported_before_anything_is_written(
    copy: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(copy.parent)
    before = listing(copy.parent)
    result = docaps("experiment", "table2", "--dir", copy.name, *words)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert listing(copy.parent) == before


def test_a_corpus_that_moved_is_needed_to_train_but_not_to_report(copy: Path, chain: Chain, tmp_path: Path) -> None:
    request = read(copy / "grid.json")
    request["corpus"]["path"] = str(tmp_path / "gone")
    (copy / "grid.json").write_text(json.dumps(request), encoding="utf-8")
    succeed("report", copy, "--out", tmp_path / "report.html")
    (copy / "seed-1" / "concat" / "results.json").unlink()
    words = ["experiment", "table2", "--dir", copy, *ROWS]
    failed = docaps(*words)
    assert failed.code == 1
    assert "gone" in failed.err
    succeed(*words, "--corpus", chain.corpus, "--jobs", "2")  # processes of runs get the option too
    assert (copy / "seed-1" / "concat" / "results.json").exists()
    assert read(copy / "grid.json") == request


def test_a_report_of_a_grid_is_written_as_markdown_too(copy: Path, tmp_path: Path) -> None:
    page, tables = tmp_path / "report.html", tmp_path / "my tables.md"
    words = ["report", copy, "--out", page, "--markdown", tables, "--json"]
    assert json.loads(succeed(*words).out)["files"] == [str(page), str(tables)]
    text = tables.read_text(encoding="utf-8")
    for row in read(copy / "table2.json")["rows"]:
        (line,) = re.findall(rf"^\| {row['row']}: .*", text, flags=re.MULTILINE)
        assert f" {row['means']['bleu']['mean']:.2f} " in line
    assert "docaps experiment table2" in text
    tables.write_text("mine", encoding="utf-8")
    page.unlink()
    check_refusal(words, tables)
    assert not page.exists()
    succeed(*words, "--overwrite")
    assert tables.read_text(encoding="utf-8") == text


def test_a_report_of_a_grid_has_figures_of_its_runs(copy: Path, tmp_path: Path) -> None:
    pytest.importorskip("svglib")
    page, figures = tmp_path / "report.html", tmp_path / "my figures"
    words = ["report", copy, "--out", page, "--figures", figures, "--json"]
    written = json.loads(succeed(*words).out)["files"]
    names = {f"{name}.{kind}" for name in ("curves", "distances", "routing-qcn") for kind in ("svg", "pdf")}
    assert set(written) == {str(page), *(str(figures / name) for name in names)}
    before = listing(figures)
    assert before.keys() == names
    page.unlink()
    check_refusal(words, figures)
    assert not page.exists()
    succeed(*words, "--overwrite")
    assert listing(figures) == before


def check_refusal(words: list[str | Path], path: Path) -> None:
    """See that a command does not replace what is there, and says what."""
    before = listing(path.parent)
    result = docaps(*words)
    assert (result.code, result.out) == (1, "")
    assert f"docaps: {path}: exists already: give --overwrite to replace it" in result.err
    assert listing(path.parent) == before


def test_figures_without_svglib_are_refused_before_anything_is_written(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "svglib.svglib", None)
    page = tmp_path / "report.html"
    result = docaps("report", copy, "--out", page, "--figures", tmp_path / "figures")
    assert (result.code, result.out) == (1, "")
    assert "docaps: --figures needs svglib: pip install 'docaps[plots]'" in result.err
    assert not page.exists()


def test_another_corpus_is_refused_wherever_it_lies(copy: Path, chain: Chain, tmp_path: Path) -> None:
    other = shutil.copytree(chain.corpus, tmp_path / "other")
    manifest = read(other / "manifest.json")
    (other / "manifest.json").write_text(json.dumps(manifest | {"hash": "0" * 64}), encoding="utf-8")
    result = docaps("experiment", "table2", "--dir", copy, *ROWS, "--corpus", other)
    assert (result.code, result.out) == (1, "")
    assert "a grid with other settings is here" in result.err or "manifest" in result.err


ITEMS = (
    {"source": "It was warm.", "right": "Er war warm.", "wrong": ["Sie war warm."], "history": ["Anna had a coat."]},
    {"source": "It was old.", "right": "Sie war alt.", "wrong": ["Er war alt."], "history": ["Paul had a lamp."]},
    {"source": "It was new.", "right": "Sie war neu.", "wrong": ["Es war neu."], "history": ["He saw a lamp."]},
)


def test_all_runs_of_a_grid_take_a_set_with_every_history_and_once(copy: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in ITEMS), encoding="utf-8")
    words = ["contrast", copy, path, "--keep", "mine"]
    found = json.loads(succeed(*words, "--json").out)["runs"]
    taken = {(Path(result["run"]).name, result["history"]) for result in found}
    histories = ("own", "none", "shuffled")
    assert taken == {("transformer", "own"), *((row, history) for row in ("qcn", "concat") for history in histories)}
    kept = copy / "seed-1" / "qcn" / "contrast" / "mine.none.json"
    kept.write_text(json.dumps(read(kept) | {"accuracy": 0.1234}), encoding="utf-8")
    again = succeed(*words).out
    assert "12.3 %" in again
    assert again.count("no history") == again.count("another's") == 2
    succeed("report", copy, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Right choices in mine" in page
    assert "12.3" in page
    assert "Figure 4" not in page  # there is no run of it
    told = dict(re.findall(r"<li><p>(.*?)</p>.*?<code>(.*?)</code>", page, flags=re.DOTALL))
    for row in LAYOUTS["table2"].rows.values():
        command = told.get(f"Table 2: the systems, and controls: {row.title}, seed 1", "")
        assert bool(command) == (row.name in ROWS)
        assert not command or f"--seeds 1 --only {row.name} " in command
    assert "12.3" in (copy / "table2.md").read_text(encoding="utf-8")
    result = docaps("contrast", copy, path, "--keep", "mine", "--shuffled")
    assert (result.code, result.out) == (1, "")
    assert "a grid takes a whole set with every history" in result.err
