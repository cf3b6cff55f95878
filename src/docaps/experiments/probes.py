"""Probes of a model in training: BLEU of greedy translations of the development part, and contrastive choices."""

from collections.abc import Mapping, Sequence

from docaps.config import DecodingSettings, Recipe
from docaps.corpus.contrastive import read_items
from docaps.corpus.documents import Document, all_sentences
from docaps.corpus.store import Store
from docaps.errors import RunError
from docaps.evaluation.contrastive import accuracy
from docaps.evaluation.translation_metrics import bleu
from docaps.model.interface import TranslationModel
from docaps.training.distributed import SINGLE_PROCESS, ProcessGroup
from docaps.training.objective import Device, Probe
from docaps.translation.scoring import score_contrastive
from docaps.translation.trained_model import TrainedModel
from docaps.translation.translator import Translator

PROBED_ITEMS = 7
"""Every seventh contrastive item is scored in training: the kinds come in rounds of 6, 24 and 30 items, and a divisor
of those would select the same few kinds again and again."""
LEARNT = 0.9


def watch_bleu(recipe: Recipe, store: Store, team: ProcessGroup = SINGLE_PROCESS) -> Probe | None:
    """Return a probe that measures BLEU on the development part; None if no stage of the recipe selects by it."""
    if all(stage.best_by != "dev_bleu" for stage in recipe.stage.values()):
        return None
    decoding = recipe.decoding.model_copy(update={"beam": 1})
    documents = store.raw("dev")
    references = [Document(document.target) for document in documents]

    def probe(model: TranslationModel, device: Device) -> Mapping[str, float]:
        trained = TrainedModel(model.eval(), store.codec, decoding, device.place, device.precision)
        own = documents[team.rank :: team.size]
        translated = Translator(trained).translate([Document(document.source) for document in own])
        shares = team.gather([Document(tuple(sentence.text for sentence in found)) for found in translated])
        hypotheses = [shares[number % team.size][number // team.size] for number in range(len(documents))]
        return {"dev_bleu": bleu(list(all_sentences(hypotheses)), list(all_sentences(references))).score}

    return probe


def watch_choices(store: Store, decoding: DecodingSettings) -> Probe:
    """Return a probe that measures the share of right choices on some of the corpus's contrastive items."""
    if store.contrastive is None:
        raise RunError("the corpus has no contrastive items", path=store.path)
    items = read_items(store.contrastive)[::PROBED_ITEMS]

    def probe(model: TranslationModel, device: Device) -> Mapping[str, float]:
        trained = TrainedModel(model.eval(), store.codec, decoding, device.place, device.precision)
        return {"choices": accuracy(items, score_contrastive(trained, items)).all}

    return probe


def steps_to_learn(curve: Sequence[tuple[int, float]], learnt: float = LEARNT) -> int | None:
    """Return the first step at which the share of right choices was at least `learnt`; None if there is none."""
    return next((step for step, share in curve if share >= learnt), None)
