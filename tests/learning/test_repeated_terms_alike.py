"""What a trained model translates in two ways is found by its own attention, and made alike on request."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.learning.repeated_terms import OTHER_NAME

ROOT = Path(__file__).parents[2]


@pytest.mark.stress
@pytest.mark.learning
def test_a_name_with_two_translations_is_reported_and_made_alike(tmp_path: Path) -> None:
    """In a process of its own, where shapes are not checked at every call."""
    command = [sys.executable, "-m", "tests.learning.repeated_terms", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    reported, enforced = map(json.loads, done.stdout.splitlines())
    different = [number for number, text in enumerate(reported["texts"]) if OTHER_NAME in text]
    assert different == [2]
    assert "1 term translated differently (sentences)\n  Zoo: Tierpark (1, " in reported["said"][0]
    assert reported["said"][0].endswith(f"{OTHER_NAME} (3)")
    assert "1 term made alike where they differed" in enforced["said"][0]
    assert "Tierpark" in enforced["texts"][2]
    assert OTHER_NAME not in enforced["texts"][2]
    assert [one for number, one in enumerate(enforced["texts"]) if number != 2] == [
        one for number, one in enumerate(reported["texts"]) if number != 2
    ]
