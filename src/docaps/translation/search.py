"""Search: windows are batched by length, each thread runs beam search on a batch of its own.

A hypothesis' score is its log-probability, end mark included, divided by GNMT's length penalty. A finished hypothesis
keeps its place in the beam, so a beam of 1 is greedy search. A sentence is done only when no live hypothesis can still
become one of its `nbest` best.

Dimensions: B sentences, W beam (1 before the first word), C continuations of a hypothesis, L words written so far.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from docaps.batches.batch import Batch, collate
from docaps.batches.windows import Window
from docaps.config import DecodingSettings
from docaps.corpus.text.vocabulary import BOS, EOS
from docaps.errors import RunError
from docaps.model.hypotheses import IMPOSSIBLE, Hypotheses, NextWords
from docaps.model.interface import TranslationModel
from docaps.translation.constrained_search import search_constrained
from docaps.translation.constraints import word_borders
from docaps.translation.hypothesis import Hypothesis, length_penalty
from docaps.translation.trained_model import TrainedModel

HISTORY_SHARE = 16
"""Padded history words that a batch may hold per token of its budget, so that long histories do not fill the memory."""
MOST_DONE = 8
"""Finished sentences leave the batch once they are one in so many: copying the rest has a cost too."""

Input = TypeVar("Input")
Result = TypeVar("Result")


def search_windows(
    trained: TrainedModel, windows: Sequence[Window], decoding: DecodingSettings, *, scored: bool = True
) -> Iterator[tuple[list[int], list[list[Hypothesis]]]]:
    """Search windows in batches of like length; yield the numbers and the hypotheses of each batch's windows.

    Windows whose translations must have certain phrases have batches of their own.
    """
    batches, budget = [], decoding.batch_tokens // decoding.beam
    for bound, room in ((True, budget // 2), (False, budget)):
        own = [number for number, window in enumerate(windows) if bool(window.required) == bound]
        # The longest first: at the end, no thread should wait for one that has just started on a long batch.
        cut = list(batch_by_length([windows[number] for number in own], room))[::-1]
        batches += [[own[place] for place in batch] for batch in cut]
    search_one = partial(search_batch, trained, decoding, scored)
    threads = None if trained.device.type == "cpu" else 1
    found = map_in_threads(search_one, [[windows[number] for number in batch] for batch in batches], threads)
    yield from zip(batches, found, strict=True)


def batch_by_length(windows: Sequence[Window], budget: int) -> Iterator[list[int]]:
    """Sort windows by length and yield their numbers in batches of at most `budget` padded tokens."""
    sizes = list(map(_padded_sizes, windows))
    yield from batch_in_order(sorted(range(len(windows)), key=sizes.__getitem__), sizes, budget)


def batch_in_order(order: Iterable[int], sizes: Sequence[tuple[int, int]], budget: int) -> Iterator[list[int]]:
    """Yield numbers in batches of at most `budget` padded tokens; sizes are of the sentence and of its history."""
    batch: list[int] = []
    longest = history = 0
    for number in order:
        length, own_history = sizes[number]
        longest, history = max(longest, length), max(history, own_history)
        count = len(batch) + 1
        if batch and (count * longest > budget or count * history > HISTORY_SHARE * budget):
            yield batch
            batch, longest, history = [], length, own_history
        batch.append(number)
    if batch:
        yield batch


def _padded_sizes(window: Window) -> tuple[int, int]:
    """Return the length of the longer side, and the number of history words, padding included."""
    length = max(len(window.source), len(window.target) if window.target is not None else 0)
    return length, padded_history(window)


def padded_history(window: Window) -> int:
    """Return the number of history words of a window, padding included."""
    return len(window.history) * max(map(len, window.history), default=0)


def map_in_threads(
    function: Callable[[Input], Result], inputs: Sequence[Input], threads: int | None = None
) -> Iterator[Result]:
    """Yield the function's result for each input, in order; one input a thread, by default on all threads of torch.

    Threads that share a batch wait for each other after every operation, some hundred times a word, and all but one
    wait while Python prepares the next. Torch releases the interpreter's lock while it computes, so threads with a
    batch each hardly meet.
    """
    available = torch.get_num_threads()
    workers = min(available if threads is None else threads, len(inputs))
    if workers <= 1:
        yield from map(function, inputs)
        return
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(max(1, available // workers),))
    try:
        yield from pool.map(function, inputs)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(available)  # threads that start later would inherit the workers' number


def search_batch(
    trained: TrainedModel, decoding: DecodingSettings, scored: bool, windows: Sequence[Window]
) -> list[list[Hypothesis]]:
    """Search the windows of one batch with a trained model in its translation precision."""
    batch = collate(windows, trained.model.view).to(trained.device)
    required = [window.required for window in windows]
    with trained.autocast():
        if any(required):
            found = search_constrained(trained.fastest, batch, required, word_borders(trained.codec), decoding)
        else:
            found = search(trained.fastest, batch, decoding, scored=scored)
    if not all(found):
        raise RunError("the model finds no translation: its scores are not numbers (NaN). Train it again")
    return found


@dataclass
class Beams:
    """Live hypotheses of the sentences still in the batch."""

    sentences: list[int]  # their numbers in the batch
    tokens: Int[Tensor, "B W L"]
    log_probabilities: Float[Tensor, "B W"]  # -inf where there is no live hypothesis
    open_slots: Int[Tensor, " B"]  # beam width less the finished hypotheses
    limits: Int[Tensor, " B"]  # longest translation, end mark included
    penalties: Float[Tensor, " B"]  # length penalty of a translation of that length
    to_beat: Float[Tensor, " B"]  # score of the n-th best finished hypothesis, n = nbest
    decoder: Hypotheses

    def keep(self, rows: Int[Tensor, " R"]) -> None:
        """Keep only some sentences of the batch."""
        self.sentences = [self.sentences[row] for row in rows.tolist()]
        for name in ("tokens", "log_probabilities", "open_slots", "limits", "penalties", "to_beat"):
            setattr(self, name, getattr(self, name)[rows])
        self.decoder.keep(rows)


@torch.inference_mode()
def search(
    model: TranslationModel, batch: Batch, settings: DecodingSettings, *, scored: bool = True
) -> list[list[Hypothesis]]:
    """Return for each sentence its finished hypotheses, best first.

    Unless `scored`, greedy search skips the normalisation: the same words, with NaN for scores.
    """
    normalise = scored or settings.beam > 1
    beams = _begin(model, batch, settings)
    finished: list[list[Hypothesis]] = [[] for _ in beams.sentences]
    first_limit, length = min(beams.limits.tolist(), default=0), 0
    while beams.sentences:
        length += 1
        following = beams.decoder.extend(beams.tokens[:, :, -1], settings.beam, normalise)
        choices = _force_end(beams, following, length) if length >= first_limit else following
        _advance(beams, choices, settings.beam)
        _collect(beams, finished, length, settings)
        if any(finished) or length >= first_limit:
            _drop_done(beams)
    if not normalise:
        return [[replace(one, score=math.nan, log_probability=math.nan) for one in found] for found in finished]
    return [sorted(found, key=lambda one: -one.score) for found in finished]


def _begin(model: TranslationModel, batch: Batch, settings: DecodingSettings) -> Beams:
    """Start each sentence with one live, empty hypothesis."""
    count, device = len(batch.source), batch.source.device
    limits = (batch.source_mask.sum(dim=1) * settings.length_factor + settings.length_margin).long()
    penalties = [length_penalty(limit, settings.length_penalty) for limit in limits.tolist()]
    return Beams(
        sentences=list(range(count)),
        tokens=torch.full((count, 1, 1), BOS, device=device),
        log_probabilities=torch.zeros(count, 1, device=device),
        open_slots=torch.full((count,), settings.beam, device=device),
        limits=limits,
        penalties=torch.tensor(penalties, dtype=torch.float64, device=device),
        to_beat=torch.full((count,), IMPOSSIBLE, dtype=torch.float64, device=device),
        decoder=model.hypothesise(model.encode(batch), settings.beam),
    )


def _force_end(beams: Beams, following: NextWords, length: int) -> NextWords:
    """Allow only the end mark where a translation has reached its length limit."""
    at_limit = (beams.limits <= length).repeat_interleave(beams.log_probabilities.shape[1])  # (B x W)
    scores = following.log_probabilities.masked_fill(at_limit.unsqueeze(1), IMPOSSIBLE)
    scores[at_limit, 0] = following.ending[at_limit]
    return NextWords(scores, following.words.masked_fill(at_limit.unsqueeze(1), EOS), following.ending)


def _advance(beams: Beams, following: NextWords, beam: int) -> None:
    """Replace the hypotheses of each sentence by their best continuations."""
    count, width = beams.log_probabilities.shape
    choices = following.words.shape[1]
    total = following.log_probabilities.view(count, width, choices) + beams.log_probabilities.unsqueeze(-1)
    best, choice = total.flatten(1).topk(min(beam, width * choices), dim=1)  # (B, W)
    words = following.words.view(count, width * choices).gather(1, choice)
    if width > 1 or best.shape[1] > 1:
        parents = choice.div(choices, rounding_mode="floor")
        beams.decoder.follow(parents)
        beams.tokens = beams.tokens.gather(1, parents.unsqueeze(-1).expand(-1, -1, beams.tokens.shape[-1]))
        rank = torch.arange(best.shape[1], device=best.device)
        best = best.masked_fill(rank >= beams.open_slots.unsqueeze(1), IMPOSSIBLE)
    beams.tokens = torch.cat((beams.tokens, words.unsqueeze(-1)), dim=-1)
    beams.log_probabilities = best


def _collect(beams: Beams, finished: list[list[Hypothesis]], length: int, settings: DecodingSettings) -> None:
    """Move ended hypotheses to the finished ones; their slots stay empty."""
    ended = (beams.tokens[:, :, -1] == EOS) & (beams.log_probabilities > IMPOSSIBLE)
    if not bool(ended.any()):
        return
    penalty = length_penalty(length, settings.length_penalty)
    rows = ended.nonzero()[:, 0].tolist()
    reached = beams.log_probabilities[ended].tolist()
    written = beams.tokens[ended][:, 1:-1].tolist()
    for row, log_probability, tokens in zip(rows, reached, written, strict=True):
        found = finished[beams.sentences[row]]
        found.append(Hypothesis(tuple(tokens), log_probability / penalty, log_probability))
        if len(found) >= settings.nbest:
            beams.to_beat[row] = sorted((one.score for one in found), reverse=True)[settings.nbest - 1]
    beams.log_probabilities = beams.log_probabilities.masked_fill(ended, IMPOSSIBLE)
    beams.open_slots = beams.open_slots - ended.sum(dim=1)


def _drop_done(beams: Beams) -> None:
    """Remove sentences from the batch, several at a time, when no live hypothesis can still become one of the best."""
    # A log-probability only falls and the penalty only grows: this is the best a live hypothesis can ever reach.
    reach = beams.log_probabilities.amax(dim=1) / beams.penalties
    done = ~(reach > beams.to_beat)  # NaN beats nothing
    count = int(done.sum())
    if count * MOST_DONE >= len(beams.sentences) and count:
        beams.keep((~done).nonzero().squeeze(1))
    elif count:
        beams.log_probabilities = beams.log_probabilities.masked_fill(done.unsqueeze(1), IMPOSSIBLE)
