"""Training in other processes: killed, terminated, out of disk, several at once; it resumes where it stopped."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.cli.calling import docaps, listing, settings, start, succeed
from tests.cli.conftest import Chain
from tests.processes import resident

from docaps.corpus.annotations import Annotation, AnnotationHeader, write_annotations
from docaps.files import sha256
from docaps.model.checkpoint import read_tensors, read_weights
from docaps.runs.directory import Run
from docaps.runs.training_log import read_metrics
from docaps.training.state import read_state

STEPS = 40
STAGE = {
    **{"steps": STEPS, "dropout": 0.3, "save_every": 2, "validate_every": 10, "log_every": 1, "result": "average"},
    **{"system": "qcn+reg", "schedule": "linear"},
}
Call = Callable[..., Any]


def options(chain: Chain, out: Path, **changes: Any) -> list[str | Path]:
    """Everything behind `docaps`; with the regulariser's readings that compare the pairs of a batch."""
    stage = [f"stage.sentence.{key}={value}" for key, value in {**STAGE, **changes}.items()]
    chosen = settings("regulariser.negatives=infonce", "regulariser.centre=batch", *stage)
    return ["train", "minidocs", "--corpus", chain.corpus, "--out", out, "--stage", "sentence", *chosen]


@pytest.fixture(scope="module")
def whole(chain: Chain, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Training that nothing disturbed."""
    return undisturbed(chain, tmp_path_factory.mktemp("whole"))


def undisturbed(chain: Chain, out: Path, **changes: Any) -> Run:
    result = docaps(*options(chain, out, **changes))
    assert result.code == 0, result.err
    return Run(out / "sentence")


def wait_for_step(run: Run, step: int, process: subprocess.Popen[str], seconds: float = 90) -> None:
    """Wait until a state of this step or a later one is saved."""
    end = time.monotonic() + seconds
    while not (run.state.exists() and read_state(run.state).trainer.step >= step):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.01)


def check_readable(run: Run) -> int:
    """Every artefact under its final name is whole; return the step of the state."""
    for path in run.path.rglob("*.safetensors"):
        if not path.name.startswith("."):
            read_tensors(path)
    assert run.read()["status"] == "training"
    list(read_metrics(run.metrics))
    return read_state(run.state).trainer.step if run.state.exists() else 0


def kill_twice(run: Run, call: list[str | Path]) -> int:
    """Start it again and again, kill it each time after a state was saved; the step that state is of."""
    reached = 0
    for _ in range(2):
        process = start(*call)
        wait_for_step(run, reached + 1, process)
        process.kill()
        process.communicate()
        if process.returncode == 0 or run.finished or reached > STEPS - 8:
            pytest.fail("training was over before it could be killed: make it longer")
        before, reached = reached, check_readable(run)
        assert reached > before
        logged = max(row["step"] for row in read_metrics(run.metrics))
        assert logged - reached <= STAGE["save_every"]  # no more is lost
    return reached


@pytest.mark.stress
def test_killed_twice_training_resumes_bit_for_bit(chain: Chain, whole: Run, tmp_path: Path) -> None:
    """At any moment: see `tests/chaos`."""
    run, call = Run(tmp_path / "killed" / "sentence"), options(chain, tmp_path / "killed")
    reached = kill_twice(run, call)
    result = docaps(*call)
    assert result.code == 0, result.err
    assert f"resumes after step {reached}" in result.err
    assert sha256(run.weights) == sha256(whole.weights)
    events = [event["event"] for event in run.read()["history"]]
    assert events.count("ended without notice") == 2
    assert not [name for name in listing(tmp_path) if name.endswith((".partial", ".old", ".lock"))]


@pytest.mark.parametrize(
    ("number", "code"), [pytest.param(signal.SIGTERM, 143, marks=pytest.mark.stress), (signal.SIGINT, 130)]
)
def test_a_signal_saves_the_state_and_training_resumes_bit_for_bit(
    chain: Chain, whole: Run, tmp_path: Path, number: int, code: int
) -> None:
    run = Run(tmp_path / "sentence")
    process = start(*options(chain, tmp_path, save_every=4))
    wait_for_step(run, 8, process)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == code, err
    state = read_state(run.state).trainer.step
    assert err.splitlines()[-1] == (
        f"docaps: stopped at step {state}; the state of step {state} is saved; the same command resumes from it"
    )
    assert "Traceback" not in err
    assert run.read()["status"] == "interrupted"
    result = docaps(*options(chain, tmp_path))
    assert result.code == 0, result.err
    assert sha256(run.weights) == sha256(whole.weights)


def test_a_full_disk_leaves_the_old_state(chain: Chain, whole: Run, tmp_path: Path) -> None:
    run = Run(tmp_path / "sentence")
    process = start(*options(chain, tmp_path))
    wait_for_step(run, 6, process)
    process.terminate()
    process.communicate()
    before = sha256(run.state)
    limit = run.state.stat().st_size // 2
    command = [sys.executable, "-m", "docaps", *map(str, options(chain, tmp_path))]
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert result.returncode == 1
    assert "cannot be written, what was there before is intact" in result.stderr
    assert "the same command resumes from it" in result.stderr
    assert "Traceback" not in result.stderr
    assert sha256(run.state) == before
    assert not [name for name in listing(tmp_path) if name.endswith(".partial")]
    assert docaps(*options(chain, tmp_path)).code == 0
    assert sha256(run.weights) == sha256(whole.weights)


def test_a_run_in_use_is_not_trained_by_another_process(chain: Chain, tmp_path: Path) -> None:
    process = start(*options(chain, tmp_path, steps=100_000))
    wait_for_step(Run(tmp_path / "sentence"), 2, process)
    other = docaps(*options(chain, tmp_path, steps=100_000))
    process.kill()
    process.communicate()
    assert other.code == 1
    assert "another process is training here" in other.err


def test_options_of_time_steps_and_precision_reach_the_stage(chain: Chain, tmp_path: Path) -> None:
    base = options(chain, tmp_path)
    succeed(*base, "--steps", "3", "--precision", "bfloat16")
    description = Run(tmp_path / "sentence").read()
    assert (description["steps"], description["precision"]) == (3, "bfloat16")
    out = tmp_path / "timed"
    succeed(*options(chain, out, steps=1_000_000), "--budget", "1s")
    description = Run(out / "sentence").read()
    assert 1 <= description["seconds"] < 20
    assert description["settings"]["stage"]["budget"] == "1s"
    bad = docaps(*base, "--budget", "soon")
    assert bad.code == 1
    assert "'soon' is not a duration" in bad.err


def test_a_stage_starts_from_any_finished_run(chain: Chain, tmp_path: Path) -> None:
    result = succeed(*options(chain, tmp_path, inherited_rate=0.0), "--init-from", chain.sentence)
    assert "sentence starts from sentence:" in result.err
    later, earlier = (read_weights(path / "model.safetensors") for path in (tmp_path / "sentence", chain.sentence))
    assert all(torch.equal(later[name], weight) for name, weight in earlier.items())
    missing = docaps(*options(chain, tmp_path / "b"), "--init-from", tmp_path / "nowhere")
    assert (missing.code, "no such run" in missing.err) == (1, True)


def test_the_best_can_be_chosen_by_bleu(chain: Chain, tmp_path: Path) -> None:
    succeed(*options(chain, tmp_path, best_by="dev_bleu", steps=4, validate_every=2, result="best"))
    run = Run(tmp_path / "sentence")
    scores = [row["dev_bleu"] for row in read_metrics(run.metrics) if "dev_bleu" in row]
    assert len(scores) == 2
    assert run.read()["weights"].endswith("the best by dev_bleu")


@pytest.mark.stress
def test_memory_does_not_grow_over_2000_steps(chain: Chain, tmp_path: Path) -> None:
    run = Run(tmp_path / "sentence")
    process = start(*options(chain, tmp_path, steps=3000, save_every=100, validate_every=200, log_every=20))
    wait_for_step(run, 500, process, seconds=300)
    before = resident(process.pid)
    wait_for_step(run, 2500, process, seconds=900)
    after = resident(process.pid)
    process.kill()
    process.communicate()
    assert after < 1.02 * before


def torchrun(*arguments: str | Path, processes: int = 2, more: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """Start docaps under torchrun."""
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={processes}", "--master-port=0"]
    rendezvous = ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"]
    return subprocess.Popen(
        [*command, *rendezvous, *more, "-m", "docaps", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


@pytest.fixture
def launched(tmp_path: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are gone after the test, with all that they started."""
    started: list[subprocess.Popen[str]] = []
    yield started
    subprocess.run(["pkill", "-KILL", "-f", str(tmp_path)], check=False)
    for process in started:
        process.communicate()


def losses(run: Run) -> list[float]:
    keys = ("loss", "dev_loss", "dev_pcc", "dev_pcc_mismatched")
    return [row[key] for row in read_metrics(run.metrics) for key in keys if key in row]


@pytest.mark.parametrize("distribution", ["ddp", pytest.param("fsdp", marks=pytest.mark.stress)])
def test_two_processes_learn_what_one_learns(
    chain: Chain, tmp_path: Path, launched: list[subprocess.Popen[str]], distribution: str
) -> None:
    """Dropout too: what it draws depends on the batch, not on the process; and pairs are compared within a batch."""
    changes = {"accumulate": 4, "steps": 20, "log_every": 1, "validate_every": 5, "result": "best"}
    way = ("--set", f"distribution={distribution}", "--precision", "float32")
    launched.append(torchrun(*options(chain, tmp_path / "two", **changes), *way))
    assert docaps(*options(chain, tmp_path / "one", **changes), *way[2:]).code == 0
    out, err = launched[0].communicate(timeout=200)
    assert launched[0].returncode == 0, err
    assert out.count("Trained") == 1  # only the first process talks
    one, two = Run(tmp_path / "one" / "sentence"), Run(tmp_path / "two" / "sentence")
    assert two.read()["processes"] == 2
    assert len(losses(one)) == 20 + 4 * 3
    assert losses(two) == pytest.approx(losses(one), abs=2e-4)
    for name, weight in read_weights(one.weights).items():
        torch.testing.assert_close(read_weights(two.weights)[name], weight, rtol=0, atol=5e-3)


@pytest.mark.stress
def test_two_processes_see_the_same_signals(
    chain: Chain, tmp_path: Path, launched: list[subprocess.Popen[str]]
) -> None:
    """Hidden words, sampled histories, halves, selected sentences and weighted tokens are those of one process."""
    marks = tmp_path / "marks.jsonl"
    records = [Annotation(sentence=number, score=1.0 + number % 3, tokens=(0,)) for number in range(2, 40, 3)]
    write_annotations(marks, AnnotationHeader(part="train"), records)
    files = {"select": marks, "select_share": 0.5, "emphasis": marks, "emphasis_weight": 5.0}
    data = {"source_dropout": 0.2, "history_sampling": "true", "split": 0.5, **files}
    changes = {"accumulate": 4, "steps": 8, "log_every": 1, "validate_every": 4, "result": "last", **data}
    way = ("--precision", "float32")
    launched.append(torchrun(*options(chain, tmp_path / "two", **changes), *way))
    assert docaps(*options(chain, tmp_path / "one", **changes), *way).code == 0
    _, err = launched[0].communicate(timeout=200)
    assert launched[0].returncode == 0, err
    one, two = Run(tmp_path / "one" / "sentence"), Run(tmp_path / "two" / "sentence")
    assert losses(two) == pytest.approx(losses(one), abs=2e-4)
    assert two.read()["annotations"] == {name: sha256(marks) for name in ("select", "emphasis")}


def test_a_dry_run_says_what_signals_mark_and_trains_nothing(chain: Chain, tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.txt"
    numbers.write_text("2\n5\n")
    changes = {"select": numbers, "select_share": 0.25, "source_dropout": 0.1}
    found = json.loads(succeed(*options(chain, tmp_path / "out", **changes), "--dry-run", "--json").out)
    (stage,) = found["stages"]
    assert (stage["stage"], stage["steps"]) == ("sentence", STEPS)
    select = stage["signals"]["select"]
    assert (select["sentences"], select["of"]) == (2, stage["sentences"])
    assert select["drawn"] == round((stage["sentences"] - 2) / 3)
    text = succeed(*options(chain, tmp_path / "out", **changes), "--dry-run").out
    assert f"{select['share']:.1%} of each batch from 2 selected sentences" in text
    assert "10% of the words of each source are hidden" in text
    assert not (tmp_path / "out").exists()
    whole = docaps(*options(chain, tmp_path / "out", **{**changes, "sampling": "documents"}), "--dry-run")
    assert (whole.code, 'select needs sampling = "sentences"' in whole.err) == (1, True)
    missing = docaps(*options(chain, tmp_path / "out", **{**changes, "select": "gone.txt"}), "--dry-run")
    assert missing.code == 1
    assert "gone.txt: no such file of annotations in the working directory or in" in missing.err


def children(process: subprocess.Popen[str]) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True, check=False).stdout
    return [int(line) for line in found.split()]


@pytest.mark.stress
def test_a_killed_process_ends_the_job_with_a_message_and_a_restart_resumes_it(
    chain: Chain, tmp_path: Path, launched: list[subprocess.Popen[str]]
) -> None:
    run = Run(tmp_path / "sentence")
    changes = {"accumulate": 2, "steps": 200, "result": "last"}
    launched.append(torchrun(*options(chain, tmp_path, **changes), more=("--max-restarts=1",)))
    wait_for_step(run, 4, launched[0], seconds=150)
    os.kill(children(launched[0])[-1], signal.SIGKILL)
    _, err = launched[0].communicate(timeout=200)
    assert launched[0].returncode == 0, err
    assert "exitcode: -9" in err  # torchrun names the one that died; the other one either noticed or was asked to end
    assert "another of the 2 processes is gone" in err or "docaps: stopped at step" in err, err
    assert "resumes after step" in err
    assert run.finished
    assert run.read()["steps"] == 200
    assert [row["step"] for row in read_metrics(run.metrics) if "loss" in row] == list(range(1, 201))


@pytest.mark.stress
def test_sharded_weights_are_saved_whole_and_resume_bit_for_bit(
    chain: Chain, tmp_path: Path, launched: list[subprocess.Popen[str]]
) -> None:
    changes = {"accumulate": 2, "steps": 60, "save_every": 2, "result": "average"}
    way = ("--set", "distribution=fsdp")
    launched.append(torchrun(*options(chain, tmp_path / "whole", **changes), *way))
    assert launched[0].wait(200) == 0
    launched.append(torchrun(*options(chain, tmp_path / "pieces", **changes), *way))
    wait_for_step(Run(tmp_path / "pieces" / "sentence"), 10, launched[1])
    launched[1].terminate()
    launched[1].wait(60)
    launched.append(torchrun(*options(chain, tmp_path / "pieces", **changes), *way))
    assert launched[2].wait(200) == 0
    whole, pieces = (Run(tmp_path / name / "sentence") for name in ("whole", "pieces"))
    assert sha256(whole.weights) == sha256(pieces.weights)
