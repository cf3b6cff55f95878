"""`docaps contrast` answers every set, as tables or JSON."""

import json
import shutil
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from tests.cli.calling import docaps, succeed
from tests.cli.conftest import Chain
from tests.unit.corpus.contrastive.page import BY_TITLE, EXAMPLES, Example
from tests.unit.corpus.installed import FOLDER

from docaps.config import plugins
from docaps.corpus.contrastive.sets import SETS


def arguments(example: Example, folder: Path) -> list[str | Path]:
    path = example.place(folder)
    context = example.stated["context"]
    return ["--set", example.set, path, *(["--context-dir", folder / context] if context else [])]


def contrast(chain: Chain, *words: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(succeed("contrast", chain.document, *words, "--json").out)
    return found


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.title for example in EXAMPLES])
def test_every_set_of_the_documentation_is_read_and_answered(chain: Chain, tmp_path: Path, example: Example) -> None:
    found = contrast(chain, *arguments(example, tmp_path))
    assert {"accuracy", "by_distance", "by_phenomenon", "examples", "chance"} <= set(found)
    assert found["items"] == sum(found["files"].values()) == len(found["examples"]) == int(str(example.stated["items"]))
    assert 0 <= found["interval"]["low"] <= found["accuracy"] <= found["interval"]["high"] <= 1
    assert sum(example["correct"] for example in found["examples"]) == round(found["accuracy"] * found["items"])
    groups = found["details"]["by_phenomenon"]
    assert {name: group["accuracy"] for name, group in groups.items()} == found["by_phenomenon"]
    assert sum(group["items"] for group in groups.values()) == found["items"]


def test_the_corpus_of_mini_documents_is_a_set(chain: Chain) -> None:
    items = chain.text / "contrastive.jsonl"
    found = contrast(chain, "--set", "minidocs", chain.text)
    records = [json.loads(line) for line in items.read_text().splitlines()]
    assert found["items"] == len(records)
    assert set(found["by_phenomenon"]) == {record["phenomenon"] for record in records}
    assert set(found["by_distance"]) <= {"1", "2", "3"}
    assert "er" in found["by_pronoun"] or "sie" in found["by_pronoun"]
    plain = contrast(chain, items)
    assert (plain["set"], plain["accuracy"], plain["items"]) == ("jsonl", found["accuracy"], found["items"])


def test_the_table_shows_accuracy_interval_and_chance(chain: Chain) -> None:
    result = succeed("contrast", chain.document, "--set", "minidocs", chain.text, "--examples", "2")
    for text in (
        "pronoun",
        "ambiguity",
        "distance 1",
        "95 % interval",
        "chance",
        "Ties, counted as wrong:",
        "weights:",
    ):
        assert text in result.out
    assert result.out.count("\n  > ") == 2
    assert f"contrast {chain.document} --set minidocs {chain.text} --no-context" in result.err


def test_history_can_be_hidden_or_shuffled(chain: Chain) -> None:
    def scores(*options: str) -> list[list[float]]:
        found = contrast(chain, "--set", "minidocs", chain.text, "--examples", "999", *options)
        return [example["scores"] for example in sorted(found["examples"], key=lambda example: str(example["id"]))]

    own, none, shuffled = scores(), scores("--no-context"), scores("--shuffled")
    assert own == scores()
    assert len(own) == len(none) == len(shuffled) > 9
    assert own[0] != pytest.approx(none[0], rel=1e-9)
    assert own[0] != pytest.approx(shuffled[0], rel=1e-9)


def test_limit_and_beam_are_respected(chain: Chain, tmp_path: Path) -> None:
    assert contrast(chain, "--set", "minidocs", chain.text, "--limit", "3")["items"] == 3
    example = BY_TITLE["ctxpro, generative"]
    words = arguments(example, tmp_path)
    found = contrast(chain, *words, "--beam", "1", "--examples", "1")
    assert len(found["examples"]) == 1
    assert "translation" in found["examples"][0]


