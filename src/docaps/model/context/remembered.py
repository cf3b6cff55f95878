"""States of other sentences, remembered while many sentences with the same histories are scored.

Dimensions: U sentences, M words of a sentence, D model size.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from docaps.corpus.text.vocabulary import PAD

LARGEST = 2**28
"""Bytes of states that are kept; beyond that, all are forgotten."""
States = tuple[Tensor, ...]
"""The states of some sentences, and perhaps others of the same shape."""
Compute = Callable[..., States]


class RememberedStates:
    """States of sentences, or of pairs of a sentence and its translation; threads may share them, copies do not."""

    def __init__(self) -> None:
        self._known: dict[tuple[bytes, ...], States] = {}
        self._size = self._users = 0
        self._lock = Lock()

    def __deepcopy__(self, memo: dict[int, Any]) -> "RememberedStates":
        """Return those of another model, none so far."""
        return RememberedStates()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Remember states while the block runs; the weights must not change meanwhile."""
        with self._lock:
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1
                if not self._users:
                    self._forget()

    def of(self, compute: Compute, *sides: Int[Tensor, "U _"]) -> States:
        """Return the states of each sentence, padded like the words of the last side; compute those not yet known.

        `compute` takes the words of all sides, as padded as here.
        """
        if not self._users:
            return compute(*sides)
        lists = [side.cpu().numpy() for side in sides]
        keys = [tuple(row[row != PAD].tobytes() for row in rows) for rows in zip(*lists, strict=True)]
        with self._lock:
            known = {key: self._known[key] for key in keys if key in self._known}
        if missing := [number for number, key in enumerate(keys) if key not in known]:
            made = compute(*(side[missing] for side in sides))
            lengths = (sides[-1][missing] != PAD).sum(dim=1).tolist()
            new = {
                keys[number]: tuple(part[row, :length].clone() for part in made)
                for row, (number, length) in enumerate(zip(missing, lengths, strict=True))
            }
            known |= new
            self._remember(new)
        found = [known[key] for key in keys]
        return tuple(_padded([one[place] for one in found], sides[-1].shape[1]) for place in range(len(found[0])))

    def _remember(self, new: dict[tuple[bytes, ...], States]) -> None:
        size = sum(part.numel() * part.element_size() for states in new.values() for part in states)
        with self._lock:
            if self._size + size > LARGEST:
                self._forget()
            if self._users and size <= LARGEST:
                self._known.update(new)
                self._size += size

    def _forget(self) -> None:
        self._known, self._size = {}, 0


def _padded(states: list[Float[Tensor, "_ D"]], length: int) -> Float[Tensor, "U M D"]:
    padded = pad_sequence(states, batch_first=True)
    return torch.nn.functional.pad(padded, (0, 0, 0, length - padded.shape[1]))
