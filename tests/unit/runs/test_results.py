import json
from pathlib import Path

import pytest
from tests.unit.report.fake_runs import write_document_run, write_json, write_lines, write_run

from docaps.errors import RunError
from docaps.report import read_results


def test_everything_of_a_run_is_read(tmp_path: Path) -> None:
    results = read_results(write_document_run(tmp_path))
    assert (results.name, results.system, results.status) == ("document", "qcn+reg", "finished")
    assert results.scores is not None
    assert results.scores.bleu == 88.4
    assert results.contrastive is not None
    assert results.contrastive.accuracy.all == 0.981
    assert results.contrastive.chance.by_phenomenon["pronoun"] == pytest.approx(1 / 3)
    assert results.translations[0].labels[2].distance == 2
    assert len(results.routing[0].history[0].coupling) == 4
    assert len(results.training) == 90
    assert [row["step"] for row in results.validation] == list(range(100, 901, 100))
    assert results.corpus["path"] == "data/minidocs"


def test_a_run_that_was_never_assessed_has_empty_parts(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"name": "bare", "system": "qcn"})
    results = read_results(tmp_path)
    assert results.status == "unknown"
    assert (results.training, results.validation, results.translations, results.routing) == ((), (), (), ())
    assert results.scores is None
    assert results.contrastive is None
    assert results.settings == {}


def test_a_directory_without_run_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="not a run directory") as caught:
        read_results(tmp_path)
    assert caught.value.path == tmp_path


@pytest.mark.parametrize("file", ["run.json", "assessment/scores.json", "assessment/routing.json"])
def test_broken_json_names_the_file_and_line(tmp_path: Path, file: str) -> None:
    run = write_document_run(tmp_path)
    (run / file).write_text('{\n"name": ', encoding="utf-8")
    with pytest.raises(RunError, match=rf"{Path(file).name}:2: not valid JSON") as caught:
        read_results(run)
    assert caught.value.path == run / file


def test_text_that_is_not_utf8_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(b'{"name": "\xff"}')
    with pytest.raises(RunError, match=r"run\.json:1: cannot be read: not UTF-8 \(0xff\)"):
        read_results(tmp_path)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    write_json(tmp_path / "run.json", {"name": "a"})
    with pytest.raises(RunError, match="the key 'system' is missing"):
        read_results(tmp_path)


@pytest.mark.parametrize("value", [[], "text", 3, None])
def test_json_of_another_form_is_refused(tmp_path: Path, value: object) -> None:
    write_json(tmp_path / "run.json", value)
    with pytest.raises(RunError, match="not in the expected form"):
        read_results(tmp_path)


@pytest.mark.parametrize("torn", [b'{"step": 20, "lo', b'{"step": 20, "loss": 3}'[:-1], b'{"note": "\xc3'])
def test_a_torn_last_line_of_the_metrics_is_ignored(tmp_path: Path, torn: bytes) -> None:
    write_run(tmp_path, name="a", system="transformer")
    (tmp_path / "metrics.jsonl").write_bytes(b'{"step": 10, "loss": 5.0}\n' + torn)
    assert [row["step"] for row in read_results(tmp_path).training] == [10]


def test_a_broken_line_in_the_middle_of_the_metrics_is_an_error(tmp_path: Path) -> None:
    write_run(tmp_path, name="a", system="transformer")
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "loss": 2}\n{"st\n{"step": 3, "loss": 1}\n', encoding="utf-8")
    with pytest.raises(RunError, match=r"metrics\.jsonl:2: not valid JSON"):
        read_results(tmp_path)


def test_steps_repeated_after_a_resume_count_once_and_the_later_wins(tmp_path: Path) -> None:
    write_run(tmp_path, name="a", system="transformer")
    rows = [{"step": 10, "loss": 5}, {"step": 20, "loss": 4}, {"step": 20, "dev_loss": 9}, {"step": 20, "loss": 3}]
    write_lines(tmp_path / "metrics.jsonl", rows)
    results = read_results(tmp_path)
    assert [row["loss"] for row in results.training] == [5, 3]
    assert [row["dev_loss"] for row in results.validation] == [9]


def test_documents_of_unequal_length_are_refused_with_their_line(tmp_path: Path) -> None:
    run = write_document_run(tmp_path)
    good = {"id": "1", "source": ["a"], "reference": ["b"], "hypothesis": ["c"]}
    write_lines(run / "assessment" / "translations.jsonl", [good, {**good, "id": "2", "hypothesis": []}])
    with pytest.raises(RunError, match=r":2: .*document 2 has 1 source, 1 reference and 0 translated"):
        read_results(run)


def test_routing_that_does_not_fit_its_words_is_refused(tmp_path: Path) -> None:
    run = write_document_run(tmp_path)
    samples = json.loads((run / "assessment" / "routing.json").read_text(encoding="utf-8"))
    samples[0]["history"][0]["words"].pop()
    write_json(run / "assessment" / "routing.json", samples)
    with pytest.raises(RunError, match="a capsule has 7 values for 6 words"):
        read_results(run)


def test_joint_routing_has_no_distance_and_undefined_correlations_are_kept(tmp_path: Path) -> None:
    run = write_document_run(tmp_path)
    history = {"distance": None, "words": ["a"], "coupling": [[[1.0]]], "pcc": [[[None]]]}
    sample = {"document": "1", "sentence": 0, "source": "a", "translation": "b", "history": [history]}
    write_json(run / "assessment" / "routing.json", [sample])
    routed = read_results(run).routing[0].history[0]
    assert routed.distance is None
    assert routed.pcc[0][0][0] != routed.pcc[0][0][0]
