"""Contrastive sets that runs have kept: on the page, in Markdown, and when something is wrong with them."""

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.report.fake_runs import write_document_run, write_json, write_kept, write_sentence_run

from docaps.errors import RunError
from docaps.report import build_page, read_results
from docaps.report.choices import choices_section
from docaps.report.markdown import build_markdown, runs_table
from docaps.report.table import results_section
from docaps.runs.results import RunResults
from docaps.runs.wording import percent


@pytest.fixture
def runs(tmp_path: Path) -> list[Path]:
    found = [write_sentence_run(tmp_path), write_document_run(tmp_path)]
    write_kept(found[0], "geneval", "own", accuracy=0.5127)
    for history, accuracy in (("own", 0.6128), ("none", 0.5317), ("shuffled", 0.5234)):
        write_kept(found[1], "geneval", history, accuracy=accuracy)
    return found


def read(runs: list[Path]) -> list[RunResults]:
    return [read_results(run) for run in runs]


def cells(page: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", str(page), flags=re.DOTALL)
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, flags=re.DOTALL) for row in rows]
    return [[html.unescape(" ".join(re.sub(r"<[^>]+>", " ", cell).split())) for cell in row] for row in found]


def test_the_table_has_histories_groups_chance_and_items(runs: list[Path]) -> None:
    head, sentence, document, chance, items = cells(choices_section(read(runs)))
    assert head == ["System", "own history", "no history", "another's", "masculine", "feminine"]
    assert sentence[1:4] == ["51.3 [48.1, 54.4]", "–", "–"]
    assert document[1:] == [
        "61.3 [58.1, 64.5]",
        "53.2 [50.0, 56.3]",
        "52.3 [49.2, 55.5]",
        "66.0 [62.9, 69.2]",
        "56.0 [52.9, 59.2]",
    ]
    assert (chance[0], set(chance[1:])) == ("Chance", {"50.0"})
    assert items[1:] == ["803", "803", "803", "411", "392"]


def test_the_chart_shows_every_value_and_the_page_leads_to_it(runs: list[Path]) -> None:
    page = build_page(read(runs), title="Report")
    chart = page.partition('id="choices"')[2].partition("</svg>")[0]
    for told in ("own history, document: 61.3", "no history, document: 53.2", "feminine, sentence: 46.0"):
        assert told in page.replace("\u202f", " ").replace("qcn+reg", "document").replace("transformer", "sentence")
    assert chart
    assert 'href="#choices"' in page


def test_without_a_kept_set_there_is_nothing(tmp_path: Path) -> None:
    page = build_page(read([write_sentence_run(tmp_path)]), title="Report")
    assert "Choices that need context" not in page


def test_what_cannot_be_compared_is_doubted(runs: list[Path]) -> None:
    assert "doubt" not in choices_section(read(runs))
    write_kept(runs[1], "geneval", "own", accuracy=0.6, created="2025-01-01T00:00:00+00:00")
    assert "Trained anew since: document" in choices_section(read(runs))
    write_kept(runs[0], "other", "own", accuracy=0.6)
    (runs[0] / "contrast" / "other.own.json").replace(runs[0] / "contrast" / "geneval.own.json")
    assert "took different items" in choices_section(read(runs))


def test_a_stale_set_is_doubted_alone(runs: list[Path]) -> None:
    write_kept(runs[1], "stale", "own", accuracy=0.6, created="2025-01-01T00:00:00+00:00")
    first, second = choices_section(read(runs)).split("<h3>stale</h3>")
    assert "Trained anew" not in first
    assert "Trained anew" in second


def test_markdown_has_the_same_shares_and_what_a_run_cost(runs: list[Path]) -> None:
    text = runs_table(read(runs))
    head, _, sentence, document = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()
    ]
    assert document[head.index("geneval, %: own history")] == "61.3"
    assert sentence[head.index("geneval, %: no history")] == "–"
    assert document[head.index("target tokens/s")].replace("\u202f", "") == "9100"
    lowest = min(row["dev_perplexity"] for row in read(runs)[1].validation)
    assert document[head.index("perplexity, dev")] == f"{lowest:.2f}"
    assert "BLEU, dev" not in head


def test_groups_of_a_set_have_a_table_of_their_own_in_markdown(runs: list[Path]) -> None:
    results = read(runs)
    kept = next(one for one in results[1].kept if one.history == "own")
    assert kept.groups
    assert not any(group in runs_table(results).splitlines()[0] for group in kept.groups)
    table = build_markdown(results, title="Report").partition("Right choices in geneval by group, %:\n\n")[2]
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in table.partition("\n\n")[0].splitlines()
    ]
    assert head == ["run", *kept.groups]
    assert len(rows) == 2
    assert rows[1][1:] == [percent(share.accuracy) for share in kept.groups.values()]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"history": "mine"}, "unknown history"),
        ({"details": {}}, "'by_phenomenon' is missing"),
        ({"accuracy": None}, "not in the expected form"),
    ],
)
def test_a_broken_file_is_named(runs: list[Path], change: dict[str, object], fault: str) -> None:
    path = runs[1] / "contrast" / "geneval.own.json"
    write_json(path, json.loads(path.read_text(encoding="utf-8")) | change)
    with pytest.raises(RunError, match=fault) as caught:
        read_results(runs[1])
    assert "geneval.own.json" in str(caught.value)


def test_a_corpus_without_items_is_not_called_unassessed(runs: list[Path]) -> None:
    results = read(runs)
    assert "contrastive.json" in results_section([results[0], replace(results[1], contrastive=None)])
    assert "contrastive.json" not in results_section([replace(run, contrastive=None) for run in results])
