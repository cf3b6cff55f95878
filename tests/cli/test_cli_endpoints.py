"""`docaps endpoints` over a grid made with commands, and `docaps runs`."""

import json
from pathlib import Path

import pytest
from tests.cli.calling import docaps, settings, succeed
from tests.cli.conftest import Chain

from docaps.corpus.contrastive import ContrastiveItem, write_items


@pytest.fixture(scope="module")
def grid(chain: Chain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small grid of the long comparison."""
    folder = tmp_path_factory.mktemp("series") / "runs"
    options = ("--corpus", chain.corpus, "--profile", "minidocs", "--dir", folder)
    succeed("experiment", "series", *options, "--only", "transformer", "--only", "qcn", *settings())
    return folder


@pytest.fixture
def items(tmp_path: Path) -> Path:
    """Return a file of a few items."""
    path = tmp_path / "items.jsonl"
    pairs = [("Er", "Sie"), ("Sie", "Er")] * 2
    found = [
        ContrastiveItem(
            id=str(n),
            source="It was old.",
            right=f"{one} war alt.",
            wrong=(f"{other} war alt.",),
            pronoun=one.lower(),
            document=str(n),
            history=("A man came.",),
            target_history=("Ein Mann kam.",),
        )
        for n, (one, other) in enumerate(pairs)
    ]
    write_items(path, found)
    return path


def test_endpoints_are_planned_measured_and_written(grid: Path, items: Path, chain: Chain, tmp_path: Path) -> None:
    part = f"more={chain.text}/dev.en,{chain.text}/dev.de"
    words = ["endpoints", grid, "--part", part, "--items", f"pronouns={items}"]
    plan = json.loads(succeed(*words, "--dry-run", "--json").out)["left"]
    assert {Path(run).name: left for run, left in plan.items()} == {
        name: ["part more", "items pronouns"] for name in ("sentence", "transformer", "qcn")
    }
    assert not (grid / "endpoints.json").exists()
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- begin mine -->\n<!-- end mine -->\nafter\n")
    result = succeed(*words, "--into", page, "--block", "mine")
    assert "Scores of the part more" in result.out
    text = page.read_text()
    assert text.startswith("before\n<!-- begin mine -->\nEndpoints of: The long comparison.")
    assert text.endswith("<!-- end mine -->\nafter\n")
    assert "`pronouns`, %** (4 items of 4 documents: 2 er, 2 sie; chance 50.0)" in text
    assert "0 endpoints are left" in succeed(*words, "--dry-run").out
    found = json.loads(succeed(*words, "--json").out)
    assert found == json.loads((grid / "endpoints.json").read_text())
    report = tmp_path / "report.html"
    succeed("report", grid, "--out", report, "--markdown", tmp_path / "report.md")
    assert 'id="series-endpoints"' in report.read_text()
    assert "Right choices among the items `pronouns`" in (tmp_path / "report.md").read_text()


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ([], 1, "nothing to measure: give --part or --items"),
        (["--part", "more"], 2, "expected NAME=..."),
        (["--part", "../more=a,b"], 2, "a name of letters, digits"),
        (["--part", "test=a,b"], 2, "test is the grid's own part"),
        (["--part", "more=a"], 2, "expected NAME=SOURCE,TARGET"),
        (["--part", "more=no.en,no.de"], 1, "no.en: no such file"),
        (["--items", "some=no.jsonl"], 1, "no.jsonl: no such file"),
        (["--items", "some=a", "--items", "some=b"], 2, "two texts have the name 'some'"),
        (["--items", "some=a", "--stop-after", "long", "--into", "no.md"], 1, "no.md: no such file"),
    ],
)
def test_bad_options_are_refused(grid: Path, options: list[str], code: int, message: str) -> None:
    result = docaps("endpoints", grid, *options)
    assert (result.code, message in result.err.replace("\n", " ")) == (code, True), result.err


def test_a_folder_that_is_no_grid_is_refused(chain: Chain, items: Path) -> None:
    result = docaps("endpoints", chain.document, "--items", f"some={items}")
    assert (result.code, "grid.json" in result.err) == (1, True), result.err


def test_runs_are_compared_the_best_first(chain: Chain, tmp_path: Path) -> None:
    found = json.loads(succeed("runs", chain.sentence, chain.document, "--json").out)["runs"]
    perplexities = [one["dev_perplexity"] for one in found]
    assert perplexities == sorted(perplexities)
    assert {Path(one["path"]).name for one in found} == {"sentence", "document"}
    page = tmp_path / "page.md"
    page.write_text("<!-- begin sizes -->\n<!-- end sizes -->\n")
    assert "tokens per second" in succeed("runs", chain.sentence, "--into", page, "--block", "sizes").out
    assert f"| {chain.sentence} | transformer |" in page.read_text()
    result = docaps("runs", tmp_path / "none")
    assert (result.code, "no such run" in result.err) == (1, True)


def test_an_estimate_is_written_between_comments_of_its_own(chain: Chain, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- begin series-estimate -->\n<!-- end series-estimate -->\n")
    words = ["experiment", "series", "--corpus", chain.corpus, "--profile", "minidocs", "--dir", tmp_path / "new"]
    succeed(*words, "--only", "transformer", "--estimate", "--into", page, *settings())
    text = page.read_text()
    assert "| sentence | 1 | 2 |" in text
    assert "| transformer | 1 | 2 |" in text
    assert "in all with 1 at a time." in text
    assert not (tmp_path / "new").exists()
