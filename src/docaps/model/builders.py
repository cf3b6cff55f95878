"""From settings to models: a builder for each kind of system, named in the table of systems.

A builder takes the settings and a `Backbone` and returns a `Context` for the stock Transformer, None for a Transformer
without context, or a `TranslationModel` of its own. Weights are drawn in the order of construction: embeddings, context
network, regulariser, layers.
"""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from docaps.batches.windows import WHOLE
from docaps.config import SYSTEMS, StageSettings, SystemSettings
from docaps.config.model_settings import ModelSettings, QcnSettings
from docaps.corpus.text.vocabulary import BOS, EOS, UNK
from docaps.errors import ConfigError
from docaps.model.context.capsule_transformer import CapsuleTransformer, Reading, SideCapsules
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
        shape, tables = shape_of(model, rates), model.embeddings
        embeddings = Embeddings(vocabulary=vocabulary, size=model.size, tables=tables, bias=model.output_bias)
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


def shape_of(model: ModelSettings, dropout: DropoutRates) -> Shape:
    """Return the shape that all layers share."""
    return Shape(
        size=model.size,
        heads=model.heads,
        feed_forward=model.feed_forward,
        dropout=dropout,
        norm=model.norm,
        activation=model.activation,
        positions=model.positions,
        scaled=model.scale_embeddings,
        epsilon=model.norm_epsilon,
    )


class WithoutDraws(TorchFunctionMode):
    """Draw no weights: on the meta device even a product imports torch's compiler, which takes as long as torch."""

    DRAWS = (torch.Tensor.uniform_, torch.Tensor.normal_, nn.init.uniform_, nn.init.normal_, nn.init.kaiming_uniform_)

    def __torch_function__(self, call: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Leave the tensor of a call that draws random values as it is; do every other call."""
        given = kwargs or {}
        if call in self.DRAWS:
            return given["tensor"] if "tensor" in given else args[0]
        return call(*args, **given)


def sketch_model(settings: SystemSettings, *, vocabulary: int) -> TranslationModel:
    """Build a model without values, which takes hardly any memory: its weights have names and shapes only."""
    with torch.device("meta"), WithoutDraws():
        return build_model(settings, vocabulary=vocabulary)


def dropout_rates(stage: StageSettings) -> DropoutRates:
    """Return the dropout rates of a stage: those of the parts, where set, or else the rate of all."""
    own = {part.name: getattr(stage, f"dropout_{part.name}") for part in fields(DropoutRates)}
    return DropoutRates(**{name: stage.dropout if rate is None else rate for name, rate in own.items()})


def build_transformer(settings: SystemSettings, backbone: Backbone) -> None:
    """Build a Transformer without context."""


def build_qcn(
    settings: SystemSettings, backbone: Backbone, *, guided: bool = True, shuffled: bool = False
) -> Context | TranslationModel:
    """Build the query-guided capsule network of the history, or with another reading of its settings its model."""
    qcn, history = settings.qcn, settings.history.sentences
    if qcn.reads == "embeddings" and qcn.sides == "source" and not qcn.current:
        return _qcn_context(settings, _capsules(settings, backbone, history, guided=guided), shuffled=shuffled)
    sides = SideCapsules(
        source=_capsules(settings, backbone, history + qcn.current, guided=guided) if qcn.sides != "target" else None,
        target=_capsules(settings, backbone, history, guided=guided) if qcn.sides != "source" else None,
    )
    return CapsuleTransformer(
        backbone,
        context=_qcn_context(settings, sides, shuffled=shuffled),
        reading=Reading(states=qcn.reads == "states", gradient=qcn.gradient_to_states, current=qcn.current),
        regulariser=_regulariser(settings) if SYSTEMS[settings.name].regulariser else None,
    )


def _qcn_context(settings: SystemSettings, network: nn.Module, *, shuffled: bool = False) -> Context:
    """Let the layers attend to the capsules of a network, or to what takes their place."""
    qcn, start = settings.qcn, settings.context.start
    return Context(
        network,
        history=settings.history.sentences,
        size=qcn.capsule_size or settings.model.size,
        gate=qcn.gate,
        silent=qcn.silent or start == "silent",
        encoder=qcn.attends != "decoder",
        decoder=qcn.attends != "encoder",
        shuffled=shuffled,
    )


def _capsules(settings: SystemSettings, backbone: Backbone, history: int, *, guided: bool) -> HistoryCapsules:
    """Build the capsule network of one side of the history; without a query if it is not guided."""
    qcn, size = settings.qcn, backbone.shape.size
    capsule_size = qcn.capsule_size or size
    words = HistoryWords(
        size=size,
        capsule_size=capsule_size,
        history=history,
        positions=settings.history.positions,
        start=qcn.start,
    )
    query = Query(size=size, capsule_size=capsule_size, pooling=qcn.query) if guided else None
    routing = CapsuleRouting(
        size=capsule_size,
        capsules=qcn.capsules,
        options=_routing_options(qcn),
        spread=qcn.spread,
        start=qcn.start,
        sharpness=None if isinstance(qcn.sharpness, str) else qcn.sharpness,
    )
    return HistoryCapsules(
        words=words,
        query=query,
        routing=routing,
        joint=qcn.scope == "joint",
        normalise=qcn.normalise,
        distances=qcn.distances,
    )


def build_capsnet(settings: SystemSettings, backbone: Backbone) -> Context | TranslationModel:
    """Build a plain capsule network, without a query."""
    return build_qcn(settings, backbone, guided=False)


def build_qcn_shuffled(settings: SystemSettings, backbone: Backbone) -> Context | TranslationModel:
    """Build the query-guided capsule network for histories of other documents."""
    return build_qcn(settings, backbone, shuffled=True)


def build_qcn_noise(settings: SystemSettings, backbone: Backbone) -> Context:
    """Build noise in place of capsules; nothing is read."""
    size, sentences = settings.qcn.capsule_size or backbone.shape.size, settings.history.sentences
    return _qcn_context(settings, FixedNoise(size=size, history=sentences, capsules=settings.qcn.capsules))


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
