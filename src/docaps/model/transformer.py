"""The Transformer, with context sub-layers in its encoder (or decoder) where a context network is given.

Reference: Vaswani et al. (2017); Yang et al. (2019), section 3.3. Dimensions: B batch, S source length, T target
length, K history sentences, N words of a history sentence, D model size, V vocabulary.
"""

import math
from dataclasses import dataclass, replace
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import PAD
from docaps.model.context.memory import ContextMemory, ContextSublayer, Look
from docaps.model.embeddings import Embeddings, WordVectors
from docaps.model.fast.attention import Mask, as_addend
from docaps.model.fast.beams import WIDEST, Ancestry, Cache, SharedHypotheses
from docaps.model.fast.dropout import Dropout
from docaps.model.hypotheses import Hypotheses
from docaps.model.interface import DecoderState, Encoding, Prediction, Trace, TranslationModel
from docaps.model.layers import KeysAndValues, Positions
from docaps.model.precision import for_products
from docaps.model.regulariser import Correlations, Regulariser
from docaps.model.shape import Context, Shape
from docaps.model.traces import trace_context

SourceMask = Bool[Tensor, "B 1 S"] | Float[Tensor, "B 1 S"]


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
    """What one decoder layer remembers: the source and the context, projected, and the words written so far."""

    source: KeysAndValues
    written: KeysAndValues | Cache | None = None
    context: KeysAndValues | None = None

    def select(self, rows: Int[Tensor, " R"]) -> "LayerState":
        """Pick rows of the batch, in the given order."""
        written, context = self.written, self.context
        return LayerState(
            self.source.select(rows),
            None if written is None else written.select(rows),
            None if context is None else context.select(rows),
        )


