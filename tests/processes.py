"""What the system says of processes: which ones a group has, and how much memory they take."""

import time
from collections.abc import Iterator
from pathlib import Path


def members(group: int) -> Iterator[int]:
    """Go through the living processes of a group."""
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            yield int(place.parent.name)


def wait_until_gone(group: int, seconds: float = 10) -> None:
    """Wait until no process of a group is left."""
    end = time.monotonic() + seconds
    while left := list(members(group)):
        assert time.monotonic() < end, f"left behind: {left}"
        time.sleep(0.02)


def marked(mark: str) -> list[int]:
    """List the living processes whose environment holds a mark: one that was set for their first ancestor."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            ended = (place / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
            if not ended and mark.encode() in (place / "environ").read_bytes():
                found.append(int(place.name))
        except OSError:  # it has just ended, or is another user's
            continue
    return found


def wait_until_unmarked(mark: str, seconds: float = 60) -> None:
    """Wait until no process with a mark is left."""
    end = time.monotonic() + seconds
    while left := marked(mark):
        assert time.monotonic() < end, f"left behind: {left}"
        time.sleep(0.05)


def resident(process: int) -> int:
    """Return the memory of a process in KiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))
