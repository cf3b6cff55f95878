"""What users get wrong ends in a message with its place, exit code 1, and nothing written."""

import os
import shutil
from pathlib import Path

import pytest
from tests.cli.calling import docaps, listing, settings
from tests.cli.conftest import Chain

GOOD = "<d>\nA man ran.\nHe saw a man.\n"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a few files in it."""
    (tmp_path / "good.en").write_text(GOOD)
    (tmp_path / "good.de").write_text(GOOD)
    (tmp_path / "longer.de").write_text(GOOD + "Noch.\n")
    (tmp_path / "latin.en").write_bytes(b"<d>\nA \xe4.\n\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "letters").write_text("<d>\na b c\na b\n")
    (tmp_path / "bad.toml").write_text("[model]\nsizes = 3\nheads = 0\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "summary.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


PREPARE = "prepare --train good.en good.de --dev good.en good.de"
TRAIN = "train minidocs --corpus {corpus} --out new"

FAULTS = [
    ("minidocs --out {text}", "exists already: give --overwrite to replace it"),
    ("minidocs --phenomena address,tense", "no phenomenon 'tense': there are pronoun, ambiguity, address, profession,"),
    ("minidocs --phenomena ,", "no phenomenon '', '': there are pronoun"),
    ("minidocs --out mine --overwrite", "mine: exists and is not a corpus of mini-documents: choose another --out"),
    ("minidocs --out good.en --overwrite", "good.en: exists and is not a corpus of mini-documents"),
    ("minidocs --out . --overwrite", ".: exists and is not a corpus of mini-documents"),
    ("minidocs --out good.en/x", "good.en: File exists"),
    ("prepare --train good.en absent --dev good.en good.de --out new", "absent: no such file"),
    ("prepare --train good.en longer.de --dev good.en good.de --out new", "longer.de:1: document 1 (near line 1)"),
    ("prepare --train latin.en good.de --dev good.en good.de --out new", "latin.en:2: not UTF-8 at byte 3"),
    ("prepare --train good.en empty --dev good.en good.de --out new", "empty: the file is empty"),
    (f"{PREPARE} --contrastive good.en --out new", "good.en:1: not JSON"),
    (f"{PREPARE} --merges 0 --out new", "preparation.merges: Input should be greater than or equal to 1 (found 0)"),
    (f"{PREPARE} --set preparation.merge=5 --out new", "preparation.merge: unknown key; did you mean 'merges'?"),
    (f"{PREPARE} --recipe absent --out new", "absent: no such recipe. Bundled recipes: "),
    (f"{PREPARE} --out good.en", "good.en: exists and is not a prepared corpus: choose another --out"),
    (f"{PREPARE} --out good.en/x", "good.en: cannot be written: File exists. good.en/x was not created; fix that"),
    (f"{PREPARE} --out .", ".: exists and is not a prepared corpus"),
    (f"{PREPARE} --out new --address x:1", "--address: for a Ray cluster: give --engine ray too"),
    ("experiment table2 --dir new --address x:1", "--address: for a Ray cluster: give --engine ray too"),
    (
        "experiment table2 --dir new --cpus-per-run 2 --gpus-per-run 0",
        "--cpus-per-run and --gpus-per-run: for a Ray cluster: give --engine ray too",
    ),
    (
        "experiment table2 --dir new --engine ray --jobs 1",
        "--jobs is about processes of this machine: with --engine ray, give --cpus-per-run",
    ),
    ("train absent --corpus {corpus} --out new", "absent: no such recipe. Bundled recipes: "),
    ("train bad.toml --corpus {corpus} --out new", "bad.toml:2: model.sizes: unknown key; did you mean 'size'?"),
    ("train bad.toml --corpus {corpus} --out new", "bad.toml:3: model.heads: Input should be greater than or equal"),
    ("train minidocs --corpus folder --out new", "folder: not a prepared corpus (it has no manifest.json)"),
    ("train minidocs --corpus absent --out new", "absent: no such prepared corpus"),
    (
        "train minidoc --corpus {corpus} --out new",
        "minidoc: no such recipe; did you mean 'minidocs'? Bundled",
    ),
    ("train minidocs --corpus {corpus} --out good.en", "good.en: is a file: name a directory for the runs with --out"),
    (f"{TRAIN} --budget soon", "docaps: --budget 'soon' is not a duration: write it as in"),
    (f"{TRAIN} --stage absent", "no stage 'absent' in the recipe: it has sentence, document"),
    (f"{TRAIN} --stage document", "new/sentence: no such run"),
    (f"{TRAIN} --set steps", "--set steps: expected KEY=VALUE"),
    (f"{TRAIN} --seed -1", "--set seed=-1: seed: Input should be greater than or equal to 0"),
    ("translate absent good.en", "absent: no such run"),
    ("translate {run}x good.en", "runs/documentx: no such run; runs near it: "),
    ("translate {run}/.. good.en", "/..: not a run directory (it has no run.json); runs near it: "),
    ("translate folder good.en", "folder: not a run directory"),
    ("translate {run} absent", "absent: no such file"),
    ("translate {run} folder", "folder: the directory is empty"),
    ("translate {run} latin.en", "latin.en:2: not UTF-8 at byte 3 of the line (0xe4)"),
    ("translate {run} empty -o new", "empty: the file is empty"),
    ("translate {run} good.en -o good.de", "good.de: exists already: give --overwrite to replace it"),
    ("translate {run} good.en -o folder --overwrite", "folder: is a directory: name a file to write to with --out"),
    ("translate {run} good.en -o good.en/x", "good.en: File exists"),
    ("evaluate --hypothesis good.de --reference longer.de", "good.de:1: document 1 has 2 translated sentences, but 3"),
    ("evaluate --hypothesis absent --reference good.de", "absent: no such file"),
    ("evaluate --hypothesis letters --reference absent", "absent: no such file"),
    (
        "prepare --train good.en good.de --dev good.de good.en --out new",
        "the source? The names differ, good.en in",
    ),
    ("evaluate --hypothesis good.de --reference empty", "empty: the file is empty"),
    ("evaluate --hypothesis - --reference - --language de", "-: the file is empty"),
    ("contrast {run} good.en", "good.en:1: not JSON"),
    ("contrast {run} absent", "absent: no such file"),
    (
        "contrast {run} folder",
        "folder: a directory: name a file of JSON Lines, or another set (such as",
    ),
    (
        "contrast {run} folder --set minidocs",
        "folder: no contrastive.jsonl in it: expected a corpus",
    ),
    (
        "diagnose {run} --source good.en",
        "good.en: holds one side only (format 'lines'): name the file",
    ),
    ("precision {run} folder/../letters", "letters: holds one side only (format 'lines'): name the file of its"),
    ("demo --dir good.en", "good.en: exists and is not a demo: choose another --dir"),
    ("contrast absent good.en", "absent: no such run"),
    ("report absent --out new", "absent: no such run"),
    ("report {run} --out good.en", "good.en: exists already: give --overwrite to replace it"),
    ("report {run} --out new --corpus folder", "folder: not a prepared corpus"),
    ("demo --dir new --set seed.x=1", "seed is a single value"),
    ("demo --dir mine", "mine: exists and is not a demo: choose another --dir"),
    ("demo --dir mine --overwrite", "mine: exists and is not a demo: choose another --dir"),
    ("demo --dir . --documents 1", ".: exists and is not a demo: choose another --dir"),
]


@pytest.mark.parametrize(("command", "message"), FAULTS, ids=[command for command, _ in FAULTS])
def test_an_error_is_reported_and_nothing_is_written(chain: Chain, desk: Path, command: str, message: str) -> None:
    before = listing(desk)
    words = command.format(run=chain.document, corpus=chain.corpus, text=chain.text).split()
    result = docaps(*words)
    assert result.code == 1
    assert message in result.err
    assert any(line.startswith("docaps: ") for line in result.err.splitlines())
    assert result.out == ""
    assert listing(desk) == before


FOREIGN = [
    ("prepare", "prepare --train good.en good.de --dev good.en good.de --out it", "holds something else (notes.md)"),
    ("prepare", "minidocs --documents 9 --out it --overwrite", "holds something else (dev.documents.npy)"),
    ("minidocs", "minidocs --documents 9 --out it --overwrite", "holds something else (notes.md)"),
    ("minidocs", "prepare --train good.en good.de --dev good.en good.de --out it", "exists and is not a prepared"),
    ("train", "prepare --train good.en good.de --dev good.en good.de --out it", "exists and is not a prepared corpus"),
    ("train", "demo --dir it --overwrite", "exists and is not a demo"),
    ("train", "experiment table2 --dir it --corpus {corpus}", "exists and is not a grid"),
    ("other", "prepare --train good.en good.de --dev good.en good.de --out it", "does not describe a prepared corpus"),
    (
        "other",
        "train minidocs --corpus {corpus} --out it --overwrite",
        "it/sentence: exists and is not a run directory",
    ),
    ("other", "demo --dir it --overwrite", "it/demo.json: does not describe a demo of docaps"),
    ("other", "experiment table2 --dir it --corpus {corpus}", "it/grid.json: does not describe a grid"),
]


@pytest.mark.parametrize(("holds", "command", "message"), FOREIGN)
def test_no_command_removes_the_files_of_others(
    chain: Chain, desk: Path, holds: str, command: str, message: str
) -> None:
    it = desk / "it"
    if holds == "other":
        (it / "sentence").mkdir(parents=True)
        for name in ("demo.json", "grid.json", "manifest.json", "sentence/run.json", "sentence/model.safetensors"):
            (it / name).write_text('{"tool": "other"}')
    else:
        made = {"prepare": chain.corpus, "minidocs": chain.text, "train": chain.document}
        shutil.copytree(made[holds], it)
        (it / "notes.md").write_text("mine")
    before = listing(desk)
    result = docaps(*command.format(corpus=chain.corpus).split())
    assert (result.code, message in result.err) == (1, True), result.err
    assert listing(desk) == before


MEMORY = "/proc/self/mem"
UNREADABLE = [
    f"translate {{run}} {MEMORY}",
    f"translate {{run}} {MEMORY} -o new",
    f"translate {{run}} good.en --history {MEMORY}",
    f"prepare --train {MEMORY} {MEMORY} --dev good.en good.de --out new",
    f"evaluate --hypothesis {MEMORY} --reference good.de",
    f"contrast {{run}} {MEMORY}",
    f"score {{run}} {MEMORY} good.de",
    f"diagnose {{run}} --source {MEMORY} --reference good.de",
    f"train {MEMORY} --corpus {{corpus}} --out new",
    f"translate {MEMORY} good.en",
]


@pytest.mark.skipif(not Path(MEMORY).exists(), reason="needs a file that cannot be read")
@pytest.mark.parametrize("command", UNREADABLE)
def test_a_file_that_cannot_be_read_is_named(chain: Chain, desk: Path, command: str) -> None:
    before = listing(desk)
    result = docaps(*command.format(run=chain.document, corpus=chain.corpus).split())
    assert result.code == 1
    assert f"docaps: {MEMORY}: " in result.err
    assert listing(desk) == before


RED = "\x1b[31mred"
ORDERS = [
    ["translate", "{run}", RED],
    ["translate", RED, "good.en"],
    ["train", RED, "--corpus", "{corpus}", "--out", "new"],
    ["train", "minidocs", "--corpus", RED, "--out", "new"],
    ["train", "minidocs", "--corpus", "{corpus}", "--out", "new", "--set", f"{RED}=1"],
    ["train", "minidocs", "--corpus", "{corpus}", "--out", "new", "--set", f"model.norm={RED}"],
    ["evaluate", "--hypothesis", "good.de", "--reference", "good.de", "--language", RED],
    ["minidocs", "--phenomena", RED],
    ["prepare", "--train", f"{RED}.en", "good.de", "--dev", "good.en", "good.de", "--out", "new"],
    ["experiment", RED],
    [RED],
    ["translate", "{run}", "good.en", f"--{RED}"],
]


@pytest.mark.parametrize("words", ORDERS, ids=[" ".join(words) for words in ORDERS])
def test_a_message_never_orders_the_terminal_about(chain: Chain, desk: Path, words: list[str]) -> None:
    result = docaps(*(word.format(run=chain.document, corpus=chain.corpus) for word in words))
    assert result.code in (1, 2)
    assert "\x1b" not in result.err
    assert "\\x1b" in result.err


def test_a_corpus_of_single_letters_can_be_prepared(desk: Path) -> None:
    result = docaps("prepare", "--train", "letters", "letters", "--dev", "letters", "letters", "--out", "new")
    assert result.code == 0


def copy_run(chain: Chain, folder: Path) -> Path:
    return Path(shutil.copytree(chain.document, folder / "run"))


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("run.json", b"{", "run/run.json:1: not valid JSON"),
        ("run.json", b'{"status": "interrupted"}', "run: the run is not finished (status: interrupted)"),
        ("run.json", b'{"status": "finished"}', "run/run.json: has no settings"),
        ("run.json", b'{"status": "finished", "settings": {"system": {"x": 1}}}', "x: unknown key"),
        ("model.safetensors", b"\0" * 20, "run/model.safetensors: the weights are damaged"),
        ("run.json", b'{"status": "\\u001b[31mred"}', "(status: \\x1b[31mred)"),
        ("run.json", b"[" * 100_000, "run/run.json: not valid JSON: nested more than 64 levels deep"),
        (
            "run.json",
            b'{"steps": ' + b"9" * 5000 + b"}",
            "run/run.json: not valid JSON: a number of thousands of digits",
        ),
        ("text/bpe.codes", b"one two three\n", "run/text: the text settings cannot be used: BPE codes are"),
        ("text/vocabulary.json", b'["<pad>", "<s>", "</s>", "<unk>"]', "the weights belong to another model"),
    ],
)
def test_a_damaged_run_is_reported(chain: Chain, desk: Path, file: str, content: bytes, message: str) -> None:
    run = copy_run(chain, desk)
    (run / file).write_bytes(content)
    result = docaps("translate", "run", "good.en", "-o", "new")
    assert result.code == 1
    assert message in result.err
    assert not (desk / "new").exists()


@pytest.mark.parametrize("file", ["run.json", "model.safetensors", "text/languages.json", "text/vocabulary.json"])
def test_a_pipe_in_a_run_does_not_block(chain: Chain, desk: Path, file: str) -> None:
    run = copy_run(chain, desk)
    (run / file).unlink()
    os.mkfifo(run / file)
    result = docaps("translate", "run", "good.en")
    assert result.code == 1
    assert "it is a named pipe, expected a regular file" in result.err


NUMBERS = [
    ("seed = " + "9" * 5000, "r.toml: not valid TOML: "),
    (
        "[decoding]\nlength_factor = 1e300",
        "r.toml:2: decoding.length_factor: Input should be less than or equal to 100",
    ),
    ("[decoding]\nlength_factor = nan", "r.toml:2: decoding.length_factor: "),
    ("[decoding]\nlength_factor = inf", "r.toml:2: decoding.length_factor: Input should be a finite number"),
    ("[model]\nsize = " + "9" * 400, "r.toml:2: model.size: "),
    ("[model]\nsize = 0x" + "f" * 5000, "r.toml:2: model.size: "),  # in hexadecimal, any number is read
    ("x = " + "[" * 65 + "]" * 65, "r.toml: not valid TOML: nested more than 64 levels deep"),
    ("x = " + "[" * 900 + "]" * 900, "r.toml: not valid TOML: nested more than 64 levels deep"),
    ("x = " + "[" * 10**5 + "]" * 10**5, "r.toml: not valid TOML: nested more than 64 levels deep"),
]


@pytest.mark.parametrize(("recipe", "message"), NUMBERS, ids=[message for _, message in NUMBERS])
def test_odd_numbers_in_a_recipe_are_refused(chain: Chain, desk: Path, recipe: str, message: str) -> None:
    (desk / "r.toml").write_text(recipe)
    result = docaps("train", "r.toml", "--corpus", chain.corpus, "--out", "new")
    assert result.code == 1
    assert message in result.err
    changes = recipe.replace("[", "", 1).replace("]\n", ".", 1) if recipe.startswith("[") else recipe
    assert docaps("train", "minidocs", "--corpus", chain.corpus, "--out", "new", "--set", changes).code == 1


def test_a_run_without_its_log_is_reported(chain: Chain, desk: Path) -> None:
    shutil.copytree(chain.folder / "runs", desk / "runs")
    (desk / "runs" / "document" / "metrics.jsonl").unlink()
    result = docaps("train", "minidocs", "--corpus", chain.corpus, "--out", "runs", *settings())
    assert result.code == 1
    assert "runs/document/metrics.jsonl: no perplexity in the log" in result.err


def test_a_loss_that_explodes_is_reported_and_leaves_no_weights(chain: Chain, desk: Path) -> None:
    wild = settings("stage.sentence.learning_rate=1e30", "stage.sentence.steps=9", "stage.sentence.schedule=fixed")
    result = docaps("train", "minidocs", "--corpus", chain.corpus, "--out", "runs", *wild)
    assert result.code == 1
    assert "try a lower learning rate" in result.err
    assert not list(desk.rglob("model.safetensors"))


def test_a_wrong_number_is_refused_before_anything_runs(desk: Path) -> None:
    for words in (["minidocs", "--documents", "0"], ["translate", "run", "--beam", "0"], ["minidocs", "--seed", "x"]):
        result = docaps(*words)
        assert result.code == 2
        assert f"Invalid value for '{words[-2]}'" in result.err
