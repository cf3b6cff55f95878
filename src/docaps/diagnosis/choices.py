"""Contrastive choices of a model: its answers to the items of a set, with given histories or under every condition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from docaps import progress
from docaps.config import DecodingSettings
from docaps.corpus.contrastive import ContrastiveItem, GenerativeItem
from docaps.corpus.contrastive.contrastive_set import AnyItem, with_other_histories
from docaps.corpus.documents import Document
from docaps.diagnosis import DiagnosisOptions, TranslationsShown
from docaps.diagnosis.conditions import AGAINST, TRUE, vary_items
from docaps.diagnosis.evidence import count_right
from docaps.diagnosis.phenomenon_evidence import PairedAnswers
from docaps.evaluation.contrastive import ByGroup, Decision, group_items, judge_scores, judge_translations
from docaps.evaluation.intervals import Table
from docaps.translation.scoring import score_contrastive
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Translator


@dataclass(frozen=True, slots=True)
class ItemAnswer:
    """An item, the translation that the model prefers or makes, its scores, and the decision."""

    item: AnyItem
    translation: str
    scores: tuple[float, ...]
    decision: Decision


@dataclass(frozen=True, slots=True)
class ChoiceResults:
    """Right answers by document, by group and by item under each condition, and the accuracy of guessing."""

    counts: Mapping[str, Table]
    accuracy: Mapping[str, ByGroup[float]]
    chance: float
    items: int
    answers: PairedAnswers

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        groups = ("by_phenomenon", "by_distance")
        accuracy = {key: {name: getattr(found, key) for name, found in self.accuracy.items()} for key in groups}
        return {"items": self.items, "chance": self.chance, **accuracy}


def answer_items(
    trained: TrainedModel,
    items: Sequence[AnyItem],
    decoding: DecodingSettings | None = None,
    translations: TranslationsShown = "reference",
) -> list[ItemAnswer]:
    """Answer every item: score the translations it comes with, or translate it.

    A model that reads translations of the history is shown those of the item, or, if it has none or `translations` says
    so, its own.
    """
    if translations == "own":
        items = [replace(item, target_history=()) for item in items]
    contrastive = [item for item in items if isinstance(item, ContrastiveItem)]
    generative = [item for item in items if isinstance(item, GenerativeItem)]
    scored = iter(_score_items(trained, contrastive) if contrastive else [])
    translated = iter(_translate_items(trained, generative, decoding) if generative else [])
    return [next(scored if isinstance(item, ContrastiveItem) else translated) for item in items]


def _score_items(trained: TrainedModel, items: Sequence[ContrastiveItem]) -> list[ItemAnswer]:
    """Let the model choose among the given translations."""
    scores = score_contrastive(trained, items)
    decisions = judge_scores(items, scores)
    return [
        ItemAnswer(item, (item.right, *item.wrong)[found.index(max(found))], tuple(found), decision)
        for item, found, decision in zip(items, scores, decisions, strict=True)
    ]


def _translate_items(
    trained: TrainedModel, items: Sequence[GenerativeItem], decoding: DecodingSettings | None
) -> list[ItemAnswer]:
    """Let the model translate, with no more history than it looks at."""
    translator, view = Translator(trained, decoding), trained.model.view
    # A model trained with shuffled histories must see other documents; neighbouring items often share one.
    shown = with_other_histories(items) if view.shuffled else items
    histories, known = (
        [getattr(item, side)[-view.history :] if view.history else () for item in shown]
        for side in ("history", "target_history")
    )
    if view.translations and list(map(len, known)) != list(map(len, histories)):
        documents = [Document((*history, item.source)) for history, item in zip(histories, items, strict=True)]
        last = [sentences[-1] for sentences in translator.translate(documents)]
    else:  # the history needs no translation, or comes with one
        last = translator.translate_with_histories([item.source for item in items], histories, known)
    decisions = judge_translations(items, [sentence.text for sentence in last])
    return [
        ItemAnswer(item, sentence.text, (sentence.score,), decision)
        for item, sentence, decision in zip(items, last, decisions, strict=True)
    ]


def answer_under_conditions(
    trained: TrainedModel,
    other: TrainedModel | None,
    items: Sequence[AnyItem],
    options: DiagnosisOptions,
    decoding: DecodingSettings | None = None,
) -> ChoiceResults:
    """Let a model answer all items under all conditions, and the one it is compared with with its own history."""
    varied = vary_items(items, trained.model.history, shuffles=options.shuffles, seed=options.seed)
    tasks = [(trained, *condition) for condition in varied] + ([(other, AGAINST, list(items))] if other else [])
    right, chance = dict[str, list[list[float]]](), 0.0
    with progress.start("diagnose choices", len(tasks) * len(items)) as task:
        for model, condition, shown in tasks:
            with progress.silent():
                answers = answer_items(model, shown, decoding, options.translations)
                decisions = [answer.decision for answer in answers]
            right.setdefault(condition, []).append([float(decision.right) for decision in decisions])
            if condition == TRUE:
                chance = _mean([decision.chance for decision in decisions])
            task.advance(len(items), condition)
    means = {condition: np.mean(draws, axis=0).tolist() for condition, draws in right.items()}
    documents = [item.document for item in items]
    return ChoiceResults(
        counts={condition: count_right(values, documents) for condition, values in means.items()},
        accuracy={condition: group_items(items, values, _mean) for condition, values in means.items()},
        chance=chance,
        items=len(items),
        answers=PairedAnswers(
            {condition: np.array(draws) for condition, draws in right.items()},
            documents,
            [item.phenomenon for item in items],
        ),
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))
