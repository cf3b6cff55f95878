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


def resident(process: int) -> int:
    """Return the memory of a process in KiB."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS")))
