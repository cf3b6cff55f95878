"""Each number of the table of results stands under its own heading, in the row of its run."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from fake_grids import write_grid
from fake_runs import write_document_run, write_sentence_run

from docaps.report import RunResults, build_page, read_results
from docaps.report.gridfiles import read_grids, runs_of
from docaps.report.table import results_section

ACCURACY = "Contrastive accuracy, %"


class Cells(HTMLParser):
    """Reads the table of results: rows of cells, each with its text and the rows and columns that it spans."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[tuple[str, int, int]]]] = {"thead": [], "tbody": [], "tfoot": []}
        self._part = ""
        (table,) = re.findall(r'<table id="results".*?</table>', page, flags=re.DOTALL)
        self.feed(table)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        spans = {name: int(value or 1) for name, value in attributes if name in ("rowspan", "colspan")}
        if tag in self.rows:
            self._part = tag
        elif tag == "tr":
            self.rows[self._part].append([])
        elif tag in ("th", "td"):
            self.rows[self._part][-1].append(("", spans.get("rowspan", 1), spans.get("colspan", 1)))

    def handle_data(self, data: str) -> None:
        if self._part:
            text, *spans = self.rows[self._part][-1][-1]
            self.rows[self._part][-1][-1] = (text + data, *spans)


def headings(head: list[list[tuple[str, int, int]]]) -> list[tuple[str, ...]]:
    """Return the headings above each column, from top to bottom."""
    grid: dict[tuple[int, int], str] = {}
    for line, cells in enumerate(head):
        column = 0
        for text, rows, columns in cells:
            while (line, column) in grid:
                column += 1
            covered = [(line + down, column + across) for down in range(rows) for across in range(columns)]
            assert not grid.keys() & set(covered)
            grid |= dict.fromkeys(covered, text)
    width = 1 + max(column for _, column in grid)
    stacks = [[grid[line, column] for line in range(len(head))] for column in range(width)]
    return [tuple(dict.fromkeys(stack)) for stack in stacks]


def read_table(page: str) -> dict[str, dict[tuple[str, ...], str]]:
    """Return what stands under each heading, for each row."""
    cells = Cells(page)
    names = headings(cells.rows["thead"])
    found = {}
    for row in [*cells.rows["tbody"], *cells.rows["tfoot"]]:
        texts = [text for text, _, columns in row for _ in range(columns)]
        found[texts[0]] = dict(zip(names, texts, strict=True))
    return found


def expected(data: dict[str, object]) -> dict[tuple[str, ...], str]:
    """Write the accuracies of a file as they should stand in the table, under their headings."""
    found = {(ACCURACY, "all"): data["all"]}
    found |= {(ACCURACY, "by phenomenon", name): share for name, share in data["by_phenomenon"].items()}  # type: ignore[attr-defined]
    found |= {(ACCURACY, "by distance", f"{name} back"): share for name, share in data["by_distance"].items()}  # type: ignore[attr-defined]
    return {heading: f"{100 * share:.1f}" for heading, share in found.items()}  # type: ignore[operator]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> list[RunResults]:
    folder = write_grid(tmp_path_factory.mktemp("grid"), figures=False)
    return [read_results(run) for run in runs_of(folder, read_grids(folder))]


def test_every_accuracy_of_a_run_stands_under_its_own_heading(results: list[RunResults]) -> None:
    table = read_table(build_page(results, title="T"))
    seen = set()
    for run in results:
        end = f"{run.system} · run {run.name}, seed {run.description['seed']}"
        (name,) = [row for row in table if row.endswith(end)]
        data = json.loads((run.path / "assessment" / "contrastive.json").read_text(encoding="utf-8"))
        wanted = expected(data["accuracy"])
        assert len(wanted) == 9
        assert {heading: text for heading, text in table[name].items() if heading[0] == ACCURACY} == wanted
        assert expected(data["chance"]).items() <= table["Chance"].items()
        assert table[name]["BLEU",] == f"{run.scores.bleu:.1f}"  # type: ignore[union-attr]
        seen.add(tuple(wanted.values()))
    assert len(seen) == len(results) == 22  # no run could stand in for another


def test_a_run_that_lacks_a_phenomenon_leaves_its_cell_empty(tmp_path: Path) -> None:
    runs = [write_sentence_run(tmp_path), write_document_run(tmp_path)]
    path = runs[1] / "assessment" / "contrastive.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    del data["accuracy"]["by_phenomenon"]["ambiguity"]
    path.write_text(json.dumps(data), encoding="utf-8")
    table = read_table(build_page([read_results(run) for run in runs], title="T"))
    (row,) = [cells for name, cells in table.items() if name.endswith("run document")]
    assert row[ACCURACY, "by phenomenon", "ambiguity"] == "–"
    assert expected(data["accuracy"]).items() <= row.items()


def captions(page: str) -> set[str]:
    return set(re.findall(r'<figcaption>\w+<span class="quiet"> (accuracy, %[^<]*)</span>', page))


def test_the_accuracy_charts_say_whose_seed_they_show(results: list[RunResults]) -> None:
    page = build_page(results, title="T")
    assert captions(page) == {"accuracy, %, seed 1"}
    assert "pronoun: accuracy in per cent by distance, for each run, seed 1; the values" in page
    assert captions(str(results_section(results))) == {"accuracy, %, seeds 1 and 2"}
    single = [run for run in results if run.description["seed"] == 1]
    assert captions(build_page(single, title="T")) == {"accuracy, %"}


def test_runs_of_no_grid_have_a_table_of_all_scores(tmp_path: Path) -> None:
    folder = write_grid(tmp_path, seeds=(1,), figures=False)
    runs = [read_results(folder / "seed-1" / name) for name in ("transformer", "qcn")]
    page = build_page(runs, title="Report")
    (section,) = re.findall(r'<section id="scores".*?</section>', page, flags=re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", section)
    assert re.findall(r">([^<]+)</th>", rows[0]) == ["Run", "BLEU", "d-BLEU", "chrF2++", "METEOR"]
    for run, row in zip(runs, rows[1:], strict=True):
        measured = json.loads((run.path / "results.json").read_text(encoding="utf-8"))["parts"]["test"]["scores"]
        assert re.findall(r"<td>(.*?)</td>", row) == [
            f"{measured[key]['score']:.2f}" for key in ("bleu", "dbleu", "chrf", "meteor")
        ]
    assert 'id="data"' in page
    assert "A Fine Processor" in page
    assert 'id="scores"' not in build_page(runs, title="Report", grids=read_grids(folder))


def test_a_trial_is_not_said_to_lack_what_it_must_not_have(tmp_path: Path) -> None:
    run = write_document_run(tmp_path / "trial")
    for path in (run / "assessment").iterdir():
        path.unlink()
    assert "Not assessed yet" in str(results_section([read_results(run)]))
    part = {"set": "dev", "scores": {}}
    results = {"parts": {"dev": part}, "data": {"hash": "x", "parts": {}}, "machine": {}}
    (run / "results.json").write_text(json.dumps(results), encoding="utf-8")
    assert "Not assessed yet" not in str(results_section([read_results(run)]))
