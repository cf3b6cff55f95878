"""Scoring: how likely a model finds given translations; the base of contrastive evaluation."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from docaps import progress
from docaps.batches.batch import Batch, collate
from docaps.batches.windows import Window, windows_of_document
from docaps.corpus.contrastive import ContrastiveItem
from docaps.corpus.vocabulary import PAD
from docaps.model.interface import Prediction, TranslationModel
from docaps.model.precision import autocast
from docaps.translation.loading import TrainedModel
from docaps.translation.translator import cut

BATCH_TOKENS = 4000


def log_probabilities(model: TranslationModel, batch: Batch) -> Float[Tensor, " B"]:
    """Return the log-probability of each given translation, end mark included."""
    target = batch.translations
    prediction: Prediction = model(batch)
    return (prediction.log_probabilities(target) * (target != PAD)).sum(dim=1)


@torch.inference_mode()
def score_windows(trained: TrainedModel, windows: Sequence[Window]) -> list[float]:
    """Score windows that carry translations, in batches of like length."""
    scores = [0.0] * len(windows)
    order = sorted(range(len(windows)), key=lambda number: len(windows[number].source))
    with progress.start("score", len(order)) as task:
        for numbers in cut(order, windows, BATCH_TOKENS):
            batch = collate([windows[number] for number in numbers], trained.model.history).to(trained.device)
            with autocast(trained.device, trained.precision):
                found = log_probabilities(trained.model, batch).tolist()
            for number, score in zip(numbers, found, strict=True):
                scores[number] = score
            task.advance(len(numbers))
    return scores


def score_contrastive(trained: TrainedModel, items: Sequence[ContrastiveItem]) -> list[list[float]]:
    """Score the right translation of each item and then its wrong ones, with the item's history in view."""
    windows = [window for item in items for window in _item_windows(trained, item)]
    scores = iter(score_windows(trained, windows))
    return [[next(scores) for _ in range(1 + len(item.wrong))] for item in items]


def _item_windows(trained: TrainedModel, item: ContrastiveItem) -> list[Window]:
    """Make one window for each translation of an item."""
    codec, history = trained.codec, trained.model.history
    given = [codec.encode_source(sentence) for sentence in item.history[-history:]] if history else []
    (window,) = windows_of_document([codec.encode_source(item.source)], history, given)
    return [Window(window.source, window.history, codec.encode_target(text)) for text in (item.right, *item.wrong)]
