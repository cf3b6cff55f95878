"""The settings of an experiment, frozen and validated; every default is here or in systems.py."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, ValidationError, create_model, field_serializer, model_validator

from docaps.config.model_settings import Count, Settings
from docaps.config.systems import StageTables, SystemName, SystemSettings, SystemTables, changes_of

Precision = Literal["auto", "float32", "bfloat16"]
TranslationPrecision = Literal["auto", "float32", "bfloat16", "int8"]
Distribution = Literal["ddp", "fsdp"]
Share = Annotated[float, Field(ge=0, lt=1)]
Fraction = Annotated[float, Field(ge=0, le=1)]
KeptShare = Annotated[float, Field(gt=0, le=1)]
Names = tuple[str, ...]
MarkName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{0,30}$")]
LARGEST_BEAM = 500


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as "90s", "30m" or "1h30m"."""
    parts = re.fullmatch(r"(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?", text)
    hours, minutes, seconds = map(int, parts.groups(0)) if parts else (0, 0, 0)
    total = 3600 * hours + 60 * minutes + seconds
    if not total:
        raise ValueError(f'{text!r} is not a duration: write it as in "90s", "30m" or "1h30m"')
    return float(total)


Duration = Annotated[str, AfterValidator(lambda text: parse_duration(text) and text)]


class CleaningSettings(Settings):
    """Which pairs are excluded from training; they remain history of the sentences after them."""

    longest: Count | None = Field(None, description="maximum words on either side; none: no limit")
    ratio: Annotated[float, Field(ge=1)] | None = Field(
        None, description="maximum length ratio of the two sides; none: no limit"
    )
    copies: bool = Field(False, description="exclude pairs whose sides are the same")
    duplicates: bool = Field(False, description="exclude pairs that occurred before")


class PreparationSettings(Settings):
    """How raw text becomes token ids."""

    source_language: str = Field("en", description="language code of the source, for tokenisation")
    target_language: str = Field("de", description="language code of the target, for tokenisation")
    subwords: Literal["bpe", "sentencepiece"] = Field(
        "bpe", description="bpe: Moses tokens, truecased, joint BPE; sentencepiece: pieces of raw text"
    )
    truecase: bool = Field(True, description="write the first words of sentences in their usual case (bpe only)")
    merges: Count = Field(30_000, description="joint BPE merge operations")
    minimum_frequency: Count = Field(2, description="BPE merges no pairs rarer than this")
    pieces: Count = Field(32_000, description="size of the SentencePiece vocabulary")
    marks: tuple[MarkName, ...] = Field(
        (),
        strict=False,
        description='reserved entries of the vocabulary that no text is encoded to; `formality` needs ["formal", '
        '"informal"]',
    )
    cleaning: CleaningSettings = CleaningSettings()

    @field_serializer("marks")
    def _as_in_json(self, names: tuple[str, ...]) -> list[str]:
        return list(names)  # the settings in a manifest are compared with the requested ones

    @model_validator(mode="after")
    def _marks_differ(self) -> "PreparationSettings":
        if len(set(self.marks)) < len(self.marks):
            raise ValueError(f"marks: {', '.join(self.marks)} holds a name twice")
        return self


