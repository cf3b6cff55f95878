"""Pages about grids: the paper's numbers stand beside ours, and the page stays small."""

import json
import re
from pathlib import Path

import pytest
from markupsafe import escape
from tests.unit.report.fake_grids import DATA, write_grid, write_trials
from tests.unit.report.fake_runs import write_json
from tests.unit.report.page_reading import Outline

from docaps.report import build_page, read_results
from docaps.report.grid_tables import as_markdown, significance_mark
from docaps.report.markdown import build_markdown
from docaps.report.paper import TABLE1
from docaps.runs.grid_results import Grid, read_grids, runs_of, sentence_models_of
from docaps.runs.results import RunResults


@pytest.fixture(scope="module")
def page(results: list[RunResults], grids: list[Grid]) -> str:
    commands = [("Table 2: qcn, seed 1", "docaps experiment table2 --dir runs/x --seeds 1 --only qcn")]
    return build_page(results, title="Report", commands=commands, grids=grids)


MIB = 2**20


def test_the_page_is_well_formed(page: str) -> None:
    outline = Outline(page)
    assert outline.open == []
    assert len(outline.ids) == len(set(outline.ids))
    assert {"table2", "history", "results", "samples", "routing", "curves", "data", "provenance"} <= set(outline.ids)
    assert all(after <= before + 1 for before, after in zip(outline.levels, outline.levels[1:], strict=False))
    assert not re.search(r"https?://", page)


def test_the_page_of_many_runs_is_small(results: list[RunResults], page: str) -> None:
    assert len(results) == 28
    assert len(page.encode()) < 5 * MIB


def test_the_page_of_twenty_runs_with_long_sentences_is_small(tmp_path: Path) -> None:
    folder = write_grid(tmp_path, figures=False)
    words = [f"word{number}" for number in range(40)]
    maps = [[[0.123456789] * len(words)] * 4] * 4
    part = [{"distance": distance, "words": words, "coupling": maps, "pcc": maps} for distance in (1, 2, 3)]
    for path in folder.rglob("routing.json"):
        samples = json.loads(path.read_text(encoding="utf-8"))
        write_json(path, [sample | {"history": part} for sample in samples])
    found = read_grids(folder)
    runs = [read_results(run) for run in runs_of(folder, found)]
    assert len(runs) == 22
    models = [read_results(run) for run in sentence_models_of(folder, found)]
    assert len(models) == 2
    page = build_page(runs, title="Report", grids=found, sentence_models=models)
    assert len(page.encode()) < 5 * MIB
    assert page.count('class="routed"') == 3
    assert page.count("More sentences, left out to keep the page small") == 2


def test_trials_have_a_table_of_their_own_without_the_papers_numbers(tmp_path: Path) -> None:
    folder = write_trials(tmp_path)
    found = read_grids(folder)
    runs = [read_results(run) for run in runs_of(folder, found)]
    page = build_page(runs, title="Report", grids=found)
    section = re.search(r'<section id="trials".*?</section>', page, flags=re.DOTALL)
    assert section is not None
    assert '<a href="#trials">Trials</a>' in page
    assert "Development part; 95 % intervals" in section.group()
    rows = re.findall(r"<tr>(.*?)</tr>", section.group(), flags=re.DOTALL)
    headings = re.findall(r"<th[^>]*>(.*?)</th>", rows[0])
    perplexities = ["perplexity", "perplexity, another's history", "perplexity, no history"]
    assert headings == ["row", *map(escape, perplexities), "BLEU", "d-BLEU", "chrF2++", "METEOR", "seeds"]
    for row, text in zip(found[0]["rows"], rows[1:], strict=True):
        cells = re.findall(r"<td[^>]*>(.*?)</td>", text)
        cells = [re.sub(r"<[^>]*>", " ", cell).split() for cell in cells]
        assert cells[0][0] == f"{row['histories']['true']['perplexity']:.3f}"
        marks = [significance_mark(row, "bleu")] if significance_mark(row, "bleu") else []
        assert cells[3][: 1 + len(marks)] == [f"{row['means']['bleu']['mean']:.2f}", *marks]
    text = build_markdown(runs, title="Report", grids=found)
    true = found[0]["rows"][2]["histories"]["true"]["perplexity"]
    assert f"| mean: query from the mean of the words | {true:.3f}" in text
    assert "paper, TED: BLEU" not in text
    assert "Development part, on which models were chosen" not in as_markdown(found[0])


