"""Results of grids are checked when read."""

import json
from pathlib import Path

import pytest
from tests.unit.report.fake_runs import write_json

from docaps.errors import RunError
from docaps.runs.grid_results import arrange, read_grids
from docaps.runs.results import RunResults


def test_errors_in_grids_name_their_file(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="the grid has no results yet"):
        read_grids(tmp_path)
    (tmp_path / "table2.json").write_text("[]", encoding="utf-8")
    with pytest.raises(RunError, match=r"table2\.json: not the results of a grid: experiment, title"):
        read_grids(tmp_path)
    found = json.loads((folder / "table2.json").read_text(encoding="utf-8"))
    del found["rows"][0]["means"]
    write_json(tmp_path / "table2.json", found)
    with pytest.raises(RunError, match="means missing"):
        read_grids(tmp_path)


def test_of_many_runs_a_few_are_shown_in_detail(results: list[RunResults]) -> None:
    runs, detailed, charted = arrange(results)
    assert [run.system for run in runs[:detailed]] == ["transformer", "qcn+reg", "qcn"]
    assert {run.description["seed"] for run in runs[:charted]} == {1}
    assert charted <= 12
    assert sorted(map(id, runs)) == sorted(map(id, results))
    assert arrange(results[:2]) == ([*results[:2]], 2, 2)
