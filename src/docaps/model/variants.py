"""From settings to models: the one place where the name of a system decides what is built."""

from dataclasses import replace
from typing import TypedDict, assert_never

import torch

from docaps.batches.windows import WHOLE
from docaps.config import SYSTEMS, QcnSettings, SystemSettings
from docaps.model.context.concat import ConcatTransformer
from docaps.model.context.han import HierarchicalAttention
from docaps.model.context.noise import FixedNoise
from docaps.model.context.qcn import HistoryCapsules, HistoryWords, Query
from docaps.model.context.san import SelectiveAttention
from docaps.model.context.states import Readers, StatesTransformer
from docaps.model.context.zhang import ContextEncoder
from docaps.model.embeddings import Embeddings
from docaps.model.interface import TranslationModel
from docaps.model.regulariser import Regulariser
from docaps.model.routing.algorithm import RoutingOptions
from docaps.model.routing.layer import CapsuleRouting
from docaps.model.shape import Context, Shape
from docaps.model.transformer import Transformer


def build_model(settings: SystemSettings, *, vocabulary: int, dropout: float = 0.0, seed: int = 0) -> TranslationModel:
    """Build the model of a system with fresh weights drawn from `seed`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _build(settings, vocabulary, dropout)


class _Sizes(TypedDict):
    """What every system is built with."""

    shape: Shape
    encoder_layers: int
    decoder_layers: int
    embeddings: Embeddings


def _build(settings: SystemSettings, vocabulary: int, dropout: float) -> TranslationModel:  # noqa: PLR0911
    """Build what the system's way to look at other sentences needs."""
    context, sizes = SYSTEMS[settings.name].context, _sizes(settings, vocabulary, dropout)
    match context:
        case "none":
            return _transformer(settings, sizes, None)
        case "qcn":
            return _transformer(settings, sizes, _capsules(settings, guided=True))
        case "capsnet":
            return _transformer(settings, sizes, _capsules(settings, guided=False))
        case "qcn-shuffled":
            return _transformer(settings, sizes, replace(_capsules(settings, guided=True), shuffled=True))
        case "qcn-noise":
            return _transformer(settings, sizes, _noise(settings))
        case "zhang":
            return _transformer(settings, sizes, _context_encoder(settings, sizes["shape"]))
        case "han":
            return _han(settings, sizes)
        case "san":
            return _san(settings, sizes)
        case "concat":
            both = settings.concat.mode == "2-to-2"
            return ConcatTransformer(**sizes, history=settings.history.sentences, translations=both)
        case unknown:
            assert_never(unknown)


def _sizes(settings: SystemSettings, vocabulary: int, dropout: float) -> _Sizes:
    """Say how large everything is, and make the word vectors."""
    model = settings.model
    return _Sizes(
        shape=Shape(
            size=model.size, heads=model.heads, feed_forward=model.feed_forward, dropout=dropout, norm=model.norm
        ),
        encoder_layers=model.encoder_layers,
        decoder_layers=model.decoder_layers,
        embeddings=Embeddings(vocabulary=vocabulary, size=model.size, shared=model.embeddings == "shared"),
    )


def _transformer(settings: SystemSettings, sizes: _Sizes, context: Context | None) -> Transformer:
    """Build a Transformer whose layers look at a context, if there is one."""
    regulariser = _regulariser(settings) if settings.uses_regulariser else None
    return Transformer(**sizes, context=context, regulariser=regulariser)


def _context_encoder(settings: SystemSettings, shape: Shape) -> Context:
    """Build the encoder that reads earlier sentences, and gates where layers look at it."""
    network = ContextEncoder(shape=shape, layers=settings.zhang.layers)
    decoder = settings.zhang.decoder
    return Context(network, history=settings.history.sentences, size=shape.size, gate=True, decoder=decoder)


def _noise(settings: SystemSettings) -> Context:
    """Build what stands in the capsules' place."""
    size, sentences = settings.qcn.capsule_size or settings.model.size, settings.history.sentences
    network = FixedNoise(size=size, history=sentences, capsules=settings.qcn.capsules)
    return Context(network, history=sentences, size=size, gate=settings.qcn.gate, silent=settings.qcn.silent)


def _han(settings: SystemSettings, sizes: _Sizes) -> TranslationModel:
    """Build a Transformer with hierarchical attention at the last layer of encoder, decoder or both."""
    side, shape = settings.han.side, sizes["shape"]
    readers = Readers(
        encoder=HierarchicalAttention(shape=shape) if side != "decoder" else None,
        decoder=HierarchicalAttention(shape=shape) if side != "encoder" else None,
        gradient=settings.han.gradient,
        distances=settings.han.distances,
    )
    return StatesTransformer(**sizes, readers=readers, history=settings.history.sentences)


def _san(settings: SystemSettings, sizes: _Sizes) -> TranslationModel:
    """Build a Transformer with selective attention at the last layer of encoder or decoder."""
    san = settings.san
    reader = SelectiveAttention(shape=sizes["shape"], attention=san.attention, sentences=san.sentences, words=san.words)
    encoder, decoder = (reader, None) if san.side == "encoder" else (None, reader)
    readers = Readers(encoder, decoder, san.gradient, san.distances)
    reach = san.reach or WHOLE
    return StatesTransformer(**sizes, readers=readers, history=reach, future=reach if san.mode == "offline" else 0)


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
    return Context(network, history=history.sentences, size=capsule_size, gate=qcn.gate, silent=qcn.silent)


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
