"""Curves say the last value of the log, and there is one for whatever was logged."""

import json
import re
from pathlib import Path

from fake_grids import watch_bleu
from fake_runs import write_document_run, write_run

from docaps.report.curves import curves_section, thin
from docaps.report.results import read_results


def test_a_line_is_said_to_end_where_the_log_does(tmp_path: Path) -> None:
    write_run(tmp_path, name="long", system="qcn", logged=300)
    run = read_results(tmp_path)
    logged = [(row["step"], row["cross_entropy"]) for row in run.training]
    assert len(logged) == 300
    assert f"{thin(logged)[-1][1]:.3g}" != f"{logged[-1][1]:.3g}"  # the drawing is of means
    text = str(curves_section([run]))
    assert f"Training loss, cross-entropy per token, over training steps. qcn ends at {logged[-1][1]:.3g}" in text


def test_a_long_log_is_drawn_with_few_points(tmp_path: Path) -> None:
    write_run(tmp_path, name="long", system="qcn", logged=300)
    drawn = re.findall(r'<polyline points="([^"]*)"', str(curves_section([read_results(tmp_path)])))
    assert [len(points.split()) for points in drawn] == [150, 3]


def test_bleu_watched_in_training_is_a_curve(tmp_path: Path) -> None:
    run = write_document_run(tmp_path)
    assert "greedy search" not in str(curves_section([read_results(run)]))
    watch_bleu(run, 30.0)
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    last = [row["dev_bleu"] for row in rows if "dev_bleu" in row][-1]
    text = str(curves_section([read_results(run)]))
    said = f"BLEU, of the development set, greedy search, over training steps. qcn+reg ends at {last:.3g}"
    assert f'aria-label="{said}"' in text
