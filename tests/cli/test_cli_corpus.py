"""`docaps corpus` counts raw and prepared corpora, for people and for programs."""

import gzip
import io
import json
import shutil
import sys
from pathlib import Path

import pytest
from tests.cli.calling import docaps, listing, succeed
from tests.cli.conftest import Chain

from docaps.cli.histogram import BAR_WIDTH, draw_histogram


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sides of a small corpus."""
    (tmp_path / "a.en").write_text("<d>\none two three\n\none two\n<d>\n" + "word " * 60 + "\n")
    (tmp_path / "a.de").write_text("<d>\neins zwei\nnull\neins\n<d>\nlang\n")
    (tmp_path / "train.en").write_text("one word\n")
    (tmp_path / "train.de").write_text("eins zwei\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_raw_files_are_counted_for_programs(desk: Path) -> None:
    before = listing(desk)
    found = json.loads(succeed("corpus", "a.en", "a.de", "--json").out)
    assert (found["documents"], found["sentences"], found["average_document_length"]) == (2, 4, 2.0)
    assert (found["paths"], found["unit"]) == (["a.en", "a.de"], "words")
    assert [row["limit"] for row in found["limits"]] == [50, 80, 100, 200]
    assert [row["sentences"] for row in found["limits"]] == [1, 0, 0, 0]
    assert found["histogram"][6] == {"from": 51, "to": 60, "source": 1, "target": 0}
    assert "parts" not in found
    assert listing(desk) == before


def test_gzip_is_counted_alike(desk: Path) -> None:
    (desk / "b.en").write_bytes(gzip.compress((desk / "a.en").read_bytes()))
    one, other = (json.loads(succeed("corpus", name, "a.de", "--json").out) for name in ("a.en", "b.en"))
    assert one | {"paths": 0} == other | {"paths": 0}


def test_a_file_of_both_sides_is_counted_and_known_by_side(desk: Path) -> None:
    items = [{"id": "1", "source": ["one two"], "target": ["eins zwei"]}, {"id": "2", "source": ["a"], "target": ["b"]}]
    (desk / "both.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    found = json.loads(
        succeed("corpus", "both.jsonl", "both.jsonl", "--train", "both.jsonl", "both.jsonl", "--json").out
    )
    assert (found["documents"], found["sentences"], found["average_document_length"]) == (2, 2, 1.0)
    assert (found["source"]["unknown"], found["target"]["unknown"]) == (0, 0)


def test_a_format_may_be_named(desk: Path) -> None:
    for name in ("b.en", "b.de"):
        (desk / name).write_text("a\n\nb\n")
    for name, documents in (("lines", 1), ("blank", 2)):
        found = json.loads(succeed("corpus", "b.en", "b.de", "--format", name, "--json").out)
        assert found["documents"] == documents


def test_documents_are_held_one_at_a_time(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docaps.corpus.formats.reading.list", pytest.fail, raising=False)
    assert json.loads(succeed("corpus", "a.en", "a.de", "--train", "a.en", "a.de", "--json").out)["sentences"] == 4


def test_raw_files_are_counted_for_people(desk: Path) -> None:
    found = succeed("corpus", "a.en", "a.de", "--train", "train.en", "train.de", "--limit", "2", "--limit", "1").out
    rows = [line.replace("│", " ").split() for line in found.splitlines()]
    assert "a.en, a.de; tokens are words between spaces" in found
    assert ["all", "2", "4", "2.00", "1", "0.077"] in rows
    assert ["all", "source", "65", "4", "4.62", "%", "16.2", "60", "1"] in rows
    assert ["all", "target", "5", "4", "40.00", "%", "1.2", "2", "0"] in rows
    assert "Longest source sentence: 60 tokens (document 2, sentence 1)" in found
    assert ["1", "3", "75.00", "%", "2"] in rows
    assert ["2", "2", "50.00", "%", "2"] in rows


def test_without_a_training_text_no_word_is_unknown(desk: Path) -> None:
    rows = [line.replace("│", " ").split() for line in succeed("corpus", "a.en", "a.de").out.splitlines()]
    assert ["all", "source", "65", "4", "-", "16.2", "60", "1"] in rows


def test_a_prepared_corpus_is_counted_by_part_and_in_all(chain: Chain) -> None:
    found = json.loads(succeed("corpus", chain.corpus, "--json").out)
    counts = json.loads((chain.corpus / "manifest.json").read_text())["counts"]
    assert list(found["parts"]) == ["train", "dev", "test"]
    for name, part in found["parts"].items():
        assert {key: part[key] for key in ("documents", "sentences")} == {
            key: counts[name][key] for key in ("documents", "sentences")
        }
    for key in ("documents", "sentences"):
        assert found[key] == sum(part[key] for part in counts.values())
    assert found["average_document_length"] == found["sentences"] / found["documents"]
    assert found["parts"]["train"]["source"]["unknown"] == 0
    assert found["unit"] == "pieces"
    assert found["filters"] == {"empty on one side or both": {"train": 0}}
    limited = json.loads(succeed("corpus", chain.corpus, "--limit", "1", "--json").out)
    assert dict(limited["limits"][0])["sentences"] > 0
    printed = succeed("corpus", chain.corpus, "--limit", "1").out
    dropped = [part["limits"][0]["sentences"] for part in (*limited["parts"].values(), limited)]
    row = next(line.replace("│", " ").split() for line in printed.splitlines() if line.startswith("│ 1 "))
    assert row[1:5] == [f"{count:,}" for count in dropped]
    assert f"{chain.corpus}; tokens are subwords" in printed
    for name in ("train source", "dev target", "all source"):
        assert name in printed


def test_what_cleaning_dropped_is_printed(chain: Chain, tmp_path: Path) -> None:
    store = Path(shutil.copytree(chain.corpus, tmp_path / "p"))
    manifest = json.loads((store / "manifest.json").read_text())
    filters = {"empty": {"train": 1234, "dev": 0}, "copied": {"train": 5}}
    (store / "manifest.json").write_text(json.dumps(manifest | {"filters": filters}))
    assert json.loads(succeed("corpus", store, "--json").out)["filters"] == filters
    rows = [line.replace("│", " ").split() for line in succeed("corpus", store).out.splitlines()]
    assert ["empty", "1,234", "0"] in rows
    assert ["copied", "5", "0"] in rows


FAULTS = [
    ("corpus a.en", "a.en: one side alone: give both, or the same file twice if it holds both, or a prepared corpus"),
    ("corpus absent", "absent: no such prepared corpus"),
    ("corpus .", ".: not a prepared corpus (it has no manifest.json)"),
    ("corpus a.en absent", "absent: no such file"),
    ("corpus a.en train.de", "train.de:1: document 1 (near line 1) has 3 sentences in a.en, but 2 in train.de"),
    ("corpus . --format lines", ".: --format goes with raw files"),
    ("corpus . --train a.en a.de", ".: --train goes with raw files"),
    ("corpus a.en a.de --train absent a.de", "absent: no such file"),
]


@pytest.mark.parametrize(("command", "message"), FAULTS, ids=[command for command, _ in FAULTS])
def test_a_fault_is_reported(desk: Path, command: str, message: str) -> None:
    (desk / "train.de").write_text("eins\nzwei\n")
    result = docaps(*command.split())
    assert (result.code, result.out) == (1, "")
    assert f"docaps: {message}" in result.err


def test_a_limit_below_one_is_refused(desk: Path) -> None:
    result = docaps("corpus", "a.en", "a.de", "--limit", "0")
    assert result.code == 2
    assert "Invalid value for '--limit'" in result.err


def make_bin(first: int, last: int | None, source: int, target: int) -> dict[str, int | None]:
    return {"from": first, "to": last, "source": source, "target": target}


BINS = [make_bin(0, 0, 0, 3), make_bin(1, 10, 1_666_904, 1), make_bin(11, 20, 833_452, 0), make_bin(21, None, 0, 0)]


def test_the_histogram_fits_eighty_columns_and_ends_with_the_last_sentence() -> None:
    lines = draw_histogram(BINS)
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines] == ["tokens", "0", "1-10", "11-20"]
    assert lines[2].count("█") == BAR_WIDTH
    assert lines[3].count("█") == BAR_WIDTH // 2
    assert lines[2].endswith(" 1  ▏")
    assert draw_histogram([*BINS[:3], make_bin(201, None, 2, 0)])[-1].split()[:2] == [">200", "2"]
    assert {line.index(end) + len(end) for line, end in zip(lines[1:3], ("3  ▏", "1  ▏"), strict=True)} == {
        len(lines[2])
    }


def test_a_terminal_without_block_characters_gets_plain_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    lines = draw_histogram(BINS)
    assert all(line.isascii() for line in lines)
    assert lines[2].count("#") == BAR_WIDTH + 1
