"""The systems of the paper's Table 2 and the controls, as rows of one table that begin with the same sentence model."""

from collections.abc import Mapping
from typing import Any

from docaps.config import SystemName
from docaps.experiments.readings import Reading

# Concatenation has no new weights, and its sentences are longer than any before: it learns as the sentence model did.
FULL_RATE = {"stage.document.inherited_rate": 1.0, "stage.document.learning_rate": 2e-3}

# Which of two things was mentioned last, and the gender of a thing: what pronouns of the mini-documents need to know.
LEARNS = {"gradient": True, "distances": True}


def _learning(name: str, title: str, system: SystemName, after: Reading | None = None, **settings: Any) -> Reading:
    """Return a row whose system is told distances, and trains the states of other sentences."""
    changes = {f"{system}.{key}": value for key, value in (LEARNS | settings).items()}
    return Reading(name, title, system, changes, after)


HAN_ENCODER = _learning("han-encoder", "hierarchical attention, encoder", "han", side="encoder")

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
        HAN_ENCODER,
        _learning("han-decoder", "hierarchical attention, decoder", "han", side="decoder"),
        _learning(
            "han-joint", "hierarchical attention, both; as many steps more after han-encoder", "han", HAN_ENCODER
        ),
        _learning("han-at-once", "hierarchical attention, both from the beginning", "han"),
        Reading("han-plain", "the same, earlier sentences a set without gradient", "han"),
        _learning("san-online", "selective attention, sentences before", "san"),
        _learning("san-sparse", "selective attention, words by sparsemax too", "san", words="sparsemax"),
        _learning("san-flat", "selective attention, all words at once", "san", attention="flat"),
        _learning("san-decoder", "selective attention, decoder", "san", side="decoder"),
        _learning("san-offline", "selective attention, after as well, a set", "san", mode="offline", distances=False),
        Reading("san-plain", "selective attention, sentences before a set without gradient", "san"),
        Reading("concat", "concatenation, 4 to 1", "concat", FULL_RATE),
        Reading(
            "concat-2-to-2",
            "concatenation, 2 to 2, in twice the steps; it sees one sentence before",
            "concat",
            {"concat.mode": "2-to-2", "history.sentences": 1, "stage.document.steps": 3600, **FULL_RATE},
        ),
        Reading("qcn-shuffled", "control: histories of other documents", "qcn-shuffled"),
        Reading("qcn-noise", "control: a random memory", "qcn-noise"),
    )
}
