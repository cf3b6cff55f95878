"""Contrastive tests: items with the history asked for, summaries, examples and signatures."""

import json
from pathlib import Path

import pytest

from docaps.corpus.contrastive import ContrastiveItem, ContrastiveSet, GenerativeItem
from docaps.corpus.contrastive.contrastive_set import AnyItem
from docaps.diagnosis.choices import ItemAnswer
from docaps.diagnosis.contrastive_answers import choose_examples, choose_items, summarise
from docaps.diagnosis.data import fingerprint, sign
from docaps.evaluation.contrastive import Decision
from docaps.runs.directory import Run

HISTORY = ("the cat ran", "a dog came", "the cat sat here", "it was old", "the dog slept")


def choice(name: str, **fields: object) -> ContrastiveItem:
    known = {"source": "it ran", "right": "er lief", "wrong": ("sie lief", "es lief sehr alt"), "history": HISTORY}
    return ContrastiveItem(**{"id": name, **known, **fields})


def task(name: str, **fields: object) -> GenerativeItem:
    return GenerativeItem(**{"id": name, "source": "it slept", "expected": ("sie",), "history": HISTORY, **fields})


ITEMS: list[AnyItem] = [task("a"), choice("b"), task("c", history=()), choice("d", source="the dog ran", history=())]


def set_of(items: list[AnyItem]) -> ContrastiveSet:
    return ContrastiveSet(tuple(items), {"file": len(items)})


def test_items_come_with_the_history_asked_for() -> None:
    items = [choice(str(number), history=(f"h{number}",)) for number in range(6)]
    found = set_of(list(items))
    assert choose_items(found, "own", None) == items
    assert [item.history for item in choose_items(found, "none", 2)] == [(), ()]
    shuffled = choose_items(found, "shuffled", 3)
    assert [int(item.id) // 2 for item in shuffled] == [0, 1, 2]  # one of each third
    assert all(item.history != (f"h{item.id}",) for item in shuffled)


def answer(name: str, right: bool, phenomenon: str = "pronoun") -> ItemAnswer:
    item = choice(name, phenomenon=phenomenon, distance=1, pronoun="er", document=name[0])
    return ItemAnswer(item, item.right, (-1.0, -2.0, -3.0), Decision(right, item.chance))


ANSWERS = [answer("a1", True), answer("a2", True), answer("a3", False), answer("b1", True, "bank"), answer("b2", False)]


def test_examples_are_wrong_and_right_ones_of_all_phenomena() -> None:
    assert [one.item.id for one in choose_examples(ANSWERS, 9)] == ["a3", "a1", "b2", "b1", "a2"]
    assert [one.item.id for one in choose_examples(ANSWERS, 2)] == ["a3", "a1"]
    assert choose_examples(ANSWERS, 0) == []


def test_a_summary_holds_what_was_measured() -> None:
    found = json.loads(json.dumps(summarise(ANSWERS, 1)))
    assert (found["accuracy"], found["items"], found["ties"]) == (0.6, 5, 0)
    assert found["chance"] == pytest.approx(1 / 3)
    assert found["by_phenomenon"] == {"bank": 1.0, "pronoun": 0.5}
    assert found["by_distance"] == {"1": 0.6}
    assert found["by_pronoun"] == {"er": 0.6}
    assert found["by_form"] == {}
    assert found["interval"]["method"] == "bootstrap over documents"
    assert found["details"]["by_phenomenon"]["bank"]["items"] == 1
    assert found["details"]["by_phenomenon_and_distance"]["pronoun"]["1"]["accuracy"] == 0.5
    (example,) = found["examples"]
    assert (example["id"], example["correct"], example["history"]) == ("a3", False, list(HISTORY[-3:]))
    assert (example["right"], example["chosen"], example["scores"]) == ("er lief", "er lief", [-1.0, -2.0, -3.0])


def test_other_items_or_weights_are_another_signature(tmp_path: Path) -> None:
    def run(name: str, weights: bytes) -> Run:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(weights)
        return Run(folder)

    one, other = run("one", b"1"), run("other", b"2")
    first = fingerprint(one, ITEMS)
    assert first == fingerprint(one, list(ITEMS))
    assert [*map(len, first.values())] == [12, 12]
    assert fingerprint(one, ITEMS[::-1]) == first | {"data": fingerprint(one, ITEMS[::-1])["data"]} != first
    assert fingerprint(other, ITEMS) == first | {"weights": fingerprint(other, ITEMS)["weights"]} != first
    assert sign({"set": "jsonl", **first}).startswith(
        f"set:jsonl|data:{first['data']}|weights:{first['weights']}|docaps:"
    )