class StageSettings(StageTables):
    """One training stage, which makes one run directory.

    A table of a system below it, such as [stage.NAME.han], changes that table's settings for this stage.
    """

    EARLIER: ClassVar[Mapping[str, Any]] = {"dropout_attention": 0.0, "dropout_feed_forward": 0.0}
    """Before 0.3 only embeddings and sub-layers had dropout."""

    system: SystemName = "transformer"
    init_from: str | None = Field(None, description="name of an earlier stage whose weights this one starts from")
    freeze: Names = Field((), strict=False, description="prefixes of names of weights that are not trained")
    steps: Count = Field(100_000, description="the stage ends after this many steps,")
    epochs: Count | None = Field(None, description="after this many epochs,")
    budget: Duration | None = Field(None, description='after this time, such as "90s", "30m" or "1h30m",')
    patience: Count | None = Field(None, description="or after this many validations without improvement")
    extra: bool = Field(False, description="train on the corpus's extra sentence pairs (without documents) too")
    sampling: Literal["sentences", "documents"] | None = Field(
        None,
        description="sentences: batches of similar length; documents: batches of consecutive sentences; none: as the "
        "system needs, but sentences with `select`",
    )
    source_dropout: Share = Field(
        0.0, description="share of the words of the current source, never of its history, that are hidden as <unk>"
    )
    history_sampling: bool = Field(
        False, description="train each example with a random number of the sentences in view, from none to all"
    )
    split: Fraction = Field(
        0.0, description="share of the pairs of at least 7 source words cut in halves, the first history of the second"
    )
    select: str | None = Field(
        None, description="a file of annotations: sentences that batches hold more of; see `select_share`"
    )
    select_share: Fraction | None = Field(
        None, description="share of each batch that comes from the selected sentences, drawn by their scores"
    )
    select_phenomena: Names | None = Field(None, strict=False, description="phenomena to select; none: all in the file")
    emphasis: str | None = Field(
        None, description="a file of annotations: target tokens that weigh more in the loss; see `emphasis_weight`"
    )
    emphasis_weight: Annotated[float, Field(gt=0, le=1e6)] | None = Field(
        None, description="weight of these target tokens, others have 1; the loss is divided by the sum of weights"
    )
    emphasis_phenomena: Names | None = Field(
        None, strict=False, description="phenomena to emphasise; none: all in the file"
    )
    formality: str | None = Field(
        None, description="a file of annotations: sentences labelled du, ihr or Sie, whose sources may get a tag"
    )
    formality_share: Fraction | None = Field(
        None, description="share of the labelled sentences whose source begins with <formal> or <informal>"
    )
    batch_tokens: Count = Field(1500, description="padded source + target tokens per batch")
    accumulate: Count = Field(1, description="batches per step; several processes share them, each has at least one")
    optimizer: Literal["adam", "adamw"] = "adam"
    learning_rate: Annotated[float, Field(gt=0)] = 1e-4
    inherited_rate: Annotated[float, Field(ge=0)] = Field(
        1.0, description="factor of the learning rate for weights from another stage; 0 freezes them"
    )
    inherited_exempt: Names = Field(
        (), strict=False, description="prefixes of names of inherited weights that learn at the full rate"
    )
    freeze_inherited_steps: Annotated[int, Field(ge=0, lt=2**31)] = Field(
        0, description="weights from another stage are not trained in the first so many steps"
    )
    beta2: Share = Field(0.999, description="Adam's decay of the squared gradient")
    weight_decay: Annotated[float, Field(ge=0)] = Field(0.0, description="AdamW's weight decay, for matrices only")
    schedule: Literal["fixed", "inverse-sqrt", "linear"] = "fixed"
    warmup: Annotated[int, Field(ge=0, lt=2**31)] = Field(
        0, description="steps in which the learning rate rises to its peak"
    )
    dropout: Share = Field(0.1, description="dropout rate of all parts; the next four change it for one part")
    dropout_embeddings: Share | None = Field(None, description="of the inputs of encoder and decoder; none: `dropout`")
    dropout_sublayers: Share | None = Field(None, description="of the outputs of sub-layers; none: `dropout`")
    dropout_attention: Share | None = Field(None, description="of attention weights; none: `dropout`")
    dropout_feed_forward: Share | None = Field(
        None, description="inside feed-forward networks, after the ReLU; none: `dropout`"
    )
    label_smoothing: Share = 0.1
    clip: Annotated[float, Field(gt=0)] = Field(5.0, description="gradients are clipped to this norm")
    log_every: Count = Field(50, description="steps between two rows of the log")
    validate_every: Count = Field(1000, description="steps between two validations")
    save_every: Count = Field(500, description="steps between two saved states, to resume from")
    keep_at: tuple[KeptShare, ...] = Field(
        (), strict=False, description="shares of the steps after which the weights are kept in the run's checkpoints/"
    )
    best_by: Literal["dev_loss", "dev_bleu"] = Field(
        "dev_loss", description="criterion of the best validation: the loss, or the BLEU of greedy translations"
    )
    result: Literal["best", "last", "average"] = Field(
        "best", description="the stage's model: that of the best validation or of the last step, or an average"
    )
    averaged: Count = Field(5, description="models in the average, one from each of the last validations")

    @classmethod
    def unknown_to(cls, stored: Any) -> dict[str, Any]:
        """Return the settings that the version which stored a stage did not know; none, if it had no dropout."""
        dropped = not isinstance(stored, Mapping) or stored.get("dropout", 0.1)
        return super().unknown_to(stored) if dropped else {}

    def sampling_of(self, usual: Literal["sentences", "documents"]) -> Literal["sentences", "documents"]:
        """Return what batches consist of: as set, else as the system needs; sentences are selected one by one."""
        return self.sampling or ("sentences" if self.select is not None else usual)

    @field_serializer("inherited_exempt", "freeze", "select_phenomena", "emphasis_phenomena", "keep_at")
    def _as_in_json(self, values: tuple[Any, ...] | None) -> list[Any] | None:
        return None if values is None else list(values)  # the settings in run.json are compared with the requested ones

    @model_validator(mode="after")
    def _settings_agree(self) -> "StageSettings":
        if self.warmup >= self.steps:
            raise ValueError(f"warm-up of {self.warmup} steps must be shorter than the stage, {self.steps} steps")
        if self.weight_decay and self.optimizer == "adam":
            raise ValueError('weight_decay needs optimizer = "adamw"')
        return self

    @model_validator(mode="after")
    def _files_have_their_numbers(self) -> "StageSettings":
        """Refuse a file of annotations that would have no effect, and a number or a list without its file."""
        for name, number in (("select", "share"), ("emphasis", "weight"), ("formality", "share")):
            if (getattr(self, name) is None) != (getattr(self, f"{name}_{number}") is None):
                raise ValueError(f"{name} and {name}_{number} belong together: a file, and a number")
        for name, phenomena in (("select", self.select_phenomena), ("emphasis", self.emphasis_phenomena)):
            if phenomena and getattr(self, name) is None:
                raise ValueError(f"{name}_phenomena needs {name}, a file of annotations")
        if self.select is not None and self.sampling == "documents":
            raise ValueError('select needs sampling = "sentences": documents are trained on whole')
        return self

    @property
    def kept_steps(self) -> tuple[int, ...]:
        """Return the steps after which the weights are kept."""
        return tuple(sorted({max(1, round(share * self.steps)) for share in self.keep_at}))

    @property
    def changes(self) -> dict[str, dict[str, Any]]:
        """Return the changes of each of the system's tables that the stage changes."""
        tables = {name: value for name, value in self.__dict__.items() if isinstance(value, Settings)}
        return {name: table.model_dump(exclude_none=True) for name, table in tables.items()}

    def training(self) -> dict[str, Any]:
        """Return the settings of the training itself, without those of the system."""
        own = StageSettings.model_fields.keys() - StageTables.model_fields.keys()
        return self.model_dump(include=set(own))


