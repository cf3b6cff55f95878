"""Kill commands at random moments and start them again: the result must be that of a run that nothing disturbed.

A moment is either uniform over the time of the command, or aimed: shortly after a file appeared, grew or was renamed,
which is when something is being written.
"""

import hashlib
import json
import os
import shutil
import signal
import time
from abc import ABC, abstractmethod
from pathlib import Path
from random import Random
from typing import Any

from tests.chaos.campaign import Campaign
from tests.chaos.launcher import Ended, Launched, Launcher

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MOST_KILLS = 6
"""In one trial, before the command may finish."""
PATIENCE = 60
"""Seconds after which a command hangs."""
MOST_CHANGES = 40
TIMES = {"seconds", "tokens_per_second", "share_of_peak", "created", "history"}
"""Keys of run.json and metrics.jsonl that say how fast and when; all others are the same after any interruption."""


class KilledCommand(ABC):
    """A command that is killed; it works in a folder and writes `out` there."""

    name: str
    setup = ""
    """Python code that runs before it, to make its work small."""
    files: dict[str, str]
    """What it leaves if nothing disturbs it,"""
    seconds: float
    """and how long that takes from its first line on."""

    @abstractmethod
    def words(self) -> list[str | Path]:
        """Return the words of the command, with paths relative to its folder."""

    @abstractmethod
    def broken(self, folder: Path) -> list[str]:
        """Return what is half-written after a kill: a file under its final name that is not whole."""

    def arrange(self, folder: Path, chance: Random) -> None:  # noqa: ARG002
        """Make the folder, with what may be there before the command starts."""
        folder.mkdir()

    def allows(self, name: str, number: int) -> bool:
        """Return whether this file may be left by this signal, until the command is started again."""
        return number == signal.SIGKILL and name.rpartition("/")[2].startswith(".")

    def measure(self, launcher: Launcher, folder: Path) -> None:
        """Run the command in peace, to compare with."""
        folder.mkdir()
        launched = launcher.start(self.words(), cwd=folder, setup=self.setup)
        wait_until_listening(launched)
        begin = time.monotonic()
        ended = launched.wait(PATIENCE)
        assert ended is not None, f"{self.name} hangs"
        assert ended.code == 0, f"{self.name}: {ended.err}"
        self.files, self.seconds = fingerprint(folder), time.monotonic() - begin


def fingerprint(folder: Path) -> dict[str, str]:
    """Return a digest of every file below a folder, hidden ones too, without what depends on the time."""
    return {name: digest(folder / name) if (folder / name).is_file() else "directory" for name in names_in(folder)}


def names_in(folder: Path) -> list[str]:
    """Return the names of all that is below a folder, but for the files of TensorBoard, which are named by the time."""
    paths = (path for path in sorted(folder.rglob("*")) if "tensorboard" not in path.parts)
    return [str(path.relative_to(folder)) for path in paths]


def digest(path: Path) -> str:
    """Return the SHA-256 of what a file says apart from times."""
    data = path.read_bytes()
    if path.name == "run.json":
        data = json.dumps(_timeless(json.loads(data))).encode()
    elif path.name == "metrics.jsonl":
        data = json.dumps([_timeless(json.loads(line)) for line in data.splitlines()]).encode()
    elif path.name == "MODEL_CARD.md":  # prose of run.json, with its times
        data = b""
    return hashlib.sha256(data).hexdigest()


def _timeless(values: Any) -> Any:
    if not isinstance(values, dict):
        return values
    return {key: _timeless(value) for key, value in values.items() if key not in TIMES}


def wait_until_listening(launched: Launched) -> None:
    """Wait until a command handles SIGTERM itself; before that, it is Python that starts."""
    while launched.poll() is None:
        lines = Path(f"/proc/{launched.pid}/status").read_text().splitlines()
        caught = next((int(line.split()[1], 16) for line in lines if line.startswith("SigCgt")), 0)
        if caught >> (signal.SIGTERM - 1) & 1:
            return
        time.sleep(0.001)