@pytest.mark.parametrize(("name", "anchor"), [("routing", "routing-options"), ("rivals", "rivals")])
def test_grids_without_a_counterpart_in_the_paper_have_none_of_its_numbers(
    name: str, anchor: str, tmp_path: Path
) -> None:
    folder = write_grid(tmp_path, figures=False)
    (found,) = read_grids(folder)
    grid = {**found, "experiment": name, "title": "Systems: all of them"}
    runs = [read_results(run) for run in runs_of(folder, [grid])]
    page = build_page(runs, title="Report", grids=[grid])
    outline = Outline(page)
    assert len(outline.ids) == len(set(outline.ids))
    section = page.partition(f'<section id="{anchor}"')[2].partition("</section>")[0]
    assert f'<h2 id="{anchor}-heading">Systems: all of them</h2>' in section
    headings = re.findall(r"<th scope=\"col[^>]*>(.*?)</th>", section)
    assert headings == ["row", "BLEU", "d-BLEU", "chrF2++", "METEOR", "right choices, %", "seeds"]
    text = build_markdown(runs, title="Report", grids=[grid])
    for paper in ("Table 2", "Paper, TED", "paper, TED: BLEU", "25.19", "Other settings than the paper"):
        assert paper not in section
        assert paper not in text.partition("## Runs")[0]
    assert f'<a href="#{anchor}">' in page


def test_a_run_that_two_grids_share_is_shown_once(tmp_path: Path) -> None:
    folder = write_trials(write_grid(tmp_path, seeds=(1,), figures=False))
    paths = runs_of(folder, read_grids(folder))
    assert len(paths) == len(set(paths)) == 12


def test_the_papers_numbers_stand_beside_ours(page: str, grids: list[Grid]) -> None:
    table = re.search(r'<table id="table2".*?</table>', page, flags=re.DOTALL)
    assert table is not None
    rows = re.findall(r"<tr>(.*?)</tr>", table.group(), flags=re.DOTALL)
    cells = {
        row["row"]: re.findall(r"<td[^>]*>(.*?)</td>", rows[place + 2]) for place, row in enumerate(grids[0]["rows"])
    }
    assert cells["qcn+reg"][-6:] == ["25.19", "45.91", "22.37", "41.88", "29.82", "47.86"]
    assert cells["zhang"][-6:] == ["24.00", "44.69", "23.08", "42.40", "29.32", "46.72"]
    assert cells["concat"][-6:] == ["–"] * 6
    mean, ends = grids[0]["rows"][3]["means"]["bleu"], re.compile(r"\[([\d.]+), ([\d.]+)\]")
    assert cells["qcn+reg"][0].startswith(f"{mean['mean']:.2f}")
    assert ends.search(cells["qcn+reg"][0]).groups() == (f"{mean['low']:.2f}", f"{mean['high']:.2f}")  # type: ignore[union-attr]


def test_two_grids_on_one_page_have_their_own_runs_and_places(
    folder: Path, tmp_path: Path, grids: list[Grid], results: list[RunResults]
) -> None:
    second = write_grid(tmp_path / "second", seeds=(1,), figures=False, routing=False)
    parts = {part: {"documents": 1, "sentences": row[2][0], "average": 1.0} for part, row in TABLE1.items()}
    for path in second.rglob("results.json"):
        write_json(path, json.loads(path.read_text(encoding="utf-8")) | {"data": {**DATA, "parts": parts}})
    other = read_grids(second)
    runs = [read_results(run) for run in runs_of(second, other)]
    page = build_page([*results, *runs], title="Both", grids=[grids[0], *other])
    outline = Outline(page)
    assert len(outline.ids) == len(set(outline.ids))
    assert {"table2", "table2-2"} <= set(outline.ids)
    one, two = page.split('id="table2-2-section"')[0], page.split('id="table2-2-section"')[1]
    assert "Paper, TED" in one
    assert "Paper, TED" not in two.partition("</table>")[0]
    assert "Paper, Europarl" in two.partition("</table>")[0]


def test_what_a_grid_lacks_and_began_with_is_told(grids: list[Grid], results: list[RunResults]) -> None:
    models = [{"seed": 1, "steps": 5017, "seconds": 15326.0, "perplexity": 19.3412}]
    missing = ["han with seed 2 (failed)"]
    grid = {**grids[0], "unfinished": missing, "sentence_models": models, "part": "dev", "taken": {"document": [7, 9]}}
    for text in (build_page(results, title="T", grids=[grid]), build_markdown(results, title="T", grids=[grid])):
        assert "Not finished: han with seed 2 (failed)." in text
        assert "Development part;" in text
        assert "1,203 sentence steps and 7 to 9 document steps" in text
    page = build_page(results, title="T", grids=[grid])
    assert "seed 1: 5,017 steps, 4 h 15 min, perplexity of the development part 19.34" in page.replace("\u202f", " ")
    alone = {**grids[0], "rows": [{**row, "against": None} for row in grids[0]["rows"]]}
    assert "No row could be compared with `transformer` yet." in as_markdown(alone)
    assert "p < 0.05" not in as_markdown(alone)


def test_charts_say_their_values(page: str, grids: list[Grid]) -> None:
    history = grids[1]
    charts = re.findall(r'aria-label="((?:BLEU|METEOR) by history sentences: [^"]*)"', page)
    assert len(charts) == 2
    for row in history["rows"]:
        assert f"{row['value']}: {row['means']['bleu']['mean']:.2f}" in charts[0]
    assert "best BLEU with two" in page
