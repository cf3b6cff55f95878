"""However often and whenever a command is killed, it ends with the result of one that nothing disturbed."""

import signal
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.chaos import killed_service, killing
from tests.chaos import launcher as launching
from tests.chaos.campaign import Campaign
from tests.chaos.conftest import Begin
from tests.chaos.killed_commands import KilledPreparation, KilledTraining, KilledTranslation
from tests.chaos.killing import KilledCommand, kill_at_random
from tests.chaos.launcher import Launcher

Trial = Callable[[Campaign, Path], None]


def trials(launcher: Launcher, folder: Path, *, long: bool) -> list[Trial]:
    """Return what can be tried: each command, and the service, killed in a folder."""
    commands: list[KilledCommand] = [
        KilledTraining(folder / "corpus", 16 if long else 8),
        KilledPreparation(launcher, folder / "preparation", 120 if long else 30),
        KilledTranslation(folder / "file", 60 if long else 20, files=False),
        KilledTranslation(folder / "files", 60 if long else 20, files=True),
    ]
    for number, command in enumerate(commands):
        command.measure(launcher, folder / f"undisturbed-{number}")
    expected = killed_service.undisturbed_answers(launcher, folder / "service")
    return [
        *(
            lambda campaign, place, command=each: kill_at_random(campaign, launcher, command, place)
            for each in commands
        ),
        lambda campaign, place: killed_service.kill_service(campaign, launcher, expected, place),
    ]


@pytest.mark.stress
def test_each_command_is_killed_once(
    launcher: Launcher, begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(killing, "MOST_KILLS", 1)
    all_of_them = trials(launcher, tmp_path, long=False)
    campaign = begin("killing", long=False)
    for number, trial in enumerate(all_of_them):
        trial(campaign, tmp_path / f"trial-{number}")
    assert campaign.counts["kills"] >= 2
    campaign.conclude()


@pytest.mark.stress
def test_commands_may_be_killed_at_any_moment(launcher: Launcher, begin: Begin, tmp_path: Path) -> None:
    all_of_them = trials(launcher, tmp_path, long=True)
    campaign = begin("killing", long=True)
    for number in count():
        if campaign.over:
            break
        campaign.chance.choice(all_of_them)(campaign, tmp_path / f"trial-{number}")
    campaign.conclude()


PLANTED = {
    "half-written: out": "from docaps.translation import jobs\njobs.partial = lambda path: path\n",
    "left the processes": "import subprocess\nsubprocess.Popen(['sleep', '60'])\n",
    "Traceback": "from docaps import interruption\ninterruption._interrupt = lambda *_: {}['planted']\n",
    "ends with another result": """
from docaps.translation import jobs
write = jobs.FileOutput.write
jobs.FileOutput.write = lambda self, content: write(self, content + (b"again" if jobs.FileOutput.resumed else b""))
jobs.FileOutput.resumed, resume = False, jobs.FileOutput.resume
def marked(self):
    jobs.FileOutput.resumed = True
    resume(self)
jobs.FileOutput.resume = marked
""",
}
"""Code that breaks the command in one way, and what the harness must say of it."""


@pytest.mark.stress
@pytest.mark.parametrize("message", PLANTED)
def test_a_planted_fault_is_found(
    launcher: Launcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str
) -> None:
    command = KilledTranslation(tmp_path / "texts", 40, files=False)
    command.measure(launcher, tmp_path / "undisturbed")
    monkeypatch.setattr(killing, "SIGNALS", (signal.SIGTERM if message == "Traceback" else signal.SIGKILL,))
    monkeypatch.setattr(launching, "GRACE", 0.5)
    monkeypatch.setattr(killing, "MOST_CHANGES", 6)
    command.setup += PLANTED[message]
    campaign = Campaign("planted", seed=1, seconds=30)
    for number in count():
        if campaign.over or campaign.faults:
            break
        kill_at_random(campaign, launcher, command, tmp_path / f"trial-{number}")
    assert message in "\n".join(campaign.faults)
