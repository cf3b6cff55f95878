"""From settings to models: the one place where the name of a system decides what is built."""

from typing import assert_never

import torch

from docaps.config import SYSTEMS, QcnSettings, SystemSettings
from docaps.model.capsule import RoutingOptions
from docaps.model.context.capsules import HistoryCapsules, HistoryWords, Query
from docaps.model.interface import TranslationModel
from docaps.model.regulariser import Regulariser
from docaps.model.routing import CapsuleRouting
from docaps.model.transformer import Context, Embeddings, Shape, Transformer


def build_model(settings: SystemSettings, *, vocabulary: int, dropout: float = 0.0, seed: int = 0) -> TranslationModel:
    """Build the model of a system with fresh weights drawn from `seed`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _build(settings, vocabulary, dropout)


def _build(settings: SystemSettings, vocabulary: int, dropout: float) -> TranslationModel:
    model = settings.model
    return Transformer(
        shape=Shape(
            size=model.size, heads=model.heads, feed_forward=model.feed_forward, dropout=dropout, norm=model.norm
        ),
        encoder_layers=model.encoder_layers,
        decoder_layers=model.decoder_layers,
        embeddings=Embeddings(vocabulary=vocabulary, size=model.size, shared=model.embeddings == "shared"),
        context=_context(settings),
        regulariser=_regulariser(settings) if settings.uses_regulariser else None,
    )


def _context(settings: SystemSettings) -> Context | None:
    """Build the network that reads the history, if the system has one."""
    match SYSTEMS[settings.name].context:
        case "none":
            return None
        case "qcn":
            return _capsules(settings, guided=True)
        case "capsnet":
            return _capsules(settings, guided=False)
        case unknown:
            assert_never(unknown)


def _capsules(settings: SystemSettings, *, guided: bool) -> Context:
    """Build the query-guided capsule network, or its plain counterpart."""
    qcn, size, history = settings.qcn, settings.model.size, settings.history
    capsule_size = qcn.capsule_size or size
    network = HistoryCapsules(
        words=HistoryWords(
            size=size, capsule_size=capsule_size, history=history.sentences, positions=history.positions
        ),
        query=Query(size=size, capsule_size=capsule_size, pooling=qcn.query) if guided else None,
        routing=CapsuleRouting(
            size=capsule_size, capsules=qcn.capsules, options=_routing_options(qcn), spread=qcn.spread
        ),
        scope=qcn.scope,
        normalise=qcn.normalise,
    )
    return Context(network, history=history.sentences, size=capsule_size, gate=qcn.gate)


def _routing_options(qcn: QcnSettings) -> RoutingOptions:
    """Say how to route."""
    return RoutingOptions(
        rounds=qcn.rounds,
        squash_words=qcn.squash_words,
        guide_capsules=qcn.guide_capsules,
        guide_agreement=qcn.guide_agreement,
        gradient=qcn.gradient,
    )


def _regulariser(settings: SystemSettings) -> Regulariser:
    """Build the regularisation layer; capsules and iterations as in the QCN."""
    return Regulariser(
        size=settings.model.size,
        capsules=settings.qcn.capsules,
        options=_routing_options(settings.qcn),
        flattened=settings.regulariser.correlation == "flattened",
        positions=settings.regulariser.positions,
    )


def count_parameters(model: TranslationModel) -> int:
    """Count the weights of a model, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())
