"""Context models learn a task that needs earlier sentences; the demo reaches its figures (stress)."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.calling import finish

ROOT = Path(__file__).parents[2]
STRESS = pytest.mark.stress
"""Of the variants of a system: one is trained in every test run, the others in `make stress`."""


def train_and_test(system: str, *words: str, **tables: dict[str, object]) -> list[float]:
    """Train a tiny model in a process of its own, where shapes are not checked at every call."""
    command = [sys.executable, "-m", "tests.learning.pronouns", system, json.dumps(tables), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


@pytest.mark.learning
def test_a_document_model_learns_a_task_that_needs_the_history() -> None:
    assert train_and_test("qcn+reg")[0] > 0.95


@pytest.mark.learning
@pytest.mark.parametrize(
    "system", ["qcn-shuffled", *(pytest.param(name, marks=STRESS) for name in ("transformer", "qcn-noise"))]
)
def test_models_that_do_not_see_the_history_cannot(system: str) -> None:
    assert train_and_test(system)[0] < 0.45


@pytest.mark.learning
@pytest.mark.parametrize(
    ("system", "tables"),
    [
        ("zhang", {}),
        pytest.param("han", {"han": {"side": "encoder"}}, marks=STRESS),
        pytest.param("han", {"han": {"side": "decoder"}}, marks=STRESS),
        pytest.param("han", {"han": {"side": "joint"}}, marks=STRESS),
        ("san", {}),
        pytest.param("concat", {}, marks=STRESS),
        pytest.param("concat", {"concat": {"mode": "2-to-2"}, "history": {"sentences": 1}}, marks=STRESS),
        ("concat", {"concat": {"mode": "n-to-n", "discount": 0.01, "shift": 4}}),
        pytest.param("concat", {"concat": {"mode": "n-to-n", "segments": True}}, marks=STRESS),
    ],
)
def test_every_rival_learns_it(system: str, tables: dict[str, dict[str, object]]) -> None:
    assert train_and_test(system, **tables)[0] > 0.95


TWO_TO_TWO = {"concat": {"mode": "2-to-2"}, "history": {"sentences": 1}}
N_TO_N = {"concat": {"mode": "n-to-n", "discount": 0.01, "shift": 4}}


@pytest.mark.learning
@pytest.mark.parametrize(
    ("system", "tables"),
    [
        pytest.param("han", {"han": {"side": "decoder"}}, marks=STRESS),
        pytest.param("han", {"han": {"side": "joint"}}, marks=STRESS),
        pytest.param(  # drafts cannot know it
            "san", {"san": {"side": "decoder", "translations": "given", "memory": "current"}}, marks=STRESS
        ),
        pytest.param("concat", TWO_TO_TWO, marks=STRESS),
        ("concat", N_TO_N),
        pytest.param("qcn", {"qcn": {"normalise": True, "sides": "both"}}, marks=STRESS),
        ("qcn", {"qcn": {"normalise": True, "sides": "target", "reads": "states", "attends": "decoder"}}),
    ],
)
def test_systems_that_read_translations_keep_a_free_choice(system: str, tables: dict[str, dict[str, object]]) -> None:
    assert train_and_test(system, "free", **tables)[0] > 0.95


@pytest.mark.learning
@pytest.mark.parametrize("system", ["qcn", *(pytest.param(name, marks=STRESS) for name in ("zhang", "concat"))])
def test_systems_that_read_the_source_only_cannot(system: str) -> None:
    assert train_and_test(system, "free")[0] < 0.45


@pytest.mark.stress
def test_selective_attention_to_drafts_learns_it() -> None:
    """Drafts of a model that has learnt to write a pronoun and nothing else."""
    assert train_and_test("san", san={"side": "decoder"})[0] > 0.9


@pytest.mark.learning
@pytest.mark.parametrize(
    "reading",
    [
        pytest.param(
            {"reads": "states", "gradient_to_states": True, "attends": "both", "start": "identity"}, marks=STRESS
        ),
        {"current": True},
        pytest.param({"sharpness": "learned", "distances": True, "start": "parts"}, marks=STRESS),
    ],
    ids=str,
)
def test_every_reading_learns_it(reading: dict[str, object]) -> None:
    assert train_and_test("qcn", qcn={"normalise": True, **reading})[0] > 0.95


@pytest.mark.stress
@pytest.mark.learning
def test_lower_precision_keeps_the_accuracy() -> None:
    float32, bfloat16, int8 = train_and_test("qcn+reg", "precisions")
    assert float32 > 0.95
    assert bfloat16 >= float32 - 0.003
    assert int8 >= float32 - 0.003


def train_and_diagnose(folder: Path, *words: str) -> dict[str, Any]:
    """Train on documents with their own or with shuffled histories; diagnose on documents with their own."""
    command = [sys.executable, "-m", "tests.learning.histories", str(folder), *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def verdicts(found: dict[str, Any]) -> dict[str, str]:
    """Return the verdict on each phenomenon: on the word that is decided earlier, and on one that is not."""
    return {one["phenomenon"]: one["verdict_code"] for one in found["phenomena"]}


@pytest.mark.learning
def test_a_model_that_learnt_from_its_histories_is_found_to_use_them(tmp_path: Path) -> None:
    found = train_and_diagnose(tmp_path, "own")
    assert found["verdict_code"] == "used"
    assert found["verdict"].startswith("context lowers perplexity by ")
    assert "gain comes from distances 1 and 2" in found["verdict"]
    assert found["against"]["name"] == "sentence"
    assert verdicts(found) == {"decided": "used", "control": "not_used"}


@pytest.mark.learning
def test_a_model_that_was_trained_with_shuffled_histories_is_found_to_use_none(tmp_path: Path) -> None:
    found = train_and_diagnose(tmp_path, "shuffled")
    assert (found["verdict"], found["verdict_code"]) == ("context not used", "not_used")
    assert found["reason"] != "untrained"
    assert verdicts(found) == {"decided": "not_used", "control": "not_used"}


@pytest.mark.stress
@pytest.mark.learning
@pytest.mark.parametrize(("system", "verdict"), [("concat", "used"), pytest.param("qcn", "not_used", marks=STRESS)])
def test_who_keeps_a_free_choice_is_found_to_use_context_by_likelihood_alone(
    system: str, verdict: str, tmp_path: Path
) -> None:
    found = train_and_diagnose(tmp_path, "free", system)
    assert found["choices"] is None
    assert found["verdict_code"] == verdict
    assert verdicts(found) == {"decided": verdict, "control": "not_used"}


def train_on_wordings(folder: Path, system: str, *settings: str) -> dict[str, Any]:
    """Train on mini-documents whose wording only earlier translations decide; return right choices and verdict."""
    command = [sys.executable, "-m", "tests.learning.wordings", str(folder), system, json.dumps(settings)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


@pytest.mark.stress
def test_a_free_wording_is_kept_by_concatenation_of_both_sides(tmp_path: Path) -> None:
    settings = ("concat.mode=n-to-n", "concat.discount=0.01", "concat.shift=8", "stage.document.learning_rate=3e-3")
    found = train_on_wordings(tmp_path, "concat", *settings)
    assert min(found["by_distance"].values()) > 0.9
    assert found["verdict_code"] == "used"


KEEPERS = {
    "both": ("qcn.sides=both", "qcn.attends=decoder", "stage.document.steps=2400"),
}
"""Readings of the QCN that see earlier translations, and the steps that each needs."""


@pytest.mark.stress
@pytest.mark.parametrize("reading", KEEPERS)
def test_a_free_wording_is_kept_by_capsules_of_translations(reading: str, tmp_path: Path) -> None:
    found = train_on_wordings(tmp_path, "qcn", *KEEPERS[reading])
    assert min(found["by_distance"].values()) > 0.9
    assert found["verdict_code"] == "used"


@pytest.mark.stress
@pytest.mark.parametrize("system", ["qcn", "concat"])
def test_a_free_wording_is_a_guess_on_the_source_side(system: str, tmp_path: Path) -> None:
    assert train_on_wordings(tmp_path, system)["all"] == pytest.approx(0.5, abs=0.02)


@pytest.mark.stress
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_demo_reaches_its_figures(seed: int, tmp_path: Path) -> None:
    result = finish("demo", "--dir", tmp_path / "demo", "--seed", str(seed), "--json", threads=None)
    assert result.code == 0, result.err
    summary = json.loads(result.out)
    document, sentence, chance = (summary[key] for key in ("document", "sentence", "chance"))
    assert document["contrastive"]["all"] >= 0.97
    assert len(chance["by_phenomenon"]) == 5
    for name, share in chance["by_phenomenon"].items():
        assert document["contrastive"]["by_phenomenon"][name] >= 0.94
        assert sentence["contrastive"]["by_phenomenon"][name] == pytest.approx(share, abs=1e-9)
    assert document["bleu"] > sentence["bleu"]
    assert summary["seconds"]["train"] < 300
    assert summary["seconds"]["total"] < 360


@pytest.mark.stress
def test_the_same_seed_gives_the_same_table_twice(tmp_path: Path) -> None:
    steps = ["--set", "stage.sentence.steps=300", "--set", "stage.document.steps=300"]
    tables = []
    for name in ("one", "two"):
        result = finish("demo", "--dir", tmp_path / name, "--json", *steps, threads=None)
        assert result.code == 0, result.err
        summary = json.loads(result.out)
        tables.append({key: summary[key] for key in ("sentence", "document", "chance")})
    assert tables[0] == tables[1]
