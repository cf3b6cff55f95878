"""The peers of a training step: the same Transformer by torch.nn.Transformer and by Hugging Face, on the same batches.

All have the same sizes, one table of word vectors for source, target and output, the norm after each sub-layer, ReLU,
dropout on embeddings, sub-layers, attention weights and inside feed-forward networks (torch.nn.Transformer has one rate
for the last three), label smoothing, gradient clipping and fused Adam.
"""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from docaps.batches.batch import Batch
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.layers import sinusoids
from docaps.model.mixed_precision import autocast

Step = Callable[[Batch], object]
CPU = torch.device("cpu")
LONGEST = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The numbers that all contestants share."""

    vocabulary: int
    layers: int
    size: int
    feed_forward: int
    heads: int
    dropout: float
    smoothing: float
    clip: float
    rate: float


def has_marian() -> bool:
    """Say whether Hugging Face's transformers are installed."""
    return importlib.util.find_spec("transformers") is not None


class TorchTransformer(nn.Module):
    """torch.nn.Transformer with word vectors, positions and an output layer."""

    positions: Tensor

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.size)
        nn.init.normal_(self.embedding.weight, std=sizes.size**-0.5)
        self.register_buffer("positions", sinusoids(LONGEST, sizes.size))
        self.dropout = nn.Dropout(sizes.dropout)
        self.transformer = nn.Transformer(
            sizes.size,
            sizes.heads,
            sizes.layers,
            sizes.layers,
            sizes.feed_forward,
            dropout=sizes.dropout,
            batch_first=True,
        )

    def forward(self, batch: Batch) -> Tensor:
        """Score all words at all target positions."""
        assert batch.target_input is not None
        padding, length = ~batch.source_mask, batch.target_input.shape[1]
        states = self.transformer(
            self._embed(batch.source),
            self._embed(batch.target_input),
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )
        return F.linear(states, self.embedding.weight)

    def _embed(self, tokens: Tensor) -> Tensor:
        scaled = self.embedding(tokens) * self.embedding.embedding_dim**0.5
        return self.dropout(scaled + self.positions[: tokens.shape[1]])  # type: ignore[no-any-return]


class Marian(nn.Module):
    """Hugging Face's MarianMTModel with random weights."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel  # noqa: PLC0415

        sides = {
            f"{side}_{name}": value
            for side in ("encoder", "decoder")
            for name, value in (
                ("layers", sizes.layers),
                ("attention_heads", sizes.heads),
                ("ffn_dim", sizes.feed_forward),
            )
        }
        config = MarianConfig(
            **sides,
            vocab_size=sizes.vocabulary,
            d_model=sizes.size,
            dropout=sizes.dropout,
            attention_dropout=sizes.dropout,
            activation_dropout=sizes.dropout,
            activation_function="relu",
            scale_embedding=True,
            max_position_embeddings=LONGEST,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=EOS,
        )
        self.model = MarianMTModel(config)

    def forward(self, batch: Batch) -> Tensor:
        """Score all words at all target positions."""
        mask = batch.source_mask.long()
        found = self.model(batch.source, mask, decoder_input_ids=batch.target_input, use_cache=False)
        return found.logits  # type: ignore[no-any-return]


def make_peer_step(name: str, sizes: Sizes, precision: torch.dtype) -> Step:
    """Build a peer and return what trains it on one batch."""
    model = TorchTransformer(sizes) if name == "torch" else Marian(sizes)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=sizes.rate, fused=True)

    def step(batch: Batch) -> float:
        with autocast(CPU, precision):
            logits = model(batch)
        target = batch.translations.flatten()
        smoothing = sizes.smoothing
        loss = F.cross_entropy(logits.flatten(0, 1).float(), target, ignore_index=PAD, label_smoothing=smoothing)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), sizes.clip)
        optimizer.step()
        return loss.item()

    return step
