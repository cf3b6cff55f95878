"""Request and response models of the HTTP API, and the limits on a request; server and client validate with them.

The descriptions here also appear in /openapi.json.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, JsonValue, Tag, model_validator

MAX_BEAM = 32
"""No option allows a wider beam: the cost of a request grows with it."""
MAX_FIELDS = 100
"""A JSON object with more fields is rejected before each of them is validated."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of the service; the only place for the defaults of the options of `docaps serve`."""

    body: int = 1_000_000  # bytes per request
    file: int = 10_000_000  # bytes per uploaded file
    sentences: int = 2_000  # per request; its history may have as many again
    characters: int = 5_000  # per sentence
    beam: int = 16  # width
    queue: int = 20_000  # sentences of all requests that wait for one model
    routing: int = 200_000  # numbers in the routing of all sentences of a request
    seconds: float = 120.0  # per request, from its first byte to its last translation
    connections: int = 1_000  # open at the same time
    terms: int = 5_000  # in the glossary of a request
    term: int = 200  # characters of a form of a term
    answer: int = 10_000_000  # characters of a response with n-best lists or alignments, estimated from its request


def _check_text(text: str) -> str:
    """Reject NUL characters and lone surrogates."""
    if "\0" in text:
        raise ValueError("a NUL character is not allowed in text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("a lone surrogate is not a valid character") from None
    return text


Text = Annotated[str, AfterValidator(_check_text)]
Sentences = Annotated[list[Text], Field(fail_fast=True)]
"""Only the first error is reported: half a million of them would block the server."""
Beam = Annotated[int, Field(ge=1, le=MAX_BEAM)]
TermForms = Annotated[
    Annotated[Text, Tag("form")] | Annotated[list[Text], Field(min_length=1, fail_fast=True), Tag("forms")],
    Discriminator(lambda given: "form" if isinstance(given, str) else "forms"),
]
TermPair = Annotated[list[TermForms], Field(min_length=2, max_length=2)]
"""A term and its translation; either may be a list of forms, the preferred one first."""
TermPairs = Annotated[list[TermPair], Field(fail_fast=True)]
RequestGlossary = Annotated[
    Annotated[TermPairs, Tag("pairs")] | Annotated[Text, Tag("text")],
    Discriminator(lambda given: "text" if isinstance(given, str) else "pairs"),
]
RoutingMap = list[list[list[float | None]]]
WARNING = "If the document is far from what the model was trained on: how many of its words are rare or unknown."
NOTES = "What is not as it should be, such as cues that are too long to be read, with their lines."
REQUEST_EXAMPLE: dict[str, JsonValue] = {
    "sentences": ["It was surrounded by a high wall."],
    "history": ["David stopped in front of a famous church."],
}
RESPONSE_EXAMPLE: dict[str, JsonValue] = {
    "translations": [
        {
            "source": "It was surrounded by a high wall.",
            "translation": "Sie war von einer hohen Mauer umgeben.",
            "score": -0.02,
            "log_probability": -0.04,
            "confidence": {"mean_log_probability": -0.004, "words": 7, "rare_words": 0, "length_ratio": 1.1},
        }
    ],
    "model": "document",
    "paragraphs": None,
}


class TranslationRequest(BaseModel):
    """A document to translate, with options."""

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, json_schema_extra={"examples": [REQUEST_EXAMPLE]}
    )

    sentences: Sentences | None = Field(None, description="The document as a list of sentences; give this or `text`.")
    text: Text | None = Field(None, description="The document as running text; the service splits it into sentences.")
    history: Sentences = Field(
        default_factory=list, description="Sentences that precede the document: used as context, not translated."
    )
    model: Text | None = Field(None, description="A model name from `/v1/models`; by default the first model.")
    context: bool = Field(True, description="Whether the model sees earlier sentences.")
    glossary: RequestGlossary | None = Field(
        None,
        description="Terms that the translation must keep to: a list of pairs `[source, target]`, where either may be "
        "a list of forms, or the text of a glossary file: tab-separated, or TBX.",
        examples=[[["wall", "Mauer"], [["church", "churches"], ["Kirche", "Kirchen"]]]],
    )
    formality: Literal["formal", "informal"] | None = Field(
        None, description="How the translation addresses people; for models whose card has `formality`."
    )
    beam: Beam | None = Field(None, description="Beam width; 1 is greedy search. By default the setting of the run.")
    nbest: Beam = Field(1, description="Number of best translations of each sentence to return in `alternatives`.")
    alignment: bool = Field(False, description="Whether to return which words of a sentence and its translation match.")
    routing: bool = Field(
        False, description="Whether to return the routing of each word of the history; for a few sentences at a time."
    )

    @model_validator(mode="before")
    @classmethod
    def _check_number_of_fields(cls, given: Any) -> Any:
        if isinstance(given, dict) and len(given) > MAX_FIELDS:
            raise ValueError(f"{len(given)} fields are too many")
        return given

    @model_validator(mode="after")
    def _check_combination(self) -> "TranslationRequest":
        if (self.sentences is None) == (self.text is None):
            raise ValueError("give either 'sentences' or 'text'")
        if self.beam is not None and self.beam < self.nbest:
            raise ValueError(f"nbest {self.nbest} needs a beam of at least {self.nbest}: found beam {self.beam}")
        return self


