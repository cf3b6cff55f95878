"""What goes over the wire: requests and answers, checked on both sides; what is said of them here, OpenAPI says."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from docaps.web.limits import HARDEST_BEAM

Map = list[list[list[float | None]]]

EXAMPLE: dict[str, JsonValue] = {
    "sentences": ["It was surrounded by a high wall."],
    "history": ["David stopped in front of a famous church."],
}


def _checked(text: str) -> str:
    """Refuse what is no text: a NUL, or half of a character."""
    if "\0" in text:
        raise ValueError("a NUL is no character of a text")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("half of a character (a lone surrogate) is no text") from None
    return text


def _up_to_fault(texts: list[Any]) -> list[Any]:
    """Return a list up to and with the first thing in it that is no text."""
    for place, text in enumerate(texts):
        try:
            _checked(text)
        except (TypeError, AttributeError, ValueError):
            return texts[: place + 1]
    return texts


Text = Annotated[str, AfterValidator(_checked)]
MOST_KEYS = 100


class Order(BaseModel):
    """A document to translate, and how."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, json_schema_extra={"examples": [EXAMPLE]})

    sentences: list[Text] | None = Field(None, description="The document, sentence by sentence. Either this or `text`.")
    text: Text | None = Field(None, description="The document as running text; it is split into sentences first.")
    history: list[Text] = Field(
        default_factory=list, description="Sentences that came before the document: read, but not translated."
    )
    model: Text | None = Field(None, description="A name of `/v1/models`; without one, the first model.")
    context: bool = Field(True, description="Whether the model may look at earlier sentences; false hides them.")
    beam: Annotated[int, Field(ge=1, le=HARDEST_BEAM)] | None = Field(
        None, description="Hypotheses kept at each step; 1 is greedy search. Without it, what the run was set to."
    )
    nbest: Annotated[int, Field(ge=1, le=HARDEST_BEAM)] = Field(
        1, description="How many of the best translations of each sentence come as `alternatives`."
    )
    routing: bool = Field(False, description="Whether to tell what the routing did with each word of the history.")

    @model_validator(mode="before")
    @classmethod
    def _few_faults(cls, given: Any) -> Any:
        """Leave out what comes after a first fault: to tell of half a million would keep everybody waiting."""
        if not isinstance(given, dict):
            return given
        if len(given) > MOST_KEYS:
            raise ValueError(f"{len(given)} fields are too many")
        lists = {name: given[name] for name in ("sentences", "history") if isinstance(given.get(name), list)}
        return {**given, **{name: _up_to_fault(texts) for name, texts in lists.items()}}

    @model_validator(mode="after")
    def _one_document(self) -> "Order":
        if (self.sentences is None) == (self.text is None):
            raise ValueError("give either 'sentences' or 'text'")
        if self.beam is not None and self.beam < self.nbest:
            raise ValueError(f"nbest {self.nbest} needs a beam as wide: found beam {self.beam}")
        return self


class Alternative(BaseModel):
    """One of the best translations of a sentence."""

    translation: str
    score: float
    log_probability: float


class RoutedHistory(BaseModel):
    """One earlier sentence, and what the routing did with its words: `[iteration][capsule][word]`."""

    distance: int = Field(description="How many sentences back; 1 is the sentence just before.")
    words: list[str] = Field(description="Its words as the model sees them, in pieces.")
    coupling: Map | None = Field(None, description="Coupling coefficients: how each word is shared out among capsules.")
    pcc: Map | None = Field(None, description="Pearson correlation of each word with the query, which is the sentence.")


class Sentence(BaseModel):
    """A sentence and its translation."""

    source: str
    translation: str
    score: float = Field(description="Log-probability of the translation, divided by the length penalty.")
    log_probability: float
    alternatives: list[Alternative] | None = None
    routing: list[RoutedHistory] | None = Field(
        None, description="Nearest sentence first; empty where there is no history or the model has no capsules."
    )


class Answer(BaseModel):
    """A translated document: as many sentences as came in, in their order."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "translations": [
                        {
                            "source": "It was surrounded by a high wall.",
                            "translation": "Sie war von einer hohen Mauer umgeben.",
                            "score": -0.02,
                            "log_probability": -0.04,
                        }
                    ],
                    "model": "document",
                    "paragraphs": None,
                }
            ]
        }
    )

    translations: list[Sentence]
    model: str
    paragraphs: list[int] | None = Field(None, description="Of a `text`: how many sentences each paragraph has.")


class Step(Sentence):
    """A finished sentence of a document that is still being translated (`event: sentence`)."""

    index: int = Field(description="Its place in the document, from 0.")
    total: int = Field(description="How many sentences the document has.")


class End(BaseModel):
    """The last event of a stream (`event: done`)."""

    model: str
    sentences: int
    paragraphs: list[int] | None = None


class ModelCard(BaseModel):
    """A model that can be asked for."""

    name: str
    system: str = Field(description="The system's name in `docaps variants`.")
    title: str
    source_language: str
    target_language: str
    history: int = Field(description="How many earlier sentences the model looks at.")
    beam: int
    parameters: int
    default: bool


class ModelCards(BaseModel):
    """All models of the service, the default first."""

    models: list[ModelCard]
    largest_request: int = Field(description="Most bytes of a request.")


class Detail(BaseModel):
    """One fault of a request."""

    where: str = Field(description="The field, such as `sentences.3`.")
    message: str


class Fault(BaseModel):
    """Why a request is not answered."""

    error: str
    details: list[Detail] | None = None


class Health(BaseModel):
    """Whether the process lives, or is ready for requests."""

    status: str


def dump(message: BaseModel) -> str:
    """Write a message as JSON; what was not asked for is left out, and what is no number is null."""
    return message.model_dump_json(exclude_none=True)


def describe(status: int) -> dict[str, Any]:
    """Describe an answer that says why there is none."""
    return {"model": Fault, "description": FAULTS[status]}


FAULTS = {
    400: "The body of the request is not text at all.",
    401: "The service asks for a bearer token, and this is not the right one.",
    404: "There is no such thing here.",
    408: "The request did not arrive in time.",
    413: "The request is larger than the service takes.",
    421: "The request names a host that this service does not answer for.",
    422: "The request is not as described here, or beyond the limits; `details` names the fields.",
    429: "Too many sentences wait already: try again after `Retry-After` seconds.",
    500: "The server failed at this request; others are not affected.",
    503: "The translation took too long, or the server is about to stop.",
}
