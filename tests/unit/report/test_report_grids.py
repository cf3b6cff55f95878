"""Reports about grids: the paper's numbers stand beside ours, what differs is said, and the page stays small."""

import json
import re
import sys
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.fake_grids import DATA, write_grid, write_trials
from tests.unit.report.fake_runs import write_document_run, write_json, write_sentence_run
from tests.unit.report.test_report_page import Outline

from docaps.config import Recipe, load_recipe, recipe_path
from docaps.errors import DocapsError, RunError
from docaps.report import build_page, read_results
from docaps.report.grids import as_markdown, as_rows, caption, significance_mark
from docaps.report.markdown import build_markdown, runs_table
from docaps.report.paper import CORPORA, TABLE1, TABLE2, find_corpus
from docaps.report.plots import write_figures
from docaps.report.table2 import OUR_READINGS, PAPER_SETTINGS, state_differences
from docaps.report.worth import KINDS, Rise, rises_of, span_of, worth_figure
from docaps.runs.card import as_card, flatten, markdown_table
from docaps.runs.grid_results import Grid, arrange, beginnings_of, read_grids, runs_of
from docaps.runs.results import RunResults
from docaps.runs.wording import label_runs

MIB = 2**20


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_grid(tmp_path_factory.mktemp("grid"))


@pytest.fixture(scope="module")
def grids(folder: Path) -> list[Grid]:
    return read_grids(folder)


@pytest.fixture(scope="module")
def results(folder: Path, grids: list[Grid]) -> list[RunResults]:
    return [read_results(run) for run in runs_of(folder, grids)]


@pytest.fixture(scope="module")
def page(results: list[RunResults], grids: list[Grid]) -> str:
    commands = [("Table 2: qcn, seed 1", "docaps experiment table2 --dir runs/x --seeds 1 --only qcn")]
    return build_page(results, title="Report", commands=commands, grids=grids)


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
    beginnings = [read_results(run) for run in beginnings_of(folder, found)]
    assert len(beginnings) == 2
    page = build_page(runs, title="Report", grids=found, beginnings=beginnings)
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
        assert cells[0].rstrip("*") == f"{row['histories']['true']['perplexity']:.3f}"
        marked = f"{row['means']['bleu']['mean']:.2f}{significance_mark(row, 'bleu')} "
        assert cells[3].startswith(marked)
    text = build_markdown(runs, title="Report", grids=found)
    true = found[0]["rows"][2]["histories"]["true"]["perplexity"]
    assert f"| mean: query from the mean of the words | {true:.3f}" in text
    assert "paper, TED: BLEU" not in text
    assert "Development part, on which models were chosen" not in as_markdown(found[0])


@pytest.mark.parametrize(("difference", "mark"), [(0.001, "**"), (-0.001, "**"), (0.0004, "")])
def test_marks_of_perplexities_are_for_differences_that_are_seen(difference: float, mark: str, tmp_path: Path) -> None:
    (found,) = read_grids(write_trials(tmp_path))
    against = {"difference": difference, "low": 0, "high": 0, "p_bootstrap": 0.001, "p_randomisation": 0.002}
    found["rows"][1]["histories"]["none"] = {"perplexity": 14.9518, "against": against}
    header, rows = as_rows(found)
    assert rows[1][header.index("perplexity, no history")] == f"14.952{mark}"


def test_marks_are_explained_where_there_are_any(tmp_path: Path) -> None:
    (found,) = read_grids(write_trials(tmp_path))
    assert "p < 0.01 against `transformer`; perplexity with another history or none: against" in caption(found)
    found["rows"][2]["baseline"] = "qcn"
    assert "p < 0.01 against `qcn` (`mean`); perplexity with" in caption(found)
    found["rows"][1]["against"] = found["rows"][2]["against"]
    assert "p < 0.01 against `transformer` (`mean`: `qcn`); perplexity with" in caption(found)
    for row in found["rows"]:
        row.pop("against", None)
    alone = caption(found)
    assert "No row could be compared with `transformer` yet. * p < 0.05" in alone
    assert "p < 0.01 perplexity with another history or none: against the true one, by both" in alone
    for row in found["rows"]:
        row.pop("histories")
    assert caption(found).endswith("No row could be compared with `transformer` yet.")
    assert as_rows(found)[1][1][1:4] == ["–"] * 3


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


