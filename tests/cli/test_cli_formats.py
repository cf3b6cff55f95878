"""Commands take documents in any format, and give translations in the format of their source."""

import gzip
import json
import os
import re
import tempfile
import threading
from pathlib import Path

import pytest
from tests.cli.calling import docaps, listing, succeed
from tests.cli.conftest import Chain

from docaps.corpus.documents import Document
from docaps.corpus.formats import FORMATS, read_documents, read_parallel, write_documents, write_parallel
from docaps.corpus.formats.registry import DIRECTORY

DOCUMENTS = [Document(("Anna bought a coat.", "It was warm."), "x"), Document(("The bank was steep.",), "y")]


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "text"])
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
    succeed("translate", chain.document, path, "-o", out, "--overwrite")
    assert (out / "mine").read_text() == "x"
    assert sorted(place.name for place in out.iterdir()) == ["mine", "x.txt", "y.txt"]
    (tmp_path / "file").write_text("x")
    refused = docaps("translate", chain.document, path, "-o", tmp_path / "file", "--overwrite")
    assert "file: is a file: name a directory to write to with --out" in refused.err
    for more in ([path, "--json"], [tmp_path / "file"]):
        refused = docaps("translate", chain.document, *more, "-o", out, "--overwrite")
        assert f"docaps: {out}: is a directory: name a file to write to with --out" in refused.err
        assert "translate:" not in refused.err  # before the work begins
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


def test_an_unknown_format_is_reported(chain: Chain, tmp_path: Path) -> None:
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
    found = json.loads(succeed("evaluate", "--hypothesis", path, "--reference", path, "--language", "en", "--json").out)
    assert found["systems"][0]["bleu"] == pytest.approx(100)


def han_form(folder: Path, chain: Chain, part: str) -> list[Path]:
    """Write a part of the corpus as plain lines and a file of document starts, under names of their own."""
    pairs = read_parallel(chain.text / f"{part}.en", chain.text / f"{part}.de")
    folder.mkdir(exist_ok=True)
    write_parallel(folder / f"{part}.en", folder / f"{part}.de", pairs, "starts")
    (folder / f"{part}.de.starts").unlink()
    return [folder / f"{part}.en", folder / f"{part}.de", (folder / f"{part}.en.starts").rename(folder / f"{part}.doc")]


def test_document_starts_are_given_by_name(chain: Chain, tmp_path: Path) -> None:
    files = {part: han_form(tmp_path / "han", chain, part) for part in ("train", "dev")}
    source, target, starts = files["train"]
    found = json.loads(succeed("corpus", source, target, "--starts", starts, "--json").out)
    assert (found["documents"], found["sentences"]) == (20, len(source.read_text().splitlines()))
    parts = [word for part in files for word in (f"--{part}", *files[part][:2], f"--{part}-starts", files[part][2])]
    succeed("prepare", "--recipe", "minidocs", *parts, "--out", tmp_path / "a")
    marked = [word for part in files for word in (f"--{part}", chain.text / f"{part}.en", chain.text / f"{part}.de")]
    succeed("prepare", "--recipe", "minidocs", *marked, "--out", tmp_path / "b")
    hashes = [json.loads((tmp_path / name / "manifest.json").read_text())["hash"] for name in ("a", "b")]
    assert hashes[0] == hashes[1]
    files["dev"][2].write_text("0\n")
    again = json.loads(succeed("prepare", "--recipe", "minidocs", *parts, "--out", tmp_path / "a", "--json").out)
    assert (again["built"], again["dev"]["documents"]) == (True, 1)
    text = "Anna left.\nIt rained.\nHe slept.\n"
    (tmp_path / "text.doc").write_text("0\n2\n")
    result = succeed("translate", chain.document, "--starts", tmp_path / "text.doc", "--json", stdin=text)
    assert [len(one["sentences"]) for one in json.loads(result.out)["documents"]] == [2, 1]


def test_document_starts_without_their_text_are_refused(chain: Chain, tmp_path: Path) -> None:
    pair = [chain.text / "dev.en", chain.text / "dev.de"]
    result = docaps("prepare", "--train", *pair, "--dev", *pair, "--test-starts", pair[0], "-o", tmp_path / "new")
    assert result.code == 1
    assert "docaps: --test-starts without --test: give the test part too" in result.err
    result = docaps("corpus", chain.corpus, "--starts", pair[0])
    assert "--starts goes with raw files, and this is a prepared corpus" in result.err


def test_a_format_is_named_for_corpus_too(tmp_path: Path) -> None:
    for name in ("s", "t"):
        (tmp_path / name).write_text("one\n\ntwo\n")
    found = json.loads(succeed("corpus", tmp_path / "s", tmp_path / "t", "--json").out)
    assert (found["documents"], found["sentences"]) == (2, 2)
    found = json.loads(succeed("corpus", tmp_path / "s", tmp_path / "t", "--format", "lines", "--json").out)
    assert (found["documents"], found["sentences"]) == (1, 3)


def test_words_of_one_file_with_both_sides_are_those_of_each_side(tmp_path: Path) -> None:
    path = tmp_path / "both.jsonl"
    path.write_text('{"source": ["one two"], "target": ["eins zwei"]}\n')
    found = json.loads(succeed("corpus", path, path, "--train", path, path, "--json").out)
    assert [found[side]["unknown"] for side in ("source", "target")] == [0, 0]


def test_stdin_is_prepared_and_counted(chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    pair, out = [chain.text / "dev.en", chain.text / "dev.de"], tmp_path / "new"
    packed = gzip.compress(pair[0].read_bytes())
    options = ["prepare", "--recipe", "minidocs", "--dev", *pair, "-o", out, "--json", "--train"]
    assert json.loads(succeed(*options, "-", pair[1], stdin=packed).out)["built"] is True
    assert json.loads(succeed(*options, "-", pair[1], stdin=packed).out)["built"] is False
    assert json.loads(succeed(*options, *pair).out)["train"]["documents"] == 3
    result = docaps(*options, "-", pair[1], stdin=b"one\n\xff\n")
    assert result.code == 1
    assert "/stdin:2: not UTF-8 at byte 1" in result.err
    result = docaps(*options, "/dev/null", pair[1])
    assert "/null: the file is empty: expected one sentence a line" in result.err
    found = json.loads(succeed("corpus", "-", pair[1], "--json", stdin=gzip.compress(pair[0].read_bytes())).out)
    assert found["documents"] == 3
    assert listing(tmp_path / "temporary") == {}


def test_a_pipe_with_both_sides_is_read_once(chain: Chain, tmp_path: Path) -> None:
    lines = '{"source": ["Anna left."], "target": ["Anna ging."]}\n'
    options = ["--train", "-", "-", "--dev", "-", "-", "-o", tmp_path / "new", "--json"]
    found = json.loads(succeed("prepare", "--recipe", "minidocs", *options, stdin=lines).out)
    assert (found["train"]["documents"], found["dev"]["documents"]) == (1, 1)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=(lines,))
    writer.start()
    pipe = [tmp_path / "pipe"] * 2
    again = succeed("prepare", "--recipe", "minidocs", "--train", *pipe, "--dev", *pipe, *options[6:])
    writer.join()
    assert json.loads(again.out)["built"] is False
