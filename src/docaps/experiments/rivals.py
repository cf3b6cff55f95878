"""The systems of the paper's Table 2 and the controls, as rows of one table: all from the same sentence model."""

from collections.abc import Mapping

from docaps.experiments.readings import Reading

# Concatenation has no new weights: at the share of the rate that old ones get, it would hardly learn.
FULL_RATE = {"stage.document.inherited_rate": 1.0}

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
        Reading("han-encoder", "hierarchical attention, encoder", "han", {"han.side": "encoder"}),
        Reading("han-decoder", "hierarchical attention, decoder", "han", {"han.side": "decoder"}),
        Reading("han-joint", "hierarchical attention, both", "han"),
        Reading("san-online", "selective attention, sentences before", "san"),
        Reading("san-offline", "selective attention, after as well", "san", {"san.mode": "offline"}),
        Reading("san-sparse", "selective attention, words by sparsemax too", "san", {"san.words": "sparsemax"}),
        Reading("san-flat", "selective attention, all words at once", "san", {"san.attention": "flat"}),
        Reading("san-decoder", "selective attention, decoder", "san", {"san.side": "decoder"}),
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
