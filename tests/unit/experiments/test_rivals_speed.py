"""Speed: a share of the sentence model's, measured in turn."""

from pathlib import Path

import pytest
import torch
from tests.invariants import tiny

from docaps.experiments import speed
from docaps.experiments.speed import relative_speed


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
    assert 0 < found < 100
    assert torch.equal(torch.rand(1), expected)  # what is drawn elsewhere is left alone
