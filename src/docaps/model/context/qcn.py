"""The query-guided capsule network: earlier sentences, clustered with the current one in mind (Eqs. 5-6, Alg. 1).

Reference: Yang et al. (2019). Dimensions: B batch, K history sentences, N words of a history sentence, M capsules,
D model size, R routing iterations.

The history is a bag of words: apart from the sentence's distance, no position enters.
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from docaps.model.capsule import CapsuleRouting
from docaps.model.context.memory import ContextMemory


class QueryGuidedCapsules(nn.Module):
    """Cluster the words of each history sentence into M capsules that matter to the current sentence."""

    def __init__(self, *, size: int, history: int, capsules: int, rounds: int, normalise: bool = False) -> None:
        super().__init__()
        self.history = history
        self.capsules = capsules
        self.query = nn.Linear(size, size)  # g
        self.words = nn.Linear(size + history, size)  # f
        self.routing = CapsuleRouting(size=size, capsules=capsules, rounds=rounds)
        self.norm = nn.LayerNorm(size) if normalise else nn.Identity()
        self._initialise()

    def _initialise(self) -> None:
        """Start with what tells words apart: what all words share would add up over a sentence and drown it."""
        size = self.query.in_features
        for layer in (self.query, self.words):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        nn.init.zeros_(self.words.weight[:, size:])  # the distance

    def forward(
        self,
        words: Float[Tensor, "B K N D"],
        word_mask: Bool[Tensor, "B K N"],
        sentence: Float[Tensor, "B D"],
        trace: bool = False,
    ) -> ContextMemory:
        """Return K x M capsules for each sentence; `sentence` is the sum of its word embeddings (Eq. 5)."""
        batch, count, length, size = words.shape
        inputs = self.words(torch.cat((words, self._distances(words)), dim=-1))  # (B, K, N, D), Eq. 6
        query = self.query(sentence).unsqueeze(1).expand(-1, count, -1)  # (B, K, D)
        routing = self.routing(
            inputs.reshape(batch * count, length, size),
            word_mask.reshape(batch * count, length),
            query.reshape(batch * count, size),
            trace,
        )
        vectors = self.norm(routing.capsules).reshape(batch, count * self.capsules, size)
        mask = word_mask.any(dim=-1).repeat_interleave(self.capsules, dim=1)  # (B, K M)
        if routing.coupling is None or routing.correlation is None:
            return ContextMemory(vectors, mask)
        by_sentence = (-1, batch, count, self.capsules, length)
        return ContextMemory(
            vectors, mask, routing.coupling.reshape(by_sentence), routing.correlation.reshape(by_sentence)
        )

    def _distances(self, words: Float[Tensor, "B K N D"]) -> Float[Tensor, "B K N longest"]:
        """Mark each word with the distance of its sentence, one-hot."""
        batch, count, length, _ = words.shape
        one_hot = torch.eye(self.history, dtype=words.dtype, device=words.device)[:count]
        return one_hot[None, :, None, :].expand(batch, count, length, self.history)