def test_the_interval_of_right_choices_stands_where_there_are_several_seeds(
    tmp_path: Path, grids: list[Grid], results: list[RunResults]
) -> None:
    choices = grids[0]["rows"][3]["choices"]
    words = "{mean:.1f} [{low:.1f}, {high:.1f}]".format(**{key: 100 * value for key, value in choices.items()})
    for text in (as_markdown(grids[0]), build_markdown(results, title="T", grids=grids)):
        line = next(line for line in text.splitlines() if line.startswith("| qcn+reg: "))
        assert line.split(" | ")[5] == words
    (single,) = read_grids(write_grid(tmp_path, seeds=(1,), figures=False))
    line = next(line for line in as_markdown(single).splitlines() if line.startswith("| qcn+reg: "))
    assert line.split(" | ")[5] == f"{100 * single['rows'][3]['choices']['mean']:.1f}"
    without = {**single, "rows": [single["rows"][0], {**single["rows"][1], "choices": None}]}
    assert as_markdown(without).splitlines()[5].split(" | ")[5] == "–"


def test_a_corpus_of_the_paper_is_known_by_its_sizes() -> None:
    sizes = {part: [size for size, _ in row] for part, row in TABLE1.items()}
    for place, name in enumerate(CORPORA):
        assert find_corpus({part: row[place] for part, row in sizes.items()}) == name
    assert find_corpus({"train": 206_126, "dev": 8_967, "test": 2_270}) is None
    assert find_corpus({}) is None


def test_what_differs_from_the_paper_is_said_and_nothing_else(grids: list[Grid], results: list[RunResults]) -> None:
    said = state_differences(grids[0], results)
    assert [text.split(":")[0] for text in said] == ["Other data", "Long sentences", "Other counting"]
    assert "the authors left them out for want of memory; our recipes leave out none." in said[1]
    run = next(run for run in results if run.system == "qcn+reg")
    flat = {"system": {"model": {"size": 128}, "history": {"sentences": 3}}, "stage": {"dropout": 0.2}}
    other = replace(run, description={**run.description, "settings": flat})
    assert "Other settings than the paper's: model.size 128 (paper: 512)." in state_differences(grids[0], [other])
    parts = {part: {"documents": 1, "sentences": row[0][0], "average": 1.0} for part, row in TABLE1.items()}
    ted = {**(run.measured or {}), "data": {**DATA, "parts": parts}}
    same = replace(other, measured=ted)
    assert not any(text.startswith("Other data") for text in state_differences(grids[0], [same]))
    page = build_page([same], title="T", grids=[grids[0]])
    assert "Paper, TED" in page
    assert "Paper, News" not in page


def test_the_papers_table_is_typed_right() -> None:
    typed = """
        zhang           24.00 44.69  23.08 42.40  29.32 46.72
        han             24.58 45.48  25.03 44.02  28.60 46.09
        san             24.42 45.38  24.84 44.27  29.75 47.22
        transformer     23.28 44.17  21.67 41.11  28.72 46.22
        transformer+reg 24.55 45.57  22.09 41.77  29.42 47.59
        qcn             24.41 46.09  22.22 41.90  29.48 47.49
        qcn+reg         25.19 45.91  22.37 41.88  29.82 47.86
    """
    rows = [line.split() for line in typed.strip().splitlines()]
    assert {row: [f"{x:.2f}" for pair in pairs for x in pair] for row, pairs in TABLE2.items()} == {
        name: numbers for name, *numbers in rows
    }


def described(run: RunResults, **settings: Any) -> RunResults:
    return replace(run, description={**run.description, "settings": settings})


def said_of(title: str, grid: Grid, runs: list[RunResults]) -> str:
    """Return what is said under a title; empty if nothing is."""
    found = [text.removeprefix(f"{title}: ") for text in state_differences(grid, runs) if text.startswith(f"{title}: ")]
    return found[0] if found else ""


OTHER = "Other settings than the paper's"


