"""`docaps import`: a published model, and the commands that work with its run."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.cli.calling import docaps, succeed
from tests.unit.exchange.published import ENGLISH, GERMAN, Both, both, make_folder, sentences

import docaps as docaps_library
from docaps.corpus.store import open_store
from docaps.runs.diagnosis_results import parse_diagnosis
from docaps.runs.directory import Run


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp("published") / "opus-mt-en-de"
    return both(make_folder(folder, spread=0.5, end_bias=6.0))


@pytest.fixture(scope="module")
def run(published: Both, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("imported") / "run"
    result = succeed("import", published.folder, "--out", out)
    assert f" translate {out} < document.txt" in result.err
    return out


def test_numbers_for_programs(published: Both, tmp_path: Path) -> None:
    found = json.loads(succeed("import", published.folder, "--out", tmp_path / "run", "--json").out)
    assert (found["form"], found["source_language"], found["target_language"]) == ("Hugging Face MarianMT", "en", "de")
    assert found["vocabulary"] == len(published.tokenizer) + 1
    again = docaps("import", published.folder, "--out", tmp_path / "run")
    assert (again.code, "give --overwrite" in again.err) == (1, True)
    succeed("import", published.folder, "--out", tmp_path / "run", "--overwrite", "--source-language", "fr")


def test_an_imported_run_translates_as_its_own_library_does(published: Both, run: Path) -> None:
    lines = sentences(ENGLISH, 40, seed=8)
    given = published.tokenizer(lines, return_tensors="pt", padding=True)
    expected = published.tokenizer.batch_decode(
        published.theirs.generate(**given, num_beams=1), skip_special_tokens=True
    )
    found = succeed(
        "translate", run, "--beam", "1", "--precision", "float32", stdin="\n".join(["<d>", *lines])
    ).out.splitlines()
    assert [line for line in found if line != "<d>"] == expected


def test_unknown_characters_are_copied(run: Path) -> None:
    found = succeed("translate", run, stdin="<d>\nThe cat saw 漢字 in the garden.\n☃ The dog.\n").out
    assert "漢字" in found
    assert found.splitlines()[-1].startswith("☃")


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two documents and their translations."""
    folder = tmp_path_factory.mktemp("story")
    for name, words in (("story.en", ENGLISH), ("story.de", GERMAN)):
        lines = sentences(words, 12)
        (folder / name).write_text("\n".join(["<d>", *lines[:6], "<d>", *lines[6:]]), encoding="utf-8")
    return folder / "story.en", folder / "story.de"


@torch.inference_mode()
def test_scores_are_those_of_its_own_library(published: Both, run: Path, story: tuple[Path, Path]) -> None:
    found = json.loads(succeed("score", run, *story, "--json").out)["documents"]
    for one in (sentence for document in found for sentence in document["sentences"]):
        given = published.tokenizer(one["source"], text_target=one["target"], return_tensors="pt")
        expected = -published.theirs(**given).loss * given["labels"].shape[1]
        assert one["tokens"] == given["labels"].shape[1]
        assert one["log_probability"] == pytest.approx(float(expected), abs=1e-4)


def test_precisions_and_choices_of_an_imported_run(run: Path, story: tuple[Path, Path], tmp_path: Path) -> None:
    assert set(json.loads(succeed("precision", run, *story, "--json").out)) == {"float32", "bfloat16", "int8"}
    for precision in ("int8", "bfloat16"):
        text = succeed("translate", run, story[0], "--precision", precision).out
        assert len(text.splitlines()) == 14
    items = tmp_path / "items.jsonl"
    item = {"history": ["The cat."], "source": "The dog saw.", "right": "Der Hund sah.", "wrong": ["Die Hund sah."]}
    items.write_text(json.dumps({**item, "phenomenon": "pronoun", "distance": 1}) + "\n", encoding="utf-8")
    assert "pronoun" in succeed("contrast", run, items).out


def test_an_imported_run_is_diagnosed(run: Path, story: tuple[Path, Path], tmp_path: Path) -> None:
    """It reads sentences one by one, and the diagnosis says so."""
    options = ["--source", story[0], "--reference", story[1], "--draws", "100", "--no-bleu"]
    shown = succeed("diagnose", run, *options, "--out", tmp_path / "diagnosis.json")
    assert shown.out.startswith("Verdict: context not used.\n  this model sees one sentence at a time")
    kept = json.loads((tmp_path / "diagnosis.json").read_text(encoding="utf-8"))
    assert (kept["verdict_code"], kept["reason"], kept["documents"]) == ("not_used", "no_history", 2)
    assert parse_diagnosis(kept).change("true") == 0
    assert "What each sentence of the history adds" not in shown.out


