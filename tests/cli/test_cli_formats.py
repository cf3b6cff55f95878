"""Commands take documents in any format, and give translations in the format of their source."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.calling import docaps, succeed
from tests.cli.conftest import Chain

from docaps.corpus.documents import Document
from docaps.corpus.formats import DIRECTORY, NAMES, read_documents, read_parallel, write_documents, write_parallel

DOCUMENTS = [Document(("Anna bought a coat.", "It was warm."), "x"), Document(("The bank was steep.",), "y")]


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("text", DIRECTORY)])
def test_a_translation_has_the_format_of_its_source(chain: Chain, tmp_path: Path, name: str) -> None:
    path, out = tmp_path / "story.en", tmp_path / "story.de"
    write_documents(path, DOCUMENTS, name)
    succeed("translate", chain.document, path, "-o", out)
    plain = succeed(
        "translate", chain.document, stdin="<d>\nAnna bought a coat.\nIt was warm.\n<d>\nThe bank was steep.\n"
    )
    expected = [line for line in plain.out.splitlines() if line != "<d>"]
    if name == "starts":
        (tmp_path / "story.en.starts").rename(tmp_path / "story.starts")
    found = read_documents(out, side="hypothesis")
    assert [document.layout.format for document in found if document.layout] == [name] * 2
    assert [sentence for document in found for sentence in document.sentences] == expected
    again = succeed("translate", chain.document, path, "--format", name)
    assert again.out == out.read_text()


def test_running_text_comes_back_with_its_paragraphs(chain: Chain) -> None:
    article = "A coat\n\nAnna bought a coat. It was warm.\n\n\nThe bank was steep. She fell. It rained.\n"
    found = succeed("translate", chain.document, stdin=article).out
    assert re.fullmatch(r".*\n\n.*\n\n\n.*\n", found)
    sentences = json.loads(succeed("translate", chain.document, "--json", stdin=article).out)["documents"][0]
    assert len(sentences["sentences"]) == 6
    lines = json.loads(succeed("translate", chain.document, "--json", "--format", "lines", stdin=article).out)
    assert len(lines["documents"][0]["sentences"]) == 6  # one a line, empty ones too
    assert lines["documents"][0]["sentences"][2]["source"] == "Anna bought a coat. It was warm."


def test_a_directory_is_translated_into_a_directory(chain: Chain, tmp_path: Path) -> None:
    path, out = tmp_path / "en", tmp_path / "de"
    write_documents(path, DOCUMENTS, DIRECTORY)
    refused = docaps("translate", chain.document, path)
    assert refused.code == 1
    assert "the documents are a directory: name one to write to with --out" in refused.err
    succeed("translate", chain.document, path, "-o", out)
    assert [(document.id, len(document.sentences)) for document in read_documents(out)] == [("x", 2), ("y", 1)]
    assert docaps("translate", chain.document, path, "-o", out).code == 1
    succeed("translate", chain.document, path, "-o", out, "--overwrite")
    (out / "mine").write_text("x")
    refused = docaps("translate", chain.document, path, "-o", out, "--overwrite")
    assert "the directory holds something else (mine): choose another one" in refused.err
    (tmp_path / "file").write_text("x")
    refused = docaps("translate", chain.document, path, "-o", tmp_path / "file", "--overwrite")
    assert "file: is a file: name a directory to write to with --out" in refused.err
    found = json.loads(succeed("translate", chain.document, path, "--json").out)
    assert [document["id"] for document in found["documents"]] == ["x", "y"]


def test_a_corpus_is_prepared_from_one_file_with_both_sides(chain: Chain, tmp_path: Path) -> None:
    options: list[str | Path] = []
    for part in ("train", "dev", "test"):
        path = tmp_path / f"{part}.jsonl"
        write_parallel(path, path, read_parallel(chain.text / f"{part}.en", chain.text / f"{part}.de"), "jsonl")
        options += [f"--{part}", path, path]
    for extra in ([], ["--format", "jsonl"]):
        out = tmp_path / f"prepared{len(extra)}"
        found = json.loads(succeed("prepare", "--recipe", "minidocs", *options, *extra, "--out", out, "--json").out)
        manifest = json.loads((chain.corpus / "manifest.json").read_text())
        assert {part: found[part] for part in manifest["counts"]} == manifest["counts"]


def test_an_unknown_format_is_told(chain: Chain, tmp_path: Path) -> None:
    for words in (
        ["translate", chain.document, chain.text / "dev.en"],
        [
            "prepare",
            "--train",
            *[chain.text / "dev.en"] * 2,
            "--dev",
            *[chain.text / "dev.en"] * 2,
            "-o",
            tmp_path / "new",
        ],
    ):
        result = docaps(*words, "--format", "jsonll")
        assert result.code == 1
        assert "no format 'jsonll'; did you mean 'jsonl'?" in result.err
        assert not (tmp_path / "new").exists()


def test_a_translation_in_markup_is_evaluated_against_its_reference(tmp_path: Path) -> None:
    xml = (
        '<dataset><doc id="a"><src><p><seg id="1">a</seg></p></src>'
        '<ref><p><seg id="1">one two three four</seg></p></ref>'
        '<hyp system="docaps"><p><seg id="1">one two three four</seg></p></hyp></doc></dataset>\n'
    )
    path = tmp_path / "story.xml"
    path.write_text(xml)
    found = json.loads(succeed("evaluate", "--hypothesis", path, "--reference", path, "--json").out)
    assert found["systems"][0]["bleu"] == pytest.approx(100)