def test_other_settings_are_told_of_all_runs(grids: list[Grid], results: list[RunResults]) -> None:
    one = {system: next(run for run in results if run.system == system) for system in ("transformer", "qcn", "zhang")}
    model, stage = {"model": {"size": 128}, "history": {"sentences": 1}}, {"batch_tokens": 3000, "beta2": 0.98}
    plain = described(one["transformer"], system=model, stage=stage | {"dropout": 0.2, "accumulate": 4})
    alone = "model.size 128 (paper: 512), stage.dropout 0.2 (paper: 0.1), stage.beta2 0.98 (paper: 0.999), "
    alone += "stage.accumulate 4 (paper: 1) and stage.batch_tokens 3000 (paper: 900 or 1500)."
    assert said_of(OTHER, grids[0], [plain]) == alone
    context = described(one["qcn"], system=model, stage={"dropout": 0.2, "accumulate": 1, "batch_tokens": 900})
    both = "model.size 128 (paper: 512), stage.dropout 0.2 (paper: 0.1; only in transformer), "
    both += "stage.beta2 0.98 (paper: 0.999), stage.accumulate 4 (paper: 1; only in transformer), "
    both += "stage.batch_tokens 3000 (paper: 900 or 1500; only in transformer) and history.sentences 1 (paper: 3)."
    assert said_of(OTHER, grids[0], [plain, context]) == both
    none = [described(run, stage={"dropout": 0.0, "inherited_rate": 0.0}) for run in one.values()]
    same = "stage.dropout 0.0 (paper: 0.1 or 0.2) and stage.inherited_rate 0.0 (paper: 1.0)."
    assert said_of(OTHER, grids[0], none) == same
    rival = described(one["zhang"], system={"qcn": {"capsules": 9}}, stage={"inherited_rate": 0.0, "dropout": 0.2})
    assert said_of(OTHER, grids[0], [rival]) == ""


def test_the_weight_of_the_regulariser_is_compared_where_there_is_one(
    grids: list[Grid], results: list[RunResults]
) -> None:
    systems = ("transformer", "transformer+reg", "qcn", "qcn+reg")
    runs = [next(run for run in results if run.system == system) for system in systems]
    for weight, said in ((1.0, ""), (0.3, "regulariser.weight 0.3 (paper: 1.0).")):
        told = [described(run, system={"regulariser": {"weight": weight}}) for run in runs]
        assert said_of(OTHER, grids[0], told) == said
        assert said_of(OTHER, grids[0], [told[0], told[2]]) == ""
    mixed = [told[1], described(runs[3], system={"regulariser": {"weight": 1.0}})]
    assert said_of(OTHER, grids[0], mixed) == "regulariser.weight 0.3 (paper: 1.0; only in transformer+reg)."


def test_how_the_corpus_was_prepared_is_compared_where_it_is_known(
    grids: list[Grid], results: list[RunResults]
) -> None:
    def prepared(**settings: Any) -> list[RunResults]:
        return [replace(results[0], measured={**(results[0].measured or {}), "data": {**DATA, **settings}})]

    assert said_of(OTHER, grids[0], prepared()) == ""
    same = {"subwords": "bpe", "truecase": True, "merges": 30_000, "minimum_frequency": 2, "cleaning": {"copies": True}}
    assert said_of(OTHER, grids[0], prepared(preparation=same)) == ""
    other = "preparation.truecase False (paper: True) and preparation.merges 8000 (paper: 30000)."
    assert said_of(OTHER, grids[0], prepared(preparation=same | {"truecase": False, "merges": 8000})) == other


def settings_of(recipe: Recipe, stage: str) -> dict[str, Any]:
    """Return the settings as a run has them, and those of its corpus."""
    parts = {"system": recipe.system(stage), "stage": recipe.stage[stage], "preparation": recipe.preparation}
    return {name: part.model_dump(mode="json") for name, part in parts.items()}


def test_every_setting_that_is_compared_is_one_and_the_papers_recipe_differs_in_none(
    grids: list[Grid], results: list[RunResults]
) -> None:
    recipe = load_recipe(recipe_path("paper"))
    assert {*PAPER_SETTINGS, *OUR_READINGS} <= flatten(settings_of(recipe, "document")).keys()
    runs = [
        described(next(run for run in results if run.system == system), **settings_of(recipe, stage))
        for system, stage in (("transformer", "sentence"), ("qcn+reg", "document"), ("capsnet", "document"))
    ]
    for title in (OTHER, "Settings that the paper does not give"):
        assert said_of(title, grids[0], runs) == ""


@pytest.mark.parametrize("name", [*PAPER_SETTINGS, *OUR_READINGS])
def test_every_setting_that_differs_is_said_of_the_run_that_has_everything(
    grids: list[Grid], results: list[RunResults], name: str
) -> None:
    run = next(run for run in results if run.system == "qcn+reg")
    found = said_of(OTHER, grids[0], [described(run, **{name: "another"})])
    found += said_of("Settings that the paper does not give", grids[0], [described(run, **{name: "another"})])
    assert found.startswith(f"{name.removeprefix('system.')} another (")


