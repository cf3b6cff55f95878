"""Settings of a model's parts: sizes, history, and the tables of the built-in context systems."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=1, lt=2**31)]
LayerCount = Annotated[int, Field(ge=1, le=1000)]
Size = Annotated[int, Field(ge=1, le=2**16)]
Weighting = Literal["sparsemax", "softmax"]
LEARNED = "learned"
Activation = Literal["relu", "swish", "gelu"]
PositionLayout = Literal["vaswani", "marian"]
Tables = Literal["shared", "target", "separate"]


def _check_sharpness(value: float | str) -> float | str:
    """Refuse what is neither a number above 0 nor "learned"."""
    if value == LEARNED or (not isinstance(value, str) and value > 0):
        return value
    raise ValueError(f'must be a number above 0, or "{LEARNED}"')


Sharpness = Annotated[float | str, AfterValidator(_check_sharpness)]


class Settings(BaseModel):
    """Base of all settings: frozen; unknown keys are refused; `true` or `"1"` is not a number; numbers are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    EARLIER: ClassVar[Mapping[str, Any]] = {}
    """Settings whose default does something else than earlier versions, which did not know them, and what these did."""

    @classmethod
    def unknown_to(cls, stored: Any) -> dict[str, Any]:
        """Return the settings that the version which stored some did not know, with what it did; tables are nested."""
        known = stored if isinstance(stored, Mapping) else {}
        unknown = {name: value for name, value in cls.EARLIER.items() if name not in known}
        tables = {name: table.unknown_to(known.get(name)) for name, table in cls._tables().items()}
        return unknown | {name: found for name, found in tables.items() if found}

    @classmethod
    def complete(cls, stored: Mapping[str, Any]) -> dict[str, Any]:
        """Return stored settings so that they mean what they meant to the version that stored them."""
        return merge(stored, cls.unknown_to(stored))

    def as_begun(self, stored: Any) -> Self:
        """Return these settings as the version that stored another form of them understands them."""
        return self.with_changes(self.unknown_to(stored))

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """Return these settings with other values for some; those of tables are nested."""
        return self.model_validate(merge(self.model_dump(), changes)) if changes else self

    @classmethod
    def _tables(cls) -> dict[str, type["Settings"]]:
        """Return the classes of the tables among the settings."""
        kinds = {name: field.annotation for name, field in cls.model_fields.items()}
        return {name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, Settings)}


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two nested tables; where both have a value, `above` wins."""
    merged = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], dict) and isinstance(above[key], dict):
            merged[key] = merge(below[key], above[key])
    return merged


def leave_out(values: Mapping[str, Any], unknown: Mapping[str, Any]) -> dict[str, Any]:
    """Return nested tables without the settings that are in others."""
    kept = {key: value for key, value in values.items() if key not in unknown or isinstance(unknown[key], dict)}
    return {key: leave_out(value, unknown[key]) if key in unknown else value for key, value in kept.items()}


class ModelSettings(Settings):
    """The size and shape of the Transformer."""

    encoder_layers: LayerCount = 4
    decoder_layers: LayerCount = 4
    size: Size = Field(512, description="D, the size of word vectors and hidden states")
    feed_forward: Annotated[int, Field(ge=1, le=2**20)] = 2048
    heads: Size = 8
    norm: Literal["pre", "post"] = "post"
    activation: Activation = Field("relu", description="between the two maps of feed-forward networks")
    embeddings: Tables = Field(
        "separate",
        description="shared: one table for source, target and output; target: one for target and output, another one "
        "for the source; separate: three tables",
    )
    scale_embeddings: bool = Field(True, description="multiply word vectors by the root of the size")
    positions: PositionLayout = Field(
        "vaswani",
        description="frequencies of the sinusoids, in D/2 steps down from 1; vaswani: 10000^(-2i/D); marian: the last "
        "one is 1/10000",
    )
    output_bias: bool = Field(False, description="add a trained number to the score of each word")
    norm_epsilon: Annotated[float, Field(gt=0, le=0.1)] = Field(
        1e-5, description="what the layer norms of encoder and decoder add to the variance; Marian adds 1e-6"
    )

    @model_validator(mode="after")
    def _heads_divide_size(self) -> Self:
        if self.size % self.heads or self.size % 2:
            raise ValueError(f"size {self.size} must be even and divisible by the number of heads, {self.heads}")
        return self


class HistorySettings(Settings):
    """Which earlier sentences the model sees."""

    sentences: Size = Field(3, description="K, the number of previous sentences")
    positions: bool = Field(
        False, description="add positions to history words; without them each history sentence is a bag of words"
    )


class QcnSettings(Settings):
    """The query-guided capsule network; settings without a query hold for plain capsules (`capsnet`), too.

    The regulariser's capsule networks have the same capsules, rounds, squash_words, gradient and spread.
    """

    capsules: Size = Field(4, description="M, output capsules per history sentence, or in all if the scope is joint")
    rounds: LayerCount = Field(4, description="routing iterations")
    capsule_size: Size | None = Field(None, description="size of words, query and capsules; none: the model's size")
    scope: Literal["sentence", "joint"] = Field(
        "sentence", description="sentence: route each history sentence alone; joint: route all history words at once"
    )
    squash_words: bool = Field(True, description="squash input capsules as well as output capsules (Eq. 8)")
    query: Literal["sum", "mean"] = Field("sum", description="how words are pooled into the query (Eq. 5)")
    guide_capsules: bool = Field(True, description="use p in the sum that makes a capsule (Alg. 1, line 20)")
    guide_agreement: bool = Field(True, description="use p in the agreement (Alg. 1, line 27)")
    gradient: Literal["all", "last", "detached-votes"] = Field(
        "all",
        description="all: through every iteration; last: through the last one only; detached-votes: not through the "
        "votes in the agreement",
    )
    spread: Annotated[float, Field(gt=0)] | None = Field(
        None,
        description="standard deviation of the vote matrices at the start; none: 1 / root of the capsule size. With a "
        "start near other matrices: of the distance to these; none: a tenth of that",
    )
    normalise: bool = Field(False, description="layer-normalise the capsules before the encoder attends to them")
    gate: bool = Field(False, description="mix sentence and context by a gate instead of adding them")
    silent: bool = Field(
        False,
        description='the older form of context.start = "silent"',
    )
    reads: Literal["embeddings", "states"] = Field(
        "embeddings",
        description="what capsules read; embeddings: the words' vectors; states: those of the sentence model, computed "
        "for each sentence without context",
    )
    gradient_to_states: bool = Field(False, description="let gradients into the states that capsules read")
    sides: Literal["source", "target", "both"] = Field(
        "source",
        description="source: earlier source sentences; target: their translations, given ones in training and own ones "
        "in translation; both: each with a network of its own",
    )
    current: bool = Field(
        False, description="route the sentence itself, too; a sentence without history then has a context as well"
    )
    sharpness: Sharpness = Field(
        1.0, description='factor of the agreement (Alg. 1, line 27); "learned": a weight that starts at 1'
    )
    start: Literal["random", "identity", "parts"] = Field(
        "random",
        description="how the vote matrices start; identity: near the identity, and f at it; parts: each near the "
        "identity of its own part of the numbers",
    )
    attends: Literal["encoder", "decoder", "both"] = Field("encoder", description="whose layers attend to the capsules")
    distances: bool = Field(False, description="add a learned vector for the distance of its sentence to each capsule")

    @model_validator(mode="after")
    def _readings_agree(self) -> Self:
        if self.gradient_to_states and self.reads == "embeddings":
            raise ValueError('gradient_to_states needs reads = "states": embeddings always get gradients')
        if self.current and self.sides == "target":
            raise ValueError('current needs sides = "source" or "both": the sentence has no translation yet')
        if self.distances and self.scope == "joint":
            raise ValueError('distances need scope = "sentence": joint capsules are not of one sentence')
        if self.sharpness == LEARNED and (self.rounds == 1 or self.gradient == "last"):
            raise ValueError(
                'sharpness = "learned" needs rounds above 1 and a gradient other than "last": it would get no gradient '
                f'(found rounds = {self.rounds}, gradient = "{self.gradient}")'
            )
        return self


class ContextSettings(Settings):
    """The fresh attention of layers to the context, in `qcn`, `capsnet`, their controls and `zhang`."""

    start: Literal["random", "silent", "copied"] = Field(
        "random",
        description='how it starts; silent: adding nothing, so that with norm = "pre" training starts at the sentence '
        "model; copied: with the maps of the layer's own self-attention (decoder: of its attention to the source)",
    )


class ZhangSettings(Settings):
    """Context attention with gates (`zhang`); `inherited_rate = 0` in the stage trains only the new weights.

    Defaults are the published form.
    """

    EARLIER: ClassVar[Mapping[str, Any]] = {"end_mark": False, "dropout": "all"}
    """The form before 0.3."""

    layers: LayerCount = Field(1, description="layers of the context encoder")
    decoder: bool = Field(True, description="let the decoder's layers attend to the context, too")
    end_mark: bool = Field(
        True, description="close the context with an end mark, which is all that a first sentence then sees"
    )
    dropout: Literal["layers", "all"] = Field(
        "layers",
        description="layers: only in the layers of the context encoder; all: also on its inputs and before the gates",
    )


class HanSettings(Settings):
    """Hierarchical attention (`han`): over the words of each earlier sentence, then over the sentences.

    Defaults are the published form.
    """

    EARLIER: ClassVar[Mapping[str, Any]] = {
        "queries": "linear",
        "query_gradient": True,
        "marks": True,
        "norm_summaries": False,
        "feed_forward_norm": "model",
        "gate_bias": False,
        "norm_output": False,
    }
    """The form before 0.3."""

    side: Literal["encoder", "decoder", "joint"] = Field(
        "joint",
        description="encoder: source sentences, at its last layer; decoder: their translations, likewise; joint: both",
    )
    queries: Literal["norm", "linear"] = Field(
        "norm", description="what turns a state into the queries of both attentions: layer norms or linear maps"
    )
    query_gradient: bool = Field(False, description="let gradients through the queries into the states")
    marks: bool = Field(False, description="attend to end, begin and unknown tokens, too")
    norm_summaries: bool = Field(True, description="layer-normalise what the attention to a sentence's words returns")
    feed_forward_norm: Literal["pre", "model"] = Field(
        "pre", description="norm of the feed-forward network: before it, whatever the model's, or as in the model"
    )
    gate_bias: bool = Field(True, description="give the gate a bias")
    norm_output: bool = Field(
        True, description="layer-normalise what the gate returns, and the states of sentences without context"
    )
    gradient: bool = Field(False, description="let gradients into the states of the earlier sentences")
    distances: bool = Field(False, description="add a vector for the distance of each sentence")


class SanSettings(Settings):
    """Selective attention (`san`) over the whole document; defaults are the published form."""

    EARLIER: ClassVar[Mapping[str, Any]] = {
        "projection_bias": True,
        "marks": True,
        "residual": True,
        "memory": "current",
        "keys": "last",
        "translations": "given",
    }
    """The form before 0.3."""

    mode: Literal["online", "offline"] = Field(
        "online", description="online: earlier sentences; offline: also later ones"
    )
    side: Literal["encoder", "decoder"] = Field(
        "encoder", description="encoder: source sentences, at its last layer; decoder: their translations, likewise"
    )
    attention: Literal["hierarchical", "flat"] = Field(
        "hierarchical", description="hierarchical: sentences first, then their words; flat: all words at once"
    )
    sentences: Weighting = Field("sparsemax", description="how sentences are weighted (hierarchical only)")
    words: Weighting = Field("softmax", description="how words are weighted")
    projection_bias: bool = Field(False, description="give the projections of the attention a bias")
    marks: bool = Field(False, description="attend to end tokens, too (decoder: to the states that predict them)")
    residual: bool = Field(
        False,
        description="give the feed-forward network a residual connection, and the norm of the model; false: a norm "
        "before and after it",
    )
    memory: Literal["initial", "current"] = Field(
        "initial",
        description="which weights compute the states of other sentences in training: those that the stage starts "
        "from, or those being trained",
    )
    keys: Literal["attended", "last"] = Field(
        "attended",
        description="queries and keys of the decoder: what its last feed-forward network reads, or its last states; "
        "values are last states",
    )
    translations: Literal["drafts", "given"] = Field(
        "drafts",
        description="what the decoder attends to: greedy translations made without context, in training, too; or the "
        "reference in training and its own output in translation",
    )
    reach: Count | None = Field(None, description="at most this many sentences in each direction; none: all")
    gradient: bool = Field(False, description="let gradients into the states of the other sentences")
    distances: bool = Field(False, description="add a vector for the distance of a sentence (online only)")

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        if self.distances and self.mode == "offline":
            raise ValueError('distances need mode = "online": they are counted back from the sentence')
        if self.gradient and self.memory == "initial":
            raise ValueError('gradient needs memory = "current": the weights that a stage starts from are not trained')
        return self


class ConcatSettings(Settings):
    """Concatenation (`concat`): earlier sentences in front of the sentence, with separators."""

    mode: Literal["k-to-1", "2-to-2", "n-to-n"] = Field(
        "k-to-1",
        description="k-to-1: on the source side only; n-to-n: on both sides; 2-to-2: both, one earlier sentence",
    )
    discount: Annotated[float, Field(ge=0, le=1)] = Field(
        0.0,
        description="weight of each word of the earlier translations in the loss, where one of the sentence's own "
        "translation weighs 1, such as 0.01 (2-to-2 and n-to-n)",
    )
    shift: Annotated[int, Field(ge=0, le=1000)] = Field(
        0, description="positions skipped after each earlier sentence, such as the mean length of a sentence"
    )
    segments: bool = Field(False, description="add a trained vector for the distance of each earlier sentence")


class RegulariserSettings(Settings):
    """The regulariser: the correlation of source and target capsules, added to the objective (Eq. 11)."""

    weight: Annotated[float, Field(ge=0)] = Field(1.0, description="lambda, the weight of the PCC in the loss")
    correlation: Literal["capsules", "flattened"] = Field(
        "capsules", description="capsules: one PCC per capsule, averaged; flattened: one PCC over all capsules joined"
    )
    positions: bool = Field(True, description="include word positions, as in the inputs of encoder and decoder")
    marks: bool = Field(True, description="route the marks that end the source and begin the target, like words")
    centre: Literal["none", "batch"] = Field(
        "none", description="batch: subtract the mean of each side's capsules over the batch before the PCC"
    )
    negatives: Literal["none", "batch", "infonce"] = Field(
        "none",
        description="what is rewarded; none: the PCC of matched pairs, as printed; batch: minus the mean PCC of "
        "mismatched pairs of the batch; infonce: the log-probability of the match in the batch, a softmax over PCCs",
    )
    temperature: Annotated[float, Field(gt=0)] = Field(0.1, description="divides the PCCs in InfoNCE's softmax")
