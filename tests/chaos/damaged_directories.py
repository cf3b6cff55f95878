"""Commands against damaged run directories and prepared corpora: success or a message, in bounded time and memory."""

import json
import re
import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.chaos.campaign import Campaign
from tests.chaos.damaging import Damage, damages
from tests.chaos.killed_commands import FIXTURE
from tests.chaos.killing import fingerprint
from tests.chaos.launcher import ROOT, Ended, Launched, Launcher
from tests.cli.calling import TINY

from docaps.files import sha256

PATIENCE = 60
"""Seconds after which a command hangs."""
MORE_MEMORY, MOST_MEMORY = 300, 3000
"""MiB that a command may take beyond what it takes for undamaged files; and what it is given at most."""
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]")
SETTINGS = [word for setting in TINY for word in ("--set", setting)]
TRAIN = ["train", "recipe.toml", "--corpus", "store", "--stage", "sentence", *SETTINGS]
COMMANDS: dict[str, list[str]] = {
    "translate": ["translate", "run", "story.en", "--beam", "1", "--format", "lines"],
    "translate in int8": ["translate", "run", "story.en", "--beam", "1", "--format", "lines", "--precision", "int8"],
    "score": ["score", "run", "story.en", "story.de", "--format", "lines"],
    "serve": ["serve", "run", "--port", "0"],
    "contrast": ["contrast", "run", "store/contrastive.jsonl"],
    "report": ["report", "run", "--corpus", "store", "--out", "report.html"],
    "diagnose": [
        *("diagnose", "run", "--corpus", "store", "--limit", "2", "--items", "2", "--no-bleu"),
        *("--draws", "100", "--out", "diagnosis.json"),
    ],
    "train": [*TRAIN, "--out", "new"],
    "train from a run": [*TRAIN, "--out", "new", "--init-from", "run"],
    "train again": [*TRAIN, "--out", "unfinished"],
    "corpus": ["corpus", "store"],
    "prepare": ["prepare", "--train", "story.en", "story.de", "--dev", "story.en", "story.de", "--out", "store"],
    "translate again": ["translate", "run", "story.en", "--format", "lines", "--out", "stopped", "--resume"],
}
READS = {
    "run": ("translate", "translate in int8", "score", "serve", "contrast", "report", "diagnose", "train from a run"),
    "store": ("train", "report", "diagnose", "corpus", "prepare", "contrast", "train again"),
    "unfinished": ("train again",),
    "recipe.toml": ("train",),
    "stopped.journal.json": ("translate again",),
    "stopped.partial": ("translate again",),
}
"""The commands that open each part of the folder."""
# A service that loads its models and stops; translation in small steps.
SETUP = """
import docaps.web.server
from docaps.translation import translator
docaps.web.server.run_server = lambda *_: True
translator.WINDOW = 2
"""


@dataclass
class Directories:
    """A folder with a finished run, an unfinished one, a prepared corpus and a stopped translation, to be copied."""

    launcher: Launcher
    folder: Path
    commands: dict[str, list[str]]
    peaks: dict[str, int] = field(default_factory=dict)
    setup: str = SETUP

    @property
    def names(self) -> list[str]:
        """All files that a command reads."""
        paths = (path for path in self.folder.rglob("*") if path.is_file() and "tensorboard" not in path.parts)
        names = (str(path.relative_to(self.folder)) for path in paths)
        return sorted(name for name in names if any(c in self.commands for c in READS.get(name.split("/")[0], ())))

    def run(self, name: str, folder: Path) -> Ended | None:
        """Run a command in a copy of the folder; None: it hangs."""
        return self.start(self.commands[name], folder).wait(PATIENCE)

    def start(self, words: list[str], folder: Path) -> Launched:
        """Start a command in a copy of the folder."""
        return self.launcher.start(words, cwd=folder, setup=self.setup, memory=MOST_MEMORY)

    def copy(self, folder: Path) -> Path:
        """Copy the folder, with a bystander beside it that links may point to."""
        bystander = folder / "bystander"
        bystander.mkdir(parents=True)
        (bystander / "file").write_text('{"tool": "another program"}\n')
        return Path(shutil.copytree(self.folder, folder / "copy" / "here", symlinks=True))


def make_directories(launcher: Launcher, folder: Path, chosen: Sequence[str] = tuple(COMMANDS)) -> Directories:
    """Make the folder, and measure each command on it undamaged."""
    shutil.copytree(FIXTURE / "document", folder / "run")
    shutil.copytree(FIXTURE / "prepared", folder / "store")
    shutil.copy(ROOT / "recipes" / "minidocs.toml", folder / "recipe.toml")
    for name, source in (("story.en", "source.en"), ("story.de", "reference.de")):
        shutil.copy(FIXTURE / source, folder / name)
    commands = {name: COMMANDS[name] for name in chosen}
    made = Directories(launcher, folder, commands)
    if "train again" in chosen:
        steps = _leave_unfinished(made)
        commands["train again"] = [*commands["train again"], "--steps", str(steps + 2)]
    if "translate again" in chosen:
        _leave_stopped(made)
    if "report" in chosen:
        _fill_run(made)
    for name in chosen:
        copy = made.copy(folder.parent / f"undamaged-{name.replace(' ', '-')}")
        ended = made.run(name, copy)
        assert ended is not None, f"{name} hangs"
        assert ended.code == 0, f"{name}: {ended.err}"
        made.peaks[name] = ended.peak
    return made


