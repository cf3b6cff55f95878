"""Batches for translating and scoring: sentences of like length, within a budget of padded tokens."""

from collections.abc import Iterator, Sequence

from docaps.batches.windows import Window

HISTORY_SHARE = 16
"""Padded history words that a batch may hold for each token of its budget: a long history must not fill the memory."""


def in_order_of_length(windows: Sequence[Window]) -> list[int]:
    """Number windows by length, those with like histories side by side."""
    return sorted(range(len(windows)), key=lambda number: (_length(windows[number]), _history(windows[number])))


def cut(order: Sequence[int], windows: Sequence[Window], budget: int) -> Iterator[list[int]]:
    """Cut sentences sorted by length into batches of at most `budget` padded tokens."""
    batch: list[int] = []
    history = 0
    for number in order:
        history = max(history, _history(windows[number]))
        count = len(batch) + 1
        if batch and (count * _length(windows[number]) > budget or count * history > HISTORY_SHARE * budget):
            yield batch
            batch, history = [], _history(windows[number])
        batch.append(number)
    if batch:
        yield batch


def _length(window: Window) -> int:
    """Return the length of the longer side."""
    return max(len(window.source), len(window.target) if window.target is not None else 0)


def _history(window: Window) -> int:
    """Return how many words the history takes when it is padded."""
    return len(window.history) * max(map(len, window.history), default=0)
