"""The Transformer, with a context sub-layer in its encoder where a context network is given.

Reference: Vaswani et al. (2017); Yang et al. (2019), section 3.3. Dimensions: B batch, S source length, T target
length, K history sentences, N words of a history sentence, D model size, V vocabulary.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.batches.batch import Batch
from docaps.corpus.vocabulary import PAD
from docaps.model.attention import Mask, as_addend
from docaps.model.beams import WIDEST, Ancestry, Cache, SharedHypotheses
from docaps.model.context.memory import ContextMemory, ContextSublayer, Look
from docaps.model.dropout import Dropout
from docaps.model.hypotheses import PIECE, Hypotheses, NextWords, best_words
from docaps.model.interface import DecoderState, Encoding, Prediction, Trace, TranslationModel
from docaps.model.layers import Attention, FeedForward, KeysAndValues, Positions, Residual
from docaps.model.precision import for_products
from docaps.model.regulariser import Correlations, Regulariser
from docaps.model.traces import trace_context

SourceMask = Bool[Tensor, "B 1 S"] | Float[Tensor, "B 1 S"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers that all layers of a Transformer share."""

    size: int
    heads: int
    feed_forward: int
    dropout: float
    norm: Literal["pre", "post"]

    def attention(self, memory_size: int | None = None) -> Attention:
        """Make an attention of this shape, to vectors of this size or another."""
        return Attention(size=self.size, heads=self.heads, memory_size=memory_size)

    def inward_attention(self) -> Attention:
        """Make an attention of this shape with which positions look at each other."""
        return Attention(size=self.size, heads=self.heads, inward=True)

    def residual(self, *, gate: bool = False) -> Residual:
        """Make the surroundings of a sub-layer of this shape."""
        return Residual(size=self.size, dropout=self.dropout, norm=self.norm, gate=gate)

    def forward_part(self) -> FeedForward:
        """Make a feed-forward network of this shape."""
        return FeedForward(size=self.size, inner=self.feed_forward)


@dataclass(frozen=True, slots=True)
class Context:
    """A network that reads the history, and what the encoder needs to know to look at what it finds."""

    network: nn.Module
    history: int
    size: int
    gate: bool = False

    def sublayer(self, shape: Shape) -> ContextSublayer:
        """Make the sub-layer with which one encoder layer looks at the context."""
        return ContextSublayer(attention=shape.attention(self.size), residual=shape.residual(gate=self.gate))


