"""The Transformer, with attention to a context in its encoder (and decoder) layers if there is a context network.

Reference: Vaswani et al. (2017); Yang et al. (2019), section 3.3. Dimensions: B batch, S source length, T target
length, K history sentences, N words of a history sentence, D model size, V vocabulary.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from docaps.batches.batch import Batch, with_end_marks
from docaps.batches.candidates import Candidates
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.context.sublayer import Context, ContextMemory, ContextSublayer, ContextUse
from docaps.model.context_statistics import LayerUse, trace_context
from docaps.model.fast.attention import Mask, as_addend
from docaps.model.fast.beams import WIDEST, Cache, SharedHypotheses
from docaps.model.fast.dropout import Dropout
from docaps.model.hypotheses import Hypotheses, Rows
from docaps.model.interface import DecoderState, Encoding, Prediction, Trace, TranslationModel
from docaps.model.layers import Attention, Backbone, FeedForward, KeysAndValues, Positions, Residual, Shape, WordVectors
from docaps.model.mixed_precision import to_autocast_dtype
from docaps.model.regulariser import Regulariser

SourceMask = Bool[Tensor, "B 1 S"] | Float[Tensor, "B 1 S"]


class EncoderLayer(nn.Module):
    """Self-attention, attention to the context (if any), feed-forward."""

    def __init__(self, shape: Shape, context: ContextSublayer | None) -> None:
        super().__init__()
        self.attention, self.attention_residual = Attention(shape, over_self=True), Residual(shape)
        self.context = context
        self.feed_forward, self.feed_forward_residual = FeedForward(shape), Residual(shape)

    def forward(
        self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 S"], context: ContextMemory | None
    ) -> Float[Tensor, "B S D"]:
        """Attend to the sentence, then to the context."""
        states = self._attend_to_self(states, mask)
        if self.context is not None and context is not None:
            states = self.context(states, context)
        return self.feed_forward_residual(states, self.feed_forward)  # type: ignore[no-any-return]

    def _attend_to_self(self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 S"]) -> Float[Tensor, "B S D"]:
        return self.attention_residual(  # type: ignore[no-any-return]
            states, lambda inputs: self.attention.attend(*self.attention.project_self(inputs), mask)
        )

    @property
    def copied(self) -> tuple[Attention, Residual]:
        """The attention that a context sub-layer may start as a copy of."""
        return self.attention, self.attention_residual

    def measure(
        self, states: Float[Tensor, "B S D"], mask: Bool[Tensor, "B 1 S"], context: ContextMemory
    ) -> tuple[ContextUse, ...]:
        """Return what this layer does with the context, if it attends to it."""
        return () if self.context is None else (self.context.measure(self._attend_to_self(states, mask), context),)


@dataclass(frozen=True, slots=True)
class LayerState(Rows):
    """Keys and values of one decoder layer: of the source, the context, and the words written so far."""

    source: KeysAndValues
    written: KeysAndValues | Cache | None = None
    context: KeysAndValues | None = None


class DecoderLayer(nn.Module):
    """Self-attention over the words written so far, attention to the context (if any) and the source, feed-forward."""

    def __init__(self, shape: Shape, context: ContextSublayer | None = None) -> None:
        super().__init__()
        self.attention, self.attention_residual = Attention(shape, over_self=True), Residual(shape)
        self.context = context
        self.source, self.source_residual = Attention(shape), Residual(shape)
        self.feed_forward, self.feed_forward_residual = FeedForward(shape), Residual(shape)

    @property
    def copied(self) -> tuple[Attention, Residual]:
        """The attention that a context sub-layer may start as a copy of."""
        return self.source, self.source_residual

    def start(self, source: Float[Tensor, "B S D"], context: ContextMemory | None) -> LayerState:
        """Return the state of a layer that has written nothing yet."""
        memory = None if self.context is None or context is None else self.context.project(context)
        return LayerState(self.source.project(source), context=memory)

    def forward(
        self,
        states: Float[Tensor, "B T D"],
        memory: LayerState,
        source_mask: SourceMask | None,
        context_mask: Bool[Tensor, "B context"] | None = None,
        written_mask: Mask | None = None,
    ) -> tuple[Float[Tensor, "B T D"], Float[Tensor, "B T D"], LayerState]:
        """Transform all positions at once, or one more position after those in `memory`.

        Return the states after all attentions, after the feed-forward network, and what the next position needs.
        """
        states, written = self._attend_to_written(states, memory.written, written_mask)
        if self.context is not None and memory.context is not None and context_mask is not None:
            states = self.context.attend(states, memory.context, context_mask)
        states = self.source_residual(states, lambda inputs: self.source(inputs, memory.source, source_mask))
        return states, self.feed_forward_residual(states, self.feed_forward), replace(memory, written=written)

    def _attend_to_written(
        self, states: Float[Tensor, "B T D"], written: KeysAndValues | Cache | None, mask: Mask | None
    ) -> tuple[Float[Tensor, "B T D"], KeysAndValues | Cache]:
        """Attend to the words before each position; return the keys and values of all words as well."""

        def attend(inputs: Tensor) -> Tensor:
            nonlocal written
            queries, new = self.attention.project_self(inputs)
            causal = written is None and mask is None  # otherwise new positions may see all others
            written = new if written is None else written.append(new)
            return self.attention.attend(queries, written, mask, causal)

        states = self.attention_residual(states, attend)
        return states, cast(KeysAndValues | Cache, written)

    def measure(self, states: Float[Tensor, "B T D"], context: ContextMemory) -> tuple[ContextUse, ...]:
        """Return what this layer does with the context when it reads a whole translation, if it attends to it."""
        states, _ = self._attend_to_written(states, None, None)
        return () if self.context is None else (self.context.measure(states, context),)


@dataclass(frozen=True, slots=True)
class TransformerState(Rows):
    """What the decoder keeps between two steps."""

    layers: tuple[LayerState, ...]
    source_mask: SourceMask | None
    position: int
    context_mask: Bool[Tensor, "B context"] | None = None
    target_context: DecoderState | None = None
    """What else the decoder attends to, such as earlier translations."""


class Decoded(NamedTuple):
    """What the decoder's layers return: last states, those before the last feed-forward network, what each keeps."""

    states: Float[Tensor, "B T D"]
    attended: Float[Tensor, "B T D"]
    layers: tuple[LayerState, ...]


