"""The systems of the paper's Table 2 and the controls, as rows of one table: all from the same sentence model."""

from collections.abc import Mapping
from typing import Any

from docaps.experiments.readings import Reading

# Concatenation has no new weights, and its sentences are longer than any before: it learns as the sentence model did.
FULL_RATE = {"stage.document.inherited_rate": 1.0, "stage.document.learning_rate": 2e-3}

# Both need to know which of two things was mentioned last, and states that were trained to tell the gender of a thing:
# as published, the pronouns of the mini-documents stay near chance in as many steps.
LEARNS = {"gradient": True, "distances": True}


def _hierarchical(name: str, title: str, **settings: Any) -> Reading:
    return Reading(name, title, "han", {f"han.{key}": value for key, value in (LEARNS | settings).items()})


def _selective(name: str, title: str, **settings: Any) -> Reading:
    return Reading(name, title, "san", {f"san.{key}": value for key, value in (LEARNS | settings).items()})


RIVALS: Mapping[str, Reading] = {
    rival.name: rival
    for rival in (
        Reading("transformer", "the sentence model, trained as long as the others", "transformer"),
        Reading("qcn", "the QCN as the recipe has it"),
        Reading("zhang", "context attention with gates, all weights trained", "zhang"),
        Reading(
            "zhang-new",
            "the same, only new weights trained",
            "zhang",
            {"stage.document.inherited_rate": 0.0, "stage.document.inherited_exempt": ()},
        ),
        _hierarchical("han-encoder", "hierarchical attention, encoder", side="encoder"),
        _hierarchical("han-decoder", "hierarchical attention, decoder", side="decoder"),
        _hierarchical("han-joint", "hierarchical attention, both"),
        Reading("han-published", "the same, earlier sentences a set without gradient", "han"),
        _selective("san-online", "selective attention, sentences before"),
        _selective("san-sparse", "selective attention, words by sparsemax too", words="sparsemax"),
        _selective("san-flat", "selective attention, all words at once", attention="flat"),
        _selective("san-decoder", "selective attention, decoder", side="decoder"),
        _selective("san-offline", "selective attention, after as well, a set", mode="offline", distances=False),
        Reading("san-published", "selective attention, before, a set without gradient", "san"),
        Reading("concat", "concatenation, 4 to 1", "concat", FULL_RATE),
        Reading(
            "concat-2-to-2",
            "concatenation, 2 to 2",
            "concat",
            {"concat.mode": "2-to-2", "history.sentences": 1, **FULL_RATE},
        ),
        Reading("qcn-shuffled", "control: histories of other documents", "qcn-shuffled"),
        Reading("qcn-noise", "control: a random memory", "qcn-noise"),
    )
}
