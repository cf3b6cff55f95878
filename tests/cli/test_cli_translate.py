"""`docaps translate`: files, streams, history, scores, and resuming."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from tests.cli.calling import AS_MODULE, docaps, finish, listing, settings, succeed
from tests.cli.conftest import Chain

from docaps.batches.windows import Window
from docaps.config import DecodingSettings
from docaps.corpus.documents import Document
from docaps.corpus.formats import write_documents
from docaps.model.checkpoint import write_tensors
from docaps.model.mixed_precision import has_native_bfloat16
from docaps.translation import search as searching
from docaps.translation import translator as translating
from docaps.translation.jobs import FileOutput
from docaps.translation.search import Hypothesis
from docaps.translation.trained_model import TrainedModel

STORY = "<d>\nAnna bought a coat.\n\nIt was warm.\n<d>\nThe bank was steep.\nShe fell.\n"
DOCUMENTS = [
    Document((f"Anna bought coat {number}.", "", "It was warm.", "She fell.")[: number % 3 + 2], f"d{number}")
    for number in range(5)
]


def rows_of(*arguments: str | Path, stdin: str = STORY) -> list[dict[str, object]]:
    found = json.loads(succeed("translate", *arguments, "--json", stdin=stdin).out)
    return [row for document in found["documents"] for row in document["sentences"]]


def test_several_files_are_translated_into_a_directory(chain: Chain, tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text(STORY)
    (tmp_path / "b.en.gz").write_bytes(gzip.compress(b"Anna left.\n\nIt rained.\nShe left.\n"))
    (tmp_path / "c.txt").write_text("Anna left. It rained. She fell.\n\nIt was warm. She left.\n")
    names = [tmp_path / name for name in ("a.en", "b.en.gz", "c.txt")]
    result = succeed("translate", chain.document, *names, "-o", tmp_path / "de")
    assert sorted(path.name for path in (tmp_path / "de").iterdir()) == ["a.en", "b.en", "c.txt"]
    for path in names:
        alone = succeed("translate", chain.document, path).out
        assert (tmp_path / "de" / path.name.removesuffix(".gz")).read_text() == alone
    assert result.err.count("read as running text") == 1
    assert f"{tmp_path / 'c.txt'}: read as running text and split into sentences" in result.err
    found = json.loads(succeed("translate", chain.document, *names, "--json").out)
    assert [Path(one["file"]).name for one in found["documents"]] == ["a.en", "a.en", "b.en.gz", "b.en.gz", "c.txt"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["a.en", "b.en"], "the documents are several files: name one to write to with --out"),
        (["a.en", "b.en", "-o", "a.en"], "a.en: is a file: name a directory to write to with --out"),
        (["a.en", "x/a.en", "-o", "new"], "x/a.en: two translations would be called a.en: that of a.en too"),
        (["a.en", "absent", "-o", "new"], "absent: no such file"),
        (["-", "-", "--json"], "stdin can be read only once"),
        (["a.en", "--resume"], "--resume goes on with a file: name it with --out"),
        (["a.en", "--routing"], "--routing is printed as JSON: give --json too"),
        (["a.en", "--history", "b.en", "--no-context"], "--history is context, and --no-context hides it"),
        (["a.en", "--nbest", "3", "--beam", "2"], "--nbest 3 needs a beam as wide: found --beam 2"),
        (["a.en", "--history", "absent"], "absent: no such file"),
    ],
)
def test_impossible_requests_are_refused_before_any_work(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    (tmp_path / "x").mkdir()
    for name in ("a.en", "b.en", "x/a.en"):
        (tmp_path / name).write_text(STORY)
    monkeypatch.chdir(tmp_path)
    before = listing(tmp_path)
    result = docaps("translate", chain.document, *words)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert listing(tmp_path) == before


def test_a_compressed_file_and_its_original_in_a_directory_are_refused(chain: Chain, tmp_path: Path) -> None:
    folder = tmp_path / "en"
    folder.mkdir()
    (folder / "a.en").write_text("One thing.\n")
    (folder / "a.en.gz").write_bytes(gzip.compress(b"One thing.\n"))
    result = docaps("translate", chain.document, folder, "-o", tmp_path / "de")
    assert f"{folder / 'a.en.gz'}: two translations would be called a.en: that of {folder / 'a.en'} too" in result.err
    assert not (tmp_path / "de").exists()


@pytest.mark.parametrize("option", ["--beam", "--nbest"])
def test_a_beam_has_bounds(chain: Chain, option: str) -> None:
    result = docaps("translate", chain.document, option, "100000", stdin=STORY)
    assert result.code == 2
    assert "500" in result.err  # the wording is typer's


def test_history_is_read_and_not_translated(chain: Chain, tmp_path: Path) -> None:
    (tmp_path / "before").write_text("<d>\nIt rained.\n<d>\nAnna bought a coat.\nAnna left.\n")
    with_it = rows_of(chain.document, "--history", tmp_path / "before", stdin="It was warm.\nShe fell.\n")
    whole = rows_of(chain.document, stdin="Anna bought a coat.\nAnna left.\nIt was warm.\nShe fell.\n")
    assert [row["score"] for row in with_it] == pytest.approx([row["score"] for row in whole[2:]])
    without = rows_of(chain.document, stdin="It was warm.\nShe fell.\n")
    assert with_it[0]["score"] != pytest.approx(without[0]["score"], rel=1e-9)
    result = succeed("translate", chain.sentence, "--history", tmp_path / "before", stdin="It was warm.\n")
    assert "this model looks at no earlier sentences: --history changes nothing" in result.err


def test_scores_and_nbest_translations_are_a_table(chain: Chain) -> None:
    rows = rows_of(chain.document)
    lines = [
        line.split("\t") for line in succeed("translate", chain.document, "--scores", stdin=STORY).out.splitlines()
    ]
    assert lines[0] == ["document", "sentence", "rank", "score", "log_probability", "translation"]
    assert [line[:3] for line in lines[1:]] == [
        ["1", "1", "1"],
        ["1", "2", "1"],
        ["1", "3", "1"],
        ["2", "1", "1"],
        ["2", "2", "1"],
    ]
    assert [line[5] for line in lines[1:]] == [row["translation"] for row in rows]
    assert [float(line[3]) for line in lines[1:]] == pytest.approx([row["score"] for row in rows], abs=1e-6)
    several = rows_of(chain.document, "--nbest", "2")
    printed = succeed("translate", chain.document, "--nbest", "2", stdin=STORY).out.splitlines()[1:]
    count = sum(max(1, len(row.get("alternatives", ()))) for row in several)  # type: ignore[arg-type]
    assert len(printed) == count


def test_routing_is_in_the_json(chain: Chain) -> None:
    rows = rows_of(chain.document, "--routing")
    assert ["routing" in row for row in rows] == [False, False, True, False, True]
    nearest = rows[2]["routing"][0]  # type: ignore[index]
    assert set(nearest) == {"distance", "words", "coupling", "pcc"}
    assert nearest["distance"] == 1
    assert all("routing" not in row for row in rows_of(chain.sentence, "--routing"))


def test_non_finite_weights_are_refused(chain: Chain, tmp_path: Path) -> None:
    run = Path(shutil.copytree(chain.document, tmp_path / "run"))
    with safe_open(run / "model.safetensors", "pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    name = sorted(tensors)[0]
    tensors[name] = torch.full_like(tensors[name], float("nan"))
    write_tensors(run / "model.safetensors", tensors)
    result = docaps("translate", run, stdin=STORY)
    assert result.code == 1
    assert "model.safetensors: the weights '" in result.err
    assert "are not all numbers (NaN): train the run again" in result.err


def small_windows(monkeypatch: pytest.MonkeyPatch, sentences: int = 3) -> None:
    monkeypatch.setattr(translating, "WINDOW", sentences)


def stop_after(monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    """Press Ctrl-C in the middle of a search."""
    left = [calls]
    original = searching.search_batch

    def search_batch(
        trained: TrainedModel, decoding: DecodingSettings, scored: bool, windows: list[Window]
    ) -> list[list[Hypothesis]]:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return original(trained, decoding, scored, windows)

    monkeypatch.setattr(searching, "search_batch", search_batch)


SHAPES: dict[str, Callable[[Path], list[str | Path]]] = {
    name: lambda path, name=name: (write_documents(path, DOCUMENTS, name), [path])[1]  # type: ignore[misc]
    for name in ("lines", "blank", "sgml", "xml", "jsonl", "tsv", "bars", "starts", "tags", "directory")
} | {
    "json": lambda path: (write_documents(path, DOCUMENTS, "lines"), [path, "--json"])[1],  # type: ignore[func-returns-value]
    "table": lambda path: (write_documents(path, DOCUMENTS, "lines"), [path, "--scores"])[1],  # type: ignore[func-returns-value]
    "one document": lambda path: (path.write_text("Anna left.\nIt rained.\n" * 6), [path])[1],
    "files": lambda path: [_file(path, number) for number in range(4)],
}


def _file(path: Path, number: int) -> Path:
    place = path.with_name(f"{number}.xml")
    write_documents(place, DOCUMENTS[number:], "xml" if number % 2 else "lines")
    return place


def stop_at_the_end_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Press Ctrl-C when a file has just got its name."""
    original = FileOutput.end

    def end(self: FileOutput) -> None:
        original(self)
        raise KeyboardInterrupt

    monkeypatch.setattr(FileOutput, "end", end)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_resumed_job_ends_as_if_it_had_not_been_stopped(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str
) -> None:
    words = SHAPES[shape](tmp_path / "story")
    small_windows(monkeypatch)
    succeed("translate", chain.document, *words, "-o", tmp_path / "whole")
    out = tmp_path / "out"
    stops = 0
    while True:
        with monkeypatch.context() as patch:
            stop_after(patch, 1)
            if stops == 1:
                stop_at_the_end_of_a_file(patch)
            result = docaps("translate", chain.document, *words, "-o", out, "--resume")
        if result.code == 0:
            break
        assert result.code == 130
        assert "stopped; what is written is kept: the same command with --resume goes on" in result.err
        assert shape in ("directory", "files") or not out.exists()
        stops += 1
        assert stops < 20
    assert stops >= 2
    one, other = ((p.read_bytes() if p.is_file() else listing(p)) for p in (out, tmp_path / "whole"))
    assert one == other
    assert not [name for name in listing(tmp_path) if "partial" in name or "journal" in name]
    again = succeed("translate", chain.document, *words, "-o", out, "--resume")
    assert "finished already" in again.err


