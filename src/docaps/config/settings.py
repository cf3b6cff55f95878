"""The settings themselves: frozen and checked; every default stands here and nowhere else."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_serializer, model_validator

SystemName = Literal["transformer", "transformer+reg", "qcn", "qcn+reg", "capsnet", "capsnet+reg"]
ContextName = Literal["none", "qcn", "capsnet"]
Precision = Literal["auto", "float32", "bfloat16"]
TranslationPrecision = Literal["auto", "float32", "bfloat16", "int8"]
Distribution = Literal["ddp", "fsdp"]
Share = Annotated[float, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
Names = tuple[str, ...]
LARGEST_BEAM = 500


def parse_duration(text: str) -> float:
    """Turn a length of time such as "90s", "30m" or "1h30m" into seconds."""
    parts = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", text)
    seconds = (
        sum(int(count or 0) * unit for count, unit in zip(parts.groups(), (3600, 60, 1), strict=True)) if parts else 0
    )
    if not seconds:
        raise ValueError(f'{text!r} is no length of time: write it as in "90s", "30m" or "1h30m"')
    return float(seconds)


def _checked_duration(text: str) -> str:
    parse_duration(text)
    return text


Duration = Annotated[str, AfterValidator(_checked_duration)]


@dataclass(frozen=True, slots=True)
class System:
    """What a system is made of, and where the paper has it."""

    title: str
    context: ContextName = "none"
    regulariser: bool = False
    paper: str | None = None
    """The row of the paper's Table 2; None for what the paper does not have."""


SYSTEMS: Mapping[SystemName, System] = {
    "transformer": System("sentence-level Transformer", paper="Transformer"),
    "transformer+reg": System(
        "Transformer + regularisation", regulariser=True, paper="Transformer + Regularization Term"
    ),
    "qcn": System("Transformer + QCN", "qcn", paper="Transformer + QCN"),
    "qcn+reg": System("Transformer + QCN + regularisation", "qcn", True, "Transformer + QCN + Regularization Term"),
    "capsnet": System("Transformer + plain capsule network", "capsnet"),
    "capsnet+reg": System("Transformer + plain capsule network + regularisation", "capsnet", True),
}
SYSTEM_TITLES: Mapping[SystemName, str] = {name: system.title for name, system in SYSTEMS.items()}


