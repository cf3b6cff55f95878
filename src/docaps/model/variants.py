"""From settings to models: the one place where the name of a system decides what is built."""

from typing import assert_never

import torch

from docaps.config import SystemSettings
from docaps.model.context.qcn import QueryGuidedCapsules
from docaps.model.interface import TranslationModel
from docaps.model.regulariser import Regulariser
from docaps.model.transformer import Embeddings, Shape, Transformer


def build_model(settings: SystemSettings, *, vocabulary: int, dropout: float = 0.0, seed: int = 0) -> TranslationModel:
    """Build the model of a system with fresh weights drawn from `seed`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _build(settings, vocabulary, dropout)


def _build(settings: SystemSettings, vocabulary: int, dropout: float) -> TranslationModel:
    model = settings.model
    with_history = False
    with_regulariser = False
    match settings.name:
        case "transformer":
            pass
        case "transformer+reg":
            with_regulariser = True
        case "qcn":
            with_history = True
        case "qcn+reg":
            with_history = with_regulariser = True
        case unknown:
            assert_never(unknown)
    return Transformer(
        shape=Shape(
            size=model.size, heads=model.heads, feed_forward=model.feed_forward, dropout=dropout, norm=model.norm
        ),
        encoder_layers=model.encoder_layers,
        decoder_layers=model.decoder_layers,
        embeddings=Embeddings(vocabulary=vocabulary, size=model.size, shared=model.embeddings == "shared"),
        context=_capsules(settings) if with_history else None,
        history=settings.history.sentences if with_history else 0,
        regulariser=_regulariser(settings) if with_regulariser else None,
    )


def _capsules(settings: SystemSettings) -> QueryGuidedCapsules:
    """Build the query-guided capsule network."""
    return QueryGuidedCapsules(
        size=settings.model.size,
        history=settings.history.sentences,
        capsules=settings.qcn.capsules,
        rounds=settings.qcn.rounds,
        normalise=settings.qcn.normalise,
    )


def _regulariser(settings: SystemSettings) -> Regulariser:
    """Build the regularisation layer; capsules and iterations as in the QCN."""
    return Regulariser(size=settings.model.size, capsules=settings.qcn.capsules, rounds=settings.qcn.rounds)


def count_parameters(model: TranslationModel) -> int:
    """Count the weights of a model, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())
