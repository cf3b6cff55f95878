"""Systems: which there are, what each is made of, and the settings of their parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

SystemName = Literal[
    "transformer",
    "transformer+reg",
    "qcn",
    "qcn+reg",
    "capsnet",
    "capsnet+reg",
    "zhang",
    "han",
    "san",
    "concat",
    "qcn-shuffled",
    "qcn-noise",
]
ContextName = Literal["none", "qcn", "capsnet", "zhang", "han", "san", "concat", "qcn-shuffled", "qcn-noise"]
Count = Annotated[int, Field(ge=1)]
Weighting = Literal["sparsemax", "softmax"]


class Settings(BaseModel):
    """Base of all settings: frozen, no key may be unknown, and `true` or `"1"` is no number."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class System:
    """What a system is made of, and where the paper has it."""

    title: str
    context: ContextName = "none"
    regulariser: bool = False
    paper: str | None = None
    """The row of the paper's Table 2; None for what the paper does not have."""
    sees: str = "earlier source sentences"
    """What the system looks at besides the sentence, in a few words."""
    control: bool = False
    """Whether it looks at something that cannot help, to compare."""


SYSTEMS: Mapping[SystemName, System] = {
    "transformer": System("sentence-level Transformer", paper="Transformer", sees="–"),
    "transformer+reg": System(
        "Transformer + regularisation", regulariser=True, paper="Transformer + Regularization Term", sees="–"
    ),
    "qcn": System("Transformer + QCN", "qcn", paper="Transformer + QCN"),
    "qcn+reg": System("Transformer + QCN + regularisation", "qcn", True, "Transformer + QCN + Regularization Term"),
    "capsnet": System("Transformer + plain capsule network", "capsnet"),
    "capsnet+reg": System("Transformer + plain capsule network + regularisation", "capsnet", True),
    "zhang": System("context attention with gates (Zhang et al. 2018)", "zhang", paper="Transformer-DocNMT"),
    "han": System(
        "hierarchical attention (Miculicich et al. 2018)", "han", paper="HAN-DocNMT", sees="earlier sentences"
    ),
    "san": System("selective attention (Maruf et al. 2019)", "san", paper="SAN-DocNMT", sees="the whole document"),
    "concat": System("concatenation (Tiedemann and Scherrer 2017)", "concat", sees="earlier sentences"),
    "qcn-shuffled": System(
        "control: QCN with other histories", "qcn-shuffled", sees="sentences of other documents", control=True
    ),
    "qcn-noise": System("control: QCN with a random memory", "qcn-noise", sees="noise, always the same", control=True),
}
SYSTEM_TITLES: Mapping[SystemName, str] = {name: system.title for name, system in SYSTEMS.items()}


class ModelSettings(Settings):
    """The size and shape of the Transformer."""

    encoder_layers: Count = 4
    decoder_layers: Count = 4
    size: Count = Field(512, description="D, the size of word vectors and hidden states")
    feed_forward: Count = 2048
    heads: Count = 8
    norm: Literal["pre", "post"] = "post"
    embeddings: Literal["shared", "separate"] = Field(
        "separate", description="shared: one table for source, target and output; separate: three tables"
    )

    @model_validator(mode="after")
    def _heads_divide_size(self) -> "ModelSettings":
        if self.size % self.heads or self.size % 2:
            raise ValueError(f"size {self.size} must be even and divisible by the number of heads, {self.heads}")
        return self


class HistorySettings(Settings):
    """Which sentences before the current one the model sees."""

    sentences: Count = Field(3, description="K, the number of previous sentences")
    positions: bool = Field(
        False, description="give history words their positions; without them each history sentence is a bag of words"
    )


class QcnSettings(Settings):
    """The query-guided capsule network; what concerns no query holds for plain capsules (`capsnet`) as well.

    The regulariser's capsule networks have the same capsules, rounds, squash_words and gradient.
    """

    capsules: Count = Field(4, description="M, output capsules per history sentence, or in all if the scope is joint")
    rounds: Count = Field(4, description="routing iterations")
    capsule_size: Count | None = Field(None, description="size of words, query and capsules; none: the model's size")
    scope: Literal["sentence", "joint"] = Field(
        "sentence", description="sentence: route each history sentence alone; joint: route all history words at once"
    )
    squash_words: bool = Field(True, description="squash input capsules as well as output capsules (Eq. 8)")
    query: Literal["sum", "mean"] = Field("sum", description="how the words of the sentence make the query (Eq. 5)")
    guide_capsules: bool = Field(True, description="let p into the sum that makes a capsule (Alg. 1, line 20)")
    guide_agreement: bool = Field(True, description="let p into the agreement (Alg. 1, line 27)")
    gradient: Literal["all", "last", "detached-votes"] = Field(
        "all",
        description="all: through every iteration; last: through the last one only; detached-votes: not through the "
        "votes in the agreement",
    )
    spread: Annotated[float, Field(gt=0)] | None = Field(
        None, description="standard deviation of the vote matrices at the start; none: 1 / root of the capsule size"
    )
    normalise: bool = Field(False, description="layer-normalise the capsules before the encoder attends to them")
    gate: bool = Field(False, description="let a gate weigh sentence against context, instead of adding them")
    silent: bool = Field(
        False,
        description="begin with context sub-layers that find nothing; with norms before sub-layers, and no gate, "
        "training then starts at the sentence model",
    )


