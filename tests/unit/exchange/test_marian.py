"""An original Marian model gives the n-best lists and scores of Marian's own translator."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.calling import succeed
from tests.fixtures.marian.make import BEAM, sentences, train, translate

from docaps.batches.windows import Window
from docaps.config import DecodingSettings
from docaps.errors import DocapsError
from docaps.exchange.importing import write_run
from docaps.exchange.marian import find_model, read_model
from docaps.translation.search import search_windows
from docaps.translation.trained_model import load_trained

FIXTURE = Path(__file__).parents[2] / "fixtures" / "marian"
FILES = ("model.npz", "vocab.yml", "decoder.yml")
Best = list[list[tuple[str, float]]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "marian-en-de"
    found.mkdir()
    for name in FILES:
        shutil.copyfile(FIXTURE / name, found / name)
    return found


def assert_same(folder: Path, lines: list[str], expected: Best) -> None:
    """Compare n-best lists; Marian counts its limit of length in another way, so hypotheses must be shorter."""
    weights = find_model(folder)
    assert weights is not None
    run = write_run(read_model(weights), folder.with_name("run"))
    trained = load_trained(run.path)
    windows = [Window(trained.codec.encode_source(line), ()) for line in lines]
    decoding = trained.decoding.model_copy(update={"beam": BEAM, "nbest": BEAM, "length_factor": 3.0})
    assert decoding.length_penalty == 0
    compared = 0
    for numbers, found in search_windows(trained, windows, decoding):
        for number, hypotheses in zip(numbers, found, strict=True):
            longest = max(len(text.split()) for text, _ in expected[number])
            if longest >= 2 * len(lines[number].split()):
                continue
            assert [trained.codec.decode_target(one.tokens) for one in hypotheses] == [
                one for one, _ in expected[number]
            ]
            scores = [one.log_probability for one in hypotheses]
            assert scores == pytest.approx([score for _, score in expected[number]], rel=1e-5, abs=1e-5)
            compared += 1
    assert compared > len(lines) / 2


def test_n_best_lists_and_scores_are_those_of_marian(folder: Path) -> None:
    stored = json.loads((FIXTURE / "scores.json").read_text(encoding="utf-8"))
    best = [[(text, score) for text, score in one["best"]] for one in stored]
    assert_same(folder, [one["source"] for one in stored], best)


@pytest.mark.stress
@pytest.mark.parametrize(
    ("vocabulary", "options"),
    [
        ("vocab.yml", {"tied_embeddings_all": False, "tied_embeddings": True, "transformer_ffn_activation": "relu"}),
        ("vocab.yml", {"tied_embeddings_all": False, "enc_depth": 1, "dec_depth": 2}),
        ("both.spm", {"dim_vocabs": [40, 40]}),
    ],
)
def test_other_models_are_those_of_marian(tmp_path: Path, vocabulary: str, options: dict[str, Any]) -> None:
    """It fails without pymarian, which `make stress` installs."""
    folder = tmp_path / "marian-en-de"
    folder.mkdir()
    train(folder, vocabulary=vocabulary, **options)
    lines = sentences(60, seed=5)
    assert_same(folder, lines, translate(folder, lines, vocabulary=vocabulary))


def test_a_folder_is_imported_by_the_command(folder: Path, tmp_path: Path) -> None:
    found = json.loads(succeed("import", folder, "--out", tmp_path / "out", "--json").out)
    assert (found["form"], found["source_language"], found["target_language"]) == ("Marian", "en", "de")
    printed = succeed("translate", tmp_path / "out", "--precision", "float32", stdin="<d>\nthe old cat\n").out
    assert printed.split() == ["<d>", "die", "alte", "Katze"]
    (folder / "decoder.yml").unlink()
    succeed("import", folder / "model.npz", "--out", tmp_path / "other")


SEARCH = "models: [model.npz]\nvocabs: [vocab.yml, vocab.yml]\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", (12, 3.0, 0.0)),
        ("beam-size: 6\nnormalize: 0.0\nmax-length-factor: 1.5 # short\n", (6, 1.5, 0.0)),
        ("normalize: 1\nbeam-size: 1\n", (1, 3.0, DecodingSettings().length_penalty)),
    ],
)
def test_settings_of_the_search_come_along(folder: Path, text: str, expected: tuple[int, float, float]) -> None:
    (folder / "decoder.yml").write_text(SEARCH + text, encoding="utf-8")
    found = read_model(folder / "model.npz").decoding
    assert (found.beam, found.length_factor, found.length_penalty) == expected


def test_settings_that_docaps_does_not_have_are_named(folder: Path, tmp_path: Path) -> None:
    text = "normalize: 0.6\nword-penalty: -0.2\nshortlist: [lex.s2t, 100, 75]\nallow-unk: false\n"
    (folder / "decoder.yml").write_text(SEARCH + text, encoding="utf-8")
    named = "normalize = 0.6, word-penalty = -0.2, shortlist = ['lex.s2t', '100', '75']"
    assert f"left out: {named}\n" in succeed("import", folder, "--out", tmp_path / "out").err
    (folder / "decoder.yml").write_text(SEARCH + "normalize: 0\nword-penalty: 0\n", encoding="utf-8")
    assert "left out" not in succeed("import", folder, "--out", tmp_path / "other").err


def change_settings(folder: Path, before: str, after: str) -> None:
    with np.load(folder / "model.npz") as found:
        arrays = dict(found)
    text = arrays["special:model.yml"].tobytes().decode()
    assert before in text
    arrays["special:model.yml"] = np.frombuffer(text.replace(before, after).encode(), dtype=np.int8)
    np.savez(folder / "model.npz", **arrays)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "decoder-autoreg: self-attention",
            "decoder-autoreg: rnn\ndec-cell: ssru",
            r"autoreg = rnn \(SSRU\) is not supp",
        ),
        ("decoder-autoreg: self-attention", "decoder-autoreg: average-attention", "average-attention is not supported"),
        ("type: transformer", "type: s2s", "type = s2s is not supported"),
        ("activation: swish", "activation: gelu", "gelu is not supported"),
        ('transformer-preprocess: ""', "transformer-preprocess: n", r"\(norms before sub-layers\) is not supported"),
        ("enc-depth: 2", "enc-depth: 3", "lack 'encoder_l3_self_Wq'"),
        ("enc-depth: 2", "enc-depth: 1", "belong to no part of the model: encoder_l2"),
        ("dim-emb: 16", "dim-emb: 32", "has the shape"),
        ("dim-emb: 16", "dim-emb: sixteen", "size: Input should be a valid integer .found .sixteen."),
        ("transformer-heads: 2", "transformer-heads: 3", "divisible by the number of heads"),
    ],
)
def test_other_models_are_refused_by_name(folder: Path, before: str, after: str, message: str) -> None:
    change_settings(folder, before, after)
    with pytest.raises(DocapsError, match=rf"(?s)model.npz: .*{message}"):
        read_model(folder / "model.npz")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-500])


def pickle_objects(path: Path) -> None:
    np.savez(path, **{"special:model.yml": np.array([{"a": 1}], dtype=object)})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "harm", "message"),
    [
        ("model.npz", cut, "the weights are damaged"),
        ("model.npz", pickle_objects, "the weights are damaged: Object arrays cannot be loaded"),
        ("model.npz", Path.unlink, "no weights here"),
        ("model.npz", lambda path: np.savez(path, a=np.zeros(1)), "it has no special:model.yml"),
        ("vocab.yml", Path.unlink, "vocab.yml: no such file"),
        (
            "vocab.yml",
            lambda path: path.write_text("a: 0\nb\n", encoding="utf-8"),
            "vocab.yml:2: expected a word, a colon",
        ),
        (
            "vocab.yml",
            lambda path: path.write_text("a: 0\n", encoding="utf-8"),
            "the vocabulary does not fit: it has 1",
        ),
        (
            "decoder.yml",
            lambda path: path.write_text("models\n", encoding="utf-8"),
            "decoder.yml:1: expected 'key: value'",
        ),
        (
            "decoder.yml",
            lambda path: path.write_text("models:\n  - a.npz\n  - b.npz\n", encoding="utf-8"),
            "an ensemble of 2 models",
        ),
    ],
)
def test_bad_folders_are_refused(folder: Path, name: str, harm: Callable[[Path], object], message: str) -> None:
    harm(folder / name)
    with pytest.raises(DocapsError, match=message):
        read_model(find_model(folder) or folder)