class AlternativeTranslation(BaseModel):
    """One of the n best translations of a sentence."""

    translation: str
    score: float
    log_probability: float


class SentenceRouting(BaseModel):
    """An earlier sentence and the routing of its words, indexed `[iteration][capsule][word]`."""

    distance: int = Field(
        description="How many sentences back; 1 is the sentence immediately before, 0 the sentence itself."
    )
    side: Literal["target"] | None = Field(None, description="target: the words are those of its translation.")
    words: list[str] = Field(description="The subword units of the sentence, as the model sees them.")
    coupling: RoutingMap | None = Field(None, description="Coupling coefficients: the share of each word per capsule.")
    pcc: RoutingMap | None = Field(
        None, description="Pearson correlation of each word with the query, the sentence being translated."
    )


class SentenceConfidence(BaseModel):
    """How much the translation of a sentence can be trusted."""

    mean_log_probability: float | None = Field(None, description="Log-probability per token of the translation.")
    words: int = Field(description="Number of words of the source.")
    rare_words: int = Field(description="Those that are rare in the model's training text, or unknown to it.")
    length_ratio: float | None = Field(None, description="Tokens of the translation per token of the source.")


class SentenceTerm(BaseModel):
    """A term of the glossary in a sentence."""

    source: str = Field(description="The term as the sentence has it.")
    target: str = Field(description="The form in the translation, or, if it is missing, the preferred one.")
    state: Literal["written", "forced", "missing"] = Field(
        description="forced: written only because of the length limit; missing: the model cannot write it."
    )


class SentenceTranslation(BaseModel):
    """A sentence and its translation."""

    source: str
    translation: str
    score: float = Field(description="Log-probability of the translation, divided by the length penalty.")
    log_probability: float
    confidence: SentenceConfidence | None = Field(None, description="None for an empty sentence.")
    alternatives: list[AlternativeTranslation] | None = None
    alignment: list[list[tuple[int, int]]] | None = Field(
        None,
        description="Pairs of a word of the source and one of the translation, each as its first character and the one "
        "after its last; None if they are not known.",
    )
    terms: list[SentenceTerm] | None = Field(None, description="The sentence's terms of the glossary, in order.")
    routing: list[SentenceRouting] | None = Field(
        None, description="Nearest sentence first; empty without history, or if the model has no capsules."
    )


class TranslationResponse(BaseModel):
    """A translated document: one translation per sentence, in order."""

    model_config = ConfigDict(json_schema_extra={"examples": [RESPONSE_EXAMPLE]})

    translations: list[SentenceTranslation]
    model: str
    paragraphs: list[int] | None = Field(None, description="For `text`: the number of sentences in each paragraph.")
    warning: str | None = Field(None, description=WARNING)


class StreamedSentence(SentenceTranslation):
    """A finished sentence of a streamed document (`event: sentence`)."""

    index: int = Field(description="Index of the sentence in the document, from 0.")
    total: int = Field(description="Number of sentences in the document.")


class StreamEnd(BaseModel):
    """The last event of a successful stream (`event: done`)."""

    model: str
    sentences: int
    paragraphs: list[int] | None = None
    warning: str | None = Field(None, description=WARNING)


class ModelCard(BaseModel):
    """A model of the service."""

    name: str
    system: str = Field(description="The name of its system in `docaps variants`.")
    title: str
    source_language: str
    target_language: str
    history: int = Field(description="Number of earlier sentences that the model sees.")
    beam: int
    parameters: int
    formality: bool = Field(description="Whether requests may name a `formality`.")
    default: bool


class ModelList(BaseModel):
    """All models of the service, the default first."""

    models: list[ModelCard]
    largest_request: int = Field(description="Maximum size of a request in bytes.")
    largest_file: int = Field(description="Maximum size of an uploaded file in bytes.")


class ErrorDetail(BaseModel):
    """One error in a request."""

    where: str = Field(description="The field, such as `sentences.3`.")
    message: str


class ErrorResponse(BaseModel):
    """Why a request failed."""

    error: str
    details: list[ErrorDetail] | None = None


class Health(BaseModel):
    """State of the service."""

    status: str


def to_json(message: BaseModel) -> str:
    """Serialise a message; fields that are None are left out, and non-finite numbers become null."""
    return message.model_dump_json(exclude_none=True)