class Settings(BaseModel):
    """Base of all settings: frozen, no key may be unknown, and `true` or `"1"` is no number."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CleaningSettings(Settings):
    """Which training pairs are not trained on; they stay history of the sentences after them."""

    longest: Count | None = Field(None, description="most words on either side; none: no limit")
    ratio: Annotated[float, Field(ge=1)] | None = Field(
        None, description="how many times as long as the other side a side may be; none: any"
    )
    copies: bool = Field(False, description="leave out pairs whose sides are the same")
    duplicates: bool = Field(False, description="leave out pairs that occurred before")


class PreparationSettings(Settings):
    """How raw text becomes token ids."""

    source_language: str = Field("en", description="language code of the source, for tokenisation")
    target_language: str = Field("de", description="language code of the target, for tokenisation")
    subwords: Literal["bpe", "sentencepiece"] = Field(
        "bpe", description="bpe: Moses tokens, truecased, joint BPE; sentencepiece: pieces of raw text"
    )
    truecase: bool = Field(True, description="write words at the beginning of sentences in their usual case (bpe only)")
    merges: Count = Field(30_000, description="joint BPE merge operations")
    minimum_frequency: Count = Field(2, description="BPE stops at pairs rarer than this")
    pieces: Count = Field(32_000, description="size of the SentencePiece vocabulary")
    cleaning: CleaningSettings = CleaningSettings()


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


class RegulariserSettings(Settings):
    """The term that pulls source and target capsules together."""

    weight: Annotated[float, Field(ge=0)] = Field(1.0, description="lambda, the weight of the PCC in the loss")
    correlation: Literal["capsules", "flattened"] = Field(
        "capsules", description="capsules: one PCC per capsule, averaged; flattened: one PCC over all capsules joined"
    )
    positions: bool = Field(True, description="include word positions, as in the inputs of encoder and decoder")


class SystemSettings(Settings):
    """All that is needed to build a model, apart from its vocabulary."""

    name: SystemName = "transformer"
    model: ModelSettings = ModelSettings()
    history: HistorySettings = HistorySettings()
    qcn: QcnSettings = QcnSettings()
    regulariser: RegulariserSettings = RegulariserSettings()

    @property
    def uses_history(self) -> bool:
        """Say whether the system looks at earlier sentences at all."""
        return SYSTEMS[self.name].context != "none"

    @property
    def uses_regulariser(self) -> bool:
        """Say whether the capsules of source and target are pulled together in training."""
        return SYSTEMS[self.name].regulariser


class StageSettings(Settings):
    """One training stage; it makes one run directory."""

    system: SystemName = "transformer"
    init_from: str | None = Field(None, description="name of an earlier stage whose weights are taken over")
    freeze: Names = Field((), strict=False, description="weights whose names begin so are not trained")
    steps: Count = Field(100_000, description="the stage ends after this many steps at the latest,")
    epochs: Count | None = Field(None, description="after this many epochs,")
    budget: Duration | None = Field(None, description='after this much time, such as "90s", "30m" or "1h30m",')
    patience: Count | None = Field(None, description="or after this many validations without a better one")
    extra: bool = Field(False, description="train on the corpus's extra sentence pairs (no documents) as well")
    sampling: Literal["sentences", "documents"] | None = Field(
        None,
        description="sentences: those of like length share a batch; documents: runs of consecutive sentences; none: "
        "as the system needs it",
    )
    batch_tokens: Count = Field(1500, description="padded source + target tokens of a batch")
    accumulate: Count = Field(
        1, description="batches of a step; several processes share them out, each has at least one"
    )
    optimizer: Literal["adam", "adamw"] = "adam"
    learning_rate: Annotated[float, Field(gt=0)] = 1e-4
    inherited_rate: Annotated[float, Field(ge=0)] = Field(
        1.0, description="share of the learning rate for weights taken over from another stage; 0 freezes them"
    )
    inherited_exempt: Names = Field(
        (), strict=False, description="weights whose names begin so learn at the full rate although taken over"
    )
    beta2: Share = Field(0.999, description="Adam's decay of the squared gradient")
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.0, description="AdamW's pull of matrices towards zero")
    schedule: Literal["fixed", "inverse-sqrt", "linear"] = "fixed"
    warmup: Annotated[int, Field(ge=0)] = Field(0, description="steps during which the learning rate rises to its peak")
    dropout: Share = 0.1
    label_smoothing: Share = 0.1
    clip: Annotated[float, Field(gt=0)] = Field(5.0, description="largest norm of the gradient")
    log_every: Count = Field(50, description="steps between two lines of the log")
    validate_every: Count = Field(1000, description="steps between two validations")
    save_every: Count = Field(500, description="steps between two savings of all that is needed to go on after a crash")
    best_by: Literal["dev_loss", "dev_bleu"] = Field(
        "dev_loss", description="what tells the best validation: the loss, or the BLEU of greedy translations"
    )
    result: Literal["best", "last", "average"] = Field(
        "best", description="the stage's model: of the best validation, of the last step, or the mean of the last few"
    )
    averaged: Count = Field(5, description="how many models the mean is of, one from each of the last validations")

    @field_serializer("inherited_exempt", "freeze")
    def _as_json_has_it(self, names: tuple[str, ...]) -> list[str]:
        return list(names)  # a finished run's settings are compared with those asked for

    @model_validator(mode="after")
    def _warmup_ends(self) -> "StageSettings":
        if self.warmup >= self.steps:
            raise ValueError(f"warm-up of {self.warmup} steps must be shorter than the stage, {self.steps} steps")
        if self.weight_decay and self.optimizer == "adam":
            raise ValueError('weight_decay needs optimizer = "adamw"')
        return self


class DecodingSettings(Settings):
    """How translations are searched for."""

    beam: Annotated[int, Field(ge=1, le=LARGEST_BEAM)] = 4
    length_penalty: Annotated[float, Field(ge=0)] = Field(0.6, description="GNMT's alpha; 0 turns it off")
    batch_tokens: Count = Field(4000, description="padded source tokens of a batch, counted once per hypothesis")
    length_factor: Annotated[float, Field(gt=0)] = Field(2.0, description="longest translation = factor x source + 20")
    longest_source: Annotated[int, Field(ge=10)] = Field(
        300, description="tokens of the longest source sentence that is translated in one piece; longer ones are split"
    )
    nbest: Annotated[int, Field(ge=1, le=LARGEST_BEAM)] = Field(
        1, description="how many of the best translations of a sentence are wanted, at most as many as the beam"
    )


class Recipe(Settings):
    """Everything about an experiment."""

    name: str = "unnamed"
    profile: str | None = Field(
        None, description="a recipe that this one builds on: the name of a bundled one, or a file beside this one"
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    precision: Precision = "auto"
    distribution: Distribution = Field(
        "ddp", description="several processes: each holds all weights (ddp) or a part of each (fsdp)"
    )
    preparation: PreparationSettings = PreparationSettings()
    model: ModelSettings = ModelSettings()
    history: HistorySettings = HistorySettings()
    qcn: QcnSettings = QcnSettings()
    regulariser: RegulariserSettings = RegulariserSettings()
    stage: dict[str, StageSettings] = Field(default_factory=dict)
    decoding: DecodingSettings = DecodingSettings()

    @model_validator(mode="after")
    def _stages_follow_each_other(self) -> "Recipe":
        names = list(self.stage)
        for position, (name, stage) in enumerate(self.stage.items()):
            if not re.fullmatch(r"[\w][\w.+-]*", name):
                raise ValueError(f"stage name {name!r} must consist of letters, digits, '_', '-', '+' and '.'")
            if stage.init_from is not None and stage.init_from not in names[:position]:
                raise ValueError(f"stage {name!r} starts from {stage.init_from!r}, which is no stage before it")
        return self

    def system(self, stage: str) -> SystemSettings:
        """Put together what is needed to build the model of a stage."""
        return SystemSettings(
            name=self.stage[stage].system,
            model=self.model,
            history=self.history,
            qcn=self.qcn,
            regulariser=self.regulariser,
        )
