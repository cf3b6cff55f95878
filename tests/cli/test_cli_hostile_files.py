"""Files made to fill the memory or to take for ever are refused within limits, as a user runs docaps."""

import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.cli.calling import AS_MODULE

CUES = 1_000_000
MEMORY = 2 * 2**30
"""Bytes that the process may hold, of which the libraries take about 0.5 GiB."""
SECONDS = 300
"""Processor time for all files together."""
LAUGHS = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
BOMB = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "ha">{LAUGHS}]>'
ASS = "[Events]\nFormat: Layer, Start, End, Style, Text\n"

TEXTS = {
    "cues.srt": ("1\n00:00:01,000 --> 00:00:02,000\nab\n\n" * CUES, "more than 200,000 cues: split the file"),
    "cues.vtt": ("WEBVTT\n\n" + "00:01.000 --> 00:02.000\nab\n\n" * CUES, "more than 200,000 cues: split the file"),
    "cues.ass": (ASS + "Dialogue: 0,0:00:01.00,0:00:02.00,A,ab\n" * CUES, "more than 200,000 cues: split the file"),
    "laughs.xlf": (f"{BOMB}<xliff version='1.2'>&a9;</xliff>", "XML with a document type"),
    "laughs.tmx": (f"{BOMB}<tmx>&a9;</tmx>", "XML with a document type"),
    "items.md": ("- a b\n" * (2**22 // 6), "more than 300,000 signs of markup and line ends"),
    "large.md": ("a b. " * 2**20, "more than 4,194,304 bytes"),
    "stars.md": ("*a* " * 60_000, "more than 100,000 tags and other marks in one paragraph"),
    "tags.html": ("<p>" + "<b>" * (2**24 // 3 - 99), "more than 100,000 tags and other marks in one paragraph"),
    "large.html": ("<p>a</p>" * (2**21 + 1), "more than 16,777,216 bytes"),
    "strings.json": ('["a"' + ',"a b"' * 300_000 + "]", "more than 200,000 strings"),
    "marks.json": ('["' + "{a} b " * 2**21 + '"]', "a string of 12,582,912 characters"),
    "lines.json": ("[" + ",".join(['"' + "A.\\n" * 250_000 + '"'] * 4) + "]", "more than 500,000 paragraphs"),
    "deep.json": ("[" * 2**20, "more than 500 levels within each other"),
    "numbers.json": ('["a b"' + ",1" * 2**22 + ",x]", "not JSON: expected"),
    "strings.yaml": ("- a b\n" * 300_000, "more than 200,000 strings"),
    "deep.yaml": ("[" * 2**20, "more than 100 levels within each other"),
    "strings.po": ('msgid "a"\nmsgstr ""\n\n' * 300_000, "more than 200,000 strings"),
    "long.po": ('msgid "' + "a\\n" * 2**24 + '"\nmsgstr ""\n', "a string of 33,554,432 characters"),
    "large.po": ("# a comment\n" * (2**26 // 12 + 1), "more than 67,108,864 bytes"),
}
ENCODED = {
    "latin.srt": ("1\n00:00:01,000 --> 00:00:02,000\ncafé\n".encode("cp1252"), "not UTF-8: byte 0xe9"),
    "latin.md": ("café\n".encode("cp1252"), "not UTF-8: convert it to UTF-8 first"),
    "unmarked.json": ('{"a": "b"}'.encode("utf-16-le"), "NUL"),
    "declared.html": (b"<meta charset=utf-8><p>caf\xe9", "not UTF-8, as the page says"),
}


def make_bomb(path: Path, member: str) -> None:
    """Write an archive whose text would unpack to a gigabyte."""
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(member, "w", force_zip64=True) as file,
    ):
        for _ in range(2**10):
            file.write(b" " * 2**20)


@pytest.mark.stress
def test_hostile_files_are_refused_within_limits_of_memory_and_time(tiny_demo: Path, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    expected = {"bomb.docx": "would unpack to 1,073,741,824 bytes", "bomb.odt": "would unpack to 1,073,741,824 bytes"}
    make_bomb(folder / "bomb.docx", "word/document.xml")
    make_bomb(folder / "bomb.odt", "content.xml")
    (folder / "good.txt").write_text("Anna left.\n", encoding="utf-8")
    for name, (content, message) in TEXTS.items():
        (folder / name).write_text(content, encoding="utf-8")
        expected[name] = message
    for name, (data, message) in ENCODED.items():
        (folder / name).write_bytes(data)
        expected[name] = message

    command = [sys.executable, "-c", AS_MODULE, "translate", tiny_demo / "runs/demo/runs/document", folder]
    with subprocess.Popen(
        [*map(str, command), "--out", str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),  # noqa: PLW1509
    ) as process:
        assert process.stderr is not None
        told = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, told
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["good.txt"]
    for name, message in expected.items():
        lines = [line for line in told.splitlines() if f"/{name}" in line]
        assert len(lines) == 1, name
        assert message in lines[0], name
    assert usage.ru_maxrss * 1024 < MEMORY