class DecodingSettings(Settings):
    """Settings of the search for translations."""

    beam: Annotated[int, Field(ge=1, le=LARGEST_BEAM)] = 4
    length_penalty: Annotated[float, Field(ge=0, le=10)] = Field(0.6, description="GNMT's alpha; 0 turns it off")
    batch_tokens: Count = Field(4000, description="padded source tokens of a batch, counted once per hypothesis")
    length_factor: Annotated[float, Field(gt=0, le=100)] = Field(
        2.0, description="longest translation = factor x source"
    )
    length_margin: Annotated[int, Field(ge=1, le=10_000)] = Field(20, description="+ this many tokens")
    longest_source: Annotated[int, Field(ge=10, le=100_000)] = Field(
        300, description="maximum source tokens of a sentence; longer sentences are split"
    )
    nbest: Annotated[int, Field(ge=1, le=LARGEST_BEAM)] = Field(
        1, description="size of the n-best list, at most the beam"
    )
    precision: TranslationPrecision = Field(
        "float32",
        description="number format in which experiments and reports translate; `docaps translate` has --precision",
    )


class Recipe(SystemTables):
    """Everything about an experiment."""

    name: str = "unnamed"
    profile: str | None = Field(
        None, description="a recipe that this one extends: the name of a bundled one, or a file beside this one"
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 1
    precision: Precision = "auto"
    distribution: Distribution = Field(
        "ddp", description="with several processes, each holds all weights (ddp) or a shard of each (fsdp)"
    )
    preparation: PreparationSettings = PreparationSettings()
    stage: dict[str, StageSettings] = Field(default_factory=dict)
    decoding: DecodingSettings = DecodingSettings()

    @classmethod
    def unknown_to(cls, stored: Any) -> dict[str, Any]:
        """Return the settings that the version which stored a recipe did not know, those of its stages included."""
        stages = {name: StageSettings.unknown_to(stage) for name, stage in _stages_in(stored).items()}
        found = {name: stage for name, stage in stages.items() if stage}
        return super().unknown_to(stored) | ({"stage": found} if found else {})

    def as_begun(self, stored: Any) -> Self:
        """Return this recipe as the version that stored another form of it understands it, whatever stages that has."""
        common = {name: stage for name, stage in _stages_in(stored).items() if name in self.stage}
        return super().as_begun({**stored, "stage": common} if isinstance(stored, Mapping) else stored)

    @model_validator(mode="after")
    def _stages_are_in_order(self) -> "Recipe":
        names = list(self.stage)
        for position, (name, stage) in enumerate(self.stage.items()):
            if not re.fullmatch(r"[\w][\w.+-]*", name):
                raise ValueError(f"stage name {name!r} must consist of letters, digits, '_', '-', '+' and '.'")
            if stage.init_from is not None and stage.init_from not in names[:position]:
                raise ValueError(f"stage {name!r} starts from {stage.init_from!r}, which is not an earlier stage")
            self._check_system(name)
        return self

    def _check_system(self, stage: str) -> None:
        """Refuse a stage whose system has settings that contradict each other."""
        try:
            self.system(stage)
        except ValidationError as fault:
            faults = [(*error["loc"], error["msg"].removeprefix("Value error, ")) for error in fault.errors()]
            raise ValueError("; ".join(": ".join(map(str, (f"stage {stage!r}", *parts))) for parts in faults)) from None

    def system(self, stage: str) -> SystemSettings:
        """Return the settings of a stage's model: the recipe's tables with the changes of the stage."""
        return self.for_system(self.stage[stage].system, self.stage[stage].changes)

    @classmethod
    def _with_plugins(cls, tables: Mapping[str, type[Settings]]) -> dict[str, Any]:
        """Add the tables of plug-ins to the recipe and to its stages."""
        stage = create_model("StageSettings", __base__=StageSettings, __module__=__name__, **changes_of(tables))
        stages: Any = (dict[str, stage], Field(default_factory=dict))
        return {**super()._with_plugins(tables), "stage": stages}

    @classmethod
    def _taken_names(cls) -> dict[str, Any]:
        return {**dict.fromkeys(StageSettings.model_fields), **super()._taken_names()}


def _stages_in(stored: Any) -> dict[str, Mapping[str, Any]]:
    """Return the stages of a stored recipe, whatever else it may be."""
    stages = stored.get("stage") if isinstance(stored, Mapping) else None
    found = stages.items() if isinstance(stages, Mapping) else ()
    return {name: stage for name, stage in found if isinstance(stage, Mapping)}
