"""The training log is appended row by row, and read even if its last line is incomplete."""

import errno
from pathlib import Path
from typing import Any

import pytest

from docaps.errors import RunError
from docaps.runs.training_log import MetricsLog, has_collapsed, has_one_capsule, pair_correlations, read_metrics


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


def test_on_a_full_disk_a_row_is_not_written_in_part(tmp_path: Path) -> None:
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


def test_a_torn_last_line_is_left_out_but_a_torn_inner_line_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2, "lo')
    assert list(read_metrics(path)) == [{"step": 1}]
    path.write_text('{"step": 1}\n{"step": 2, "lo\n{"step": 3}\n')
    with pytest.raises(RunError) as caught:
        list(read_metrics(path))
    assert str(caught.value) == f"{path}:2: not valid JSON: Unterminated string starting at"
    path.write_bytes('{"step": 1}\n{"step": 2, "ä'.encode()[:-1])
    assert list(read_metrics(path)) == [{"step": 1}]


@pytest.mark.parametrize(
    ("line", "fault"), [("[1]", "expected a JSON object, found '[1]'"), ('{"loss": 1}', "the key 'step' is missing")]
)
def test_a_row_that_is_not_one_is_refused_with_its_line(tmp_path: Path, line: str, fault: str) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text(f'{{"step": 1}}\n{line}\n{{"step": 2}}\n')
    with pytest.raises(RunError) as caught:
        list(read_metrics(path))
    assert str(caught.value).startswith(f"{path}:2: {fault}")


def test_a_log_shorter_than_expected_is_cut_after_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    for content in (b'{"step": 1}\n{"step": 2, "lo', b'{"step": 1}\n', b'{"step": 1}\n\0\0\0\0'):
        path.write_bytes(content)
        log = MetricsLog(path, keep=40)
        assert log.size == 12
        log.append({"step": 2})
        log.close()
        assert path.read_bytes() == b'{"step": 1}\n{"step": 2}\n'


def test_a_log_that_was_filled_with_nuls_is_read(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(b'{"step": 1}\n\0\0\0{"step": 4}\n{"step": 5, "lo\0\0\0\0')
    assert [row["step"] for row in read_metrics(path)] == [1, 4]


@pytest.mark.parametrize(
    ("row", "correlations", "collapsed"),
    [
        ({"dev_pcc": 0.99, "dev_pcc_mismatched": 0.985}, (0.99, 0.985), True),
        ({"dev_pcc": 0.99, "dev_pcc_mismatched": 0.96}, (0.99, 0.96), False),
        ({"dev_pcc": 0.5, "dev_pcc_mismatched": -0.01}, (0.5, -0.01), False),
        ({"dev_pcc": 0.0, "dev_pcc_mismatched": 0.0}, (0.0, 0.0), True),
        ({"dev_pcc": 0.1, "dev_pcc_mismatched": 0.3}, (0.1, 0.3), True),
        ({"dev_pcc": 0.5, "dev_pcc_mismatched": 0.1, "pcc": 0.9, "pcc_mismatched": 0.9}, (0.5, 0.1), False),
        ({"pcc": 0.9, "pcc_mismatched": 0.895}, (0.9, 0.895), True),
        ({"pcc": 0.9}, None, False),
        ({"dev_loss": 1.0}, None, False),
    ],
)
def test_a_collapse_is_seen_where_the_correlations_meet(
    row: dict[str, float], correlations: tuple[float, float] | None, collapsed: bool
) -> None:
    assert pair_correlations(row) == correlations
    assert has_collapsed(row) is collapsed


@pytest.mark.parametrize(
    ("cosine", "overlap", "one"),
    [(0.0, 0.9997, True), (0.96, 0.5, True), (0.95, 0.95, False), (-0.1, 0.3, False)],
)
def test_capsules_are_one_if_they_or_their_weights_are_alike(cosine: float, overlap: float, one: bool) -> None:
    assert has_one_capsule({"capsule_cosine": cosine, "capsule_overlap": overlap}) is one
    assert not has_one_capsule({"dev_loss": 1.0})


def test_correlations_that_are_not_numbers_are_a_collapse() -> None:
    assert has_collapsed({"dev_pcc": float("nan"), "dev_pcc_mismatched": 0.1})
