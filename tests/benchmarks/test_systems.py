"""What document systems keep of the sentence model's speed, in training and in translating."""

import pytest
from tests.benchmarks.test_benchmarks import run


@pytest.mark.stress
def test_training_prints_shares_and_ceilings() -> None:
    ratios = run("systems.py", "--systems", "zhang", "--tokens", "100", "--repeats", "1", threads=1)
    formats = ("float32", "bfloat16")
    assert ratios.keys() == {f"zhang_{name}_{what}" for name in formats for what in ("keeps", "ceiling")}
    # Context attention needs more products than the plain model, and fewer than four times as many.
    assert all(0.25 < ratios[f"zhang_{name}_ceiling"] < 1 for name in formats)


@pytest.mark.stress
def test_translating_prints_shares() -> None:
    few = ["--systems", "qcn_decoder", "--documents", "2", "--sentences", "1", "--repeats", "1", "--threads", "1"]
    assert run("documents.py", *few, threads=1).keys() == {"qcn_decoder_keeps"}


@pytest.mark.stress
def test_training_keeps_its_promises() -> None:
    ratios = run("systems.py")
    for name in ("float32", "bfloat16"):
        assert ratios[f"han_{name}_keeps"] >= 0.7
        assert ratios[f"san_{name}_keeps"] >= 0.7
        assert ratios[f"zhang_{name}_keeps"] >= 0.9 * ratios[f"zhang_{name}_ceiling"]
