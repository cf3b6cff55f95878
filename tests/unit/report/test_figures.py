"""`--figures`: stand-alone SVG and PDF files."""

import json
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.report.fake_grids import write_trials

from docaps.errors import DocapsError
from docaps.report import build_page
from docaps.report.figures import write_figures
from docaps.runs.grid_results import Grid, read_grids
from docaps.runs.results import RunResults


def test_figures_are_written_as_svg_and_pdf(tmp_path: Path, results: list[RunResults], grids: list[Grid]) -> None:
    pytest.importorskip("svglib")
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
    for kind in ("svg", "pdf"):
        first, second = (tmp_path / folder / f"history.{kind}" for folder in ("figures", "again"))
        assert first.read_bytes() == second.read_bytes()


def test_a_figure_has_the_charts_of_the_page_with_their_colours(
    tmp_path: Path, results: list[RunResults], grids: list[Grid]
) -> None:
    pytest.importorskip("svglib")
    page = build_page(results, title="T", grids=grids)
    write_figures(tmp_path, results, grids)
    for path in tmp_path.glob("*.svg"):
        svg = path.read_text(encoding="utf-8")
        ElementTree.fromstring(svg)
        assert "var(" not in svg
        assert "stroke: #" in svg
    for name in ("history", "routing-qcn"):
        svg = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        shapes = re.findall(r"<(?:path|polyline|rect) .*?</(?:path|polyline|rect)>", svg)
        assert len(shapes) > 10
        assert all(shape in page for shape in shapes)


def test_letters_beyond_helvetica_reach_the_pdf(tmp_path: Path, results: list[RunResults]) -> None:
    pytest.importorskip("svglib")
    run = next(run for run in results if run.name == "qcn")
    (first, *_), *_ = [sample.history for sample in run.routing]
    sample = replace(run.routing[0], history=(replace(first, words=("стол",) * len(first.words)),))
    write_figures(tmp_path, [replace(run, routing=(sample,))], [])
    assert "стол" in (tmp_path / "routing-qcn.svg").read_text(encoding="utf-8")
    assert b"/FontFile2" in (tmp_path / "routing-qcn.pdf").read_bytes()  # an embedded font, not Helvetica


def test_figures_of_two_grids_do_not_overwrite_each_other(tmp_path: Path, grids: list[Grid]) -> None:
    pytest.importorskip("svglib")
    history = json.loads(json.dumps(grids[1]))
    history["rows"] = history["rows"][:3]
    written = write_figures(tmp_path, [], [grids[1], history])
    assert [path.name for path in written] == ["history.svg", "history.pdf", "history-2.svg", "history-2.pdf"]
    assert (tmp_path / "history.svg").read_bytes() != (tmp_path / "history-2.svg").read_bytes()


def test_context_gain_is_drawn_too(tmp_path: Path) -> None:
    pytest.importorskip("svglib")
    written = write_figures(tmp_path / "figures", [], read_grids(write_trials(tmp_path / "grid")))
    assert [path.name for path in written] == ["trials-context-gain.svg", "trials-context-gain.pdf"]
    svg = written[0].read_text(encoding="utf-8")
    for words in ("mean", "no history", "perplexity above that with the own history"):
        assert f">{words}</text>" in svg


def test_without_svglib_the_error_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "svglib.svglib", None)
    with pytest.raises(DocapsError, match=re.escape("--figures needs svglib: pip install 'docaps[plots]'")):
        write_figures(tmp_path, [], [])
