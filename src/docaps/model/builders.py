"""From settings to models: a builder for each kind of system, named in the table of systems.

A builder takes the settings and a `Backbone` and returns a `Context` for the stock Transformer, None for a Transformer
without context, or a `TranslationModel` of its own. Weights are drawn in the order of construction: embeddings, context
network, regulariser, layers.
"""

from dataclasses import fields, replace
from typing import Any

import torch

from docaps.batches.windows import WHOLE
from docaps.config import SYSTEMS, StageSettings, SystemSettings
from docaps.config.model_settings import QcnSettings
from docaps.corpus.text.vocabulary import BOS, EOS, UNK
from docaps.errors import ConfigError
from docaps.model.context.concat import ConcatTransformer
from docaps.model.context.han import HierarchicalAttention
from docaps.model.context.qcn import FixedNoise, HistoryCapsules, HistoryWords, Query
from docaps.model.context.san import SelectiveAttention
from docaps.model.context.states import MemoryOptions, StatesTransformer
from docaps.model.context.sublayer import Context
from docaps.model.context.zhang import ContextEncoder
from docaps.model.interface import TranslationModel
from docaps.model.layers import Backbone, DropoutRates, Embeddings, Shape
from docaps.model.regulariser import Regulariser, RegulariserOptions
from docaps.model.routing.algorithm import RoutingOptions
from docaps.model.routing.layer import CapsuleRouting
from docaps.model.transformer import Transformer


def build_model(
    settings: SystemSettings, *, vocabulary: int, dropout: DropoutRates | float = 0.0, seed: int = 0
) -> TranslationModel:
    """Build the model of a system with fresh weights drawn from `seed`; a single dropout rate is that of all parts."""
    system, model = SYSTEMS[settings.name], settings.model
    rates = dropout if isinstance(dropout, DropoutRates) else DropoutRates.everywhere(dropout)
    build = system.load_builder()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        shape = Shape(
            size=model.size, heads=model.heads, feed_forward=model.feed_forward, dropout=rates, norm=model.norm
        )
        embeddings = Embeddings(vocabulary=vocabulary, size=model.size, shared=model.embeddings == "shared")
        backbone = Backbone(shape, model.encoder_layers, model.decoder_layers, embeddings)
        built = build(settings, backbone)
        if built is None or isinstance(built, Context):
            regulariser = _regulariser(settings) if system.regulariser else None
            return Transformer(backbone, context=built, regulariser=regulariser)
    if not isinstance(built, TranslationModel):
        raise ConfigError(
            f"the builder of the system {settings.name!r} returned {type(built).__name__}; "
            "expected a Context, None or a TranslationModel"
        )
    return built


def sketch_model(settings: SystemSettings, *, vocabulary: int) -> TranslationModel:
    """Build a model without values, which takes hardly any memory: its weights have names and shapes only."""
    with torch.device("meta"):
        return build_model(settings, vocabulary=vocabulary)


def dropout_rates(stage: StageSettings) -> DropoutRates:
    """Return the dropout rates of a stage: those of the parts, where set, or else the rate of all."""
    own = {part.name: getattr(stage, f"dropout_{part.name}") for part in fields(DropoutRates)}
    return DropoutRates(**{name: stage.dropout if rate is None else rate for name, rate in own.items()})


def build_transformer(settings: SystemSettings, backbone: Backbone) -> None:
    """Build a Transformer without context."""


def build_qcn(settings: SystemSettings, backbone: Backbone, *, guided: bool = True) -> Context:
    """Build the query-guided capsule network of the history."""
    qcn, size, history = settings.qcn, backbone.shape.size, settings.history
    capsule_size = qcn.capsule_size or size
    words = HistoryWords(size=size, capsule_size=capsule_size, history=history.sentences, positions=history.positions)
    query = Query(size=size, capsule_size=capsule_size, pooling=qcn.query) if guided else None
    routing = CapsuleRouting(size=capsule_size, capsules=qcn.capsules, options=_routing_options(qcn), spread=qcn.spread)
    joint = qcn.scope == "joint"
    network = HistoryCapsules(words=words, query=query, routing=routing, joint=joint, normalise=qcn.normalise)
    return Context(network, history=history.sentences, size=capsule_size, gate=qcn.gate, silent=qcn.silent)


def build_capsnet(settings: SystemSettings, backbone: Backbone) -> Context:
    """Build a plain capsule network, without a query."""
    return build_qcn(settings, backbone, guided=False)


