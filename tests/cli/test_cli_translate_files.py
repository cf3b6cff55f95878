"""`docaps translate` of whole files and of folders with files of any kind."""

import gzip
import io
import json
import os
from pathlib import Path

import docx
import pytest
from tests.cli.calling import docaps, listing, succeed
from tests.cli.conftest import Chain

from docaps.interruption import Interrupted
from docaps.translation import translator as translating
from docaps.translation.jobs import FileOutput

PAGE = '<html lang="en"><p>Anna <b>bought</b> a coat. It was <i>warm</i>.</p><img alt="A coat"></html>'
NOTES = "# Coats\n\nAnna *bought* a `coat`. It was warm.\n"


def word_file() -> bytes:
    document = docx.Document()
    paragraph = document.add_paragraph("Anna bought a ")
    paragraph.add_run("coat").bold = True
    paragraph.add_run(". It was warm.")
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def lay_out(folder: Path) -> Path:
    """Make a folder of files of several kinds, some of which cannot be read."""
    (folder / "more" / "deep").mkdir(parents=True)
    (folder / ".hidden").write_text("no")
    (folder / "page.html").write_text(PAGE)
    (folder / "more" / "page.html").write_text(PAGE)
    (folder / "more" / "deep" / "notes.md").write_text(NOTES)
    (folder / "story.txt.gz").write_bytes(gzip.compress(b"Anna bought a coat.\n"))
    (folder / "coat.docx").write_bytes(word_file())
    (folder / "old.doc").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    (folder / "cut.docx").write_bytes(word_file()[:5000])
    (folder / "shop.properties").write_text("greet=Hello {0}")
    os.mkfifo(folder / "pipe")
    return folder


NAMES = {"coat.docx", "page.html", "story.txt", "more", "more/page.html", "more/deep", "more/deep/notes.md"}


def test_a_folder_is_translated_file_by_file_and_what_cannot_be_read_is_skipped(chain: Chain, tmp_path: Path) -> None:
    folder, out = lay_out(tmp_path / "en"), tmp_path / "de"
    result = succeed("translate", chain.document, folder, "-o", out)
    assert set(listing(out)) == NAMES
    assert "4 files were not translated, which cannot be read:" in result.err
    assert f"{folder / 'cut.docx'}: the zip archive is damaged or cut off" in result.err
    assert f"{folder / 'old.doc'}: this is an old Office file (.doc, .xls, .ppt)" in result.err
    assert f"{folder / 'pipe'}: a pipe or a device, which is not read" in result.err
    assert f"{folder / 'shop.properties'}: a .properties file, which would be destroyed as plain text" in result.err
    assert docx.Document(str(out / "coat.docx")).paragraphs[0].text
    page = (out / "page.html").read_text()
    assert page.startswith('<html lang="de"><p>')
    assert sorted(tag for tag in ("<b>", "</b>", "<i>", "</i>", "<p>", "</p>") if page.count(tag) == 1) == sorted(
        ("<b>", "</b>", "<i>", "</i>", "<p>", "</p>")
    )
    assert "`coat`" in (out / "more/deep/notes.md").read_text()
    assert (out / "page.html").read_bytes() == (out / "more" / "page.html").read_bytes()


def test_strict_stops_before_any_work(chain: Chain, tmp_path: Path) -> None:
    folder, out = lay_out(tmp_path / "en"), tmp_path / "de"
    result = docaps("translate", chain.document, folder, "-o", out, "--strict")
    assert (result.code, out.exists()) == (1, False)
    assert "cut.docx: the zip archive is damaged or cut off" in result.err


def test_a_folder_without_any_file_that_can_be_read_is_an_error(chain: Chain, tmp_path: Path) -> None:
    (tmp_path / "en").mkdir()
    (tmp_path / "en" / "a.pdf").write_bytes(b"%PDF-1.4")
    result = docaps("translate", chain.document, tmp_path / "en", "-o", tmp_path / "de")
    assert (result.code, (tmp_path / "de").exists()) == (1, False)
    assert "a.pdf: this is a PDF" in result.err


def test_translations_within_the_folder_are_not_read_again(chain: Chain, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(NOTES)
    succeed("translate", chain.document, tmp_path, "-o", tmp_path / "de")
    again = succeed("translate", chain.document, tmp_path, "-o", tmp_path / "de", "--resume")
    assert "finished already" in again.err
    assert set(listing(tmp_path)) == {"notes.md", "de", "de/notes.md"}


def test_a_stopped_folder_job_is_resumed(chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = lay_out(tmp_path / "en")
    monkeypatch.setattr(translating, "WINDOW", 2)
    succeed("translate", chain.document, folder, "-o", tmp_path / "whole")
    original, commits = FileOutput.commit, []

    def commit(self: FileOutput, windows: int) -> None:
        original(self, windows)
        if not self.skipping:
            commits.append(windows)
            raise Interrupted(2, "stopped")

    stops = 0
    with monkeypatch.context() as patch:
        patch.setattr(FileOutput, "commit", commit)
        while docaps("translate", chain.document, folder, "-o", tmp_path / "out", "--resume").code:
            stops += 1
            assert stops < 12
    assert stops == len(commits) >= 3
    assert listing(tmp_path / "out") == listing(tmp_path / "whole")


def test_stdin_and_stdout_hold_whole_files(chain: Chain, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    whole = succeed("translate", chain.document, tmp_path / "a.html").out
    assert succeed("translate", chain.document, stdin=PAGE).out == whole


def test_the_sentences_of_a_file_can_be_printed_with_scores(chain: Chain, tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(word_file())
    found = json.loads(succeed("translate", chain.document, tmp_path / "a.docx", "--json").out)
    assert [row["source"] for row in found["documents"][0]["sentences"]] == ["Anna bought a coat.", "It was warm."]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.rtf", b"{\\rtf1 Anna}", "this is RTF, not a text file"),
        ("a.xlsx", b"PK\3\4" + bytes(80), "this is a zip archive, not a text file"),
        ("a.svg", b"<svg><text>Anna</text></svg>", "XML that begins with <svg>"),
        ("a.html", b"<html>\xe9</html>", "a.html:1: not UTF-8, as the page says, or must be if it says nothing"),
    ],
)
def test_what_would_be_destroyed_is_refused(
    chain: Chain, tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    result = docaps("translate", chain.document, tmp_path / name, "-o", tmp_path / "out")
    assert (result.code, (tmp_path / "out").exists()) == (1, False)
    assert message in result.err


def test_other_commands_say_who_reads_such_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(PAGE)
    result = docaps("corpus", tmp_path / "a.html", tmp_path / "a.html")
    assert result.code == 1
    assert "a file in the format 'html': docaps translate reads it; here, name it with --format html" in result.err
