"""metrics.jsonl: the training log of a run, one JSON object per line."""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docaps.errors import RunError
from docaps.files import open_regular, parse_json

LONGEST_ROW, LARGEST_LOG = 2**20, 2**30  # bytes

MEETING = 0.02
"""The regulariser has collapsed if the PCC of matched pairs exceeds that of mismatched ones by less.

In a trial on Europarl it ended at 0.002 as printed, and above 0.3 with every other reading.
"""


ALIKE = 0.95
"""The capsules of a sentence count as one if the cosine between them, or between their weights of words, is higher.

Of four vectors with this mean cosine, less than 4 % of the squared length is what distinguishes them. On mini-documents
the weights of routing as printed have 0.999, those of sharpened routing less than 0.81.
"""


def pair_correlations(row: Mapping[str, float]) -> tuple[float, float] | None:
    """Return the PCC of matched and of mismatched pairs: of development pairs, else (docaps 0.2) of training pairs."""
    for names in (("dev_pcc", "dev_pcc_mismatched"), ("pcc", "pcc_mismatched")):
        if all(name in row for name in names):
            return row[names[0]], row[names[1]]
    return None


def has_collapsed(row: Mapping[str, float]) -> bool:
    """Return whether a row of the log says that the regulariser does not tell pairs apart."""
    found = pair_correlations(row)
    return found is not None and not found[0] - found[1] >= MEETING


def has_one_capsule(row: Mapping[str, float]) -> bool:
    """Return whether a row of the log says that the capsules of a sentence are one, or hold the same words."""
    return any(row.get(name, 0.0) > ALIKE for name in ("capsule_cosine", "capsule_overlap"))


class MetricsLog:
    """Appends rows to metrics.jsonl, each written at once."""

    def __init__(self, path: Path, keep: int = 0) -> None:
        """Open the log and drop everything after the first `keep` bytes: those steps will be trained again.

        A log that is shorter, or damaged there, is cut after its last whole line.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            open_regular(path).close()
        own = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)  # the target of a link is not ours to cut
        self._file = os.fdopen(os.open(path, own, 0o666), "r+b", buffering=0)  # unbuffered: a full disk is noticed
        kept = min(keep, os.fstat(self._file.fileno()).st_size)
        self._file.truncate((self._file.read(kept) or b"").rfind(b"\n") + 1)
        self._file.seek(0, os.SEEK_END)

    @property
    def size(self) -> int:
        """Return the number of bytes written."""
        return self._file.tell()

    def append(self, row: Mapping[str, Any]) -> None:
        """Write one row completely, or leave the log as it was."""
        begin, rest = self.size, (json.dumps(row) + "\n").encode()
        try:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        except OSError:
            with contextlib.suppress(OSError):
                self._file.seek(begin)
                self._file.truncate()
            raise

    def sync(self) -> None:
        """Wait until all rows are on the disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """Read the rows of a training log; a last line torn by a crash is left out."""
    if not path.is_file():
        return
    torn: RunError | None = None
    for number, line in enumerate(_lines(path), start=1):
        if torn is not None:
            raise torn
        row = line.rpartition("\0")[2]  # docaps 0.2 filled a log that was too short with NULs
        if not row and "\0" in line:
            continue
        try:
            yield _parse_row(row)
        except ValueError as fault:
            torn = RunError(str(fault), path=path, line=number)


def _lines(path: Path) -> Iterator[str]:
    """Yield the lines of a log; one that is too long is cut, and does not parse."""
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > LARGEST_LOG:
                raise RunError(f"cannot be read: it has more than {LARGEST_LOG:,} bytes", path=path)
            while line := file.readline(LONGEST_ROW):
                # A tear can split a character: its bytes are replaced, and the torn line then fails to parse.
                yield line.decode("utf-8", errors="replace").rstrip("\r\n")
    except OSError as fault:
        raise RunError(f"cannot be read: {fault.strerror}", path=path) from None


def _parse_row(line: str) -> dict[str, Any]:
    """Parse one line of the log, which must be an object with a step."""
    try:
        row = parse_json(line)
    except ValueError as error:
        raise ValueError(f"not valid JSON: {getattr(error, 'msg', error)}") from None
    if not isinstance(row, dict):
        raise ValueError(f"expected a JSON object, found {line[:40]!r}")
    if not isinstance(row.get("step"), int | float) or not 0 <= row["step"] < 2**53:
        raise ValueError("the key 'step' is missing or not the number of a step")
    for key, value in row.items():
        if isinstance(value, int) and value.bit_length() > 63:
            raise ValueError(f"the key {key!r} has a number that is too large")
    return row