def _fill_run(made: Directories) -> None:
    """Add the files that commands leave in a finished run."""
    for words in (
        ["precision", "run", "story.en", "story.de"],
        ["report", "run", "--corpus", "store", "--out", "report.html"],
        ["contrast", "run", "store/contrastive.jsonl", "--keep", "own"],
        ["diagnose", "run", "--corpus", "store", "--no-bleu", "--draws", "100", "--out", "run/diagnosis.json"],
    ):
        made.launcher.finish(words, cwd=made.folder)
    (made.folder / "report.html").unlink()


def _leave_unfinished(made: Directories) -> int:
    """Train, and stop once there is something to resume; return the step that was reached."""
    changes = [f"stage.sentence.{setting}" for setting in ("save_every=2", "validate_every=2", "result=average")]
    more = [word for setting in changes for word in ("--set", setting)]
    made.commands["train again"] = [*made.commands["train again"], *more]
    state = made.folder / "unfinished" / "sentence" / "state.safetensors"
    launched = made.start([*made.commands["train again"], "--steps", "100000"], made.folder)
    while not (state.exists() and any(state.parent.glob("snapshots/*"))):
        assert launched.poll() is None, launched.err
        time.sleep(0.01)
    launched.signal(signal.SIGTERM, group=False)
    ended = launched.wait(PATIENCE)
    assert ended is not None
    assert ended.code == 143, ended.err
    found = re.search(r"the state of step (\d+) is saved", ended.err)
    assert found, ended.err
    return int(found[1])


def _leave_stopped(made: Directories) -> None:
    """Translate, and stop after the first sentences."""
    stopping = "from docaps.translation import jobs\nrecord = jobs.FileOutput.commit\n"
    stopping += "def commit(self, windows):\n    record(self, windows)\n    raise KeyboardInterrupt\n"
    setup = f"{SETUP}\n{stopping}jobs.FileOutput.commit = commit\n"
    launched = made.launcher.start(made.commands["translate again"], cwd=made.folder, setup=setup)
    ended = launched.wait(PATIENCE)
    assert ended is not None
    assert ended.code == 130, ended.err


def explore(campaign: Campaign, made: Directories, folder: Path, examples: int = 10**9) -> None:
    """Try damages until the time is over, or so many."""
    names = made.names
    cases = st.lists(damages(names), min_size=1, max_size=3)
    block = min(examples, 50)
    number = 0
    while not campaign.over and campaign.counts["damaged directories"] < examples:
        number += 1

        @seed(campaign.seed * 10_000 + number)
        @settings(
            max_examples=block,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(cases, st.integers(0, 2**16))
        def attempt(found: list[Damage], choice: int) -> None:
            if not campaign.over:
                _attempt(campaign, made, folder, found, choice)

        attempt()


def _attempt(campaign: Campaign, made: Directories, folder: Path, found: list[Damage], choice: int) -> None:
    """Damage a copy, run a command that reads the first damaged file, and judge how it ends."""
    readers = [name for name in READS[found[0].file.split("/")[0]] if name in made.commands]
    name = readers[choice % len(readers)]
    copy = made.copy(folder / "trial")
    try:
        for damage in found:
            damage.apply(copy, made.names)
        before = fingerprint(folder / "trial" / "bystander")
        must_fail = is_detectable(name, copy)
        ended = made.run(name, copy)
        where = f"{name} after {'; '.join(map(str, found))}"
        campaign.counts["damaged directories"] += 1
        campaign.counts["refused"] += ended is not None and ended.code == 1
        for what in judge(ended, made.peaks[name]):
            campaign.fault(where, what)
        if fingerprint(folder / "trial" / "bystander") != before:
            campaign.fault(where, "changed a file outside")
        if must_fail and ended is not None and ended.code == 0:
            campaign.fault(where, f"did not notice that {must_fail} is damaged")
        left = [path.name for path in copy.rglob("*.partial") if path.name != "stopped.partial"]
        if left:
            campaign.fault(where, f"left {left}")
    finally:
        shutil.rmtree(folder / "trial")


def judge(ended: Ended | None, usual_peak: int) -> list[str]:
    """Return what is wrong with how a command ended."""
    if ended is None:
        return ["hangs"]
    found = []
    if ended.code not in (0, 1) or "Traceback" in ended.err:
        found.append(f"ended with code {ended.code}: {ended.said}")
    elif ended.code == 1 and not any(line.startswith("docaps: ") for line in ended.err.splitlines()):
        found.append(f"no message: {ended.err[-500:]}")
    if ended.peak > usual_peak + MORE_MEMORY:
        found.append(f"took {ended.peak} MiB, {usual_peak} if nothing is damaged")
    if control := CONTROL.search(ended.err):
        found.append(f"the message has the control character {control[0]!r}: {ended.err[-500:]!r}")
    return found


def is_detectable(name: str, copy: Path) -> str:
    """Return the name of a damaged file that a command must refuse: weights, or the ids that it trains on; else ''."""
    if name in ("translate", "score", "serve") and _is_changed(
        copy / "run" / "model.safetensors", FIXTURE / "document"
    ):
        return "model.safetensors"
    if name == "train":
        listed = json.loads((FIXTURE / "prepared" / "manifest.json").read_text(encoding="utf-8"))["files"]
        parts = (file for file in listed if file.startswith(("train.", "dev.")) and file.endswith(".npy"))
        return next((file for file in parts if _is_changed(copy / "store" / file, FIXTURE / "prepared")), "")
    return ""


def _is_changed(path: Path, original: Path) -> bool:
    return not path.is_file() or sha256(path) != sha256(original / path.name)
