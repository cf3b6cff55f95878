"""Watching a model while it is trained: the BLEU of its greedy translations of the development part."""

from collections.abc import Mapping

from docaps.config import Recipe
from docaps.corpus.documents import Document, all_sentences
from docaps.corpus.store import Store
from docaps.evaluation.bleu import bleu
from docaps.model.interface import TranslationModel
from docaps.training.distributed import SINGLE_PROCESS, ProcessGroup
from docaps.training.objective import Device, Probe
from docaps.translation.loading import TrainedModel
from docaps.translation.translator import Translator


def watch_bleu(recipe: Recipe, store: Store, team: ProcessGroup = SINGLE_PROCESS) -> Probe | None:
    """Return what measures the BLEU of the development part, or None if no stage of the recipe asks for it."""
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