class ZhangSettings(Settings):
    """Context attention with gates (`zhang`); train the new weights only by `inherited_rate = 0` in the stage."""

    layers: Count = Field(1, description="layers of the context encoder")
    decoder: bool = Field(True, description="let the decoder's layers look at the context as well as the encoder's")


class HanSettings(Settings):
    """Hierarchical attention (`han`): over the words of each earlier sentence, then over the sentences."""

    side: Literal["encoder", "decoder", "joint"] = Field(
        "joint",
        description="encoder: source sentences, at its last layer; decoder: their translations, likewise; joint: both",
    )
    gradient: bool = Field(False, description="let gradients into the states of the earlier sentences")
    distances: bool = Field(False, description="tell how far back a sentence is; without it they are a set")


class SanSettings(Settings):
    """Selective attention (`san`) over the whole document."""

    mode: Literal["online", "offline"] = Field("online", description="online: sentences before; offline: after as well")
    side: Literal["encoder", "decoder"] = Field(
        "encoder",
        description="encoder: source sentences, at its last layer; decoder: their translations, likewise",
    )
    attention: Literal["hierarchical", "flat"] = Field(
        "hierarchical", description="hierarchical: sentences first, then their words; flat: all words at once"
    )
    sentences: Weighting = Field("sparsemax", description="how sentences are weighted (hierarchical only)")
    words: Weighting = Field("softmax", description="how words are weighted")
    reach: Count | None = Field(None, description="at most so many sentences in each direction; none: all")
    gradient: bool = Field(False, description="let gradients into the states of the other sentences")
    distances: bool = Field(False, description="tell how far back a sentence is (online only)")

    @model_validator(mode="after")
    def _distances_are_known(self) -> "SanSettings":
        if self.distances and self.mode == "offline":
            raise ValueError('distances need mode = "online": they are counted back from the sentence')
        return self


class ConcatSettings(Settings):
    """Concatenation (`concat`): earlier sentences in front of the sentence, a break mark between them."""

    mode: Literal["k-to-1", "2-to-2"] = Field(
        "k-to-1", description="k-to-1: on the source side only; 2-to-2: one earlier sentence on both sides"
    )


class RegulariserSettings(Settings):
    """The term that pulls source and target capsules together."""

    weight: Annotated[float, Field(ge=0)] = Field(1.0, description="lambda, the weight of the PCC in the loss")
    correlation: Literal["capsules", "flattened"] = Field(
        "capsules", description="capsules: one PCC per capsule, averaged; flattened: one PCC over all capsules joined"
    )
    positions: bool = Field(True, description="include word positions, as in the inputs of encoder and decoder")


def check_parts(name: SystemName, history: HistorySettings, concat: ConcatSettings) -> None:
    """Refuse settings of a system that contradict each other."""
    if SYSTEMS[name].context == "concat" and concat.mode == "2-to-2" and history.sentences != 1:
        raise ValueError(
            f'concat.mode = "2-to-2" joins one earlier sentence: set history.sentences = 1 (found {history.sentences})'
        )


class SystemSettings(Settings):
    """All that is needed to build a model, apart from its vocabulary."""

    name: SystemName = "transformer"
    model: ModelSettings = ModelSettings()
    history: HistorySettings = HistorySettings()
    qcn: QcnSettings = QcnSettings()
    zhang: ZhangSettings = ZhangSettings()
    han: HanSettings = HanSettings()
    san: SanSettings = SanSettings()
    concat: ConcatSettings = ConcatSettings()
    regulariser: RegulariserSettings = RegulariserSettings()

    @model_validator(mode="after")
    def _parts_fit(self) -> "SystemSettings":
        check_parts(self.name, self.history, self.concat)
        return self

    @property
    def uses_history(self) -> bool:
        """Say whether the system looks at earlier sentences at all."""
        return SYSTEMS[self.name].context != "none"

    @property
    def uses_regulariser(self) -> bool:
        """Say whether the capsules of source and target are pulled together in training."""
        return SYSTEMS[self.name].regulariser