class DecoderLayer(nn.Module):
    """Self-attention over the words written so far, attention to the context (if any) and the source, feed-forward."""

    def __init__(self, shape: Shape, context: ContextSublayer | None = None) -> None:
        super().__init__()
        self.attention, self.attention_residual = shape.inward_attention(), shape.residual()
        self.context = context
        self.source, self.source_residual = shape.attention(), shape.residual()
        self.feed_forward, self.feed_forward_residual = shape.forward_part(), shape.residual()

    def remember(self, source: Float[Tensor, "B S D"], context: ContextMemory | None) -> LayerState:
        """Get ready what the layer will look at."""
        if self.context is None or context is None:
            return LayerState(self.source.project(source))
        return LayerState(self.source.project(source), context=self.context.project(context))

    def forward(
        self,
        states: Float[Tensor, "B T D"],
        memory: LayerState,
        source_mask: SourceMask | None,
        context_mask: Bool[Tensor, "B context"] | None = None,
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
        if self.context is not None and memory.context is not None and context_mask is not None:
            states = self.context.attend(states, memory.context, context_mask)
        states = self.source_residual(states, lambda inputs: self.source(inputs, memory.source, source_mask))
        return self.feed_forward_residual(states, self.feed_forward), replace(memory, written=written)


@dataclass(frozen=True, slots=True)
class TransformerState:
    """What the decoder remembers between two steps."""

    layers: tuple[LayerState, ...]
    source_mask: SourceMask | None
    position: int
    context_mask: Bool[Tensor, "B context"] | None = None
    besides: DecoderState | None = None
    """What else is looked at while words are written."""

    def select(self, rows: Int[Tensor, " R"]) -> "TransformerState":
        """Pick rows of the batch, in the given order."""
        return TransformerState(
            tuple(layer.select(rows) for layer in self.layers),
            None if self.source_mask is None else self.source_mask[rows],
            self.position,
            None if self.context_mask is None else self.context_mask[rows],
            None if self.besides is None else self.besides.select(rows),
        )


class Transformer(TranslationModel):
    """An encoder and a decoder; with a context network layers also look at the history.

    What other systems do elsewhere than in a context network, they do in the methods that say so below.
    """

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
        self.shuffled = context is not None and context.shuffled
        self.embeddings = embeddings
        self.positions = Positions(size=shape.size)
        self.dropout = Dropout(shape.dropout)
        self.scale = math.sqrt(shape.size)
        self.encoder = nn.ModuleList(
            EncoderLayer(shape, None if context is None else context.sublayer(shape)) for _ in range(encoder_layers)
        )
        looks = context is not None and context.decoder
        self.decoder = nn.ModuleList(
            DecoderLayer(shape, context.sublayer(shape) if looks and context else None) for _ in range(decoder_layers)
        )
        self.encoder_norm = nn.LayerNorm(shape.size) if shape.norm == "pre" else nn.Identity()
        self.decoder_norm = nn.LayerNorm(shape.size) if shape.norm == "pre" else nn.Identity()
        self.context = None if context is None else context.network
        self.regulariser = regulariser
        self.history_table: Tensor | None = None
        """What the context network makes of each word by itself, in a model that is packed."""

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
        wanted = self.context is not None and bool(batch.history_mask.any())
        return self.embeddings.look_up(batch, history=wanted, table=self.history_table)

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
        states, context = for_products(encoding.states), encoding.context
        layers = tuple(cast(DecoderLayer, layer).remember(states, context) for layer in self.decoder)
        context_mask = None if context is None else context.mask
        return TransformerState(layers, encoding.mask.unsqueeze(1), 0, context_mask, encoding.besides)

    def decode_step(self, tokens: Int[Tensor, " B"], state: DecoderState) -> tuple[Float[Tensor, "B V"], DecoderState]:
        """Take the last word of each translation and score all words that may follow."""
        states, after = self._write(tokens.unsqueeze(1), state)
        return self.embeddings.logits(states.squeeze(1)), after

    def hypothesise(self, encoding: Encoding, width: int) -> Hypotheses:
        """Get ready to write translations of each sentence side by side; a wide beam is better off with copies.

        So is, for now, a decoder that looks at earlier translations.
        """
        state = cast(TransformerState, self.start(encoding))
        if width > WIDEST or encoding.besides is not None:
            return super().hypothesise(encoding, width)
        length = encoding.states.shape[1]
        layers = tuple(
            replace(one, source=one.source.laid_out() if width > 1 else one.source, written=Cache(width, length))
            for one in state.layers
        )
        padded = not bool(encoding.mask.all())
        mask = as_addend(encoding.mask.unsqueeze(1), encoding.states) if padded else None
        ancestry = Ancestry(len(encoding.states), encoding.states)
        state = replace(state, layers=layers, source_mask=mask)
        return SharedHypotheses(self._write, self.embeddings.score_pieces, state, ancestry)

    def _write(
        self, words: Int[Tensor, "B W"], remembered: DecoderState, written: Mask | None = None
    ) -> tuple[Float[Tensor, "B W D"], TransformerState]:
        """Take the next word of each hypothesis, all at the same position of their translations."""
        state = cast(TransformerState, remembered)
        inputs = self._with_step_positions(self.embeddings.target(words), state)
        states, layers = self._decode(inputs, state, self._visible(state) if written is None else written)
        return self._finish(states, state), replace(state, layers=layers, position=state.position + 1)

    def _with_step_positions(self, words: Float[Tensor, "B W D"], state: TransformerState) -> Float[Tensor, "B W D"]:
        """Place the last word of each translation behind those remembered."""
        return torch.add(self.positions(1, state.position), words, alpha=self.scale)

    def _visible(self, state: TransformerState) -> Bool[Tensor, "B 1 L"] | None:  # noqa: ARG002
        """Say which of the words remembered may be looked at; None: all."""
        return None

    def _decode(
        self, inputs: Float[Tensor, "B T D"], state: TransformerState, written: Mask | None = None
    ) -> tuple[Float[Tensor, "B T D"], tuple[LayerState, ...]]:
        """Run all decoder layers over new positions; `written` says which words written they may look at."""
        states = self.dropout(inputs)
        layers = []
        for layer, memory in zip(self.decoder, state.layers, strict=True):
            states, after = layer(states, memory, state.source_mask, state.context_mask, written)
            layers.append(after)
        return self.decoder_norm(states), tuple(layers)

    def _finish(self, states: Float[Tensor, "B T D"], state: TransformerState) -> Float[Tensor, "B T D"]:  # noqa: ARG002
        """Change the decoder's last states before words are scored; other systems may look further here."""
        return states

    def forward(self, batch: Batch) -> Prediction:
        """Score given translations, all positions at once."""
        if batch.target_input is None:
            raise ValueError("the batch has no translations")
        vectors = self._look_up(batch)
        source, target = (self._with_positions(cast(Tensor, side)) for side in (vectors.source, vectors.target))
        state = cast(TransformerState, self.start(self._encode(batch, vectors, source)))
        states, _ = self._decode(target, state)
        states = self._finish(states, state)
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
