"""Heat maps show what a system has: capsules without a query have coupling coefficients and no correlations."""

import json
from dataclasses import replace
from pathlib import Path

from tests.unit.report.fake_runs import write_document_run, write_json

from docaps.report.sections.learning_curves import curves_section
from docaps.report.sections.routing_maps import count_cells, routing_section
from docaps.runs.results import read_results


def test_a_query_is_shown_by_its_correlations(tmp_path: Path) -> None:
    text = str(routing_section([read_results(write_document_run(tmp_path))]))
    assert "Coupling coefficients c, iteration 0" in text
    assert "Pearson correlation p, iteration 0" in text
    assert "Pearson correlation p: colours from" in text


def test_capsules_without_a_query_have_no_map_and_no_legend_of_correlations(tmp_path: Path) -> None:
    run = write_document_run(tmp_path)
    path = run / "assessment" / "routing.json"
    samples = json.loads(path.read_text(encoding="utf-8"))
    for sample in samples:
        for part in sample["history"]:
            del part["pcc"]
    write_json(path, samples)
    text = str(routing_section([read_results(run)]))
    assert "Coupling coefficients c, iteration 0" in text
    assert "Pearson correlation p, iteration" not in text
    assert "Pearson correlation p: colours" not in text


def test_every_run_has_a_sentence_however_large_the_others_are(tmp_path: Path) -> None:
    runs = [read_results(write_document_run(tmp_path / name)) for name in ("one", "two", "three")]
    large = [replace(run, routing=run.routing * (1 + 14000 // count_cells(run.routing[:1]))) for run in runs]
    text = str(routing_section(large))
    assert all(f'id="routing-{place}-0' in text for place in range(3))
    assert text.count("More sentences, left out") == 3
    assert text.count('class="cell') <= 12000


def test_choices_watched_in_training_are_a_curve(tmp_path: Path) -> None:
    run = write_document_run(tmp_path)
    before = str(curves_section([read_results(run)]))
    assert "Right choices" not in before
    with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
        for step, share in ((100, 0.5), (200, 0.875)):
            file.write(json.dumps({"step": step, "dev_loss": 1.0, "dev_perplexity": 2.0, "choices": share}) + "\n")
    after = str(curves_section([read_results(run)]))
    assert "Right choices, share on some contrastive items, over training steps. qcn+reg ends at 0.875" in after
