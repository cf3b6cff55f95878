"""What the routing did: for each word of the history, how it shared itself out, and what the query made of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.model.interface import Trace
from docaps.translation.batching import cut, in_order_of_length
from docaps.translation.loading import TrainedModel

BATCH_TOKENS = 4000

Maps = tuple[tuple[tuple[float, ...], ...], ...]
"""For each round and capsule: a number for each word."""


@dataclass(frozen=True, slots=True)
class HistoryTrace:
    """One earlier sentence: how far back it is, its words, their coupling coefficients and correlations (Figs. 6-7).

    A system without a query has no correlations; None then.
    """

    distance: int
    words: tuple[str, ...]
    coupling: Maps | None
    pcc: Maps | None

    def as_dict(self) -> dict[str, Any]:
        """Return what a file holds; what the system does not have is left out."""
        maps = {name: maps for name, maps in (("coupling", self.coupling), ("pcc", self.pcc)) if maps is not None}
        return {"distance": self.distance, "words": list(self.words), **maps}


@torch.inference_mode()
def trace_window(trained: TrainedModel, window: Window) -> tuple[HistoryTrace, ...]:
    """Return what the routing did with each sentence of a window's history, nearest first; nothing if there is none."""
    if not trained.model.history or not window.history:
        return ()
    batch = collate([replace(window, target=None)], trained.model.view).to(trained.device)
    context = trained.model.encode(batch, trace=True).context
    if context is None or (context.coupling is None and context.correlation is None):
        return ()
    return tuple(
        HistoryTrace(
            place + 1,
            tuple(trained.codec.pieces(list(words))),
            _rounded(context.coupling, place, len(words)),
            _rounded(context.correlation, place, len(words)),
        )
        for place, words in enumerate(window.history)
    )


def trace_model(trained: TrainedModel, windows: Sequence[Window]) -> Iterator[tuple[Trace, ...]]:
    """Go through what the model tells about its use of the histories, batch by batch; nothing if it tells nothing."""
    looking = [replace(window, target=None) for window in windows if any(map(len, window.history))]
    for numbers in cut(in_order_of_length(looking), looking, BATCH_TOKENS):
        batch = collate([looking[number] for number in numbers], trained.model.view).to(trained.device)
        with torch.inference_mode():
            traces = trained.model.trace(batch)
        yield traces


def _rounded(values: torch.Tensor | None, place: int, words: int) -> Maps | None:
    """Pick out one sentence; the numbers are short enough for a file."""
    if values is None:
        return None
    tables = values[:, 0, place, :, :words].float().tolist()
    return tuple(tuple(tuple(round(value, 4) for value in row) for row in table) for table in tables)
