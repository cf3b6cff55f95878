"""Speed: a share of the sentence model's, measured in turn."""

from pathlib import Path
from typing import Any

import pytest
import torch
from tests.invariants import tiny

from docaps.experiments import measure as speed
from docaps.experiments.measure import relative_speed


@pytest.mark.parametrize("system", ["transformer", "han"])
def test_a_system_is_timed_against_the_sentence_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, system: str
) -> None:
    monkeypatch.setattr(speed, "ROUNDS", 1)
    monkeypatch.setattr(speed, "STEPS", 1)
    recipe = tiny.recipe(stage__document__system=system)
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    found = relative_speed(recipe, "document", tiny.prepared(tmp_path))
    assert 0 < found < 100  # whatever the machine does meanwhile
    assert torch.equal(torch.rand(1), expected)  # what is drawn elsewhere is left alone


def test_the_share_is_the_median_of_what_the_system_does_and_the_sentence_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paces = {"transformer": iter([1.0, 100, 200, 100, 100, 50]), "han": iter([9.0, 40, 40, 40, 20, 40])}
    made: dict[int, str] = {}
    plain = speed._Pace.__init__

    def note(pace: speed._Pace, recipe: Any, system: Any, *rest: Any) -> None:
        made[id(pace)] = system.name
        plain(pace, recipe, system, *rest)

    monkeypatch.setattr(speed._Pace, "__init__", note)
    monkeypatch.setattr(speed._Pace, "measure", lambda pace: next(paces[made[id(pace)]]))
    recipe = tiny.recipe(stage__document__system="han")
    assert relative_speed(recipe, "document", tiny.prepared(tmp_path)) == pytest.approx(0.4)
