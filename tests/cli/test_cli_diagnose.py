"""`docaps diagnose` prints tables or JSON, stores full diagnoses, and reports every error."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.calling import docaps, listing, succeed
from tests.cli.conftest import Chain

QUICK = ["--draws", "100", "--shuffles", "1", "--items", "8", "--beam", "1"]


@pytest.fixture
def run(chain: Chain, tmp_path: Path) -> Path:
    """A copy of both runs, side by side; the path of the document model."""
    shutil.copytree(chain.folder / "runs", tmp_path / "runs")
    return tmp_path / "runs" / "document"


def diagnose(run: Path, *options: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(succeed("diagnose", run, *QUICK, "--json", *options).out)
    return found


def test_a_quick_look_prints_everything_and_stores_nothing(run: Path) -> None:
    before = listing(run)
    found = diagnose(run, "--limit", "2")
    assert found["verdict"] == "context not used"
    assert (found["verdict_code"], found["reason"]) == ("not_used", "untrained")
    assert [row["condition"] for row in found["conditions"]] == ["true", "shuffled", "none", "nearest 1", "against"]
    for row in found["conditions"]:
        assert row["perplexity"] > 1
        assert 0 <= row["bleu"] <= 100
        assert 0 <= row["accuracy"] <= 1
    assert found["against"]["name"] == "sentence"
    assert {trace["name"] for trace in found["traces"]} >= {"coupling_entropy", "pcc", "capsule_length"}
    assert found["cxmi"]["unit"] == "bits"
    assert listing(run) == before
    assert diagnose(run, "--limit", "2", "--seed", "2")["conditions"][1] != found["conditions"][1]


def test_a_full_diagnosis_is_stored_where_the_report_finds_it(run: Path, tmp_path: Path) -> None:
    result = succeed("diagnose", run, "--draws", "100", "--shuffles", "1", "--beam", "1", "--examples", "1")
    for text in ("Verdict: context not used.", "another document's", "(run sentence)", "What each sentence", "CXMI:"):
        assert text in result.out
    assert f"Kept in {run / 'diagnosis.json'}" in result.err
    kept = json.loads((run / "diagnosis.json").read_text(encoding="utf-8"))
    assert kept["verdict"] == "context not used"
    assert kept["documents"] == 3
    succeed("report", run, "--out", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Is context used?" in page
    assert "Context not used." in page


def test_out_is_written_and_only_replaced_with_overwrite(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "found" / "d.json"
    found = diagnose(run, "--no-bleu", "-o", out)
    assert json.loads(out.read_text(encoding="utf-8")) == found
    again = docaps("diagnose", run, "-o", out)
    assert again.code == 1
    assert f"{out}: exists already: give --overwrite" in again.err
    diagnose(run, "--no-bleu", "-o", out, "--overwrite", "--seed", "2")
    assert json.loads(out.read_text(encoding="utf-8"))["seed"] == 2
    assert [path.name for path in out.parent.iterdir()] == ["d.json"]


def test_documents_and_sets_can_be_given(run: Path, chain: Chain) -> None:
    files = ["--source", chain.text / "test.en", "--reference", chain.text / "test.de"]
    found = diagnose(run, *files, "--limit", "2", "--no-bleu", "--set", "minidocs", chain.text)
    assert (found["documents"], found["set"]) == (2, "minidocs")
    assert diagnose(run, *files, "--no-bleu")["choices"] is None
    assert diagnose(run, "--part", "test", "--no-bleu")["part"] == "test"


def test_each_phenomenon_has_a_verdict(run: Path, chain: Chain, tmp_path: Path) -> None:
    found = diagnose(run, "--no-bleu")
    assert found["version"] == 2
    assert {one["phenomenon"] for one in found["phenomena"]} >= set(found["choices"]["by_phenomenon"]["true"])
    for one in found["phenomena"]:
        assert (one["verdict_code"], one["reason"]) == ("not_used", "untrained")
        assert one["tokens"] or one["choices"]
    shown = succeed("diagnose", run, *QUICK, "--no-bleu").out
    assert "By phenomenon, each test at p < 0.0" in shown
    assert "items a" in shown or "items are too few to find any gain" in shown


def test_tokens_are_told_apart_by_annotations(run: Path, chain: Chain, tmp_path: Path) -> None:
    marks = tmp_path / "marks.jsonl"
    records = [{"sentence": number, "phenomenon": "first", "tokens": [0]} for number in (2, 3, 4)]
    marks.write_text("".join(json.dumps(one) + "\n" for one in [{"docaps": "annotations", "version": 1}, *records]))
    found = diagnose(run, "--no-bleu", "--annotations", marks)
    (first,) = [one for one in found["phenomena"] if one["phenomenon"] == "first"]
    assert (first["tokens"]["tokens"], first["tokens"]["sentences"], first["choices"]) == (3, 3, None)
    assert found["annotations"] == str(marks)
    assert "|annotations:" in found["signature"]
    succeed("mine", chain.corpus, "--annotate", "dev", "--out", tmp_path / "mined")
    file = tmp_path / "mined" / "annotations.jsonl"
    assert json.loads(file.read_text(encoding="utf-8").splitlines()[0])["part"] == "dev"
    wrong = docaps("diagnose", run, *QUICK, "--no-bleu", "--part", "test", "--annotations", file)
    assert wrong.code == 1
    assert f"{file}:1: made for the dev part, expected the test part" in wrong.err


def test_another_model_can_be_named_and_a_missing_one_is_no_error(run: Path) -> None:
    shutil.move(run.parent / "sentence", run.parent.parent / "elsewhere")
    alone = docaps("diagnose", run, *QUICK, "--no-bleu", "--json")
    assert json.loads(alone.out)["against"] is None
    assert "name one with --against RUN" in alone.err
    named = diagnose(run, "--no-bleu", "--against", run.parent.parent / "elsewhere")
    assert named["against"]["given"] is True


def test_a_moved_corpus_is_reported_and_can_be_named(run: Path, chain: Chain) -> None:
    description = json.loads((run / "run.json").read_text())
    description["corpus"]["path"] = str(run / "gone")
    (run / "run.json").write_text(json.dumps(description))
    result = docaps("diagnose", run)
    assert result.code == 1
    assert "has moved: say where it is with --corpus" in result.err
    assert diagnose(run, "--corpus", chain.corpus, "--no-bleu")["documents"] == 3


FAULTS = [
    (["--reference", "x"], "--reference needs the documents it translates: give them with --source"),
    (["--source", "absent.en", "--reference", "absent.de"], "absent.en: no such file"),
    (["--set", "bawden", "x"], "no contrastive set 'bawden': choose contrapro"),
    (["--set", "minidocs", "absent"], "absent: no such file"),
    (["--against", "absent"], "absent: no such run"),
    (["--context-lines", "2"], "--context-dir and --context-lines go with --set contrapro PATH"),
    (["--corpus", "absent"], "absent: no such prepared corpus"),
    (["--annotations", "absent"], "absent: no such file"),
    (["--starts", "x"], "--format and --starts go with --source"),
]


@pytest.mark.parametrize(("options", "message"), FAULTS, ids=[" ".join(options) for options, _ in FAULTS])
def test_errors_are_reported(chain: Chain, options: list[str], message: str) -> None:
    result = docaps("diagnose", chain.document, *options)
    assert (result.code, result.out) == (1, "")
    assert message in result.err


def test_paths_that_are_no_runs_are_refused(chain: Chain, tmp_path: Path) -> None:
    for run, message in (
        (tmp_path / "absent", "no such run"),
        (tmp_path, "not a run directory"),
    ):
        result = docaps("diagnose", run)
        assert result.code == 1
        assert f"{run}: " in result.err
        assert message in result.err


def test_one_document_is_too_few_for_another_history(chain: Chain, tmp_path: Path) -> None:
    for name in ("a.en", "a.de"):
        (tmp_path / name).write_text("one line\nanother line\n")
    result = docaps("diagnose", chain.document, "--source", tmp_path / "a.en", "--reference", tmp_path / "a.de")
    assert result.code == 1
    assert "1 document: a shuffled history is another document's, so at least two are needed" in result.err