class Transformer(TranslationModel):
    """An encoder and a decoder; with a context network, layers also attend to the history.

    Systems that need more than a context network override the hooks `_encode`, `_finish`, `_visible`, `_source_inputs`,
    `_target_inputs`, `_with_step_positions` and `_place`.
    """

    def __init__(
        self, backbone: Backbone, *, context: Context | None = None, regulariser: Regulariser | None = None
    ) -> None:
        super().__init__()
        shape = backbone.shape
        self.history = 0 if context is None else context.history
        self.shuffled = context is not None and context.shuffled
        self.end_mark = context is not None and context.end_mark
        self.embeddings = backbone.embeddings
        self.positions = Positions(size=shape.size, layout=shape.positions)
        self.dropout = Dropout(shape.dropout.embeddings)
        self.scale = shape.scale
        self.encoder = nn.ModuleList(
            EncoderLayer(shape, context.sublayer(shape) if context and context.encoder else None)
            for _ in range(backbone.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(shape, context.sublayer(shape) if context and context.decoder else None)
            for _ in range(backbone.decoder_layers)
        )
        self.encoder_norm, self.decoder_norm = shape.last_norm(), shape.last_norm()
        self.context = None if context is None else context.network
        self.regulariser = regulariser
        self.history_table: Tensor | None = None
        """Packed models only: the context network's map of each word of the vocabulary."""

    def offsets(self, batch: Batch) -> tuple[Int[Tensor, " B"], Int[Tensor, " B"]]:
        """Return how many words encoder and decoder read before those of each sentence and its translation."""
        none = batch.source.new_zeros(len(batch.source))
        return none, none

    def copy_attention(self, fresh: Collection[str]) -> int:
        """Start context sub-layers with `fresh` weights as copies of attention beside them; return their number."""
        count = 0
        for side in ("encoder", "decoder"):
            for number, layer in enumerate(getattr(self, side)):
                if f"{side}.{number}.context.attention.query.weight" in fresh:
                    layer.context.copy(*layer.copied)
                    count += 1
        return count

    def encode(self, batch: Batch, trace: bool = False) -> Encoding:
        """Read source sentences and their histories."""
        batch = self._close(batch)
        vectors = self._look_up(replace(batch, target_input=None))
        return self._encode(batch, vectors, self._source_inputs(vectors.source, batch.source), trace)

    def trace(self, batch: Batch) -> tuple[Trace, ...]:
        """Return statistics of the context network and of its use in each layer, the decoder's by translations."""
        batch = self._close(batch)
        if not any(layer.context for layer in self.decoder):
            batch = replace(batch, target_input=None)
        vectors = self._look_up(batch)
        context = self._read_history(batch, vectors, trace=True)
        uses = () if context is None else self._measure_layers(batch, vectors, context)
        return () if context is None else trace_context(context, tuple(uses), batch)

    def _measure_layers(self, batch: Batch, vectors: WordVectors, context: ContextMemory) -> Iterator[LayerUse]:
        """Measure what each layer does with the context; those of the decoder if there are translations."""
        mask, states = batch.source_mask.unsqueeze(1), self.dropout(self._source_inputs(vectors.source, batch.source))
        for number, layer in enumerate(self.encoder, start=1):
            for use in cast(EncoderLayer, layer).measure(states, mask, context):
                yield LayerUse(f"layer {number}", batch.source_mask, use)
            states = layer(states, mask, context)
        if batch.target_input is None:
            return
        state = cast(TransformerState, self.start(Encoding(self.encoder_norm(states), batch.source_mask, context)))
        states = self.dropout(self._target_inputs(cast(Tensor, vectors.target), batch.target_input))
        for number, (layer, memory) in enumerate(zip(self.decoder, state.layers, strict=True), start=1):
            for use in cast(DecoderLayer, layer).measure(states, context):
                yield LayerUse(f"decoder layer {number}", batch.target_input != PAD, use)
            _, states, _ = layer(states, memory, state.source_mask, state.context_mask)

    def _close(self, batch: Batch) -> Batch:
        """Close each history with an end mark, if the context network expects one."""
        return with_end_marks(batch) if self.end_mark else batch

    def _look_up(self, batch: Batch) -> WordVectors:
        """Look up the words of a batch; those of its history only if there are any and a context network reads them."""
        wanted = self.context is not None and bool(batch.history_mask.any())
        return self.embeddings.look_up(batch, history=wanted, table=self.history_table)

    def _encode(
        self, batch: Batch, vectors: WordVectors, inputs: Float[Tensor, "B S D"], trace: bool = False
    ) -> Encoding:
        return self._run_encoder(batch.source_mask, inputs, self._read_history(batch, vectors, trace))

    def _run_encoder(
        self, source_mask: Bool[Tensor, "B S"], inputs: Float[Tensor, "B S D"], context: ContextMemory | None = None
    ) -> Encoding:
        """Run all encoder layers; without a context, as the sentence model does."""
        mask = source_mask.unsqueeze(1)  # (B, 1, S)
        states = self.dropout(inputs)
        for layer in self.encoder:
            states = layer(states, mask, context)
        return Encoding(self.encoder_norm(states), source_mask, context)

    def _read_history(self, batch: Batch, vectors: WordVectors, trace: bool) -> ContextMemory | None:
        """Run the context network, unless the whole batch has no history."""
        if self.context is None or vectors.history is None:
            return None
        words = (vectors.history, batch.history_mask, vectors.source, batch.source_mask)
        memory: ContextMemory = self.context(*words, trace)
        return memory.described(batch.history) if trace else memory

    def start(self, encoding: Encoding) -> DecoderState:
        """Project the source once for all decoder layers."""
        states, context = to_autocast_dtype(encoding.states), encoding.context
        layers = tuple(cast(DecoderLayer, layer).start(states, context) for layer in self.decoder)
        context_mask = None if context is None else context.mask
        return TransformerState(layers, encoding.mask.unsqueeze(1), 0, context_mask, encoding.target_context)

    def decode_step(self, tokens: Int[Tensor, " B"], state: DecoderState) -> tuple[Float[Tensor, "B V"], DecoderState]:
        """Append one word to each translation; return the logits of the next word and the new state."""
        states, after = self._write(tokens.unsqueeze(1), state)
        return self.embeddings.logits(states.squeeze(1)), after

    def hypothesise(self, encoding: Encoding, width: int) -> Hypotheses:
        """Prepare shared beams; wide beams use copies."""
        if width > WIDEST:
            return super().hypothesise(encoding, width)
        state, length = cast(TransformerState, self.start(encoding)), encoding.states.shape[1]
        layers = tuple(
            replace(
                one,
                source=one.source.laid_out() if width > 1 else one.source,
                written=Cache(width, length, cast(KeysAndValues | None, one.written)),
            )
            for one in state.layers
        )
        visible = self._visible(state)  # by the first word: what the decoder has read before
        hidden = None if visible is None else as_addend(visible[..., :-1], encoding.states)
        mask = None if bool(encoding.mask.all()) else as_addend(encoding.mask.unsqueeze(1), encoding.states)
        state = replace(state, layers=layers, source_mask=mask)
        return SharedHypotheses(self._write, self.embeddings.score_chunks, state, encoding.states, hidden)

    def _write(
        self, words: Int[Tensor, "B W"], before: DecoderState, written: Mask | None = None
    ) -> tuple[Float[Tensor, "B W D"], TransformerState]:
        """Append one word to each hypothesis, all at the same position; return the last states and the new state."""
        state = cast(TransformerState, before)
        inputs = self._with_step_positions(self.embeddings.target(words), state)
        decoded = self._decode(inputs, state, self._visible(state) if written is None else written)
        return self._finish(decoded, state), replace(state, layers=decoded.layers, position=state.position + 1)

    def _with_step_positions(self, words: Float[Tensor, "B W D"], state: TransformerState) -> Float[Tensor, "B W D"]:
        """Scale the vectors of new words and add the vectors of their position."""
        return torch.add(self.positions(1, state.position), words, alpha=self.scale)

    def _place(
        self,
        words: Float[Tensor, "B L D"],
        positions: Int[Tensor, "#B #L"],
        state: TransformerState,  # noqa: ARG002
    ) -> Float[Tensor, "B L D"]:
        """Scale the vectors of words and add the vectors of their positions in translations."""
        table = self.positions(int(positions.max()) + 1)
        return torch.add(table[positions], words, alpha=self.scale)

    def _visible(self, state: TransformerState) -> Bool[Tensor, "B 1 L"] | None:  # noqa: ARG002
        """Return which of the words written may be attended to; None: all."""
        return None

    def _decode(self, inputs: Float[Tensor, "B T D"], state: TransformerState, written: Mask | None = None) -> Decoded:
        """Run all decoder layers over new positions; `written` masks the words written so far."""
        attended = states = self.dropout(inputs)
        layers = []
        for layer, memory in zip(self.decoder, state.layers, strict=True):
            attended, states, after = layer(states, memory, state.source_mask, state.context_mask, written)
            layers.append(after)
        return Decoded(self.decoder_norm(states), attended, tuple(layers))

    def _finish(self, decoded: Decoded, state: TransformerState) -> Float[Tensor, "B T D"]:  # noqa: ARG002
        """Change the decoder's last states before words are scored; a hook for other systems."""
        return decoded.states

    def forward(self, batch: Batch) -> Prediction:
        """Score given translations, all positions at once."""
        batch = self._close(batch)
        vectors, source, target = self._embed_pairs(batch)
        state = cast(TransformerState, self.start(self._encode(batch, vectors, source)))
        states = self._finish(self._decode(target, state), state)
        correlations = None
        if self.regulariser is not None and self.training:
            correlations = self.regulariser(*self._regulariser_inputs(batch, vectors, source, target))
        output = self.embeddings.output.weight
        return Prediction(to_autocast_dtype(states), correlations, output, bias=self.embeddings.bias)

    def score_candidates(self, batch: Batch, candidates: Candidates) -> Float[Tensor, "R T"]:
        """Return the log-probability of each word of given translations; sentences and histories are read once."""
        state = cast(TransformerState, self.start(self.encode(batch)))
        inputs = self._place(self.embeddings.target(candidates.words), candidates.positions, state)
        states = self._finish(self._decode(inputs, state, candidates.visible_after(self._visible(state))), state)
        mask = candidates.mask
        found = self.embeddings.log_probabilities(states[mask], candidates.following[mask])
        return candidates.by_translation(found.new_zeros(mask.shape).masked_scatter_(mask, found))

    def correlate_pairs(self, batch: Batch) -> Float[Tensor, "B B"] | None:
        """Correlate the capsules of every source with those of every translation, if there is a regulariser."""
        if self.regulariser is None:
            return None
        return self.regulariser.correlate_pairs(*self._regulariser_inputs(batch, *self._embed_pairs(batch)))

    def _embed_pairs(self, batch: Batch) -> tuple[WordVectors, Float[Tensor, "B S D"], Float[Tensor, "B T D"]]:
        """Look up the words of a batch, and return the inputs of encoder and decoder too."""
        if batch.target_input is None:
            raise ValueError("the batch has no translations")
        vectors = self._look_up(batch)
        source = self._source_inputs(vectors.source, batch.source)
        return vectors, source, self._target_inputs(cast(Tensor, vectors.target), batch.target_input)

    def _regulariser_inputs(
        self, batch: Batch, vectors: WordVectors, source: Float[Tensor, "B S D"], target: Float[Tensor, "B T D"]
    ) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B S"], Float[Tensor, "B T D"], Bool[Tensor, "B T"]]:
        """Return the inputs of encoder and decoder and their masks, without positions or marks if so chosen."""
        options, words = cast(Regulariser, self.regulariser).options, cast(Tensor, batch.target_input)
        source_mask, target_mask = batch.source_mask, words != PAD
        if not options.positions:
            source, target = (self.scale * cast(Tensor, side) for side in (vectors.source, vectors.target))
        if not options.marks:
            source_mask, target_mask = source_mask & (batch.source != EOS), target_mask & (words != BOS)
        return source, source_mask, target, target_mask

    def _source_inputs(self, embedded: Float[Tensor, "B S D"], words: Int[Tensor, "B S"]) -> Float[Tensor, "B S D"]:  # noqa: ARG002
        """Return the encoder's inputs: scaled word vectors with positions."""
        return self._with_positions(embedded)

    def _target_inputs(self, embedded: Float[Tensor, "B T D"], words: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:  # noqa: ARG002
        """Return the decoder's inputs, likewise."""
        return self._with_positions(embedded)

    def _with_positions(self, embedded: Float[Tensor, "B L D"]) -> Float[Tensor, "B L D"]:
        """Scale word vectors and add position vectors."""
        return torch.add(self.positions(embedded.shape[1]), embedded, alpha=self.scale)
