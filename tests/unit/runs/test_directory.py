"""Run directories say what they are, and what is wrong with them."""

import errno
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from docaps.errors import RunError
from docaps.runs.directory import FINISHED, INTERRUPTED, MetricsLog, Run, now, open_run, read_metrics, versions


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
    assert run.read() == {"status": FINISHED, "name": "ä"}


def test_what_is_no_run_is_told_apart(tmp_path: Path) -> None:
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
def test_a_broken_description_is_told_with_its_file(tmp_path: Path, text: str, fault: str) -> None:
    Run(tmp_path).description.write_text(text)
    assert re.search(fault, message(tmp_path))


def test_metrics_survive_a_file_and_are_there_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "metrics.jsonl"
    log = MetricsLog(path)
    log.append({"step": 1, "loss": 2.5})
    assert list(read_metrics(path)) == [{"step": 1, "loss": 2.5}]
    log.append({"step": 2})
    log.close()
    assert [row["step"] for row in read_metrics(path)] == [1, 2]
    assert list(read_metrics(tmp_path / "absent")) == []


class Full:
    """A file on a disk that has room for a few bytes more."""

    def __init__(self, file: Any) -> None:
        self._file, self._room = file, 5

    def write(self, data: bytes) -> int:
        if not self._room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written, self._room = self._file.write(data[: self._room]), 0
        return int(written)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def test_a_row_for_which_there_is_no_room_is_not_there_at_all(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path)
    log.append({"step": 1})
    size, file = log.size, log._file
    log._file = Full(file)  # type: ignore[assignment]
    with pytest.raises(OSError, match="No space left"):
        log.append({"step": 2})
    assert (log.size, path.read_text()) == (size, '{"step": 1}\n')
    log._file = file
    log.append({"step": 2})
    log.close()  # nothing is left that would have to be written now
    assert [row["step"] for row in read_metrics(path)] == [1, 2]


def test_a_torn_last_line_is_left_out_but_a_torn_inner_line_is_told(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2, "lo')
    assert list(read_metrics(path)) == [{"step": 1}]
    path.write_text('{"step": 1}\n{"step": 2, "lo\n{"step": 3}\n')
    with pytest.raises(RunError) as caught:
        list(read_metrics(path))
    assert str(caught.value) == f"{path}:2: not valid JSON"


def test_versions_and_time_are_those_of_this_machine() -> None:
    assert {"python", "docaps", "torch", "sacrebleu"} <= versions().keys()
    assert abs((datetime.now().astimezone() - datetime.fromisoformat(now())).total_seconds()) < 5
