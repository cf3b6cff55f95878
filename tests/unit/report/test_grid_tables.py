"""Tables of grids: significance marks, intervals and captions."""

from pathlib import Path

import pytest
from tests.unit.report.fake_grids import write_grid, write_trials

from docaps.report.grid_tables import as_markdown, as_rows, caption, significance_mark
from docaps.report.markdown import build_markdown
from docaps.runs.grid_results import Grid, read_grids
from docaps.runs.results import RunResults


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


def test_a_row_of_one_seed_has_the_interval_over_documents(tmp_path: Path) -> None:
    (grid,) = read_grids(write_grid(tmp_path, seeds=(1,), figures=False))
    row = grid["rows"][2]
    ends = row["documents"]["bleu"]
    assert f"[{ends['low']:.2f}, {ends['high']:.2f}]" in as_markdown(grid)


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
