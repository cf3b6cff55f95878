"""Stopping a command, from either end, leaves nothing half-written and no traceback."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.calling import AS_MODULE, docaps, listing, settings, start, succeed
from tests.cli.conftest import Chain, parts

from docaps.runs.directory import INTERRUPTED, Run


def wait_for(path: Path, seconds: float = 60) -> None:
    """Wait until a file has a line in it."""
    end = time.monotonic() + seconds
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.05)


def test_ctrl_c_stops_training_at_once_and_training_again_works(chain: Chain, tmp_path: Path) -> None:
    arguments = ["train", "minidocs", "--corpus", chain.corpus, "--out", tmp_path, "--stage", "sentence"]
    process = start(*arguments, *settings("stage.sentence.steps=1000000"))
    try:
        wait_for(tmp_path / "sentence" / "metrics.jsonl")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    run = Run(tmp_path / "sentence")
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert "stopped" in err
    assert run.read()["status"] == INTERRUPTED
    assert not run.weights.exists()
    assert not [name for name in listing(tmp_path) if name.endswith((".partial", ".old"))]
    refused = docaps("translate", run.path, stdin="A man.\n")
    assert (refused.code, "status: interrupted" in refused.err) == (1, True)
    succeed(*arguments, *settings())
    assert run.finished
    assert run.weights.exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_at_the_very_end_changes_nothing(number: int) -> None:
    """When the work is done, Python ends: that takes a moment with torch, and must not be interrupted either."""
    late = f"import atexit, os, signal; signal.signal({number}, signal.default_int_handler); "
    late += f"atexit.register(os.kill, os.getpid(), {number})"
    command = [sys.executable, "-c", f"{late}; {AS_MODULE}", "minidocs", "--documents", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


def test_ctrl_c_in_preparation_leaves_no_trace(chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("docaps.corpus.building.learn_merges", interrupt)
    result = docaps("prepare", *parts(chain.text), "--out", tmp_path / "prepared")
    assert result.code == 130
    assert "stopped" in result.err
    assert listing(tmp_path) == {}


EVALUATE = "evaluate --hypothesis {0} --reference {0} --language de"


@pytest.mark.parametrize("command", ["minidocs --documents 1", EVALUATE, "--help"])
def test_a_closed_pipe_is_no_error(tmp_path: Path, command: str) -> None:
    (tmp_path / "text").write_text("Ein Mann.\n")
    reader, writer = os.pipe()
    os.close(reader)
    process = start(*command.format(tmp_path / "text").split(), stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=30)
    assert err == ""
    assert process.returncode in (0, 1)  # 1 where rich or typer notice it first


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_reported() -> None:
    with Path("/dev/full").open("w") as full:
        process = start("minidocs", "--documents", "1", stdout=full)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (1, "docaps: output: No space left on device\n")


def test_json_stays_alone_on_stdout(chain: Chain) -> None:
    process = start("translate", chain.document, chain.text / "dev.en", "--json")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert len(json.loads(out)["documents"]) == 3


def test_training_in_pieces_ends_like_training_at_once(chain: Chain, tmp_path: Path) -> None:
    arguments = ["minidocs", "--corpus", chain.corpus, "--stage", "sentence", *settings("stage.sentence.steps=300")]
    succeed("train", *arguments, "--out", tmp_path / "whole")
    pieces = 1
    while (result := docaps("train", *arguments, "--out", tmp_path / "cut", "--stop-after", f"{pieces}s")).code == 75:
        assert "the same command" in result.err
        pieces += 1
    assert result.code == 0, result.err
    one, other = ((tmp_path / name / "sentence" / "model.safetensors").read_bytes() for name in ("whole", "cut"))
    assert one == other


def test_a_time_for_several_commands_is_read_from_the_environment(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["train", "minidocs", "--corpus", chain.corpus, "--out", tmp_path, *settings("stage.sentence.steps=90")]
    monkeypatch.setenv("DOCAPS_STOP_AT", "1000000000")
    result = docaps(*arguments)
    assert (result.code, "Its time is over" in result.err) == (75, True)
    monkeypatch.setenv("DOCAPS_STOP_AT", "soon")
    result = docaps(*arguments)
    assert (result.code, "DOCAPS_STOP_AT=soon: expected a Unix time" in result.err) == (1, True)
    monkeypatch.delenv("DOCAPS_STOP_AT")
    result = docaps(*arguments, "--stop-after", "soon")
    assert (result.code, "--stop-after 'soon' is not a duration" in result.err) == (1, True)