class EncoderLayer(nn.Module):
    """Self-attention, attention to the context (if any), feed-forward."""

    def __init__(self, shape: Shape, context: ContextSublayer | None) -> None:
        super().__init__()
        self.attention, self.attention_residual = shape.inward_attention(), shape.residual()
        self.context = context
        self.feed_forward, self.feed_forward_residual = shape.forward_part(), shape.residual()

    def forward(
        self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 S"], context: ContextMemory | None
    ) -> Float[Tensor, "B S D"]:
        """Let each word look at its sentence, then at the context."""
        states = self._look_within(states, mask)
        if self.context is not None and context is not None:
            states = self.context(states, context)
        return self.feed_forward_residual(states, self.feed_forward)  # type: ignore[no-any-return]

    def _look_within(self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 S"]) -> Float[Tensor, "B S D"]:
        return self.attention_residual(  # type: ignore[no-any-return]
            states, lambda inputs: self.attention.gather(*self.attention.project_inward(inputs), mask)
        )

    def look(
        self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 S"], context: ContextMemory
    ) -> tuple[Look, ...]:
        """Tell what this layer makes of the context, if it looks there."""
        return () if self.context is None else (self.context.look(self._look_within(states, mask), context),)


@dataclass(frozen=True, slots=True)
class LayerState:
    """What one decoder layer remembers: the source, projected, and the words written so far."""

    source: KeysAndValues
    written: KeysAndValues | Cache | None = None


class DecoderLayer(nn.Module):
    """Self-attention over the words written so far, attention to the source, feed-forward."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.attention, self.attention_residual = shape.inward_attention(), shape.residual()
        self.source, self.source_residual = shape.attention(), shape.residual()
        self.feed_forward, self.feed_forward_residual = shape.forward_part(), shape.residual()

    def forward(
        self,
        states: Float[Tensor, "B T D"],
        source_mask: SourceMask | None,
        memory: LayerState,
        written_mask: Mask | None = None,
    ) -> tuple[Float[Tensor, "B T D"], LayerState]:
        """Transform all positions at once, or one more position after those remembered."""
        written = memory.written

        def look_back(inputs: Tensor) -> Tensor:
            nonlocal written
            queries, new = self.attention.project_inward(inputs)
            causal = written is None  # with a memory there is one new position, which may see everything
            written = new if written is None else written.append(new)
            return self.attention.gather(queries, written, written_mask, causal)

        states = self.attention_residual(states, look_back)
        states = self.source_residual(states, lambda inputs: self.source(inputs, memory.source, source_mask))
        return self.feed_forward_residual(states, self.feed_forward), LayerState(memory.source, written)


@dataclass(frozen=True, slots=True)
class TransformerState:
    """What the decoder remembers between two steps."""

    layers: tuple[LayerState, ...]
    source_mask: SourceMask | None
    position: int

    def select(self, rows: Int[Tensor, " R"]) -> "TransformerState":
        """Pick rows of the batch, in the given order."""
        layers = tuple(
            LayerState(layer.source.select(rows), None if layer.written is None else layer.written.select(rows))
            for layer in self.layers
        )
        mask = None if self.source_mask is None else self.source_mask[rows]
        return TransformerState(layers, mask, self.position)


@dataclass(frozen=True, slots=True)
class WordVectors:
    """The vectors of a batch's words, as the tables have them: not scaled, without positions."""

    source: Float[Tensor, "B S D"]
    history: Float[Tensor, "B K N D"] | None
    target: Float[Tensor, "B T D"] | None


class Embeddings(nn.Module):
    """Word vectors of source, target and output: one table for all, or three."""

    def __init__(self, *, vocabulary: int, size: int, shared: bool) -> None:
        super().__init__()
        self.source = _embedding(vocabulary, size)
        self.target = self.source if shared else _embedding(vocabulary, size)
        self.output = self.source if shared else _embedding(vocabulary, size)
        self.packed: nn.Module | None = None
        """The output layer of a model that is packed."""

    def look_up(self, batch: Batch, *, history: bool) -> WordVectors:
        """Look up a batch's words, those of one table at once: the gradient of a look-up is as large as its table."""
        asked = {"source": batch.source}
        asked |= {"history": batch.history} if history else {}
        shared = self.target is self.source
        if batch.target_input is not None and shared:
            asked["target"] = batch.target_input
        vectors = self.source(torch.cat([words.flatten() for words in asked.values()]))
        parts = vectors.split([words.numel() for words in asked.values()])
        found = {name: part.view(*asked[name].shape, -1) for name, part in zip(asked, parts, strict=True)}
        if batch.target_input is not None and not shared:
            found["target"] = self.target(batch.target_input)
        return WordVectors(found["source"], found.get("history"), found.get("target"))

    def logits(self, states: Float[Tensor, "*any D"]) -> Float[Tensor, "*any V"]:
        """Score every word of the vocabulary."""
        return F.linear(states, self.output.weight)

    def score_pieces(self, states: Float[Tensor, "R D"]) -> tuple[Iterator[Tensor], Float[Tensor, "R 1"] | None]:
        """Score every word, some thousands at a time; and what each row is still to be multiplied by, if anything."""
        if self.packed is not None:
            return self.packed(states)  # type: ignore[no-any-return]
        states = for_products(states)
        return (F.linear(states, part.to(states.dtype)) for part in self.output.weight.split(PIECE)), None


def _embedding(vocabulary: int, size: int) -> nn.Embedding:
    """Make a table of word vectors of about unit length."""
    table = nn.Embedding(vocabulary, size)
    nn.init.normal_(table.weight, std=size**-0.5)
    return table


class Transformer(TranslationModel):
    """An encoder and a decoder; with a context network every encoder layer also looks at the history."""

    def __init__(
        self,
        *,
        shape: Shape,
        encoder_layers: int,
        decoder_layers: int,
        embeddings: Embeddings,
        context: Context | None = None,
        regulariser: Regulariser | None = None,
    ) -> None:
        super().__init__()
        self.history = 0 if context is None else context.history
        self.embeddings = embeddings
        self.positions = Positions(size=shape.size)
        self.dropout = Dropout(shape.dropout)
        self.scale = math.sqrt(shape.size)
        self.encoder = nn.ModuleList(
            EncoderLayer(shape, None if context is None else context.sublayer(shape)) for _ in range(encoder_layers)
        )
        self.decoder = nn.ModuleList(DecoderLayer(shape) for _ in range(decoder_layers))
        self.encoder_norm = nn.LayerNorm(shape.size) if shape.norm == "pre" else nn.Identity()
        self.decoder_norm = nn.LayerNorm(shape.size) if shape.norm == "pre" else nn.Identity()
        self.context = None if context is None else context.network
        self.regulariser = regulariser

    def encode(self, batch: Batch, trace: bool = False) -> Encoding:
        """Read source sentences and their histories."""
        vectors = self._look_up(replace(batch, target_input=None))
        return self._encode(batch, vectors, self._with_positions(vectors.source), trace)

    def trace(self, batch: Batch) -> tuple[Trace, ...]:
        """Tell what the context network and each encoder layer did with the histories."""
        vectors = self._look_up(replace(batch, target_input=None))
        context = self._read_history(batch, vectors, trace=True)
        if context is None:
            return ()
        mask = batch.source_mask.unsqueeze(1)
        looks: list[Look] = []
        states = self.dropout(self._with_positions(vectors.source))
        for layer in self.encoder:
            looks.extend(cast(EncoderLayer, layer).look(states, mask, context))
            states = layer(states, mask, context)
        return trace_context(context, looks, batch)

    def _look_up(self, batch: Batch) -> WordVectors:
        """Look up the words of a batch, those of its history only if there are any and somebody reads them."""
        return self.embeddings.look_up(batch, history=self.context is not None and bool(batch.history_mask.any()))

    def _encode(
        self, batch: Batch, vectors: WordVectors, inputs: Float[Tensor, "B S D"], trace: bool = False
    ) -> Encoding:
        context = self._read_history(batch, vectors, trace)
        mask = batch.source_mask.unsqueeze(1)  # (B, 1, S)
        states = self.dropout(inputs)
        for layer in self.encoder:
            states = layer(states, mask, context)
        return Encoding(self.encoder_norm(states), batch.source_mask, context)

    def _read_history(self, batch: Batch, vectors: WordVectors, trace: bool) -> ContextMemory | None:
        """Run the context network, unless nothing in the batch has a history."""
        if self.context is None or vectors.history is None:
            return None
        masks = batch.history_mask, batch.source_mask
        memory: ContextMemory = self.context(vectors.history, masks[0], vectors.source, masks[1], trace)
        return memory

    def start(self, encoding: Encoding) -> DecoderState:
        """Project the source once for all decoder layers."""
        states = for_products(encoding.states)
        layers = tuple(LayerState(cast(DecoderLayer, layer).source.project(states)) for layer in self.decoder)
        return TransformerState(layers, encoding.mask.unsqueeze(1), 0)

    def decode_step(self, tokens: Int[Tensor, " B"], state: DecoderState) -> tuple[Float[Tensor, "B V"], DecoderState]:
        """Take the last word of each translation and score all words that may follow."""
        states, after = self._write(tokens.unsqueeze(1), cast(TransformerState, state))
        return self.embeddings.logits(states.squeeze(1)), after

    def hypothesise(self, encoding: Encoding, width: int) -> Hypotheses:
        """Get ready to write translations of each sentence side by side; a wide beam is better off with copies."""
        if width > WIDEST:
            return super().hypothesise(encoding, width)
        state = cast(TransformerState, self.start(encoding))
        layers = tuple(replace(one, source=one.source.laid_out(), written=Cache()) for one in state.layers)
        padded = not bool(encoding.mask.all())
        mask = as_addend(encoding.mask.unsqueeze(1), encoding.states) if padded else None
        ancestry = Ancestry(len(encoding.states), encoding.states)
        return SharedHypotheses(self._extend, replace(state, layers=layers, source_mask=mask), ancestry)

    def _extend(
        self, words: Int[Tensor, "B W"], count: int, state: DecoderState, written: Mask | None
    ) -> tuple[NextWords, TransformerState]:
        """Add a word to each hypothesis and find the best words after it."""
        states, after = self._write(words, cast(TransformerState, state), written)
        pieces, scale = self.embeddings.score_pieces(states.flatten(0, 1))
        return best_words(pieces, count, scale), after

    def _write(
        self, words: Int[Tensor, "B W"], state: TransformerState, written: Mask | None = None
    ) -> tuple[Float[Tensor, "B W D"], TransformerState]:
        """Take the next word of each hypothesis, all at the same position of their translations."""
        vectors = self.embeddings.target(words)
        inputs = torch.add(self.positions(1, state.position), vectors, alpha=self.scale)
        states, layers = self._decode(inputs, state, written)
        return states, replace(state, layers=layers, position=state.position + 1)

    def _decode(
        self, inputs: Float[Tensor, "B T D"], state: TransformerState, written: Mask | None = None
    ) -> tuple[Float[Tensor, "B T D"], tuple[LayerState, ...]]:
        """Run all decoder layers over new positions; `written` says which words written they may look at."""
        states = self.dropout(inputs)
        layers = []
        for layer, memory in zip(self.decoder, state.layers, strict=True):
            states, after = layer(states, state.source_mask, memory, written)
            layers.append(after)
        return self.decoder_norm(states), tuple(layers)

    def forward(self, batch: Batch) -> Prediction:
        """Score given translations, all positions at once."""
        if batch.target_input is None:
            raise ValueError("the batch has no translations")
        vectors = self._look_up(batch)
        source, target = (self._with_positions(cast(Tensor, side)) for side in (vectors.source, vectors.target))
        state = cast(TransformerState, self.start(self._encode(batch, vectors, source)))
        states, _ = self._decode(target, state)
        correlations = self._correlate(batch, vectors, source, target)
        return Prediction(for_products(states), correlations, self.embeddings.output.weight)

    def _correlate(
        self, batch: Batch, vectors: WordVectors, source: Float[Tensor, "B S D"], target: Float[Tensor, "B T D"]
    ) -> Correlations | None:
        """Compare the capsules of source and target; in training only."""
        if self.regulariser is None or not self.training or batch.target_input is None:
            return None
        if not self.regulariser.positions:
            source, target = (self.scale * cast(Tensor, side) for side in (vectors.source, vectors.target))
        correlations: Correlations = self.regulariser(source, batch.source_mask, target, batch.target_input != PAD)
        return correlations

    def _with_positions(self, embedded: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Scale word vectors and add the vectors of their positions."""
        return torch.add(self.positions(embedded.shape[1]), embedded, alpha=self.scale)