def test_the_place_of_the_norm_is_not_said_to_be_the_papers(grids: list[Grid], results: list[RunResults]) -> None:
    run = described(results[0], system={"model": {"norm": "pre", "size": 512}})
    assert said_of(OTHER, grids[0], [run]) == ""
    ours = said_of("Settings that the paper does not give", grids[0], [run])
    assert ours == "model.norm pre (our reading of it: post)."
    post = described(results[0], system={"model": {"norm": "post"}})
    assert not any("norm" in text for text in state_differences(grids[0], [post]))


def test_the_settings_of_the_sentence_models_are_compared_where_they_are_known(
    grids: list[Grid], results: list[RunResults]
) -> None:
    models = [
        {"seed": seed, "steps": 1, "seconds": 1.0, "perplexity": 2.0, "settings": {"stage": stage}}
        for seed, stage in ((1, {"dropout": 0.2, "accumulate": 4}), (2, {"dropout": 0.1, "accumulate": 4}))
    ]
    said = said_of("Other settings of the sentence models", {**grids[0], "sentence_models": models}, results)
    assert said == "stage.dropout 0.2 (paper: 0.1; only in seed 1) and stage.accumulate 4 (paper: 1)."
    for model in models:
        del model["settings"]
    assert said_of("Other settings of the sentence models", {**grids[0], "sentence_models": models}, results) == ""


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


def test_a_row_of_one_seed_has_the_interval_over_documents(tmp_path: Path) -> None:
    (grid,) = read_grids(write_grid(tmp_path, seeds=(1,), figures=False))
    row = grid["rows"][2]
    ends = row["documents"]["bleu"]
    assert f"[{ends['low']:.2f}, {ends['high']:.2f}]" in as_markdown(grid)


def test_the_table_of_runs_has_the_development_part(results: list[RunResults]) -> None:
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in runs_table(results).splitlines()
    ]
    for run, row in zip(results, rows, strict=True):
        assert run.measured is not None
        for name, part in (("BLEU, dev", "dev"), ("BLEU", "test")):
            assert row[head.index(name)] == f"{run.measured['parts'][part]['scores']['bleu']['score']:.2f}"


@pytest.mark.parametrize(
    ("bootstrap", "randomisation", "difference", "mark"),
    [
        (0.001, 0.001, 1.0, "**"),
        (0.001, 0.03, -1.0, "*"),
        (0.03, 0.001, 1.0, "*"),
        (0.001, 0.2, 1.0, ""),
        (0.05, 0.001, 1.0, ""),
        (0.001, 0.001, 0.004, ""),
    ],
)
def test_a_mark_needs_both_tests_and_a_difference(
    bootstrap: float, randomisation: float, difference: float, mark: str
) -> None:
    found = {"difference": difference, "p_bootstrap": bootstrap, "p_randomisation": randomisation}
    assert significance_mark({"against": {"bleu": found}}, "bleu") == mark
    assert significance_mark({}, "bleu") == ""


def test_of_many_runs_a_few_are_shown_in_detail(results: list[RunResults]) -> None:
    runs, detailed, charted = arrange(results)
    assert [run.system for run in runs[:detailed]] == ["transformer", "qcn+reg", "qcn"]
    assert {run.description["seed"] for run in runs[:charted]} == {1}
    assert charted <= 12
    assert sorted(map(id, runs)) == sorted(map(id, results))
    assert arrange(results[:2]) == ([*results[:2]], 2, 2)


def test_labels_name_the_seed_where_that_is_the_difference(results: list[RunResults]) -> None:
    labels = label_runs(results)
    assert len(set(labels)) == len(labels)
    assert {"qcn, seed 1", "qcn, seed 2"} <= set(labels)
    assert "history-3" in labels


def test_charts_say_their_values(page: str, grids: list[Grid]) -> None:
    history = grids[1]
    charts = re.findall(r'aria-label="((?:BLEU|METEOR) by history sentences: [^"]*)"', page)
    assert len(charts) == 2
    for row in history["rows"]:
        assert f"{row['value']}: {row['means']['bleu']['mean']:.2f}" in charts[0]
    assert "best BLEU with two" in page


