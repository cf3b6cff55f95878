"""`docaps translate` with files of subtitles and strings: context from the whole file, options, broken files."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.calling import docaps, succeed
from tests.cli.conftest import Chain

from docaps.cli.file_options import LineLengthOption, LinesOption, ReadingSpeedOption
from docaps.corpus.formats.format import DEFAULT_CHOICES

SENTENCES = ["Anna bought a coat.", "It was warm and it was blue.", "She liked it."]
FILM = """1
00:00:01,000 --> 00:00:02,500
<i>Anna bought a coat.</i>

2
00:00:02,600 --> 00:00:04,000
It was warm

3
00:00:04,000 --> 00:00:06,000
and it was blue. She liked it.
"""
CATALOGUE = 'msgid "Anna bought a coat."\nmsgstr "Anna kaufte einen Mantel."\n\nmsgid "It was warm."\nmsgstr ""\n'


def scores(*arguments: str | Path) -> dict[str, float]:
    """Return the log-probability of the translation of each sentence: it depends on what the model sees as context."""
    documents = json.loads(succeed("translate", *arguments, "--json").out)["documents"]
    return {one["source"]: one["log_probability"] for document in documents for one in document["sentences"]}


def test_the_history_of_a_cue_is_the_cues_before_it(chain: Chain, tmp_path: Path) -> None:
    film, story = tmp_path / "film.srt", tmp_path / "story.en"
    film.write_text(FILM)
    story.write_text("".join(f"{sentence}\n" for sentence in SENTENCES))
    found = scores(chain.document, film)
    assert list(found) == SENTENCES
    assert found == pytest.approx(scores(chain.document, story))
    alone = scores(chain.document, film, "--no-context")
    assert found[SENTENCES[0]] == pytest.approx(alone[SENTENCES[0]])
    assert found[SENTENCES[2]] != pytest.approx(alone[SENTENCES[2]])


def test_entries_with_a_translation_are_context_of_those_without(chain: Chain, tmp_path: Path) -> None:
    file, story = tmp_path / "de.po", tmp_path / "story.en"
    file.write_text(CATALOGUE)
    story.write_text("Anna bought a coat.\nIt was warm.\n")
    found, expected = scores(chain.document, file), scores(chain.document, story)
    assert found["It was warm."] == pytest.approx(expected["It was warm."])
    assert found["It was warm."] != pytest.approx(scores(chain.document, file, "--no-context")["It was warm."])
    written = succeed("translate", chain.document, file).out
    assert written.startswith(CATALOGUE.partition('msgid "It')[0] + "#, fuzzy\n")


def test_files_are_written_with_their_structure(chain: Chain, tmp_path: Path) -> None:
    film, out = tmp_path / "film.srt", tmp_path / "film.de.srt"
    film.write_bytes(FILM.replace("blue", "bl\xfc").encode("windows-1252"))
    failed = docaps("translate", chain.document, film, "-o", out)
    assert failed.code == 1
    assert "film.srt:11: not UTF-8: byte 0xfc; name its encoding, such as --encoding windows-1252" in failed.err
    assert not out.exists()
    succeed("translate", chain.document, film, "-o", out, "--encoding", "windows-1252", "--line-length", "20")
    times = re.compile(r"^\d+\n.* --> .*$", re.MULTILINE)
    assert times.findall(out.read_text("windows-1252")) == times.findall(FILM)
    assert "no encoding 'klingon'" in docaps("translate", chain.document, film, "--encoding", "klingon").err


def test_the_defaults_on_the_help_page_are_those_in_use() -> None:
    limits = (DEFAULT_CHOICES.line_length, DEFAULT_CHOICES.lines, f"{DEFAULT_CHOICES.reading_speed:g}")
    for option, value in zip((LineLengthOption, LinesOption, ReadingSpeedOption), limits, strict=True):
        assert option.__metadata__[0].help.endswith(f"Default: {value}.")


def test_an_existing_translation_is_kept_and_only_missing_keys_are_translated(chain: Chain, tmp_path: Path) -> None:
    source, existing, out = (tmp_path / name for name in ("en.json", "de.json", "new.json"))
    source.write_text('{"a": "Anna bought a coat.", "b": "It was warm."}')
    existing.write_text('{"a": "Anna kaufte einen Mantel."}')
    succeed("translate", chain.document, source, "-o", out, "--existing", existing)
    written = json.loads(out.read_text())
    assert written["a"] == "Anna kaufte einen Mantel."
    assert written["b"] != "It was warm."
    missing = docaps("translate", chain.document, source, "--existing", tmp_path / "no.json")
    assert missing.code == 1
    assert "no.json: no such file" in missing.err
