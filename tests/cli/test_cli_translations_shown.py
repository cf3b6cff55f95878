"""`diagnose` and `contrast` of a model that reads translations of the history: shown the references, or its own."""

import json
from pathlib import Path

import pytest
from tests.cli.calling import docaps, succeed
from tests.invariants import tiny

from docaps.corpus.contrastive import ContrastiveItem, write_items
from docaps.training.stages import train_recipe

QUICK = ("--no-bleu", "--draws", "100", "--shuffles", "1", "--limit", "2")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    changes = {"stage__document__system": "concat", "concat__mode": "n-to-n", "concat__discount": 0.1}
    train_recipe(tiny.recipe(**changes), tiny.prepared(folder), folder / "runs")
    return folder / "runs" / "document"


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("items") / "set.jsonl"
    known = {"source": "it ran", "history": ("the cat sat",), "target_history": ("die Katze saß",)}
    named = [{"id": str(number), "document": str(number), **known} for number in range(3)]
    write_items(path, [ContrastiveItem(right="sie lief", wrong=("er lief",), **one) for one in named])
    return path


def test_a_diagnosis_says_which_translations_it_showed(run: Path) -> None:
    assert "Histories are shown with reference translations." in succeed("diagnose", run, *QUICK).out
    own = succeed("diagnose", run, *QUICK, "--translations", "own").out
    assert "Histories are shown with the model's own translations." in own
    assert "|translations:own|" in own
    found = [
        json.loads(succeed("diagnose", run, *QUICK, "--json", "--translations", one).out)
        for one in ("reference", "own")
    ]
    assert [one["translations"] for one in found] == ["reference", "own"]
    reference, own = ({row["condition"]: row["perplexity"] for row in one["conditions"]} for one in found)
    assert reference["none"] == own["none"]
    assert reference["true"] != own["true"]
    assert reference["shuffled"] != own["shuffled"]


def test_a_contrastive_test_says_which_translations_it_showed(run: Path, items: Path) -> None:
    shown = succeed("contrast", run, items, "--examples", "3")
    assert "Translations of the history: those of the set." in shown.out
    own = succeed("contrast", run, items, "--translations", "own")
    assert "Translations of the history: the model's own." in own.out
    assert f"--set jsonl {items} --translations own --no-context" in own.err.replace("\n", " ")
    found = [
        json.loads(succeed("contrast", run, items, "--json", "--translations", one).out) for one in ("reference", "own")
    ]
    assert [one["translations"] for one in found] == ["reference", "own"]
    assert found[0]["examples"][0]["scores"] != found[1]["examples"][0]["scores"]
    hidden = json.loads(succeed("contrast", run, items, "--json", "--no-context").out)
    assert hidden["translations"] is None


def test_stored_results_are_told_apart(run: Path, items: Path) -> None:
    first = json.loads(succeed("contrast", run, items, "--json", "--keep", "mine").out)
    assert json.loads(succeed("contrast", run, items, "--json", "--keep", "mine").out) == first
    own = json.loads(succeed("contrast", run, items, "--json", "--keep", "mine", "--translations", "own").out)
    assert own["signature"] != first["signature"]
    assert "--translations own --keep mine" in own["command"]


def test_another_kind_of_translations_is_refused(run: Path) -> None:
    result = docaps("diagnose", run, "--translations", "mine")
    assert result.code == 2
    assert "'mine' is not one of 'reference', 'own'" in " ".join(result.err.split())
