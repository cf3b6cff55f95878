"""Drafts: greedy translations of sentences without context, each made once while the weights stay the same.

Dimensions: U sentences, M words of a sentence, NT words of a draft, R sentences still being translated.
"""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from docaps.batches.batch import pad
from docaps.corpus.text.vocabulary import BOS, EOS, PAD
from docaps.model.hypotheses import Hypotheses

LONGEST = 2
"""A draft has at most this many words for each token of its source (Maruf et al. 2019)."""
MOST = 50_000
"""Drafts that are kept, some hundred bytes each: more than the sentences of the documents being translated."""
MOST_IN_TRAINING = 1_000_000
"""The same in training: more than the sentences of most corpora of documents."""


class Drafts:
    """Drafts of the sentences seen so far; threads may share them, copies of a model do not."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: dict[bytes, bytes] = {}
        self._weights: Hashable = None
        self._lock = Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> "Drafts":
        """Return drafts of another model, none so far."""
        return Drafts(self._most)

    def clear(self) -> None:
        """Forget all drafts."""
        with self._lock:
            self._known, self._weights = {}, None

    def of(
        self, sentences: Int[Tensor, "U M"], weights: Hashable, translate: Callable[[Tensor], Tensor]
    ) -> Int[Tensor, "U NT"]:
        """Return the draft of each sentence; `weights` changes whenever the weights do."""
        rows = [_as_bytes(row) for row in sentences.cpu().numpy()]
        known = self._recall(rows, weights)
        if missing := [number for number, row in enumerate(rows) if row not in known]:
            made = translate(sentences[missing]).cpu().numpy()
            new = {rows[number]: _as_bytes(draft) for number, draft in zip(missing, made, strict=True)}
            known |= new
            self._remember(new, weights)
        return pad([np.frombuffer(known[row], np.int32) for row in rows]).to(sentences.device)

    def _recall(self, rows: list[bytes], weights: Hashable) -> dict[bytes, bytes]:
        """Return the known drafts of some sentences; drafts of other weights are forgotten."""
        with self._lock:
            if weights != self._weights or len(self._known) > self._most:
                self._known, self._weights = {}, weights
            return {row: self._known[row] for row in rows if row in self._known}

    def _remember(self, new: dict[bytes, bytes], weights: Hashable) -> None:
        with self._lock:
            if weights == self._weights:
                self._known.update(new)


def _as_bytes(row: Any) -> bytes:
    """Return the words of a padded row."""
    return row[row != PAD].astype(np.int32).tobytes()  # type: ignore[no-any-return]


def search_greedily(hypotheses: Hypotheses, limits: Int[Tensor, " U"]) -> Int[Tensor, "U NT"]:
    """Write the most probable next word of each sentence until its end mark or its limit; the rest is padding."""
    drafts = limits.new_full((len(limits), int(limits.max())), PAD)
    rows, words = torch.arange(len(limits), device=limits.device), torch.full_like(limits, BOS).unsqueeze(1)
    open_rows = torch.ones_like(rows, dtype=torch.bool)
    for position in range(drafts.shape[1]):
        words = hypotheses.extend(words, 1, normalise=False).words  # (R, 1)
        open_rows = open_rows & (words[:, 0] != EOS)
        drafts[rows[open_rows], position] = words[open_rows, 0]
        open_rows = open_rows & (position + 1 < limits[rows])
        if not bool(open_rows.any()):
            break
        if 2 * int(open_rows.sum()) <= len(rows):  # fewer rows are faster, but copying them has a cost, too
            kept = open_rows.nonzero().squeeze(1)
            hypotheses.keep(kept)
            rows, words, open_rows = rows[kept], words[kept], open_rows[kept]
    return drafts