def test_a_stored_result_is_not_measured_again(chain: Chain, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(chain.document, run)
    words = ["contrast", run, "--set", "minidocs", chain.text, "--keep", "mini"]
    first = json.loads(succeed(*words, "--json").out)
    kept = run / "contrast" / "mini.own.json"
    assert json.loads(kept.read_text(encoding="utf-8")) == first
    other = json.loads(succeed(*words, "--json", "--no-context").out)
    assert {path.name for path in kept.parent.iterdir()} == {"mini.own.json", "mini.none.json"}
    assert other["signature"] != first["signature"]

    kept.write_text(json.dumps(first | {"accuracy": 0.125}), encoding="utf-8")
    assert "12.5 %" in succeed(*words).out
    kept.write_text(json.dumps(first | {"accuracy": 0.125, "signature": "of other weights"}), encoding="utf-8")
    assert json.loads(succeed(*words, "--json").out) == first
    succeed("report", run, "--corpus", chain.corpus, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Choices that need context" in page
    assert f"contrast {run} --set minidocs {chain.text} --no-context --keep mini" in page
    assert "| mini |" in (run / "MODEL_CARD.md").read_text(encoding="utf-8")


def test_a_stored_result_is_only_valid_for_its_precision(chain: Chain, tmp_path: Path) -> None:
    run = shutil.copytree(chain.document, tmp_path / "run")
    words = ["contrast", run, "--set", "minidocs", chain.text, "--keep", "mini", "--json"]
    found = {}
    for precision in ("float32", "int8"):
        found[precision] = json.loads(succeed(*words, "--precision", precision).out)
        assert found[precision]["precision"] == precision
        assert f"|precision:{precision}|" in found[precision]["signature"]
        assert json.loads((run / "contrast" / "mini.own.json").read_text(encoding="utf-8")) == found[precision]
    scores = [[example["scores"] for example in one["examples"]] for one in found.values()]
    assert scores[0] != scores[1]


def test_a_stored_result_is_only_valid_for_its_beam(chain: Chain, tmp_path: Path) -> None:
    run = shutil.copytree(chain.document, tmp_path / "run")
    words = ["contrast", run, *arguments(BY_TITLE["ctxpro, generative"], tmp_path), "--keep", "mine", "--json"]
    succeed(*words, "--beam", "1")
    kept = run / "contrast" / "mine.own.json"
    first = json.loads(kept.read_text(encoding="utf-8"))
    assert first["search"] == {"beam": 1}
    assert first["command"].endswith(f"--beam 1 --keep mine --precision {first['precision']}")
    kept.write_text(json.dumps(first | {"accuracy": 0.125}), encoding="utf-8")
    assert json.loads(succeed(*words, "--beam", "1").out)["accuracy"] == 0.125
    assert json.loads(succeed(*words, "--beam", "2").out)["search"] == {"beam": 2}


def unwrapped(text: str) -> str:
    """Return a text without the box that it is printed in."""
    return " ".join(text.replace("│", " ").split())


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add the contrastive set `pairs` of the package in tests/fixtures/plugin-format."""
    monkeypatch.syspath_prepend(str(FOLDER))
    entry = EntryPoint("pairs", "docaps_stars:read_pairs", "docaps.contrastive")
    monkeypatch.setattr(plugins, "entries", lambda group: {"pairs": entry} if group == entry.group else {})


@pytest.mark.usefixtures("plugin")
def test_a_set_of_a_plugin_is_answered(chain: Chain, tmp_path: Path) -> None:
    path = tmp_path / "items.tsv"
    path.write_text("Here is a dog.\tIt barks.\tEr bellt.\tEs bellt.\n" * 2, encoding="utf-8")
    found = contrast(chain, "--set", "pairs", path)
    assert (found["set"], found["items"], found["files"]) == ("pairs", 2, {"items.tsv": 2})
    fault = docaps("contrast", chain.document, "--set", "pair", path)
    assert (fault.code, fault.out) == (2, "")
    assert "no contrastive set 'pair': did you mean 'pairs'?" in unwrapped(fault.err)


def test_the_help_names_the_built_in_sets() -> None:
    assert f"Which set it is: {', '.join(SETS)}" in unwrapped(succeed("contrast", "--help").out)


FAULTS = [
    (["--keep", "a", "--limit", "3"], 1, "--keep is for whole sets: leave --limit out"),
    (["--keep", "../a"], 1, "a name has letters, digits, - and _ only"),
    (["--no-context", "--shuffled"], 1, "--no-context and --shuffled: give the one or the other"),
    (["--context-dir", "."], 1, "--context-dir and --context-lines go with --set contrapro, not with jsonl"),
    (["--set", "bawden"], 2, "Invalid value for '--set': no contrastive set 'bawden'"),
    (["--set", "minidoc"], 2, "did you mean 'minidocs'?"),
    (["--limit", "0"], 2, "Invalid value for '--limit'"),
    (["--set", "mt-geneval"], 1, "not a file name of MT-GenEval"),
    (["--set", "ctxpro"], 1, "ctxpro has a JSON file and a file of inputs"),
]


@pytest.mark.parametrize(("options", "code", "message"), FAULTS)
def test_errors_are_reported(chain: Chain, options: list[str], code: int, message: str) -> None:
    result = docaps("contrast", chain.document, chain.text / "contrastive.jsonl", *options)
    assert (result.code, result.out) == (code, "")
    assert message in unwrapped(result.err)
