"""Routing traces: coupling coefficients and query correlations of each history word (Figs. 6-7)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from docaps.batches.batch import collate
from docaps.batches.windows import Window
from docaps.corpus.text.vocabulary import EOS, PAD, UNK
from docaps.model.interface import Trace
from docaps.translation.search import batch_by_length
from docaps.translation.trained_model import TrainedModel

BATCH_TOKENS = 4000

Maps = tuple[tuple[tuple[float, ...], ...], ...]
"""For each round and capsule: a number for each word."""


@dataclass(frozen=True, slots=True)
class HistoryTrace:
    """The trace of one history sentence; a system without a query has no correlations (`pcc` is None).

    Distance 0 is the sentence itself, if its words are routed, too.
    """

    distance: int
    words: tuple[str, ...]
    coupling: Maps | None
    pcc: Maps | None
    side: Literal["source", "target"] = "source"
    """Whether the words are those of the sentence or of its translation."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values; what the system does not have is left out."""
        maps = {name: maps for name, maps in (("coupling", self.coupling), ("pcc", self.pcc)) if maps is not None}
        side = {} if self.side == "source" else {"side": self.side}
        return {"distance": self.distance, **side, "words": list(self.words), **maps}


@torch.inference_mode()
def trace_window(trained: TrainedModel, window: Window) -> tuple[HistoryTrace, ...]:
    """Return the traces of a window's history sentences, nearest first; empty without history or routing."""
    if not trained.model.history or not window.history:
        return ()
    batch = collate([replace(window, target=None)], trained.model.view).to(trained.device)
    context = trained.model.encode(batch, trace=True).context
    if context is None or context.tokens is None or (context.coupling is None and context.correlation is None):
        return ()
    given = {"source": len(window.history), "target": len(window.target_history)}
    traces = []
    for number, (distance, side) in enumerate(context.sentences):
        if distance > given[side]:
            continue
        tokens = context.tokens[0, number]
        tokens = tokens[tokens != PAD]
        coupling, pcc = (_rounded(values, number, len(tokens)) for values in (context.coupling, context.correlation))
        traces.append(HistoryTrace(distance, tuple(trained.codec.pieces(tokens.tolist())), coupling, pcc, side))
    return tuple(traces)


def count_numbers(trained: TrainedModel) -> int:
    """Return how many numbers there are in the traces for each word of the history; 0 without routing."""
    word = ((UNK,),)
    window = Window((UNK, EOS), word, target_history=word if trained.model.view.translations else ())
    traces = trace_window(trained, window)
    maps = (values for one in traces for values in (one.coupling, one.pcc) if values is not None)
    return sum(len(row) for values in maps for rows in values for row in rows)


def trace_model(trained: TrainedModel, windows: Sequence[Window]) -> Iterator[tuple[Trace, ...]]:
    """Yield the traces that the model returns for each batch of windows with a history, and with their translations."""
    seen = [window for window in windows if any(map(len, window.history))]
    for numbers in batch_by_length(seen, BATCH_TOKENS):
        batch = collate([seen[number] for number in numbers], trained.model.view).to(trained.device)
        with torch.inference_mode():
            traces = trained.model.trace(batch)
        yield traces


def _rounded(values: torch.Tensor | None, number: int, words: int) -> Maps | None:
    """Return the values of one history sentence, rounded to be short in a file."""
    if values is None:
        return None
    tables = values[:, 0, number, :, :words].float().tolist()
    return tuple(tuple(tuple(round(value, 4) for value in row) for row in table) for table in tables)
