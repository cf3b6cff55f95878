"""The settings of an experiment: frozen and checked; every default stands here or with the systems."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_serializer, model_validator

from docaps.config.model_settings import Count, Settings
from docaps.config.systems import SystemName, SystemSettings, SystemTables, check_system

Precision = Literal["auto", "float32", "bfloat16"]
TranslationPrecision = Literal["auto", "float32", "bfloat16", "int8"]
Distribution = Literal["ddp", "fsdp"]
Share = Annotated[float, Field(ge=0, lt=1)]
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
    length_factor: Annotated[float, Field(gt=0)] = Field(2.0, description="longest translation = factor x source")
    length_margin: Annotated[int, Field(ge=1)] = Field(20, description="+ this many tokens")
    longest_source: Annotated[int, Field(ge=10)] = Field(
        300, description="tokens of the longest source sentence that is translated in one piece; longer ones are split"
    )
    nbest: Annotated[int, Field(ge=1, le=LARGEST_BEAM)] = Field(
        1, description="how many of the best translations of a sentence are wanted, at most as many as the beam"
    )
    precision: TranslationPrecision = Field(
        "float32",
        description="number format in which experiments and reports translate held-out parts; `docaps translate` has "
        "--precision",
    )


class Recipe(SystemTables):
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
            check_system(stage.system, self)
        return self

    def system(self, stage: str) -> SystemSettings:
        """Put together what is needed to build the model of a stage."""
        return self.for_system(self.stage[stage].system)