def test_markdown_has_the_same_tables(results: list[RunResults], grids: list[Grid]) -> None:
    text = build_markdown(results, title="Report", grids=grids, commands=[("all", "docaps experiment table2")])
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]
    row = next(line for line in lines if line[0].startswith("qcn+reg:"))
    assert row[1].startswith(f"{grids[0]['rows'][3]['means']['bleu']['mean']:.2f}")
    assert row[-6:] == ["25.19", "45.91", "22.37", "41.88", "29.82", "47.86"]
    assert "```bash\ndocaps experiment table2\n```" in text
    assert as_markdown(grids[1]).count("\n| history-") == 6


def test_cells_of_markdown_cannot_break_the_table() -> None:
    assert markdown_table(["a"], [["x|y"]]) == "| a |\n| --- |\n| x\\|y |"


def test_figures_are_written_as_svg_and_pdf(tmp_path: Path, results: list[RunResults], grids: list[Grid]) -> None:
    pytest.importorskip("matplotlib")
    runs = [next(run for run in results if run.name == name) for name in ("transformer", "qcn")]
    written = write_figures(tmp_path / "figures", runs, grids)
    names = {path.name for path in written}
    assert names == {
        f"{name}.{kind}" for name in ("history", "curves", "distances", "routing-qcn") for kind in ("svg", "pdf")
    }
    for path in written:
        start = path.read_bytes()[:100]
        assert start.startswith(b"%PDF-" if path.suffix == ".pdf" else b"<?xml")
    svg = (tmp_path / "figures" / "history.svg").read_text(encoding="utf-8")
    assert "history sentences" in svg
    write_figures(tmp_path / "again", [], grids)
    assert (tmp_path / "again" / "history.svg").read_text(encoding="utf-8") == svg


def test_figures_of_two_grids_do_not_overwrite_each_other(tmp_path: Path, grids: list[Grid]) -> None:
    pytest.importorskip("matplotlib")
    history = json.loads(json.dumps(grids[1]))
    history["rows"] = history["rows"][:3]
    written = write_figures(tmp_path, [], [grids[1], history])
    assert [path.name for path in written] == ["history.svg", "history.pdf", "history-2.svg", "history-2.pdf"]
    assert (tmp_path / "history.svg").read_bytes() != (tmp_path / "history-2.svg").read_bytes()


