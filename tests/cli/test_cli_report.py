"""`docaps report` and what `docaps prepare` leaves for it: the command that prepares the corpus once more."""

import html
import json
import re
import shlex
from pathlib import Path

import pytest
from tests.cli.calling import docaps, listing, succeed
from tests.cli.conftest import Chain, parts

from docaps.corpus.store import open_store


def told_command(page: Path, purpose: str) -> list[str]:
    """Return the words of a command on a page, from the name of the command on."""
    told = re.findall(r"<li><p>(.*?)</p>.*?<code>(.*?)</code>", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    words = shlex.split(html.unescape(dict(told)[purpose]))
    return words[words.index("prepare") :]


def elsewhere(words: list[str], out: Path) -> list[str]:
    """Return a command with another place for what it makes."""
    place = words.index("--out") + 1
    return [*words[:place], str(out), *words[place + 1 :]]


def test_the_page_has_the_command_that_prepares_the_corpus_to_the_same_bytes(chain: Chain, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    succeed("report", chain.sentence, "--out", page)
    words = told_command(page, "Prepare the corpus")
    assert not json.loads(succeed(*words, "--json").out)["built"]
    succeed(*elsewhere(words, tmp_path / "again"))
    assert open_store(tmp_path / "again").hash == open_store(chain.corpus).hash
    assert page.read_text(encoding="utf-8").count("<p>Prepare the corpus</p>") == 1


OPTIONS = [
    [],
    ["--recipe", "minidocs", "--merges", "40"],
    ["--source-language", "fr", "--set", "preparation.merges=30", "--format", "lines"],
    ["--set", "preparation.subwords=sentencepiece", "--set", "preparation.pieces=400"],
    ["--merges", "30", "--set", "preparation.cleaning.ratio=3.5", "--set", "preparation.cleaning.copies=true"],
]


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_the_command_that_a_corpus_keeps_asks_for_the_same_corpus(
    chain: Chain, tmp_path: Path, options: list[str]
) -> None:
    out = tmp_path / "my corpus"
    succeed(
        "prepare", *parts(chain.text), "--extra", chain.text / "dev.en", chain.text / "dev.de", "--out", out, *options
    )
    before = listing(out)
    words = shlex.split(open_store(out).manifest["command"])
    assert words[:2] == ["docaps", "prepare"]
    assert not json.loads(succeed(*words[1:], "--json").out)["built"]
    assert listing(out) == before
    succeed(*elsewhere(words[1:], tmp_path / "again"))
    one, other = (open_store(path).manifest for path in (out, tmp_path / "again"))
    assert {**one, "command": ""} == {**other, "command": ""}


def test_files_of_document_starts_and_items_are_in_the_command(chain: Chain, tmp_path: Path) -> None:
    starts = tmp_path / "starts.txt"
    starts.write_text("0\n1\n", encoding="utf-8")
    plain = []
    for language in ("en", "de"):
        lines = [line for line in (chain.text / f"dev.{language}").read_text().splitlines() if line != "<d>"]
        (tmp_path / f"dev.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
        plain.append(tmp_path / f"dev.{language}")
    words = ["--train", chain.text / "train.en", chain.text / "train.de", "--dev", *plain, "--dev-starts", starts]
    items = chain.text / "contrastive.jsonl"
    succeed("prepare", *words, "--contrastive", items, "--merges", "20", "--out", tmp_path / "out")
    kept = shlex.split(open_store(tmp_path / "out").manifest["command"])
    assert not json.loads(succeed(*kept[1:], "--json").out)["built"]
    assert open_store(tmp_path / "out").manifest["counts"]["dev"]["documents"] == 2


def test_what_came_through_stdin_has_no_command(chain: Chain, tmp_path: Path) -> None:
    text = (chain.text / "train.en").read_text(encoding="utf-8")
    words = ["--train", "-", chain.text / "train.de", "--dev", chain.text / "dev.en", chain.text / "dev.de"]
    succeed("prepare", *words, "--merges", "20", "--out", tmp_path / "out", stdin=text)
    assert "command" not in open_store(tmp_path / "out").manifest


def test_a_corpus_of_an_earlier_version_learns_its_command_and_stays_the_same(chain: Chain, tmp_path: Path) -> None:
    words = [*parts(chain.text), "--merges", "20", "--out", tmp_path / "out"]
    succeed("prepare", *words)
    path = tmp_path / "out" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    old = {key: value for key, value in manifest.items() if key != "command"}
    path.write_text(json.dumps(old), encoding="utf-8")
    assert open_store(tmp_path / "out").hash == manifest["hash"]
    assert "nothing to do" in succeed("prepare", *words).out
    assert json.loads(path.read_text(encoding="utf-8")) == manifest
    succeed("prepare", *words)
    assert json.loads(path.read_text(encoding="utf-8")) == manifest


def test_a_fault_of_a_report_is_told(chain: Chain, tmp_path: Path) -> None:
    result = docaps("report", chain.sentence, "--corpus", tmp_path / "none", "--out", tmp_path / "page.html")
    assert (result.code, result.out) == (1, "")
    assert "no such prepared corpus" in result.err
