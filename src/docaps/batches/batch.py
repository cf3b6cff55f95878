"""A batch: windows padded to tensors.

Dimensions: B batch, S source length, T target length, K history sentences, N words of the longest history sentence.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from docaps.batches.windows import Tokens, View, Window, as_view
from docaps.corpus.text.vocabulary import BOS, EOS, PAD


@dataclass(frozen=True, slots=True)
class Batch:
    """Token ids of some sentences, of their histories (in the order of `Window`) and, in training, of translations."""

    source: Int[Tensor, "B S"]
    history: Int[Tensor, "B K N"]
    target_input: Int[Tensor, "B T"] | None = None
    target_output: Int[Tensor, "B T"] | None = None
    target_history: Int[Tensor, "B K NT"] | None = None
    """Translations of the history's sentences, if the model sees them and there are any."""
    weights: Float[Tensor, "B T"] | None = None
    """How much each target token counts in the loss, 0 for padding; None: each real one counts 1."""

    @property
    def source_mask(self) -> Bool[Tensor, "B S"]:
        """True where a source token is real."""
        return self.source != PAD

    @property
    def history_mask(self) -> Bool[Tensor, "B K N"]:
        """True where a history word is real."""
        return self.history != PAD

    @property
    def translations(self) -> Int[Tensor, "B T"]:
        """Return the target output, which training and scoring need."""
        if self.target_output is None:
            raise ValueError("the batch has no translations")
        return self.target_output

    def to(self, device: torch.device) -> "Batch":
        """Move all tensors to a device."""
        tensors = (getattr(self, field.name) for field in fields(self))
        return Batch(*(None if tensor is None else tensor.to(device) for tensor in tensors))  # type: ignore[arg-type]


def collate(windows: Sequence[Window], view: View | int) -> Batch:
    """Pad windows to one batch with room for the sentences in view; of whole documents, for the longest history."""
    view = as_view(view)
    longest = max((len(window.history) for window in windows), default=0)
    size = longest if view.is_whole else view.history + view.future  # K
    earlier = pad_history([window.target_history[:size] for window in windows], size) if view.translations else None
    targets = [window.target for window in windows if window.target is not None]
    if targets and len(targets) < len(windows):
        raise ValueError(f"{len(windows) - len(targets)} of {len(windows)} windows have no target")
    return Batch(
        source=pad([window.source for window in windows]),
        history=pad_history([window.history[:size] for window in windows], size),
        target_input=pad([np.array((BOS, *target[:-1]), np.int32) for target in targets]) if targets else None,
        target_output=pad(targets) if targets else None,
        target_history=earlier if earlier is not None and earlier.shape[-1] else None,
        weights=_pad_weights(windows) if any(window.weights is not None for window in windows) else None,
    )


def with_end_marks(batch: Batch) -> Batch:
    """Append an end mark to each row's nearest history sentence; in a row without history it stands alone."""
    room = max(0, 1 - batch.history.shape[1])  # for a sentence, if the batch has no history at all
    history = torch.nn.functional.pad(batch.history, (0, 1, 0, room), value=PAD)
    ends = (history[:, 0] != PAD).sum(dim=-1, keepdim=True)  # (B, 1)
    nearest = history[:, 0].scatter(1, ends, EOS)
    return replace(batch, history=torch.cat((nearest.unsqueeze(1), history[:, 1:]), dim=1))


def _pad_weights(windows: Sequence[Window]) -> Float[Tensor, "B T"]:
    """Pad the weights of target tokens with zeros; a window without weights has ones."""
    lengths = [0 if window.target is None else len(window.target) for window in windows]
    padded = np.zeros((len(windows), max(lengths)), dtype=np.float32)
    for row, length, window in zip(padded, lengths, windows, strict=True):
        row[:length] = 1 if window.weights is None else window.weights
    return torch.from_numpy(padded)


def pad(sentences: Sequence[Tokens]) -> Int[Tensor, "B L"]:
    """Pad sentences to the longest."""
    padded = np.full((len(sentences), max(map(len, sentences), default=0)), PAD, dtype=np.int64)
    for row, sentence in zip(padded, sentences, strict=True):
        row[: len(sentence)] = sentence
    return torch.from_numpy(padded)


def pad_history(histories: Sequence[Sequence[Tokens]], history: int) -> Int[Tensor, "B K N"]:
    """Pad histories to K sentences of the same length; a missing sentence is all padding."""
    padded = pad([sentence for earlier in histories for sentence in (*earlier, *[()] * (history - len(earlier)))])
    return padded.view(len(histories), history, padded.shape[1])
