"""The Markdown report has the tables of the page."""

from docaps.report.grid_tables import as_markdown
from docaps.report.markdown import build_markdown, runs_table
from docaps.runs.grid_results import Grid
from docaps.runs.results import RunResults


def test_the_table_of_runs_has_the_development_part(results: list[RunResults]) -> None:
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in runs_table(results).splitlines()
    ]
    for run, row in zip(results, rows, strict=True):
        assert run.measured is not None
        for name, part in (("BLEU, dev", "dev"), ("BLEU", "test")):
            assert row[head.index(name)] == f"{run.measured['parts'][part]['scores']['bleu']['score']:.2f}"


def test_the_table_of_runs_has_retrieval_where_a_regulariser_was_trained(results: list[RunResults]) -> None:
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")] for line in runs_table(results).splitlines()
    ]
    found = [row[head.index("retrieval, dev")] for row in rows]
    assert found == [
        f"{run.validation[-1]['retrieval']:.2f}" if run.system.endswith("+reg") else "–" for run in results
    ]
    assert {"–", "0.03"} < set(found)
    plain = [run for run in results if not run.system.endswith("+reg")]
    assert "retrieval" not in runs_table(plain)


def test_markdown_has_the_same_tables(results: list[RunResults], grids: list[Grid]) -> None:
    text = build_markdown(results, title="Report", grids=grids, commands=[("all", "docaps experiment table2")])
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]
    row = next(line for line in lines if line[0].startswith("qcn+reg:"))
    assert row[1].startswith(f"{grids[0]['rows'][3]['means']['bleu']['mean']:.2f}")
    assert row[-6:] == ["25.19", "45.91", "22.37", "41.88", "29.82", "47.86"]
    assert "```bash\ndocaps experiment table2\n```" in text
    assert as_markdown(grids[1]).count("\n| history-") == 6
