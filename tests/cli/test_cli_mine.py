"""`docaps mine` finds what context decides, in raw documents and in a prepared corpus."""

import json
from collections import Counter
from pathlib import Path

import pytest
from tests.cli.calling import docaps, listing, settings, succeed
from tests.cli.conftest import Chain, parts

from docaps.corpus.annotations import read_annotations
from docaps.corpus.contrastive import read_items
from docaps.corpus.store import open_store

STORY = {
    "en": ["Anna bought a coat.", "It was warm.", "Paul bought a lamp.", "It was cheap."],
    "de": ["Anna kaufte einen Mantel.", "Er war warm.", "Paul kaufte eine Lampe.", "Sie war billig."],
}
FILES = ["annotations.jsonl", "audit.html", "contrastive.jsonl", "mined.json"]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sides of a story."""
    for language, lines in STORY.items():
        (tmp_path / f"a.{language}").write_text("<d>\n" + "\n".join(lines) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_raw_documents_are_mined(desk: Path) -> None:
    found = succeed("mine", "a.en", "a.de", "--out", "mined")
    assert sorted(path.name for path in (desk / "mined").iterdir()) == FILES
    items = read_items(desk / "mined" / "contrastive.jsonl")
    assert [(item.right, item.wrong) for item in items] == [
        ("Er war warm.", ("Sie war warm.", "Es war warm.")),
        ("Sie war billig.", ("Er war billig.", "Es war billig.")),
    ]
    assert [one.sentence for one in read_annotations(desk / "mined" / "annotations.jsonl")] == [2, 4]
    assert "2 items of 2 found" in found.out
    assert "contrast RUN --set jsonl mined/contrastive.jsonl" in found.err
    assert "search documents: 4" in found.err


def test_counts_are_printed_for_programs(desk: Path) -> None:
    found = json.loads(succeed("mine", "a.en", "a.de", "--out", "mined", "--json").out)
    assert found == {"path": "mined", **json.loads((desk / "mined" / "mined.json").read_text())}
    assert (found["items"], found["annotations"], found["history"]) == (2, 2, 3)
    assert found["by_phenomenon_and_distance"] == {"pronoun": {"1": 2}}
    assert found["by_phenomenon_and_label"] == {"pronoun": {"er": 1, "sie": 1}}


def test_results_are_replaced_only_if_wanted(desk: Path) -> None:
    command = ("mine", "a.en", "a.de", "--out", "mined", "--phenomena", "pronoun")
    succeed(*command)
    before = listing(desk)
    again = docaps(*command)
    assert (again.code, listing(desk)) == (1, before)
    assert "mined: exists already: give --overwrite to replace it" in again.err
    succeed(*command, "--overwrite")
    (desk / "mined" / "notes.txt").write_text("mine")
    foreign = docaps(*command, "--overwrite")
    assert foreign.code == 1
    assert "the directory holds something else (notes.txt)" in foreign.err


def test_nothing_found_is_said_and_makes_no_set(desk: Path) -> None:
    for language in STORY:
        (desk / f"a.{language}").write_text("Ja.\n")
    assert json.loads(succeed("mine", "a.en", "a.de", "--out", "mined", "--json").out)["items"] == 0
    assert sorted(path.name for path in (desk / "mined").iterdir()) == ["annotations.jsonl", "mined.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.en"], "a.en: not a prepared corpus: give one, or the two sides of raw documents"),
        (["a.en", "a.de", "--part", "dev"], "--part does not go with raw documents"),
        (["a.en", "a.de", "--run", "runs"], "--run does not go with raw documents"),
        (["a.en", "a.de", "--phenomena", "pronouns"], "no rules for the phenomenon 'pronouns'"),
        (["a.de", "a.en"], "no rules for de to en: there are en-de, en-fr"),
        (["a.en", "b.de"], "b.de: no such file"),
        (["a.en", "a.de", "--out", "a.en"], "is a file, expected a directory"),
    ],
)
def test_mistakes_are_explained(desk: Path, arguments: list[str], message: str) -> None:
    before = listing(desk)
    found = docaps("mine", *arguments)
    assert (found.code, found.out) == (1, "")
    assert message in found.err
    assert listing(desk) == before


def test_a_prepared_corpus_is_mined_tested_and_annotated(chain: Chain, tmp_path: Path) -> None:
    out = tmp_path / "mined"
    found = json.loads(succeed("mine", chain.corpus, "--part", "train", "--all", "--out", out, "--json").out)
    store = open_store(chain.corpus)
    marks = read_annotations(out / "annotations.jsonl", store)
    assert found["corpus_hash"] == store.hash
    assert found["annotations"] == len(marks) > 8
    assert Counter(one.phenomenon for one in marks).keys() >= {"pronoun", "formality"}
    result = json.loads(succeed("contrast", chain.document, out / "contrastive.jsonl", "--json").out)
    assert sum(group["items"] for group in result["details"]["by_phenomenon"].values()) == found["items"] > 4
    advice = succeed("mine", chain.corpus, "--out", out, "--overwrite").err
    assert f"train RECIPE --corpus {chain.corpus} --out runs/NAME --set stage.document.select=" in advice


@pytest.mark.parametrize("recipe", ["qcn-states", "qcn-target", "concat-n", "san"])
def test_every_kind_of_recipe_selects_what_was_mined(chain: Chain, tmp_path: Path, recipe: str) -> None:
    lines = ('{"docaps": "annotations", "version": 1}', '{"sentence": 2, "phenomenon": "pronoun"}')
    (tmp_path / "annotations.jsonl").write_text("\n".join(lines), encoding="utf-8")
    select = (f"select={tmp_path / 'annotations.jsonl'}", "select_share=0.3", 'select_phenomena=["pronoun"]')
    words = [word for setting in select for word in ("--set", f"stage.document.{setting}")]
    words += ["--stage", "document", "--dry-run", "--json"]
    found = json.loads(succeed("train", recipe, "--corpus", chain.corpus, "--out", tmp_path / "runs", *words).out)
    assert found["stages"][0]["signals"]["select"]["sentences"] == 1


def test_gains_under_a_run_are_annotated(chain: Chain, tmp_path: Path) -> None:
    command = ("mine", chain.corpus, "--run", chain.document, "--least-gain", "0.01", "--limit", "40")
    found = json.loads(succeed(*command, "--out", tmp_path / "gains", "--json").out)
    marks = read_annotations(tmp_path / "gains" / "annotations.jsonl", open_store(chain.corpus))
    gains = [one for one in marks if one.phenomenon == "gain"]
    assert found["by_phenomenon_and_label"].get("gain", {}).get("", 0) == len(gains) <= 40
    assert all(one.score is not None and one.score >= 0.01 and one.tokens for one in gains)
    refused = docaps("mine", chain.corpus, "--run", chain.sentence, "--out", tmp_path / "other")
    assert refused.code == 1
    assert "this run sees no earlier sentence" in refused.err
    assert not (tmp_path / "other").exists()


def test_a_language_pair_without_rules_needs_a_run(chain: Chain, tmp_path: Path) -> None:
    corpus = tmp_path / "prepared"
    succeed("prepare", "--recipe", "minidocs", *parts(chain.text), "--target-language", "nl", "--out", corpus)
    refused = docaps("mine", corpus, "--out", tmp_path / "mined")
    assert refused.code == 1
    assert "no rules for en to nl: there are en-de, en-fr; give --run RUN, which needs none" in refused.err
    succeed("train", "minidocs", "--corpus", corpus, "--out", tmp_path / "runs", *settings())
    run = tmp_path / "runs" / "document"
    found = json.loads(succeed("mine", corpus, "--run", run, "--limit", "5", "--out", tmp_path / "mined", "--json").out)
    assert found["items"] == 0