def test_the_worth_of_histories_is_drawn_too(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    written = write_figures(tmp_path / "figures", [], read_grids(write_trials(tmp_path / "grid")))
    assert [path.name for path in written] == ["trials-worth.svg", "trials-worth.pdf"]
    svg = written[0].read_text(encoding="utf-8")
    for words in ("mean", "no history", "perplexity above that with the own history"):
        assert f">{words}</text>" in svg


def test_without_matplotlib_the_way_to_it_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(DocapsError, match=re.escape("--figures needs matplotlib: pip install 'docaps[plots]'")):
        write_figures(tmp_path, [], [])


def test_broken_grids_are_told_with_their_file(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="the grid has no numbers yet"):
        read_grids(tmp_path)
    (tmp_path / "table2.json").write_text("[]", encoding="utf-8")
    with pytest.raises(RunError, match=r"table2\.json: does not hold the numbers of a grid: experiment, title"):
        read_grids(tmp_path)
    found = json.loads((folder / "table2.json").read_text(encoding="utf-8"))
    del found["rows"][0]["means"]
    write_json(tmp_path / "table2.json", found)
    with pytest.raises(RunError, match="means missing"):
        read_grids(tmp_path)


def test_a_card_has_the_numbers_of_the_run_and_its_limits(results: list[RunResults]) -> None:
    run = next(run for run in results if run.system == "qcn-shuffled")
    card = as_card(replace(run, description={**run.description, "command": "docaps experiment table2 --only x"}))
    assert run.measured is not None
    score = run.measured["parts"]["test"]["scores"]["bleu"]
    assert f"| test | BLEU | {score['score']:.2f} | `bleu\\|v:2.6.1` |" in card
    assert "It is a control" in card
    assert "| train | 8\u202f011 | 67\u202f913 | 8.48 |" in card
    assert "```bash\ndocaps experiment table2 --only x\n```" in card
    assert "random weights" in card


def test_a_card_of_a_bare_run_says_what_is_missing(tmp_path: Path) -> None:
    import shutil

    run = write_document_run(tmp_path)
    shutil.rmtree(run / "assessment")
    (run / "metrics.jsonl").unlink()
    assert "Nothing yet: `docaps report`" in as_card(read_results(run))
    assert "| test | BLEU | 61.20 |" in as_card(read_results(write_sentence_run(tmp_path)))


def against(difference: float, low: float, high: float) -> dict[str, float]:
    return {"difference": difference, "low": low, "high": high, "p_bootstrap": 0.5, "p_randomisation": 0.5}


def test_what_a_history_is_worth_is_how_much_worse_everything_else_is(tmp_path: Path) -> None:
    (found,) = read_grids(write_trials(tmp_path))
    found["rows"][1]["histories"] = {
        "true": {"perplexity": 14.325, "against": against(-0.007, -0.012, -0.002)},  # better than its baseline
        "shuffled": {"perplexity": 14.334, "against": against(0.009, 0.005, 0.013)},
        "none": {"perplexity": 14.32, "against": against(-0.005, -0.008, 0.001)},  # better without
    }
    rises = rises_of(found)
    assert list(rises) == ["qcn", "mean"]  # not the sentence model's, which has no history
    assert rises["qcn"] == [
        Rise("shuffled", 0.009, 0.005, 0.013),
        Rise("none", -0.005, -0.008, 0.001),
        Rise("baseline", 0.007, 0.002, 0.012),
    ]
    figure = worth_figure(found)
    dots = dict(re.findall(r"<title>qcn, (.*?): (.*?)</title>", figure))
    assert dots[escape("another's history")] == "+0.009 [+0.005, +0.013]"
    places = [float(x) for x in re.findall(r'translate\((\S+) \S+\)"><title>qcn', figure)]
    line = float(re.findall(r'<line x1="(\S+)"[^>]*class="axis"', figure)[0])
    assert [x > line for x in places] == [True, False, True]
    unit = (places[0] - line) / 0.009  # pixels for a perplexity of 1
    whiskers = re.findall(r'<line x1="(\S+)" y1="\S+" x2="(\S+)" y2="\S+" class="whisker', figure)[:3]
    for ends, rise in zip(whiskers, rises["qcn"], strict=True):
        assert [(float(x) - line) / unit for x in ends] == pytest.approx([rise.low, rise.high], abs=1e-4)
    assert [(x - line) / unit for x in places] == pytest.approx([rise.value for rise in rises["qcn"]], abs=1e-4)


def test_a_baseline_far_off_does_not_squeeze_the_rest(tmp_path: Path) -> None:
    (found,) = read_grids(write_trials(tmp_path))
    found["rows"] = found["rows"][:2]
    found["rows"][1]["histories"] = {
        "true": {"perplexity": 14.8, "against": against(0.237, 0.21, 0.265)},
        "shuffled": {"perplexity": 14.806, "against": against(0.006, 0.003, 0.009)},
        "none": {"perplexity": 14.797, "against": against(-0.003, -0.01, 0.003)},
    }
    assert span_of(rises_of(found)) == pytest.approx((-0.02, 0.009))
    figure = worth_figure(found)
    assert "<title>qcn, the row it is compared with: −0.237 [−0.265, −0.210]</title>← −0.237</text>" in figure
    assert figure.count('class="dot') == 2 + len(KINDS)  # and the legend's
    found["rows"][1]["histories"]["true"]["against"] = against(-0.237, -0.265, -0.21)
    assert "</title>+0.237 →</text>" in worth_figure(found)


@pytest.mark.parametrize("difference", [0.0, float("nan")])
def test_histories_that_make_no_difference_or_cannot_be_compared_are_drawn_as_such(
    difference: float, tmp_path: Path
) -> None:
    (found,) = read_grids(write_trials(tmp_path))
    for row in found["rows"][1:]:
        row["histories"] = {
            name: {"perplexity": 14.0, "against": against(0.0, 0.0, 0.0)} for name in ("true", "shuffled", "none")
        }
    found["rows"][1]["histories"]["none"]["against"] = against(difference, 0.0, 0.0)
    figure = worth_figure(found)
    assert ("<title>qcn, no history: +0.000 [+0.000, +0.000]</title>" in figure) == (difference == 0)
    assert "nan" not in figure
    pytest.importorskip("matplotlib")
    assert len(write_figures(tmp_path / "figures", [], [found])) == 2


def test_where_no_history_was_tested_there_is_no_figure_of_its_worth(tmp_path: Path) -> None:
    (found,) = read_grids(write_trials(tmp_path))
    for row in found["rows"]:
        for history in row["histories"].values():
            history["against"] = None
    assert worth_figure(found) == ""
    for row in found["rows"]:
        row.pop("histories")
    assert worth_figure(found) == ""
