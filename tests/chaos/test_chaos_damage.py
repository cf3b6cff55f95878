"""Damaged run directories and corpora: a command succeeds or says what is wrong, in bounded time and memory."""

import os
from pathlib import Path

import pytest
from tests.chaos.campaign import Campaign
from tests.chaos.conftest import Begin
from tests.chaos.damaged_directories import explore, judge, make_directories
from tests.chaos.damaging import KINDS, Damage
from tests.chaos.killing import fingerprint
from tests.chaos.launcher import Ended, Launcher


@pytest.mark.stress
def test_some_damages_are_survived(launcher: Launcher, begin: Begin, tmp_path: Path) -> None:
    made = make_directories(launcher, tmp_path / "undamaged", ("translate", "train", "train again"))
    campaign = begin("damage", long=False)
    explore(campaign, made, tmp_path, examples=8)
    assert 0 < campaign.counts["refused"] <= 8
    campaign.conclude()


@pytest.mark.stress
def test_many_damages_are_survived(launcher: Launcher, begin: Begin, tmp_path: Path) -> None:
    made = make_directories(launcher, tmp_path / "undamaged")
    campaign = begin("damage", long=True)
    explore(campaign, made, tmp_path)
    campaign.conclude()


JUDGED = [
    (None, "hangs"),
    (Ended(-11, 100, "", ""), "ended with code -11"),
    (Ended(1, 100, "", "Traceback (most recent call last):\n"), "Traceback"),
    (Ended(1, 100, "", "something\n"), "no message"),
    (Ended(1, 1000, "", "docaps: x\n"), "took 1000 MiB, 100 if nothing is damaged"),
    (Ended(1, 100, "", "docaps: \x1b[31mx\n"), "control character '\\x1b'"),
]


@pytest.mark.parametrize(("ended", "message"), JUDGED, ids=[message for _, message in JUDGED])
def test_a_bad_end_is_a_fault(ended: Ended | None, message: str) -> None:
    assert [what for what in judge(ended, 100) if message in what]


def test_success_and_a_message_are_no_faults() -> None:
    assert judge(Ended(0, 120, "out", "read: 3 (0.1 s)\n"), 100) == []
    assert judge(Ended(1, 90, "", "docaps: run.json: not valid JSON\n"), 100) == []


@pytest.mark.parametrize("kind", [*KINDS, "exchange"])
def test_every_damage_changes_a_file(kind: str, tmp_path: Path) -> None:
    for number in range(30):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "a.json").write_text('{"a": [1, {"b": null}], "c": "d"}')
        (folder / "b.json").write_text("{}")
        before = fingerprint(folder)
        Damage(kind, "a.json", number * 7 + 1, "1e400").apply(folder, ["a.json", "b.json"][1:])
        there = folder / "a.json"
        assert not os.path.lexists(there) or not there.is_file() or there.is_symlink() or fingerprint(folder) != before


@pytest.mark.stress
def test_a_planted_fault_is_found(launcher: Launcher, tmp_path: Path) -> None:
    made = make_directories(launcher, tmp_path / "undamaged", ("translate",))
    made.setup += "import docaps.cli.main\ndocaps.cli.main._guarded = lambda function, _: function\n"
    campaign = Campaign("planted", seed=1, seconds=60)
    explore(campaign, made, tmp_path, examples=6)
    assert "Traceback" in "\n".join(campaign.faults)