def kill_at_random(campaign: Campaign, launcher: Launcher, command: KilledCommand, folder: Path) -> None:
    """Start a command in a new folder, kill it some times, let it finish, and compare what it leaves."""
    faults = len(campaign.faults)
    command.arrange(folder, campaign.chance)
    for number in range(campaign.chance.randint(1, MOST_KILLS)):
        if not _kill(campaign, launcher, command, folder, command.seconds * 0.8**number):
            break
    ended = launcher.start(command.words(), cwd=folder, setup=command.setup).wait(PATIENCE)
    if ended is None or ended.code:
        campaign.fault(command.name, f"cannot be resumed: {'it hangs' if ended is None else ended.said}")
    elif (found := fingerprint(folder)) != command.files:
        campaign.fault(command.name, f"ends with another result: {_difference(found, command.files)}")
    campaign.counts["results compared"] += 1
    if len(campaign.faults) == faults:
        shutil.rmtree(folder)


def _kill(campaign: Campaign, launcher: Launcher, command: KilledCommand, folder: Path, seconds: float) -> bool:
    """Start a command, kill it at some moment, and check what it leaves; return whether it was killed."""
    chance = campaign.chance
    number, group = chance.choice(SIGNALS), chance.random() < 0.5
    where = f"{command.name}, {signal.Signals(number).name} to {'its group' if group else 'it'} in {folder.name}"
    launched = launcher.start(command.words(), cwd=folder, setup=command.setup)
    wait_until_listening(launched)
    wait_for_moment(launched, folder, chance, seconds)
    launched.signal(number, group=group)
    ended = launched.wait(PATIENCE)
    if ended is None:
        campaign.fault(where, "hangs after the signal")
        return False
    if left := launched.leftovers():
        campaign.fault(where, f"left the processes {left}")
    more = [name for name in names_in(folder) if name not in command.files]
    faults = [*_judge(ended, number), *command.broken(folder)]
    faults += [f"left {name}" for name in more if not command.allows(name, number)]
    for what in faults:
        campaign.fault(where, what)
    if ended.code:
        campaign.counts["kills"] += 1
        campaign.counts[f"kills of {command.name}"] += 1
        campaign.counts["kills while a file was written"] += any(name.endswith(".partial") for name in more)
    return ended.code != 0


def _judge(ended: Ended, number: int) -> list[str]:
    """Return what is wrong with the end of a command that got a signal, which may have finished just before."""
    found = []
    if ended.code not in (0, -number if number == signal.SIGKILL else 128 + number):
        found.append(f"ended with code {ended.code}: {ended.said}")
    # After SIGKILL, Python's resource tracker may say what it cleans up.
    if "Traceback" in ended.err or ("leaked" in ended.err and number != signal.SIGKILL):
        found.append(ended.said)
    return found


def wait_for_moment(launched: Launched, folder: Path, chance: Random, seconds: float) -> None:
    """Wait for a random moment of a command that takes some seconds, or for its end."""
    if chance.random() < 0.5:
        launched.wait_at_most(chance.uniform(0, seconds))
        return
    changes, delay = chance.randint(1, MOST_CHANGES), chance.uniform(0, 0.005)
    before = _sizes(folder)
    end = time.monotonic() + 2 * seconds
    while changes and time.monotonic() < end and launched.poll() is None:
        if (now := _sizes(folder)) != before:
            before, changes = now, changes - 1
    time.sleep(delay)


def _sizes(folder: Path) -> dict[str, int]:
    """Return the size of every file below a folder, quickly."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = f"{place}/{name}"
            try:
                found[path] = os.stat(path).st_size  # noqa: PTH116
            except FileNotFoundError:  # renamed or removed since
                found[path] = -1
    return found


def _difference(found: dict[str, str], expected: dict[str, str]) -> str:
    missing, more = expected.keys() - found.keys(), found.keys() - expected.keys()
    other = [name for name in found.keys() & expected.keys() if found[name] != expected[name]]
    return f"missing {sorted(missing)}, left over {sorted(more)}, changed {sorted(other)}"
