"""Models that several tests only read."""

from collections import Counter
from pathlib import Path

import pytest
import torch
from tests.unit.exchange.published import ENGLISH, GERMAN, Both, both, make_folder, sentences

from docaps.config import DecodingSettings, SystemSettings
from docaps.config.model_settings import ModelSettings
from docaps.corpus.text.codec import Codec, Language
from docaps.corpus.text.sentencepieces import learn_sentencepieces
from docaps.corpus.text.vocabulary import EOS, Vocabulary
from docaps.exchange.importing import PublishedModel, write_run
from docaps.model.builders import build_model
from docaps.model.checkpoint import weights_of


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Both:
    """A model of random weights whose translations are of different lengths; its folder and run are for reading."""
    folder = tmp_path_factory.mktemp("exchange") / "opus-mt-en-de"
    return both(make_folder(folder, spread=0.5, end_bias=6.0, marks=(">>deu<<",)))


@pytest.fixture(scope="session")
def sentencepiece_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence model as docaps trains it with SentencePiece, of random weights."""
    pieces = learn_sentencepieces([*sentences(ENGLISH, 300), *sentences(GERMAN, 300)], size=400)
    vocabulary = Vocabulary.from_counts(Counter(dict.fromkeys(pieces.pieces, 1)))
    here, there = (Language(code, tokenize=False) for code in ("en", "de"))
    settings = ModelSettings(
        encoder_layers=1,
        decoder_layers=1,
        size=16,
        feed_forward=16,
        heads=2,
        embeddings="shared",
        output_bias=True,
    )
    model = build_model(SystemSettings(name="transformer", model=settings), vocabulary=len(vocabulary), seed=3)
    drawn = torch.Generator().manual_seed(3)
    with torch.no_grad():  # so that translations differ, and end
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.normal_(std=0.5, generator=drawn)
        model.get_parameter("embeddings.bias")[EOS] += 5
    codec = Codec(source=here, target=there, subwords=pieces, vocabulary=vocabulary)
    folder = tmp_path_factory.mktemp("trained")
    found = PublishedModel("docaps", "run", folder, (), settings, DecodingSettings(), codec, weights_of(model))
    return write_run(found, folder / "run").path
