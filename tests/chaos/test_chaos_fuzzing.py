"""The parsers that read most foreign bytes, under a coverage-guided fuzzer."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from tests.chaos.attacks import mutate
from tests.chaos.campaign import Campaign
from tests.chaos.conftest import Begin
from tests.chaos.parsers import ROOT, TARGETS, seeds

LIMITS = ("-timeout=20", "-rss_limit_mb=2500", "-print_final_stats=1")
needs_atheris = pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_and_their_mutations_pass(name: str) -> None:
    chance = Random(1)
    for seed in seeds(name):
        TARGETS[name](seed)
        for _ in range(10):
            data = bytearray(seed)
            mutate(data, chance)
            TARGETS[name](bytes(data))


def fuzz(campaign: Campaign, name: str, folder: Path, *options: str, code: str = "") -> None:
    """Run a target under the fuzzer in a process of its own; count the inputs, and note an input that fails."""
    corpus = folder / name
    corpus.mkdir()
    for number, seed in enumerate(seeds(name)):
        (corpus / str(number)).write_bytes(seed)
    script = f"{code}\nfrom tests.chaos import parsers\nparsers.main()"
    places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", script, name, *LIMITS, *options, f"-artifact_prefix={folder}/", str(corpus)],
        capture_output=True,
        check=False,
        cwd=folder,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(places)},
    )
    said = (done.stdout + done.stderr).decode(errors="replace")
    executed = re.search(r"number_of_executed_units: (\d+)", said)
    campaign.counts["inputs"] += int(executed[1]) if executed else 0
    campaign.counts[f"inputs of {name}"] += int(executed[1]) if executed else 0
    if done.returncode or not executed:
        lines = [line for line in said.splitlines() if not line.startswith(("INFO", "#", "WARNING"))]
        campaign.fault(name, "\n".join(lines[-60:]))


@needs_atheris
def test_the_fuzzer_runs_and_finds_a_planted_fault(begin: Begin, tmp_path: Path) -> None:
    campaign = begin("fuzzing", long=False)
    fuzz(campaign, "documents", tmp_path, "-runs=300", "-seed=1")
    campaign.conclude()
    assert campaign.counts["inputs"] >= 300
    (tmp_path / "again").mkdir()
    planted = "from docaps.corpus.formats import registry\nregistry.is_object = lambda line: 1 / len(line.strip('{'))\n"
    other = Campaign("planted", seed=1, seconds=60)
    fuzz(other, "documents", tmp_path / "again", "-runs=20000", "-seed=1", code=planted)
    assert "ZeroDivisionError" in other.faults[0]


@needs_atheris
@pytest.mark.stress
def test_parsers_withstand_many_inputs(begin: Begin, tmp_path: Path) -> None:
    campaign = begin("fuzzing", long=True)
    for name in TARGETS:
        seconds = max(1, round(campaign.seconds / len(TARGETS)))
        fuzz(campaign, name, tmp_path, f"-max_total_time={seconds}", f"-seed={campaign.seed + 1}")
    campaign.conclude()
