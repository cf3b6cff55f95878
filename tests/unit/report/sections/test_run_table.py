"""The table of runs: each number stands under its heading, in the row of its run."""

import json
import re
from pathlib import Path

import pytest
from tests.unit.report.fake_grids import write_grid
from tests.unit.report.fake_runs import write_document_run, write_sentence_run
from tests.unit.report.page_reading import read_page, rows_of

from docaps.report import RunResults, build_page, read_results
from docaps.report.sections.run_table import best_text, results_section
from docaps.runs.grid_results import read_grids, runs_of

ACCURACY = "Contrastive accuracy, %"


def read_table(page: str) -> dict[str, dict[tuple[str, ...], str]]:
    """Return what stands under each heading, for each row."""
    table = read_page(page).place("results")
    assert table is not None
    rows = rows_of(table, "tbody", "tfoot")
    return {name: {heading: cell.text for heading, cell in row.items()} for name, row in rows}


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
    assert len(seen) == len(results) == 22  # all runs have distinct numbers


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


def test_accuracy_charts_name_their_seed(results: list[RunResults]) -> None:
    page = build_page(results, title="T")
    assert captions(page) == {"accuracy, %, seed 1"}
    assert "pronoun: accuracy in percent by distance, for each run, seed 1; the dots&#39; titles" in page
    assert captions(str(results_section(results))) == {"accuracy, %, seeds 1 and 2"}
    single = [run for run in results if run.description["seed"] == 1]
    assert captions(build_page(single, title="T")) == {"accuracy, %"}


def test_charts_of_choices_and_curves_name_their_seed(results: list[RunResults]) -> None:
    page = build_page(results, title="T")
    assert '<figcaption>geneval<span class="quiet"> right choices, %, seed 1</span>' in page
    assert "geneval: right choices in percent, for each run, seed 1; the dots&#39; titles" in page
    assert '<figcaption>Perplexity<span class="quiet">of the development set, seed 1</span>' in page
    assert "Perplexity, of the development set, seed 1, over training steps. " in page
    assert "run qcn, seed 1</h3>" in page.partition('id="routing"')[2]
    assert '<span class="quiet">qcn, seed 1</span>' in page.partition('id="samples"')[2].partition("</section>")[0]
    single = build_page([run for run in results if run.description["seed"] == 1], title="T")
    for sentence in ("right choices, %</span>", "of the development set</span>", "run qcn</h3>"):
        assert sentence in single
    assert ", seed 1" not in single


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


def test_a_trial_lacks_no_test_results(tmp_path: Path) -> None:
    run = write_document_run(tmp_path / "trial")
    for path in (run / "assessment").iterdir():
        path.unlink()
    assert "Not measured yet" in str(results_section([read_results(run)]))
    part = {"set": "dev", "documents": 1, "sentences": 2, "scores": {}}
    data = {"source_language": "en", "target_language": "de", "hash": "x", "parts": {}}
    results = {"parts": {"dev": part}, "data": data, "machine": {}}
    (run / "results.json").write_text(json.dumps(results), encoding="utf-8")
    assert "Not measured yet" not in str(results_section([read_results(run)]))


@pytest.fixture
def runs(tmp_path: Path) -> list[RunResults]:
    return [read_results(write_sentence_run(tmp_path)), read_results(write_document_run(tmp_path))]


def test_the_best_value_is_bold_and_ties_share_it(runs: list[RunResults]) -> None:
    page = build_page(runs, title="T")
    assert "<strong>88.4</strong>" in page
    assert "<strong>61.2</strong>" not in page
    assert best_text(["9.9", "10.0", "–"]) == "10.0"
    assert best_text(["9.9", "–"]) is None
    assert best_text(["9.9", "9.9"]) is None
