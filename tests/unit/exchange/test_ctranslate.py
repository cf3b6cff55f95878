"""CTranslate2 translates an exported run as docaps does, token for token."""

import shutil
from pathlib import Path

import pytest
from tests.unit.exchange.published import ENGLISH, Both, sentences

from docaps.batches.windows import Window
from docaps.config import DecodingSettings, SystemSettings
from docaps.config.model_settings import ModelSettings
from docaps.errors import DocapsError
from docaps.exchange.ctranslate import write_model
from docaps.exchange.importing import PublishedModel, write_run
from docaps.model.builders import build_model
from docaps.model.checkpoint import weights_of
from docaps.runs.directory import Run
from docaps.translation.search import search_windows
from docaps.translation.trained_model import TrainedModel, load_trained

ctranslate2 = pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed (docaps[dev])")


def assert_same(trained: TrainedModel, folder: Path, *, least: int = 2) -> None:
    """Compare greedy translations of 200 sentences, of at least so many lengths."""
    codec = trained.codec
    windows = [Window(codec.encode_source(line), ()) for line in sentences(ENGLISH, 200, seed=11)]
    decoding = DecodingSettings(beam=1, length_factor=1e-6, length_margin=30)
    translator = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    sources = [codec.pieces(window.source) for window in windows]
    found = translator.translate_batch(sources, beam_size=1, min_decoding_length=0, max_decoding_length=29)
    for numbers, hypotheses in search_windows(trained, windows, decoding):
        for number, (best, *_) in zip(numbers, hypotheses, strict=True):
            assert found[number].hypotheses[0] == codec.pieces(best.tokens)
    assert len({len(one.hypotheses[0]) for one in found}) >= least


def test_an_imported_model_translates_alike(published: Both, tmp_path: Path) -> None:
    write_model(published.folder.with_name(f"{published.folder.name}.run"), tmp_path)
    assert_same(published.ours, tmp_path)
    assert (tmp_path / "text" / "source.spm").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"norm": "pre", "activation": "gelu", "positions": "marian"},
        {"embeddings": "separate", "output_bias": False, "encoder_layers": 2},
        {"embeddings": "target", "scale_embeddings": False},
    ],
)
def test_other_forms_translate_alike(published: Both, tmp_path: Path, changes: dict[str, object]) -> None:
    sizes = {"encoder_layers": 1, "decoder_layers": 1, "size": 16, "feed_forward": 16, "heads": 2}
    settings = ModelSettings.model_validate({**sizes, **changes})
    codec = published.ours.codec
    model = build_model(SystemSettings(name="transformer", model=settings), vocabulary=len(codec.vocabulary), seed=5)
    found = PublishedModel("docaps", "run", tmp_path, (), settings, DecodingSettings(), codec, weights_of(model))
    run = write_run(found, tmp_path / "run")
    write_model(run.path, tmp_path)
    assert_same(load_trained(run.path), tmp_path, least=1)


@pytest.mark.parametrize(
    ("system", "table", "reason"),
    [
        ("qcn", {}, r"Transformer \+ QCN .*such as capsules"),
        ("han", {}, "hierarchical attention"),
        ("concat", {"shift": 4, "mode": "n-to-n"}, r"concat.shift gives words other positions"),
    ],
)
def test_other_systems_are_refused_with_the_reason(
    published: Both, tmp_path: Path, system: str, table: dict[str, object], reason: str
) -> None:
    run = Run(tmp_path / "run")
    shutil.copytree(published.folder.with_name(f"{published.folder.name}.run"), run.path)
    description = run.read()
    description["settings"]["system"]["name"] = system
    description["settings"]["system"]["concat"].update(table)
    run.write(description)
    with pytest.raises(DocapsError, match=f"run: cannot be exported to ctranslate2: {reason}"):
        write_model(run.path, tmp_path)


def test_a_concat_model_is_exported(published: Both, tmp_path: Path) -> None:
    """It has the weights of a sentence model; only what it reads differs."""
    run = Run(tmp_path / "run")
    shutil.copytree(published.folder.with_name(f"{published.folder.name}.run"), run.path)
    description = run.read()
    description["settings"]["system"].update({"name": "concat"})
    description["settings"]["system"]["concat"]["mode"] = "n-to-n"
    run.write(description)
    write_model(run.path, tmp_path)
    assert_same(published.ours, tmp_path)