def test_an_imported_run_is_served(run: Path) -> None:
    pytest.importorskip("fastapi", reason="fastapi is not installed (docaps[serve])")
    from tests.unit.web.serving import serving

    lines = sentences(ENGLISH, 3, seed=4)
    with serving([run]) as service:
        answer = service.post({"sentences": lines, "beam": 1})
    assert answer.status_code == 200
    expected = docaps_library.load(run).translate(lines, beam=1).texts
    assert [one["translation"] for one in answer.json()["translations"]] == expected


def test_a_bad_folder_leaves_nothing(published: Both, tmp_path: Path) -> None:
    folder = tmp_path / "opus-mt-en-de"
    shutil.copytree(published.folder, folder)
    (folder / "target.spm").unlink()
    found = docaps("import", folder, "--out", tmp_path / "run")
    assert (found.code, found.out) == (1, "")
    assert "target.spm: no such file" in found.err
    assert [path.name for path in tmp_path.iterdir()] == ["opus-mt-en-de"]
    (folder / "config.json").unlink()
    for path, message in ((folder, "no model here"), (tmp_path / "none", "no such folder"), (folder / "x", "no such")):
        found = docaps("import", path, "--out", tmp_path / "run")
        assert (found.code, f"{path}: {message}" in found.err) == (1, True)


def test_an_exported_run_is_the_folder_it_was_imported_from(published: Both, run: Path, tmp_path: Path) -> None:
    out = tmp_path / "exported"
    succeed("export", run, "--to", "hf", "--out", out)
    before, after = (load_file(folder / "model.safetensors") for folder in (published.folder, out))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    again = docaps("export", run, "--to", "hf", "--out", out)
    assert (again.code, "give --overwrite" in again.err) == (1, True)
    assert json.loads(succeed("export", run, "--to", "ctranslate2", "--out", tmp_path / "ct2", "--json").out) == {
        "path": str(tmp_path / "ct2"),
        "form": "ctranslate2",
    }
    succeed("export", run, "--to", "ctranslate2", "--out", tmp_path / "int8", "--quantization", "int8")
    plain, small = ((tmp_path / name / "model.bin").stat().st_size for name in ("ct2", "int8"))
    assert small < plain
    wrong = docaps("export", run, "--to", "hf", "--out", tmp_path / "new", "--quantization", "int8")
    assert (wrong.code, "ctranslate2 only" in wrong.err) == (1, True)


def test_documents_are_prepared_as_the_imported_model_reads_them(published: Both, run: Path, tmp_path: Path) -> None:
    pair = [tmp_path / "story.en", tmp_path / "story.de"]
    for path, words in zip(pair, (ENGLISH, GERMAN), strict=True):
        path.write_text("\n".join(["<d>", *sentences(words, 12), "☃ ﬁ"]), encoding="utf-8")
    options = ["--codec", run, "--train", *pair, "--dev", *pair]
    succeed("prepare", *options, "--out", tmp_path / "prepared")
    data = open_store(tmp_path / "prepared").split("train")
    codec = published.ours.codec
    texts = [line for line in pair[0].read_text(encoding="utf-8").splitlines() if line != "<d>"]
    assert [data.source[number].tolist() for number in range(13)] == [codec.encode_source(text) for text in texts]
    texts = [line for line in pair[1].read_text(encoding="utf-8").splitlines() if line != "<d>"]
    assert [data.target[number].tolist() for number in range(13)] == [codec.encode_target(text) for text in texts]
    assert "nothing to do" in succeed("prepare", *options, "--out", tmp_path / "prepared").out
    wrong = docaps("prepare", *options, "--out", tmp_path / "other", "--source-language", "fr")
    assert (wrong.code, "--source-language fr contradicts --codec" in wrong.err) == (1, True)
    small = [f"--set=stage.document.{one}" for one in ("steps=2", "warmup=0", "freeze_inherited_steps=1")]
    training = ["train", "opus-qcn", "--corpus", tmp_path / "prepared", "--init-from", run, "--out", tmp_path / "runs"]
    succeed(*training, *small)
    made = Run(tmp_path / "runs" / "document").read()["settings"]["system"]
    assert made["model"] == Run(run).read()["settings"]["system"]["model"]
    wrong = docaps(*training, *small, "--set", "model.norm=pre", "--overwrite")
    assert (wrong.code, "model.norm is 'pre', but 'post' in" in wrong.err) == (1, True)
    learnt = tmp_path / "learnt"
    succeed("prepare", "--train", *pair, "--dev", *pair, "--out", learnt)
    wrong = docaps(*training[:2], "--corpus", learnt, *training[4:], *small, "--overwrite")
    assert (wrong.code, f"prepare it with --codec {run}" in wrong.err) == (1, True)
