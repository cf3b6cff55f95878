"""`docaps score`: sentences, documents and all of them, for people and for programs."""

import json
import math
from pathlib import Path

import pytest
from tests.cli.calling import docaps, succeed
from tests.cli.conftest import Chain

from docaps.corpus.documents import ParallelDocument
from docaps.corpus.formats import write_parallel

PAIRS = [
    ParallelDocument(
        ("Anna bought a coat.", "", "It was warm."), ("Anna kaufte einen Mantel.", "", "Er war warm."), "a"
    ),
    ParallelDocument(("The bank was steep.",), ("Das Ufer war steil.",), "b"),
]


def scores(*arguments: str | Path) -> dict[str, object]:
    found: dict[str, object] = json.loads(succeed("score", *arguments, "--json").out)
    return found


@pytest.fixture
def both(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "story.en", tmp_path / "story.de"]
    write_parallel(*paths, PAIRS)
    return paths


def test_numbers_add_up(chain: Chain, both: list[Path]) -> None:
    found = scores(chain.document, *both)
    documents = found["documents"]
    assert isinstance(documents, list)
    assert [len(one["sentences"]) for one in documents] == [3, 1]
    rows = [row for one in documents for row in one["sentences"]]
    assert rows[1]["perplexity"] is None
    for key in ("tokens", "log_probability"):
        assert found[key] == pytest.approx(sum(row[key] for row in rows))
        assert documents[0][key] == pytest.approx(sum(row[key] for row in rows[:3]))
    assert found["perplexity"] == pytest.approx(math.exp(-found["log_probability"] / found["tokens"]))  # type: ignore[operator]
    assert (rows[0]["source"], rows[0]["target"]) == ("Anna bought a coat.", "Anna kaufte einen Mantel.")


def test_the_table_and_the_json_agree(chain: Chain, both: list[Path]) -> None:
    found = scores(chain.document, *both)
    lines = [line.split("\t") for line in succeed("score", chain.document, *both).out.splitlines()]
    assert lines[0] == ["document", "sentence", "tokens", "log_probability", "perplexity"]
    places = [(line[0], line[1]) for line in lines[1:]]
    assert places == [*((("1", s)) for s in ("1", "2", "3", "all")), ("2", "1"), ("2", "all"), ("all", "all")]
    assert float(lines[-1][3]) == pytest.approx(found["log_probability"], abs=1e-5)
    assert lines[2][2:] == ["0", "0.000000", ""]


@pytest.mark.parametrize("name", ["jsonl", "tsv", "xml"])
def test_one_file_may_hold_both_sides(chain: Chain, both: list[Path], tmp_path: Path, name: str) -> None:
    write_parallel(tmp_path / "both", tmp_path / "both", PAIRS, name)
    expected, found = scores(chain.document, *both), scores(chain.document, tmp_path / "both")
    assert found["log_probability"] == pytest.approx(expected["log_probability"])
    assert [one["id"] for one in found["documents"]] == ["a", "b"]  # type: ignore[attr-defined]


def test_what_was_translated_is_scored_as_the_search_did(chain: Chain, tmp_path: Path) -> None:
    story, exactly = chain.text / "dev.en", ("--precision", "float32")  # as scores are computed, on any machine
    succeed("translate", chain.document, story, *exactly, "-o", tmp_path / "dev.de")
    found = scores(chain.document, story, tmp_path / "dev.de")["documents"]
    searched = json.loads(succeed("translate", chain.document, story, *exactly, "--json").out)["documents"]
    same = 0
    for one, other in zip(found, searched, strict=True):  # type: ignore[call-overload]
        for given, sought in zip(one["sentences"], other["sentences"], strict=True):
            assert given["target"] == sought["translation"]
            # The text may be encoded in other subwords than the search wrote; then it is another translation.
            if given["log_probability"] == pytest.approx(sought["log_probability"], abs=1e-4):
                assert given["score"] == pytest.approx(sought["score"], abs=1e-4)
                same += 1
    assert same > 0


def test_context_counts_unless_it_is_hidden(chain: Chain, both: list[Path]) -> None:
    usual, hidden = (scores(chain.document, *both, *more)["documents"] for more in ([], ["--no-context"]))
    one, other = ([row["log_probability"] for row in found[0]["sentences"]] for found in (usual, hidden))  # type: ignore[index]
    assert one[0] == pytest.approx(other[0])
    assert one[2] != pytest.approx(other[2], rel=1e-9)


def test_sides_that_do_not_match_are_refused(chain: Chain, both: list[Path]) -> None:
    both[1].write_text("Anna kaufte einen Mantel.\n")
    result = docaps("score", chain.document, *both)
    assert result.code == 1
    assert "story.de" in result.err


def test_one_side_alone_is_not_scored_against_itself(chain: Chain, both: list[Path]) -> None:
    result = docaps("score", chain.document, both[0])
    assert result.code == 1
    assert "story.en: holds one side only (format 'lines'): name the file of its translation too" in result.err
