"""A grid with one sentence model for the rows of all seeds, and rows that are trained once."""

from pathlib import Path

import pytest
from tests.unit.experiments.toy_grid import read, toy, work

from docaps.errors import RunError
from docaps.experiments.aggregate import aggregate_folder, aggregate_grid
from docaps.experiments.grid import Cell, Grid, check_request, write_request
from docaps.experiments.rows import LAYOUTS
from docaps.experiments.run_processes import CellAddress
from docaps.report.grid_tables import as_markdown

pytestmark = pytest.mark.usefixtures("small")
LAYOUT = LAYOUTS["series"]


def series(directory: Path, **changes: object) -> Grid:
    """Return the grid of the long comparison, at toy size."""
    return toy(directory, **{"layout": LAYOUT, "only": None, "seeds": (1, 2, 3), **changes})


def test_main_rows_have_all_seeds_and_come_first_and_there_is_one_sentence_model(tmp_path: Path) -> None:
    grid = series(tmp_path)
    order = [cell.key for cell in grid.in_order()]
    main = ("transformer", "qcn-target", "qcn-target-shuffled", "concat-discounted")
    assert order[0] == "seed-1.sentence"
    assert set(order[1:13]) == {f"seed-{seed}.{row}" for seed in (1, 2, 3) for row in main}
    rest = ("qcn", "qcn-states", "qcn-decoder", "capsnet", "han-first", "han", "zhang")
    assert sorted(order[13:]) == sorted(f"seed-1.{row}" for row in rest)
    assert order.index("seed-1.han-first") < order.index("seed-1.han")


def test_other_seeds_alone_need_the_same_sentence_model(tmp_path: Path) -> None:
    grid = series(tmp_path, seeds=(2,))
    assert next(grid.cells()).key == "seed-1.sentence"
    assert {cell.seed for cell in grid.cells() if cell.row} == {2}
    first = grid.predecessor(Cell(2, LAYOUT.rows["transformer"]))
    assert first is not None
    assert (first.key, grid.predecessor(first)) == ("seed-1.sentence", None)


def test_a_row_that_is_named_has_all_seeds(tmp_path: Path) -> None:
    grid = series(tmp_path, only=("han",))
    found = [cell.key for cell in grid.cells()]
    assert found == ["seed-1.sentence", *(f"seed-{seed}.{row}" for seed in (1, 2, 3) for row in ("han-first", "han"))]
    first = grid.predecessor(Cell(2, LAYOUT.rows["han"]))
    assert first is not None
    assert first.key == "seed-2.han-first"


def test_rows_of_all_seeds_start_from_the_same_weights(tmp_path: Path) -> None:
    grid = series(tmp_path / "grid", only=("transformer", "qcn"), seeds=(1, 2))
    write_request(grid)
    work(grid)
    assert all(grid.is_done(cell) for cell in grid.cells())
    assert not (grid.directory / "seed-2" / "sentence").exists()
    begun = {grid.run(cell).read()["begun_from"]["created"] for cell in grid.cells() if cell.row}
    assert begun == {grid.run(Cell(1, None)).read()["created"]}
    weights = [grid.run(Cell(seed, LAYOUT.rows["qcn"])).weights.read_bytes() for seed in (1, 2)]
    assert weights[0] != weights[1]  # dropout, order and new weights have their own seed
    found = aggregate_grid(grid)
    assert [row["row"] for row in found["rows"]] == ["transformer", "qcn"]
    assert len(found["sentence_models"]) == 1
    assert {"true", "shuffled", "none"} == found["rows"][1]["histories"].keys()
    assert "dev" not in found["rows"][0]["runs"][0]
    assert "another's history" in as_markdown(found)
    assert [one["experiment"] for one in aggregate_folder(grid.directory)] == ["series"]
    assert read(grid.request)["one_sentence_model"] is True
    again, cell = CellAddress.of(grid, Cell(2, LAYOUT.rows["qcn"])).open()
    assert again.is_done(cell)
    with pytest.raises(RunError, match="one_sentence_model is true, asked for: null"):
        check_request(toy(grid.directory))


def test_a_folder_with_a_sentence_model_for_each_seed_is_not_one_of_the_series(copy: Path) -> None:
    with pytest.raises(RunError, match="one_sentence_model is null, asked for: true"):
        check_request(series(copy))
