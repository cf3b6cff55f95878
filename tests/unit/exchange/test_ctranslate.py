"""CTranslate2 translates an exported run as docaps does, token for token."""

import shutil
from pathlib import Path

import pytest
import torch
from tests.unit.exchange.published import ENGLISH, Both, sentences

from docaps.batches.windows import Window
from docaps.config import DecodingSettings, SystemSettings
from docaps.config.model_settings import ModelSettings
from docaps.corpus.text.vocabulary import EOS
from docaps.errors import DocapsError
from docaps.exchange.ctranslate import write_model
from docaps.exchange.importing import PublishedModel, write_run
from docaps.model.builders import build_model
from docaps.model.checkpoint import weights_of
from docaps.runs.directory import Run
from docaps.translation.search import search_windows
from docaps.translation.trained_model import TrainedModel, load_trained

ctranslate2 = pytest.importorskip("ctranslate2", reason="ctranslate2 is not installed (docaps[dev])")


def translations(trained: TrainedModel, sources: list[list[int]], beam: int = 1) -> list[list[str]]:
    """Translate token ids as docaps does."""
    windows = [Window(source, ()) for source in sources]
    decoding = DecodingSettings(beam=beam, length_penalty=0, length_factor=1e-6, length_margin=30)
    found = {}
    for numbers, hypotheses in search_windows(trained, windows, decoding):
        found |= {
            number: trained.codec.pieces(best.tokens) for number, (best, *_) in zip(numbers, hypotheses, strict=True)
        }
    return [found[number] for number in range(len(windows))]


def sources_of(trained: TrainedModel, count: int = 200) -> list[list[int]]:
    return [trained.codec.encode_source(line) for line in sentences(ENGLISH, count, seed=11)]


def assert_same(trained: TrainedModel, folder: Path) -> None:
    """Compare greedy translations of 200 sentences, which have several lengths."""
    sources = sources_of(trained)
    translator = ctranslate2.Translator(str(folder), compute_type="float32", intra_threads=1)
    pieces = [trained.codec.pieces(source) for source in sources]
    found = translator.translate_batch(pieces, beam_size=1, min_decoding_length=0, max_decoding_length=29)
    written = [one.hypotheses[0] for one in found]
    assert written == translations(trained, sources)
    assert len(set(map(len, written))) > 2


def run_of(published: Both) -> Path:
    return published.folder.with_name(f"{published.folder.name}.run")


def test_an_imported_model_translates_alike(published: Both, tmp_path: Path) -> None:
    write_model(run_of(published), tmp_path)
    assert_same(published.ours, tmp_path)
    assert (tmp_path / "text" / "source.spm").exists()


def test_a_beam_finds_the_same(published: Both, tmp_path: Path) -> None:
    """Sentences whose translation is as long as allowed are left out: there, what counts as finished differs."""
    write_model(run_of(published), tmp_path)
    sources = sources_of(published.ours)
    translator = ctranslate2.Translator(str(tmp_path), compute_type="float32", intra_threads=1)
    pieces = [published.ours.codec.pieces(source) for source in sources]
    options = {"min_decoding_length": 0, "max_decoding_length": 29, "length_penalty": 0, "patience": 4}
    found = [one.hypotheses[0] for one in translator.translate_batch(pieces, beam_size=4, **options)]
    expected = translations(published.ours, sources, beam=4)
    pairs = [pair for pair in zip(found, expected, strict=True) if max(map(len, pair)) < 29]
    assert len(pairs) > 100
    assert [one for one, _ in pairs] == [other for _, other in pairs]


def test_a_quantised_model_is_smaller_and_translates_almost_alike(published: Both, tmp_path: Path) -> None:
    for name, quantization in (("plain", None), ("int8", "int8")):
        (tmp_path / name).mkdir()
        write_model(run_of(published), tmp_path / name, quantization=quantization)
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("plain", "int8")]
    assert sizes[1] < 0.9 * sizes[0]
    sources = sources_of(published.ours)
    translator = ctranslate2.Translator(str(tmp_path / "int8"), compute_type="int8", intra_threads=1)
    pieces = [published.ours.codec.pieces(source) for source in sources]
    found = translator.translate_batch(pieces, beam_size=1, min_decoding_length=0, max_decoding_length=29)
    expected = translations(published.ours, sources)
    same = sum(one.hypotheses[0] == other for one, other in zip(found, expected, strict=True))
    assert same > 140, "of 200"


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
    weights = weights_of(model)
    spread(weights, settings.norm)
    found = PublishedModel("docaps", "run", tmp_path, (), settings, DecodingSettings(), codec, weights)
    run = write_run(found, tmp_path / "run")
    write_model(run.path, tmp_path)
    assert_same(load_trained(run.path), tmp_path)


def spread(weights: dict[str, torch.Tensor], norm: str) -> None:
    """Draw large weights, so that translations differ, and raise the score of their end."""
    drawn = torch.Generator().manual_seed(5)
    for weight in weights.values():
        if weight.ndim > 1:
            weight.normal_(std=0.4, generator=drawn)
    scores = next(weights[name] for name in OUTPUTS if name in weights)
    last = "decoder_norm.bias" if norm == "pre" else "decoder.0.feed_forward_residual.norm.bias"
    weights[last] += 5 * scores[EOS] / scores[EOS].square().sum()


OUTPUTS = ("embeddings.output.weight", "embeddings.target.weight", "embeddings.source.weight")
"""The table that scores words: the first of these that a model has."""


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
