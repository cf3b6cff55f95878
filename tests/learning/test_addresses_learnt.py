"""A model that is trained with tags translates as the tag says."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.learning.addresses import VERBS

ROOT = Path(__file__).parents[2]


@pytest.mark.stress
@pytest.mark.learning
def test_a_model_learns_to_address_people_as_the_tag_says(tmp_path: Path) -> None:
    """In a process of its own, where shapes are not checked at every call."""
    command = [sys.executable, "-m", "tests.learning.addresses", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    informal = [f"Du {verb}" for _, verb, _ in VERBS]
    assert done.stdout.splitlines() == [*informal, *(f"Sie {verb}" for _, _, verb in VERBS)]
