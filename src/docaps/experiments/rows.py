"""Rows of experiments: one table in which a name has one meaning, and the layouts that select from it.

A row is a document stage: a system and the settings that differ from the recipe's. Within a seed all rows start from
one sentence model and are trained alike, the sentence-level rows included: without the second stage, the others would
be ahead by its steps and its dropout. A row that starts from another one has two document stages.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from docaps.config import Recipe, SystemName

SENTENCE = "sentence"
"""The name of the sentence model, which rows start from."""


@dataclass(frozen=True, slots=True)
class GridRow:
    """A system, and the settings in which its document stage differs from the recipe's."""

    name: str
    title: str
    system: SystemName = "qcn"
    changes: Mapping[str, Any] = field(default_factory=dict)
    """Dotted keys and their values: settings of the system's tables, and `stage.document.KEY`."""
    scaled: Mapping[str, float] = field(default_factory=dict)
    """Keys of the document stage, and the factors that the recipe's values are multiplied by."""
    starts_from: str = SENTENCE
    """The row whose model it starts from."""
    baseline: str | None = None
    """The row that it is compared with, if not the layout's baseline."""

    @property
    def chain(self) -> "tuple[GridRow, ...]":
        """The rows whose stages are trained one after the other, this one last."""
        return (self,) if self.starts_from == SENTENCE else (*ROWS[self.starts_from].chain, self)

    def apply(self, recipe: Recipe) -> Recipe:
        """Return the recipe with a stage for each row of the chain after the sentence model, named like the row."""
        values = recipe.model_dump()
        stages = values["stage"]
        rows = {row.name: row._change(stages["document"]) for row in self.chain}
        return Recipe.model_validate({**values, "stage": {SENTENCE: stages[SENTENCE], **rows}})

    def _change(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the recipe's document stage with what this row changes."""
        stage = {**document, "system": self.system, "init_from": self.starts_from}
        for key, value in self.changes.items():
            table, _, name = key.rpartition(".")
            if table == STAGE:
                stage[name] = value
            else:
                stage[table] = {**(stage[table] or {}), name: value}
        for key, factor in self.scaled.items():
            name = key.removeprefix(f"{STAGE}.")
            stage[name] = _scale(stage[name], factor)
        return stage


def _scale(value: float, factor: float) -> float:
    """Multiply a setting; a number of steps stays a whole one, and at least 1 if it was."""
    return max(int(value * factor), min(value, 1)) if isinstance(value, int) else value * factor


STAGE = "stage.document"
STEPS, LEARNING_RATE, INHERITED_RATE = (f"{STAGE}.{key}" for key in ("steps", "learning_rate", "inherited_rate"))
LONGER = {STEPS: 4, f"{STAGE}.warmup": 4}
"""What the rows scale that test whether training was too short."""
HALF = {STEPS: 0.5, f"{STAGE}.warmup": 0.5}
"""What the rows scale that share the steps of one document stage."""
NEW_WEIGHTS_ONLY = {INHERITED_RATE: 0.0, f"{STAGE}.inherited_exempt": ()}
"""Zhang et al. train the new weights only; the other papers train all."""
ENCODER, JOINT = {"han.side": "encoder"}, {"han.side": "joint"}
PAPER_SIZES = {"history.sentences": 3, "qcn.capsules": 4, "qcn.rounds": 4}
"""The paper's choice; each figure varies one of them."""


_STATES = {
    **{"context.start": "copied", "qcn.reads": "states", "qcn.gradient_to_states": True, "qcn.start": "identity"},
    "qcn.attends": "both",
}
_AT_DECODER = _STATES | {"qcn.attends": "decoder", "qcn.current": True}
_BOTH_SIDES = _AT_DECODER | {"qcn.sides": "both", "qcn.distances": True}
_MINED = "mined/annotations.jsonl"
"""Where `docaps mine` writes by default: in the working directory, or in that of the prepared corpus."""
_PRONOUNS = ("pronoun", "pronoun-likely")
_SELECTED: Mapping[str, Any] = {"select": _MINED, "select_share": 0.33, "select_phenomena": _PRONOUNS}
_EMPHASISED: Mapping[str, Any] = {"emphasis": _MINED, "emphasis_weight": 5.0, "emphasis_phenomena": _PRONOUNS}


def _informed(
    name: str, title: str, system: Literal["han", "san"], starts_from: str = SENTENCE, **more: Any
) -> GridRow:
    """Return a row of a rival that knows distances and trains the states of other sentences."""
    # Pronouns of the mini-documents need both: which of two things was mentioned last, and the gender of a thing.
    own = {"gradient": True, "distances": True} | ({"memory": "current"} if system == "san" else {}) | more
    changes = {f"{system}.{key}": value for key, value in own.items()}
    return GridRow(name, title, system, changes, starts_from=starts_from)


def _reading(name: str, title: str, **settings: Any) -> GridRow:
    """Return a row of the QCN with the regulariser read in another way."""
    return GridRow(
        name, f"regulariser: {title}", "qcn+reg", {f"regulariser.{key}": value for key, value in settings.items()}
    )


def _lever(name: str, title: str, **settings: Any) -> GridRow:
    """Return a row of the QCN with other settings of its own table."""
    return GridRow(name, title, changes={f"qcn.{key}": value for key, value in settings.items()})


def _signal(name: str, title: str, system: SystemName = "qcn", baseline: str | None = None, **settings: Any) -> GridRow:
    """Return a row whose document stage has a training signal."""
    changes = {f"{STAGE}.{key}": value for key, value in settings.items()}
    return GridRow(name, title, system, changes, baseline=baseline)


def _series(
    name: str,
    key: str,
    values: range,
    noun: str,
    system: SystemName = "qcn+reg",
    sizes: Mapping[str, int] = PAPER_SIZES,
) -> list[GridRow]:
    """Return a row for each value of a setting, by default of QCN with the regularisation term."""
    return [
        GridRow(f"{name}-{value}", f"{value} {noun}{'s' * (value > 1)}", system, {**sizes, key: value})
        for value in values
    ]


_TABLE = (
    # The rows of the paper's Table 2.
    GridRow("transformer", "Transformer", "transformer"),
    GridRow("transformer+reg", "Transformer + regularisation", "transformer+reg"),
    GridRow("qcn", "Transformer + QCN"),
    GridRow("qcn+reg", "Transformer + QCN + regularisation", "qcn+reg"),
    GridRow("zhang", "Transformer-DocNMT (Zhang et al. 2018)", "zhang", NEW_WEIGHTS_ONLY),
    # HAN-joint starts from HAN-encoder; each of the two has a stage of its own, as published, or half of one.
    GridRow("han-joint-first", "HAN-encoder, half the steps: first stage of han-joint", "han", ENCODER, HALF),
    GridRow(
        "han-joint",
        "HAN-DocNMT, encoder first, as many steps in all",
        "han",
        JOINT,
        HALF,
        starts_from="han-joint-first",
    ),
    GridRow("han-first", "HAN-encoder: first stage of han", "han", ENCODER),
    GridRow(
        "han", "HAN-DocNMT (Miculicich et al. 2018), two stages as published", "han", JOINT, starts_from="han-first"
    ),
    GridRow("san", "SAN-DocNMT (Maruf et al. 2019)", "san", {"san.mode": "online"}),
    GridRow("san-drafts", "SAN-DocNMT, decoder, over drafts", "san", {"san.mode": "online", "san.side": "decoder"}),
    # Concatenation, and controls of the paper's claims.
    GridRow("concat", "concatenation, k to 1", "concat", {"concat.mode": "k-to-1"}),
    GridRow("capsnet", "plain capsules, no query", "capsnet"),
    GridRow("qcn-shuffled", "control: histories of other documents", "qcn-shuffled"),
    GridRow("qcn-noise", "control: a random memory", "qcn-noise"),
    # The rivals in other forms; zhang-all and han-encoder learnt best.
    GridRow("zhang-all", "Transformer-DocNMT, all weights trained", "zhang"),
    _informed("han-encoder", "HAN-DocNMT, encoder, with distances and gradient", "han", side="encoder"),
    _informed("han-decoder", "hierarchical attention, decoder", "han", side="decoder"),
    _informed("han-both", "hierarchical attention, both; as many steps more after han-encoder", "han", "han-encoder"),
    _informed("han-at-once", "hierarchical attention, both from the beginning", "han"),
    _informed("san-online", "selective attention, sentences before", "san"),
    _informed("san-sparse", "selective attention, words by sparsemax too", "san", words="sparsemax"),
    _informed("san-flat", "selective attention, all words at once", "san", attention="flat"),
    _informed("san-decoder", "selective attention, decoder", "san", side="decoder", translations="given"),
    _informed("san-offline", "selective attention, after as well, a set", "san", mode="offline", distances=False),
    # Concatenation has no new weights, and longer sentences than any before: it learns as the sentence model did.
    GridRow(
        "concat-full-rate",
        "concatenation, k to 1, all weights at twice the rate",
        "concat",
        {"concat.mode": "k-to-1", INHERITED_RATE: 1.0},
        {LEARNING_RATE: 2},
    ),
    GridRow(
        "concat-2-to-2",
        "concatenation, 2 to 2, likewise, in twice the steps; it sees one sentence before",
        "concat",
        {"concat.mode": "2-to-2", "history.sentences": 1, INHERITED_RATE: 1.0},
        {LEARNING_RATE: 2, STEPS: 2},
    ),
    GridRow(
        "concat-n",
        "concatenation, n to n, likewise; discounted loss, shifted positions",
        "concat",
        {"concat.mode": "n-to-n", "concat.discount": 0.01, "concat.shift": 8, INHERITED_RATE: 1.0},
        {LEARNING_RATE: 2, STEPS: 2},
    ),
    # The long comparison: what was most promising in trials, and the best rival as it is done today.
    GridRow("qcn-states", "capsules of states, read by copied attention of encoder and decoder", changes=_STATES),
    GridRow("qcn-decoder", "the same at the decoder, the sentence itself routed, too", changes=_AT_DECODER),
    GridRow("qcn-target", "the same of both sides, with distances", changes=_BOTH_SIDES),
    GridRow("qcn-target-shuffled", "control: qcn-target with other histories", "qcn-shuffled", _BOTH_SIDES),
    GridRow(
        "concat-discounted",
        "concatenation, 2 to 2, discounted loss, shifted positions; in twice the steps, for windows hold two sentences",
        "concat",
        {"concat.mode": "n-to-n", "concat.discount": 0.01, "concat.shift": 8, "history.sentences": 1},
        {STEPS: 2},
    ),
    # The QCN with one setting changed: what the paper leaves open, and what may be chosen.
    GridRow("joint", "all history words routed at once", changes={"qcn.scope": "joint"}),
    GridRow("last", "gradient through the last iteration only", changes={"qcn.gradient": "last"}),
    GridRow("detached", "votes detached in the agreement", changes={"qcn.gradient": "detached-votes"}),
    GridRow("no-p-in-s", "p taken out of s (line 20)", changes={"qcn.guide_capsules": False}),
    GridRow("no-p-in-alpha", "p taken out of alpha (line 27)", changes={"qcn.guide_agreement": False}),
    GridRow("raw", "capsules not normalised before attention", changes={"qcn.normalise": False}),
    GridRow("mean", "query from the mean of the words", changes={"qcn.query": "mean"}),
    GridRow("positions", "history words with positions", changes={"history.positions": True}),
    GridRow("gate", "a gate on the context sub-layer", changes={"qcn.gate": True}),
    GridRow("silent", "context sub-layers add nothing at first", changes={"qcn.silent": True}),
    GridRow("unsquashed", "input capsules not squashed", changes={"qcn.squash_words": False}),
    GridRow("spread", "vote matrices started at 0.01", changes={"qcn.spread": 0.01}),
    # What capsules read, who looks at them, and routing that decides.
    _lever("states", "capsules of encoder states", reads="states"),
    _lever("states-gradient", "the same, with gradients into the states", reads="states", gradient_to_states=True),
    _lever("target", "capsules of earlier translations", sides="target"),
    _lever("target-states", "capsules of their decoder states", sides="target", reads="states"),
    _lever("both-sides", "capsules of earlier sentences and of their translations", sides="both"),
    _lever("current", "the sentence itself routed, too", current=True),
    _lever("at-decoder", "the decoder attends to the capsules instead of the encoder", attends="decoder"),
    _lever("at-both", "encoder and decoder attend to the capsules", attends="both"),
    _lever("distances", "a learned vector of its distance added to each capsule", distances=True),
    _lever("sharp", "agreement times 1,000", sharpness=1000.0),
    _lever("sharp-learned", "agreement times a learned factor", sharpness="learned"),
    _lever("identity", "vote matrices started near the identity", start="identity"),
    _lever("parts", "vote matrices started near parts of the identity", start="parts"),
    GridRow(
        "copied",
        "context attention copied from trained attention, which reads capsules of states",
        changes={"context.start": "copied", "qcn.reads": "states", "qcn.start": "identity", "qcn.attends": "both"},
    ),
    # Training signals. Where a signal shows which pronouns are frequent, a sentence-level row with it is the baseline.
    _signal("source-dropout", "a tenth of the source words hidden", source_dropout=0.1),
    _signal("sampled-histories", "a random number of the sentences in view", history_sampling=True),
    _signal("halves", "three in ten long pairs cut in halves", split=0.3),
    _signal("transformer-selected", "Transformer, a third of each batch selected", "transformer", **_SELECTED),
    _signal("selected", "a third of each batch selected", baseline="transformer-selected", **_SELECTED),
    _signal("transformer-emphasised", "Transformer, marked words weigh 5 times", "transformer", **_EMPHASISED),
    _signal("emphasised", "marked words weigh 5 times", baseline="transformer-emphasised", **_EMPHASISED),
    _signal("frozen", "the sentence model held still in the first 100 steps", freeze_inherited_steps=100),
    GridRow("weight-0.1", "regularisation of weight 0.1", "qcn+reg", {"regulariser.weight": 0.1}),
    GridRow("weight-0.3", "regularisation of weight 0.3", "qcn+reg", {"regulariser.weight": 0.3}),
    # Readings of the regulariser; the last three reward only what tells pairs apart.
    _reading("reg-flattened", "the PCC of all capsules joined", correlation="flattened"),
    _reading("reg-bare", "words without positions", positions=False),
    _reading("reg-unmarked", "words without begin and end marks", marks=False),
    _reading("reg-centred", "capsules minus their mean over the batch", centre="batch"),
    _reading("reg-difference", "minus the PCC of mismatched pairs", negatives="batch"),
    _reading("reg-infonce", "InfoNCE over the pairs of the batch", negatives="infonce"),
    GridRow("new-3", "new weights learn 3 times as fast", scaled={LEARNING_RATE: 3, INHERITED_RATE: 1 / 3}),
    GridRow("new-10", "new weights learn 10 times as fast", scaled={LEARNING_RATE: 10, INHERITED_RATE: 1 / 10}),
    *_series("routed", "qcn.rounds", range(1, 4), "routing iteration", "qcn", {}),
    GridRow("exempt", "word vectors learn at the full rate", changes={f"{STAGE}.inherited_exempt": ("embeddings",)}),
    GridRow("transformer-longer", "Transformer, 4 times the steps", "transformer", scaled=LONGER),
    GridRow("longer", "4 times the steps", scaled=LONGER, baseline="transformer-longer"),
    # The points of the paper's figures.
    *_series("history", "history.sentences", range(1, 7), "history sentence"),
    *_series("capsules", "qcn.capsules", range(1, 9), "capsule"),
    *_series("rounds", "qcn.rounds", range(1, 7), "routing iteration"),
)
ROWS: Mapping[str, GridRow] = {row.name: row for row in _TABLE}


@dataclass(frozen=True, slots=True)
class GridLayout:
    """One experiment: its rows and how they are compared."""

    name: str
    title: str
    rows: Mapping[str, GridRow]
    axis: str | None = None
    """For a figure, the setting that its rows differ in."""
    baseline: str | None = None
    """The row that the others are compared with."""
    on_demand: frozenset[str] = frozenset()
    """Rows that are trained only if named."""
    part: Literal["dev", "test"] = "test"
    """The held-out part whose scores are compared."""
    check_every: int | None = None
    """Steps between two checks of contrastive choices in training; None: no checks."""
    timed: bool = False
    """Whether training speed is measured as well."""
    histories: bool = False
    """Whether rows are compared by likelihood with each history, too."""
    translates_dev: bool = True
    """Whether the development part is translated as well."""
    shared_seed: int | None = None
    """The seed of the one sentence model that the rows of all seeds start from; None: each seed has its own."""
    once: frozenset[str] = frozenset()
    """Rows that are trained with the shared seed only, and last, unless they are named."""

    @property
    def per_seed(self) -> bool:
        """Whether each seed has mini-documents of its own, because rows are compared by choices in them."""
        return self.check_every is not None

    @property
    def compares_histories(self) -> bool:
        """Whether rows are also compared by likelihood with each history, as trials are."""
        return self.part == "dev" or self.histories

    def model_seed(self, seed: int) -> int:
        """Return the seed of the sentence model that the rows of a seed start from."""
        return seed if self.shared_seed is None else self.shared_seed

    def skips_test(self, row: GridRow) -> bool:
        """Return whether a row never sees the test part: one for choosing settings, and not of Table 2."""
        return self.part == "dev" and row.name not in LAYOUTS["table2"].rows


_LEVERS = (
    "states states-gradient target target-states both-sides current at-decoder at-both distances sharp sharp-learned "
    "identity parts copied"
)
"""What may let the QCN see more than the paper's: inputs, attention, routing."""
_SIGNALS = (
    "source-dropout sampled-histories halves transformer-selected selected transformer-emphasised emphasised frozen"
)
"""What a document stage may be trained on or for."""
_NAMES = {
    "table2": "transformer transformer+reg qcn qcn+reg zhang han-joint-first han-joint han-first han san concat "
    "capsnet qcn-shuffled qcn-noise zhang-all han-encoder",
    "trials": "transformer qcn joint mean gate positions raw weight-0.1 weight-0.3 qcn+reg new-3 new-10 "
    "routed-1 routed-2 routed-3 silent exempt transformer-longer longer reg-centred reg-difference reg-infonce "
    "concat-n " + _LEVERS + " " + _SIGNALS,
    "routing": "qcn joint last detached capsnet no-p-in-s no-p-in-alpha raw qcn+reg mean positions gate silent "
    "unsquashed spread reg-flattened reg-bare reg-unmarked reg-centred reg-difference reg-infonce " + _LEVERS,
    "rivals": "transformer qcn zhang-all zhang han-encoder han-decoder han-both han-at-once han-joint-first han-joint "
    "han-first han san-online san-sparse san-flat san-decoder san-offline san san-drafts concat-full-rate "
    "concat-2-to-2 concat-n qcn-shuffled qcn-noise",
    "series": "transformer qcn-target qcn-target-shuffled concat-discounted qcn qcn-states qcn-decoder capsnet "
    "han-first han zhang",
}
"""The rows of experiments, in the order of their tables."""


def _table(name: str, title: str, baseline: str, **more: Any) -> GridLayout:
    """Return the layout of a table: the rows that its list names."""
    return GridLayout(name, title, {row: ROWS[row] for row in _NAMES[name].split()}, baseline=baseline, **more)


def _figure(series: str, title: str, axis: str) -> GridLayout:
    """Return the layout of a figure: the rows of a series."""
    rows = {name: row for name, row in ROWS.items() if name.rpartition("-")[0] == series}
    return GridLayout(series, title, rows, axis)


_ON_DEMAND = frozenset({"zhang-all", "han-encoder"})
_COSTLY = frozenset({"reg-centred", "reg-difference", "reg-infonce", "concat-n", *_LEVERS.split(), *_SIGNALS.split()})
_MAIN = frozenset({"transformer", "qcn-target", "qcn-target-shuffled", "concat-discounted"})
"""The rows of the long comparison that are trained with every seed."""
_LAYOUTS = (
    _table("table2", "Table 2: the systems, and controls", "transformer", on_demand=_ON_DEMAND),
    _figure("history", "Figure 4: history sentences (M = 4, 4 iterations)", "history.sentences"),
    _figure("capsules", "Figure 5: capsules (K = 3, 4 iterations)", "qcn.capsules"),
    _figure("rounds", "Routing iterations (K = 3, M = 4)", "qcn.rounds"),
    _table("trials", "Trials: the QCN with one setting changed", "transformer", part="dev", on_demand=_COSTLY),
    _table("routing", "Routing: what the paper leaves open, one option at a time", "qcn", check_every=100),
    _table("rivals", "Rivals: the other systems, and controls", "transformer", check_every=100, timed=True),
    _table(
        "series",
        "The long comparison",
        "transformer",
        histories=True,
        translates_dev=False,
        shared_seed=1,
        once=frozenset(_NAMES["series"].split()) - _MAIN,
    ),
)
LAYOUTS: Mapping[str, GridLayout] = {layout.name: layout for layout in _LAYOUTS}
