"""Windows are batched by length: each once, within the budget of padded tokens."""

from docaps.batches.windows import Window
from docaps.translation.search import batch_by_length


def test_batches_hold_at_most_their_budget_and_every_window_once() -> None:
    windows = [Window([4] * length) for length in (1, 2, 2, 3, 3, 3, 9)]
    assert list(batch_by_length(windows, 6)) == [[0, 1, 2], [3, 4], [5], [6]]


def test_a_long_history_makes_batches_smaller() -> None:
    windows = [Window([4, 2], ([5] * length,)) for length in (400, 1, 400, 1)]
    assert list(batch_by_length(windows, 40)) == [[1, 3], [0], [2]]
