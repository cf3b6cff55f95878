"""Run directories say what they are, and what is wrong with them."""

import errno
import os
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from docaps.errors import RunError
from docaps.files import LARGEST_DESCRIPTION, read_json, write_json
from docaps.runs.directory import FINISHED, FORMAT, INTERRUPTED, LOCK, Run, locked, now, open_run, versions


def message(path: Path) -> str:
    with pytest.raises(RunError) as caught:
        open_run(path)
    return str(caught.value)


def test_a_finished_run_opens(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    assert not run.finished
    run.write({"status": FINISHED, "name": "ä"})
    assert open_run(run.path) == run
    assert run.finished
    assert run.read() == {"status": FINISHED, "name": "ä", "format": FORMAT}


def test_a_path_without_a_run_is_refused(tmp_path: Path) -> None:
    assert message(tmp_path / "absent") == f"{tmp_path / 'absent'}: no such run"
    assert message(tmp_path) == f"{tmp_path}: not a run directory (it has no run.json)"
    file = tmp_path / "file"
    file.write_text("")
    assert message(file) == f"{file}: no such run"


@pytest.mark.parametrize("status", [INTERRUPTED, "training", None])
def test_an_unfinished_run_is_refused_with_its_status(tmp_path: Path, status: str | None) -> None:
    run = Run(tmp_path)
    run.write({"status": status})
    assert not run.finished
    expected = f"{tmp_path}: the run is not finished (status: {status}). Train it again with the same command"
    assert message(tmp_path) == expected


@pytest.mark.parametrize(("text", "fault"), [("{", r"run\.json:1: not valid JSON"), ("[]", "expected a JSON object")])
def test_a_broken_description_is_reported_with_its_file(tmp_path: Path, text: str, fault: str) -> None:
    Run(tmp_path).description.write_text(text)
    assert re.search(fault, message(tmp_path))


def test_a_description_has_at_most_four_megabytes(tmp_path: Path) -> None:
    Run(tmp_path).write({"status": FINISHED})
    with Run(tmp_path).description.open("a") as file:
        file.write(" " * LARGEST_DESCRIPTION)
    assert "run.json: cannot be read: it has more than 4,194,304 bytes" in message(tmp_path)


def test_a_run_without_a_format_is_of_docaps_0_1(tmp_path: Path) -> None:
    run = Run(tmp_path)
    write_json(run.description, {"status": FINISHED, "settings": {"kept": 2}})
    expected = {"status": FINISHED, "settings": {"kept": 2}, "format": FORMAT}
    assert run.read() == expected
    run.write(run.read())
    assert run.read() == read_json(run.description, error=RunError) == expected


@pytest.mark.parametrize("found", [FORMAT + 1, 0, "2", None])
def test_a_run_of_a_later_version_is_refused(tmp_path: Path, found: object) -> None:
    write_json(Run(tmp_path).description, {"status": FINISHED, "format": found})
    expected = f"run.json: run format {found!r} is not known to this version, which reads formats 1 to {FORMAT}"
    assert expected in message(tmp_path)
    assert message(tmp_path).endswith(": update docaps")


def test_a_lock_leaves_no_file_and_can_be_taken_again(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    for _ in range(2):
        with locked(run):
            assert (run.path / LOCK).exists()
            with pytest.raises(RunError, match="another process is training here: wait for it") as caught, locked(run):
                pass
            assert caught.value.path == run.path
        assert list(run.path.iterdir()) == []


def test_a_lock_file_that_a_killed_process_left_does_not_lock(tmp_path: Path) -> None:
    (tmp_path / LOCK).touch()
    with locked(Run(tmp_path)):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_does_not_stop_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("fcntl.flock", refuse)
    done = []
    with locked(Run(tmp_path)):
        done.append(True)
    assert done == [True]
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_is_a_link_is_refused_and_its_target_untouched(tmp_path: Path) -> None:
    target = tmp_path / "precious"
    target.write_text("text")
    run = Run(tmp_path / "run")
    run.path.mkdir()
    (run.path / LOCK).symlink_to(target)
    with pytest.raises(RunError, match="the lock is a symbolic link: remove it"), locked(run):
        pass
    assert target.read_text() == "text"


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_hard_link(path: Path) -> None:
    (path.parent / "precious").write_text("")
    path.hardlink_to(path.parent / "precious")


def make_text(path: Path) -> None:
    path.write_text("mine")


@pytest.mark.parametrize("make", [make_pipe, make_hard_link, make_text])
def test_a_lock_that_docaps_did_not_make_is_refused_and_kept(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / LOCK)
    before = {path.name: path.lstat().st_ino for path in tmp_path.iterdir()}
    with pytest.raises(RunError, match="the lock is not one of docaps, which is an empty file"), locked(Run(tmp_path)):
        pass
    assert {path.name: path.lstat().st_ino for path in tmp_path.iterdir()} == before


def test_clearing_removes_the_files_of_a_run_and_links_but_nothing_else(tmp_path: Path) -> None:
    run = Run(tmp_path / "run")
    own = ["model.safetensors", "snapshots/step-3.safetensors", "text/bpe.codes", "assessment/scores.json"]
    others = ["notes.md", "text/notes.md", "snapshots/step-3.txt", "contrast/mine.json", ".run.json.mine"]
    for name in (*own, *others, "run.json"):
        (run.path / name).parent.mkdir(parents=True, exist_ok=True)
        (run.path / name).write_text("text")
    (tmp_path / "elsewhere" / "dev").mkdir(parents=True)
    (tmp_path / "elsewhere" / "dev" / "scores.json").write_text("text")
    (run.path / "held-out").symlink_to(tmp_path / "elsewhere")
    (run.path / "metrics.jsonl").symlink_to(tmp_path / "elsewhere" / "dev" / "scores.json")
    run.clear()
    left = {str(path.relative_to(run.path)) for path in run.path.rglob("*") if not path.is_dir()}
    assert left == set(others)
    assert not (run.path / "assessment").exists()
    assert (tmp_path / "elsewhere" / "dev" / "scores.json").read_text() == "text"


def test_versions_and_time_are_those_of_this_machine() -> None:
    assert {"python", "docaps", "torch", "sacrebleu"} <= versions().keys()
    assert abs((datetime.now().astimezone() - datetime.fromisoformat(now())).total_seconds()) < 5
