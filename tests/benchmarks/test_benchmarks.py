"""Every benchmark ends with one line of JSON; `make stress` checks the figures against their documented values.

No other test looks at a time: on a busy machine, any bound of it fails sooner or later.
"""

import importlib
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

from docaps.model.context import states
from docaps.model.mixed_precision import has_native_bfloat16

ROOT = Path(__file__).parents[2]
PARTS = {"measuring.py", "peers.py", "sentences.py", "translators.py"}  # of other scripts
SCRIPTS = sorted(path for path in (ROOT / "benchmarks").glob("*.py") if path.name not in PARTS)


def run(script: str, *arguments: str, threads: int | None = None) -> dict[str, float]:
    """Run a benchmark in a process of its own and read its last line."""
    environment = os.environ | ({"OMP_NUM_THREADS": str(threads)} if threads else {})
    command = [sys.executable, str(ROOT / "benchmarks" / script), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    ratios = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(ratios, dict)
    return ratios


def test_routing_prints_its_ratios() -> None:
    ratios = run("routing.py", "--sentences", "2", "--repeats", "5", threads=1)
    assert {"speedup", "speedup_sentence", "memory_ratio"} <= set(ratios)
    assert ratios["memory_ratio"] < 0.5  # memory does not depend on what else the machine does


@pytest.mark.parametrize("config", ["base", pytest.param("qcn", marks=pytest.mark.stress)])
def test_training_alone_prints_its_speed(config: str) -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "training.py"), "--ours", "--config", config]
    command += ["--tokens", "40", "--batches", "1", "--seconds", "0.1", "--threads", "1", "--dtype", "bf16"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    word, result = done.stdout.splitlines()[-1].split(maxsplit=1)
    assert word == "RESULT"
    assert json.loads(result)["tok_s"] > 0


def test_decoding_prints_its_ratios() -> None:
    sizes = ["--scale", "16", "--sentences", "4", "--repeats", "1", "--threads", "1", "--tasks", "beam4"]
    ratios = run("decoding.py", *sizes, "--ours", threads=1)
    assert ratios["qcn_keeps"] > 0
    assert ratios["beam4_vs_ctranslate2_int8"] is None


@pytest.mark.stress
def test_decoding_of_an_imported_model_prints_its_ratios() -> None:
    pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed (docaps[dev])")
    sizes = ["--scale", "16", "--sentences", "4", "--repeats", "1", "--threads", "1", "--tasks", "single"]
    ratios = run("decoding.py", "--marian", *sizes, threads=1)
    assert ratios["marian_single_vs_ctranslate2_int8"] > 0
    assert ratios["marian_beam4_vs_ctranslate2_int8"] is None


@pytest.mark.stress
def test_the_cost_of_a_reading_is_printed() -> None:
    sizes = ["--scale", "16", "--dtypes", "float32", "--tokens", "50", "--repeats", "1"]
    ratios = run("step.py", "--readings", "current", *sizes, "--sampling", "sentences", threads=1)
    assert ratios.keys() == {"current_speed_float32", "current_memory_float32"}
    assert all(ratio > 0 for ratio in ratios.values())


def test_sentences_share_their_histories_in_batches_of_documents_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    step = importlib.import_module("step")
    shared = {}
    for name, make in step.SAMPLINGS.items():
        batch = make(500, step.HISTORY_LENGTH)
        assert batch.source.shape == (10, step.LENGTH)
        assert batch.target_history.shape == batch.history.shape
        shared[name] = len(states.distinct(batch.history)[0])
    assert shared == {"documents": 10, "sentences": 30}  # each sentence but the last, and padding


@pytest.mark.stress
def test_the_cost_of_each_reading_is_printed() -> None:
    ratios = run("step.py", "--readings", "--scale", "16", "--tokens", "50", "--repeats", "1", threads=1)
    assert all(ratio > 0 for ratio in ratios.values())
    names = ("states", "target", "both-sides", "current")
    assert {f"{name}_speed_{dtype}" for name in names for dtype in ("float32", "bfloat16")} <= ratios.keys()


def test_scoring_prints_its_ratios() -> None:
    sizes = ["--sizes", "small", "--sentences", "6", "--tasks", "contrast", "--precision", "bfloat16", "--threads", "1"]
    ratios = run("scoring.py", *sizes, threads=1)
    assert ratios.keys() == {"small_contrast_bfloat16"}


@pytest.mark.stress
def test_dropout_prints_its_ratios() -> None:
    sizes = ["--sizes", "small", "--dtypes", "bfloat16", "--tokens", "40", "--batches", "1", "--threads", "1"]
    assert run("dropout.py", *sizes, threads=1).keys() == {"small_bfloat16"}


def test_the_cost_of_control_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    text = tmp_path / "text.en"
    text.write_text("Anna bought a coat.\nZebras graze.\n", encoding="utf-8")
    fixture = ROOT / "tests" / "fixtures" / "run-0.1" / "document"
    words = ["control.py", str(fixture), "--data", str(text), "--sentences", "1", "--repeats", "1"]
    monkeypatch.setattr(sys, "argv", words)
    importlib.import_module("control").main()
    said = capsys.readouterr().out
    assert said.startswith("glossary: 1 sentences, 1 with terms: ")
    assert re.search(r"rare: 0\.\d{3} of 6 words in ", said)


def test_peers_drop_the_same_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    peers = importlib.import_module("peers")
    shared = {"vocabulary": 9, "layers": 1, "size": 8, "feed_forward": 16, "heads": 2, "smoothing": 0.1}
    sizes = peers.Sizes(**shared, dropout=0.3, clip=1.0, rate=1e-3)
    model = peers.TorchTransformer(sizes)
    rates = [module.p for module in model.modules() if isinstance(module, nn.Dropout)]
    rates += [module.dropout for module in model.modules() if isinstance(module, nn.MultiheadAttention)]
    assert set(rates) == {0.3}
    if peers.has_marian():
        config = peers.Marian(sizes).model.config
        assert [config.dropout, config.attention_dropout, config.activation_dropout] == [0.3] * 3


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_every_benchmark_explains_itself(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(script.parent))
    monkeypatch.setattr("sys.argv", [str(script), "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert "--repeats" in shown
    assert "--data" in shown


@pytest.mark.stress
def test_the_memory_of_the_driver_is_flat() -> None:
    figures = run("cluster.py", "--tiny", "--sentences", "1500", "--repeats", "1", "--files", "6000,46000")
    assert figures["driver_bytes_per_file"] < 200  # a list of the names alone has 260
    assert figures["translate_growth"] > 0
    assert figures["prepare_growth"] > 0
    assert figures["look"] < 1  # the command takes one each second


@pytest.mark.stress
def test_routing_keeps_its_promises() -> None:
    ratios = run("routing.py")
    assert ratios["speedup"] >= 5
    assert ratios["speedup_sentence"] >= 2
    assert ratios["memory_ratio"] <= 1 / 3
    assert ratios["memory_doubled_capsules"] < 1.1


@pytest.mark.stress
def test_training_keeps_its_promises() -> None:
    ratios = run("training.py")
    assert ratios["padding"] <= 0.05
    if ratios["float32_vs_marian"] is None:
        pytest.skip("Hugging Face Marian is not installed")
    assert ratios["float32_vs_marian"] >= 1.15
    if has_native_bfloat16(torch.device("cpu")):
        assert ratios["bfloat16_vs_marian"] >= 1.8


@pytest.mark.stress
def test_decoding_keeps_its_promises() -> None:
    ratios = run("decoding.py")
    assert ratios["qcn_keeps"] >= 0.9
    if ratios["beam4_vs_ctranslate2_int8"] is None:
        pytest.skip("CTranslate2 is not installed")
    assert ratios["beam4_vs_ctranslate2_int8"] >= 1.3
    assert ratios["greedy_vs_ctranslate2_int8"] >= 1.0
    assert ratios["single_vs_ctranslate2_float32"] >= 1.0


@pytest.mark.stress
def test_scoring_keeps_its_promises() -> None:
    ratios = run("scoring.py", "--sizes", "small")
    for task in ("score", "contrast", "diagnose"):
        fastest = max(value for name, value in ratios.items() if name.startswith(f"small_{task}_"))
        assert fastest >= 4


@pytest.mark.stress
def test_a_translation_starts_soon_after_torch() -> None:
    assert run("startup.py")["translate_seconds_after_torch"] <= 0.5


@pytest.mark.stress
def test_decoding_of_an_imported_model_keeps_its_promises() -> None:
    ratios = run("decoding.py", "--marian")
    if ratios["marian_beam4_vs_ctranslate2_int8"] is None:
        pytest.skip("CTranslate2 is not installed")
    assert ratios["marian_beam4_vs_ctranslate2_int8"] >= 1.2
    assert ratios["marian_greedy_vs_ctranslate2_int8"] >= 1.0
    assert ratios["marian_single_vs_ctranslate2_int8"] >= 1.0


@pytest.mark.stress
def test_a_training_step_keeps_its_promises() -> None:
    ratios = run("step.py")
    assert ratios["tokens_per_second_float32"] >= 0.85
    assert ratios["tokens_per_second_bfloat16"] >= 0.80
    assert ratios["long_history_gb_of_budget"] <= 1


@pytest.mark.stress
def test_readings_of_the_regulariser_cost_nothing() -> None:
    ratios = run("readings.py")
    assert min(ratios.values()) >= 0.95


@pytest.mark.stress
def test_dropout_everywhere_keeps_its_promises() -> None:
    ratios = run("dropout.py", "--dtypes", "bfloat16")
    assert min(ratios.values()) >= 0.95


@pytest.mark.stress
def test_preparation_keeps_its_promises() -> None:
    ratios = run("preparation.py")
    assert ratios["speedup"] >= 2
    assert ratios["peak_memory_gb"] <= 1.5
