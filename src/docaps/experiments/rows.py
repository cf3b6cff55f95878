"""What the paper's grids consist of: the rows of Table 2, the points of Figures 4 and 5, and routing iterations.

All rows of a seed start from one sentence model and are trained alike. The sentence-level rows have the second stage
too: without it, the others would be ahead by its steps and its dropout.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from docaps.experiments.readings import READINGS, Reading

FIXED = {"history.sentences": 3, "qcn.capsules": 4, "qcn.rounds": 4}
"""The paper's choice; each figure moves one of them."""

LONGER = 4
"""How many times the steps a trial takes that asks whether there were too few."""


@dataclass(frozen=True, slots=True)
class Layout:
    """One grid: its rows and, if it is a figure, the setting that its rows differ in."""

    name: str
    title: str
    rows: Mapping[str, Reading]
    axis: str | None = None
    baseline: str | None = None
    """The row that the others are compared with."""
    on_demand: frozenset[str] = frozenset()
    """Rows that are made only where somebody names them."""
    part: Literal["dev", "test"] = "test"
    """The held-out part whose scores are compared."""

    @property
    def compares_histories(self) -> bool:
        """Whether rows are compared by likelihoods too, with each history: so trials are."""
        return self.part == "dev"


def _series(name: str, key: str, values: range, noun: str) -> dict[str, Reading]:
    """Return one row of QCN with the regularisation term for each value of a setting."""
    rows = {}
    for value in values:
        title = f"{value} {noun}{'' if value == 1 else 's'}"
        rows[f"{name}-{value}"] = Reading(f"{name}-{value}", title, "qcn+reg", {**FIXED, key: value})
    return rows


# Zhang et al. train the new weights only; the others train all.
_NEW_WEIGHTS = {"stage.document.inherited_rate": 0.0, "stage.document.inherited_exempt": ()}
_TABLE2 = (
    Reading("transformer", "Transformer", "transformer"),
    Reading("transformer+reg", "Transformer + regularisation", "transformer+reg"),
    Reading("qcn", "Transformer + QCN", "qcn"),
    Reading("qcn+reg", "Transformer + QCN + regularisation", "qcn+reg"),
    Reading("zhang", "Transformer-DocNMT (Zhang et al. 2018)", "zhang", _NEW_WEIGHTS),
    Reading("han", "HAN-DocNMT (Miculicich et al. 2018)", "han", {"han.side": "joint"}),
    Reading("san", "SAN-DocNMT (Maruf et al. 2019)", "san", {"san.mode": "online"}),
    Reading("concat", "concatenation, k to 1", "concat", {"concat.mode": "k-to-1"}),
    Reading("capsnet", "plain capsules, no query", "capsnet"),
    Reading("qcn-shuffled", "control: histories of other documents", "qcn-shuffled"),
    Reading("qcn-noise", "control: a random memory", "qcn-noise"),
    # The rivals once more, as they learnt best from mini-documents (docs/results.md) in as many steps as the others.
    Reading("zhang-all", "Transformer-DocNMT, all weights trained", "zhang"),
    Reading(
        "han-encoder",
        "HAN-DocNMT, encoder, with distances and gradient",
        "han",
        {"han.side": "encoder", "han.gradient": True, "han.distances": True},
    ),
)


def _trials() -> dict[str, Reading]:
    """Return the QCN with one setting changed at a time, beside the rows of Table 2 that it is compared with."""
    known = {row.name: row for row in _TABLE2}
    stage = "stage.document"
    rate = f"{stage}.learning_rate", f"{stage}.inherited_rate"
    longer = {f"{stage}.{key}": LONGER for key in ("steps", "warmup")}
    rows = [known["transformer"], known["qcn"]]
    rows += [READINGS[name] for name in ("joint", "mean", "gate", "positions", "raw")]
    rows += [
        Reading(f"weight-{weight}", f"regularisation of weight {weight}", "qcn+reg", {"regulariser.weight": weight})
        for weight in (0.1, 0.3)
    ]
    rows += [known["qcn+reg"]]
    rows += [
        Reading(f"new-{times}", f"new weights learn {times} times as fast", scaled={rate[0]: times, rate[1]: 1 / times})
        for times in (3, 10)
    ]
    rows += [
        Reading(f"routed-{rounds}", f"{rounds} routing iteration{'s' * (rounds > 1)}", changes={"qcn.rounds": rounds})
        for rounds in (1, 2, 3)
    ]
    exempt = {f"{stage}.inherited_exempt": ("embeddings",)}
    rows += [
        READINGS["silent"],
        Reading("exempt", "word vectors learn at the full rate", changes=exempt),
        Reading("transformer-longer", f"Transformer, {LONGER} times the steps", "transformer", scaled=longer),
        Reading("longer", f"{LONGER} times the steps", scaled=longer, baseline="transformer-longer"),
    ]
    return {row.name: row if row.name in known else replace(row, trial=True) for row in rows}


LAYOUTS: Mapping[str, Layout] = {
    layout.name: layout
    for layout in (
        Layout(
            "table2",
            "Table 2: the systems, and controls",
            {row.name: row for row in _TABLE2},
            baseline="transformer",
            on_demand=frozenset({"zhang-all", "han-encoder"}),
        ),
        Layout(
            "history",
            "Figure 4: history sentences (M = 4, 4 iterations)",
            _series("history", "history.sentences", range(1, 7), "history sentence"),
            axis="history.sentences",
        ),
        Layout(
            "capsules",
            "Figure 5: capsules (K = 3, 4 iterations)",
            _series("capsules", "qcn.capsules", range(1, 9), "capsule"),
            axis="qcn.capsules",
        ),
        Layout(
            "rounds",
            "Routing iterations (K = 3, M = 4)",
            _series("rounds", "qcn.rounds", range(1, 7), "routing iteration"),
            axis="qcn.rounds",
        ),
        Layout("trials", "Trials: the QCN with one setting changed", _trials(), baseline="transformer", part="dev"),
    )
}