def build_qcn_shuffled(settings: SystemSettings, backbone: Backbone) -> Context:
    """Build the query-guided capsule network for histories of other documents."""
    return replace(build_qcn(settings, backbone), shuffled=True)


def build_qcn_noise(settings: SystemSettings, backbone: Backbone) -> Context:
    """Build noise in place of capsules."""
    size, sentences = settings.qcn.capsule_size or backbone.shape.size, settings.history.sentences
    network = FixedNoise(size=size, history=sentences, capsules=settings.qcn.capsules)
    return Context(network, history=sentences, size=size, gate=settings.qcn.gate, silent=settings.qcn.silent)


def build_zhang(settings: SystemSettings, backbone: Backbone) -> Context:
    """Build the context encoder and gates of Zhang et al. (2018)."""
    zhang, everywhere = settings.zhang, settings.zhang.dropout == "all"
    return Context(
        ContextEncoder(shape=backbone.shape, layers=zhang.layers, input_dropout=everywhere),
        history=settings.history.sentences,
        size=backbone.shape.size,
        gate=True,
        decoder=zhang.decoder,
        end_mark=zhang.end_mark,
        dropout=everywhere,
    )


def build_han(settings: SystemSettings, backbone: Backbone) -> TranslationModel:
    """Build a Transformer with hierarchical attention at the last layer of encoder, decoder or both."""
    han, form = settings.han, ("queries", "query_gradient", "norm_summaries", "feed_forward_norm", "gate_bias")
    parts: dict[str, Any] = {name: getattr(han, name) for name in (*form, "norm_output")}
    encoder = HierarchicalAttention(shape=backbone.shape, **parts) if han.side != "decoder" else None
    decoder = HierarchicalAttention(shape=backbone.shape, **parts) if han.side != "encoder" else None
    hidden = () if han.marks else (BOS, EOS, UNK)
    options = MemoryOptions(gradient=han.gradient, distances=han.distances, hidden=hidden)
    sentences = settings.history.sentences
    return StatesTransformer(backbone, (encoder, decoder), history=sentences, future=0, options=options)


def build_san(settings: SystemSettings, backbone: Backbone) -> TranslationModel:
    """Build a Transformer with selective attention at the last layer of encoder or decoder."""
    san, on_target = settings.san, settings.san.side == "decoder"
    attention = SelectiveAttention(
        shape=backbone.shape,
        attention=san.attention,
        sentences=san.sentences,
        words=san.words,
        bias=san.projection_bias,
        residual=san.residual,
    )
    options = MemoryOptions(
        gradient=san.gradient,
        distances=san.distances,
        hidden=() if san.marks else (EOS,),
        hidden_outputs=True,
        initial=san.memory == "initial",
        attended=on_target and san.keys == "attended",
        drafts=on_target and san.translations == "drafts",
    )
    history = san.reach or WHOLE
    future = history if san.mode == "offline" else 0
    attentions = (None, attention) if on_target else (attention, None)
    return StatesTransformer(backbone, attentions, history=history, future=future, options=options)


def build_concat(settings: SystemSettings, backbone: Backbone) -> TranslationModel:
    """Build a Transformer over concatenated sentences."""
    concat = settings.concat
    return ConcatTransformer(
        backbone,
        history=settings.history.sentences,
        translations=concat.mode != "k-to-1",
        discount=concat.discount,
        shift=concat.shift,
        segments=concat.segments,
    )


def _routing_options(qcn: QcnSettings) -> RoutingOptions:
    return RoutingOptions(**{field.name: getattr(qcn, field.name) for field in fields(RoutingOptions)})


def _regulariser(settings: SystemSettings) -> Regulariser:
    """Build the regulariser; capsules, iterations and first weights as in the QCN."""
    chosen = settings.regulariser
    return Regulariser(
        size=settings.model.size,
        capsules=settings.qcn.capsules,
        routing=_routing_options(settings.qcn),
        options=RegulariserOptions(
            flattened=chosen.correlation == "flattened",
            positions=chosen.positions,
            marks=chosen.marks,
            centred=chosen.centre == "batch",
            negatives=chosen.negatives,
            temperature=chosen.temperature,
        ),
        spread=settings.qcn.spread,
    )


def count_parameters(model: TranslationModel) -> int:
    """Count the weights of a model, shared ones once."""
    return sum(parameter.numel() for parameter in model.parameters())
