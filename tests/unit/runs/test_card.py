"""Model cards state scores, data and limits of a run."""

from dataclasses import replace
from pathlib import Path

from tests.unit.report.fake_runs import write_document_run, write_sentence_run

from docaps.report import read_results
from docaps.runs.card import as_card, markdown_table
from docaps.runs.results import RunResults


def test_cells_of_markdown_cannot_break_the_table() -> None:
    assert markdown_table(["a"], [["x|y"]]) == "| a |\n| --- |\n| x\\|y |"


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
    assert "Not measured yet: run `docaps report`" in as_card(read_results(run))
    assert "| test | BLEU | 61.20 |" in as_card(read_results(write_sentence_run(tmp_path)))


def test_a_card_shows_the_settings_of_its_own_system(results: list[RunResults]) -> None:
    run = next(run for run in results if run.system == "qcn-shuffled")
    system = {"name": "han", "han": {"side": "encoder"}, "qcn": {"rounds": 3}}
    settings = {"system": system, "stage": {"steps": 7}}
    card = as_card(replace(run, system="han", description={**run.description, "settings": settings}))
    assert "| `system.han.side` | `encoder` |" in card
    assert "| `stage.steps` | `7` |" in card
    assert "rounds" not in card