def test_a_stopped_job_keeps_its_documents_and_is_not_overwritten(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_documents(tmp_path / "story", DOCUMENTS, "lines")
    small_windows(monkeypatch)
    words = ["translate", chain.document, tmp_path / "story", "-o", tmp_path / "out"]
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        assert docaps(*words).code == 130
    kept = (tmp_path / "out.partial").read_text()
    refused = docaps(*words)
    assert refused.code == 1
    assert "out.journal.json: a translation was stopped here: --resume goes on with it, --overwrite" in refused.err
    for change in (["--beam", "1"], ["--no-context"], ["--scores"]):
        refused = docaps(*words, "--resume", *change)
        assert refused.code == 1
        assert "the translation was begun with other" in refused.err
    assert (tmp_path / "out.partial").read_text() == kept
    succeed(*words, "--overwrite")
    whole = (tmp_path / "out").read_text()
    assert whole.startswith(kept)
    assert kept.count("<d>") >= 1
    (tmp_path / "story").write_text("<d>\nAnna left.\n")
    assert docaps(*words).code == 1
    succeed(*words, "--overwrite")
    assert (tmp_path / "out").read_text().count("\n") == 2


def test_an_unfinished_file_that_was_changed_is_refused(
    chain: Chain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_documents(tmp_path / "story", DOCUMENTS, "lines")
    small_windows(monkeypatch)
    words = ["translate", chain.document, tmp_path / "story", "-o", tmp_path / "out"]
    with monkeypatch.context() as patch:
        stop_after(patch, 2)
        docaps(*words)
    (tmp_path / "out.partial").write_text("")
    refused = docaps(*words, "--resume")
    assert "out.partial: is not what the journal says" in refused.err
    (tmp_path / "out.journal.json").write_text("{}")
    assert "not a journal of docaps translate" in docaps(*words, "--resume").err


def test_a_job_that_fails_without_progress_leaves_no_trace(chain: Chain, tmp_path: Path) -> None:
    (tmp_path / "story").write_bytes(b"Anna left.\n\xff\n")
    before = listing(tmp_path)
    result = docaps("translate", chain.document, tmp_path / "story", "-o", tmp_path / "out")
    assert "story:2: not UTF-8" in result.err
    assert listing(tmp_path) == before


def test_slow_input_is_translated_as_it_comes(chain: Chain) -> None:
    command = [sys.executable, "-c", AS_MODULE, "translate", str(chain.document), "--format", "lines"]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1"}
    )
    assert process.stdin
    assert process.stdout
    whole = succeed("translate", chain.document, stdin="Anna bought a coat.\nIt was warm.\n").out.encode()
    found = b""
    for line in (b"Anna bought a coat.\n", b"It was warm.\n"):
        process.stdin.write(line)
        process.stdin.flush()
        found += process.stdout.readline()  # would hang if the input's end were waited for
    process.stdin.close()
    assert found + process.stdout.read() == whole
    assert process.wait(timeout=30) == 0
    process.stdout.close()


def test_output_is_utf_8_whatever_the_locale(chain: Chain, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    monkeypatch.setenv("LC_ALL", "C")
    (tmp_path / "story").write_text("漢字 🙂\n")
    for options in ([], ["--json"], ["--scores"]):
        assert "漢字 🙂" in finish("translate", chain.document, tmp_path / "story", *options).out


def test_a_finished_run_of_an_older_version_is_kept(chain: Chain, tmp_path: Path) -> None:
    runs = Path(shutil.copytree(chain.folder / "runs", tmp_path / "runs"))
    for path in runs.glob("*/run.json"):
        description = json.loads(path.read_text())
        del description["settings"]["decoding"]["longest_source"], description["settings"]["decoding"]["nbest"]
        path.write_text(json.dumps(description))
    succeed("train", "minidocs", "--corpus", chain.corpus, "--out", runs, *settings())


def test_the_python_on_the_page_about_translating_runs(tiny_demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    blocks = [
        block
        for page in ("README.md", "docs/how-to/translate.md")
        for block in re.findall(r"```python\n(.*?)```", (root / page).read_text(encoding="utf-8"), flags=re.DOTALL)
    ]
    assert len(blocks) >= 2
    monkeypatch.chdir(tiny_demo)
    for block in blocks:
        exec(block, {})


def test_precisions_are_checked_and_remembered(chain: Chain, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(chain.document, run)
    assert not (run / "precision.json").exists()
    found = json.loads(succeed("precision", run, chain.text / "dev.en", chain.text / "dev.de", "--json").out)
    assert list(found) == ["float32", "bfloat16", "int8"]
    assert all(one["sentences_per_second"] > 0 and one["good"] == (one["loss"] <= 0.3) for one in found.values())
    text = [succeed("translate", run, "--scores", "--precision", name, stdin=STORY).out for name in ("float32", "int8")]
    assert text[0] != text[1]
    assert (run / "ranges.safetensors").exists() == found["int8"]["calibrated"]
    notes = json.loads((run / "precision.json").read_text())
    for speed, expected in ((2.0, text[1]), (0.5, text[0])):  # int8 is taken only if it is good and faster
        notes["int8"] |= {"good": True, "sentences_per_second": speed}
        notes["float32"]["sentences_per_second"] = 1.0
        (run / "precision.json").write_text(json.dumps(notes))
        if not has_native_bfloat16(torch.device("cpu")):
            assert succeed("translate", run, "--scores", stdin=STORY).out == expected
    (run / "precision.json").write_text("nonsense")
    succeed("translate", run, stdin=STORY)
    (run / "ranges.safetensors").write_text("nonsense")
    refused = docaps("translate", run, "--precision", "int8", stdin=STORY)
    assert refused.code == 1
    assert f"{run / 'ranges.safetensors'}: not the ranges that were written: `docaps precision` makes" in refused.err
