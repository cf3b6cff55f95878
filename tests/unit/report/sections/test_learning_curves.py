"""There is a curve for each logged metric, labelled with its last value."""

import json
import re
from itertools import pairwise
from pathlib import Path

from tests.unit.report.fake_grids import watch_bleu, write_sentence_model
from tests.unit.report.fake_runs import write_document_run, write_run

from docaps.report import build_page
from docaps.report.sections.learning_curves import curves_section, thin
from docaps.runs.results import read_results


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


def test_retrieval_is_a_curve_beside_chance(tmp_path: Path) -> None:
    run = read_results(write_document_run(tmp_path))
    text = str(curves_section([run]))
    said = "Retrieval, share of development pairs found, dashed: chance, over training steps. qcn+reg ends at "
    assert f'aria-label="{said}{run.validation[-1]["retrieval"]:.3g}"' in text
    assert text.count("<title>qcn+reg, chance</title>") == 1
    assert text.count("<title>qcn+reg, mismatched</title>") == 1
    write_run(tmp_path / "plain", name="plain", system="qcn")
    assert "Retrieval" not in str(curves_section([read_results(tmp_path / "plain")]))


def test_sentence_models_have_curves_and_nothing_else(tmp_path: Path) -> None:
    rows = [read_results(write_document_run(tmp_path))]
    for seed in (1, 2):
        write_sentence_model(tmp_path, seed)
    first = [read_results(tmp_path / f"seed-{seed}" / "sentence") for seed in (1, 2)]
    page = build_page(rows, title="T", sentence_models=first)
    before, _, curves = page.partition('<section id="curves"')
    rest, _, own = curves.partition("<h3>The sentence models that the rows start from</h3>")
    ends = [
        f"seed {seed} ends at {run.validation[-1]['dev_perplexity']:.3g}" for seed, run in enumerate(first, start=1)
    ]
    assert f"Perplexity, of the development set, over training steps. {'; '.join(ends)}" in own
    assert own.partition("</section>")[0].count("<figure>") == 2
    assert rest.count("<figure>") == 4
    assert "run sentence" not in before + own.partition("</section>")[2]
    single = str(curves_section(rows, sentence_models=first[1:]))
    assert "over training steps. sentence model ends at " in single
    assert "sentence model" not in str(curves_section(rows))


def test_the_labels_of_sentence_models_do_not_lie_on_each_other(tmp_path: Path) -> None:
    for seed in range(1, 6):
        write_sentence_model(tmp_path, seed)
    models = [read_results(tmp_path / f"seed-{seed}" / "sentence") for seed in range(1, 6)]
    chart = str(curves_section([], sentence_models=models)).split("<figure>")[2]
    places = sorted(float(y) for y in re.findall(r'<text x="[\d.]+" y="([\d.]+)" class="label', chart))
    assert len(places) == 5
    assert all(after - before >= 13.9 for before, after in pairwise(places))
