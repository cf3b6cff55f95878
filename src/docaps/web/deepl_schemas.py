"""Schemas of the DeepL routes: what the clients of DeepL send, and what they read."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from docaps.web.schemas import NOTES, WARNING, SentenceConfidence, Text
from docaps.web.text_translation import Split

REFUSED = {
    "style_id": "style rules",
    "translation_memory_id": "translation memories",
    "translation_memory_threshold": "translation memories",
    "custom_instructions": "custom instructions",
    "output_format": "another format than that of the file",
}
"""Parameters of DeepL's API without a meaning here."""


def _as_list(given: Any) -> Any:
    return [given] if isinstance(given, str) else given


def _split_commas(given: Any) -> Any:
    parts = given.split(",") if isinstance(given, str) else given
    return [one.strip() for one in parts if one.strip()] if isinstance(given, str) else parts


def _or_none(given: Any) -> Any:
    return None if given == "" else given


def _as_text(given: Any) -> Any:
    return str(int(given)) if isinstance(given, int) else given


_STRING = {"type": "string"}
Texts = Annotated[
    list[Text],
    Field(fail_fast=True),
    BeforeValidator(_as_list),
    WithJsonSchema({"anyOf": [_STRING, {"type": "array", "items": _STRING}]}),
]
"""Several texts; a single one need not be a list."""
Names = Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=100), BeforeValidator(_split_commas)]
Code = Annotated[str, Field(max_length=20)]
OptionalCode = Annotated[Code | None, BeforeValidator(_or_none)]
DeepLFormality = Literal["default", "more", "less", "prefer_more", "prefer_less"]
EXAMPLE: dict[str, Any] = {
    "text": ["It was surrounded by a high wall."],
    "context": "David stopped in front of a famous church.",
    "source_lang": "EN",
    "target_lang": "DE",
}


CONFIDENCE = "Not of DeepL. How much each sentence can be trusted."
MISSING_TERMS = "Not of DeepL. How many terms of the glossary could not be written."


class DeepLOptions(BaseModel):
    """What texts and documents have in common."""

    # pydantic before 2.10 keeps all names that begin with `model_` for itself
    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    target_lang: Code = Field(description="The language to translate into; a region is ignored.")
    source_lang: OptionalCode = Field(None, description="The language of the texts; by default it is detected.")
    formality: DeepLFormality = Field("default", description="more, less, or prefer_: only if the model can.")
    glossary_id: Annotated[str | None, BeforeValidator(_or_none)] = Field(None, description="A glossary to use.")
    glossary_ids: Names = Field(default_factory=list, description="Several of them; the first that has a term decides.")

    @model_validator(mode="before")
    @classmethod
    def _refuse(cls, given: Any) -> Any:
        for name, what in REFUSED.items():
            if isinstance(given, dict) and given.get(name):
                raise ValueError(f"{name}: this service has no {what}")
        return {key: value for key, value in given.items() if key not in REFUSED} if isinstance(given, dict) else given

    @property
    def glossaries(self) -> list[str]:
        """The numbers of all glossaries to use."""
        return [*([self.glossary_id] if self.glossary_id else []), *self.glossary_ids]


class DeepLUpload(DeepLOptions):
    """How to translate a document."""

    filename: Text | None = Field(None, description="The name of the document, if its part of the form has none.")


class DeepLRequest(DeepLOptions):
    """Texts to translate: one document in their order."""

    model_config = ConfigDict(json_schema_extra={"examples": [EXAMPLE]})

    text: Texts = Field(description="The texts.")
    context: Text = Field("", description="What precedes the texts: used as history, not translated.")
    split_sentences: Annotated[Split | None, BeforeValidator(_as_text)] = Field(
        None,
        description="0: each text is a sentence; 1: cut at line ends and sentence ends; nonewlines: at the latter.",
    )
    preserve_formatting: bool | None = Field(None, description="Without effect: formatting is never corrected.")
    tag_handling: Annotated[Literal["html", "xml"] | None, BeforeValidator(_or_none)] = Field(
        None, description="What the texts are besides plain text; tags come back in place."
    )
    tag_handling_version: Literal["v1", "v2"] | None = Field(None, description="Without effect.")
    outline_detection: bool | None = Field(
        None, description="XML: false: only `splitting_tags` separate sentences; by default others are found, too."
    )
    non_splitting_tags: Names = Field(default_factory=list, description="Tags that do not separate sentences.")
    splitting_tags: Names = Field(default_factory=list, description="Tags that separate sentences.")
    ignore_tags: Names = Field(default_factory=list, description="Tags whose text is not translated.")
    model_type: Literal["quality_optimized", "latency_optimized", "prefer_quality_optimized"] | None = Field(
        None, description="Without effect."
    )
    show_billed_characters: bool = Field(False, description="Without effect: they are always shown.")
    enable_beta_languages: bool | None = Field(None, description="Without effect.")


class DeepLTranslation(BaseModel):
    """A translated text."""

    detected_source_language: str
    text: str
    billed_characters: int
    confidence: list[SentenceConfidence] = Field(description=CONFIDENCE)
    missing_terms: int | None = Field(None, description=MISSING_TERMS)


class DeepLResponse(BaseModel):
    """All translated texts, in order."""

    translations: list[DeepLTranslation]
    warning: str | None = Field(None, description=f"Not of DeepL. {WARNING}")


class DeepLLanguage(BaseModel):
    """A language of the service."""

    language: str
    name: str
    supports_formality: bool | None = None


class DeepLUsage(BaseModel):
    """What was translated since the service started; the limit is a number that nobody reaches."""

    character_count: int
    character_limit: int


class DeepLTable(BaseModel):
    """The terms of a pair of languages."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source_lang: Code
    target_lang: Code
    entries: Text = Field(description="One pair of terms a line.")
    entries_format: Literal["tsv", "csv"] = Field("tsv", description="What separates the two terms.")


class DeepLGlossaryRequest(DeepLTable):
    """A glossary for one pair of languages."""

    name: Text


class DeepLGlossary(BaseModel):
    """A glossary for one pair of languages, without its terms."""

    glossary_id: str
    name: str
    ready: bool = True
    source_lang: str
    target_lang: str
    creation_time: str
    entry_count: int


class DeepLGlossaryList(BaseModel):
    """All glossaries for one pair of languages."""

    glossaries: list[DeepLGlossary]


class DeepLPair(BaseModel):
    """A pair of languages that glossaries may have."""

    source_lang: str
    target_lang: str


class DeepLPairList(BaseModel):
    """All pairs of languages."""

    supported_languages: list[DeepLPair]


class DeepLTableInfo(DeepLPair):
    """A table of a glossary, without its terms."""

    entry_count: int


class DeepLTables(BaseModel):
    """The tables of a glossary with their terms."""

    dictionaries: list[DeepLTable]


class DeepLNamedTables(BaseModel):
    """A glossary for several pairs of languages; to change one, give only what changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text | None = None
    dictionaries: Annotated[list[DeepLTable], Field(max_length=100)] = Field(default_factory=list)


class DeepLTablesInfo(BaseModel):
    """A glossary for several pairs of languages, without its terms."""

    glossary_id: str
    name: str
    dictionaries: list[DeepLTableInfo]
    creation_time: str


class DeepLTablesInfoList(BaseModel):
    """All glossaries."""

    glossaries: list[DeepLTablesInfo]


class DeepLDocument(BaseModel):
    """An accepted document and the key to it."""

    document_id: str
    document_key: str


class DeepLDocumentKey(BaseModel):
    """The key that came with the number of a document."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    document_key: str


class DeepLDocumentStatus(BaseModel):
    """How far a document is."""

    document_id: str
    status: Literal["queued", "translating", "done", "downloaded", "error"]
    seconds_remaining: int | None = None
    billed_characters: int | None = None
    error_message: str | None = None
    warning: str | None = Field(None, description=f"Not of DeepL. {WARNING}")
    missing_terms: int | None = Field(None, description=MISSING_TERMS)
    notes: list[str] | None = Field(None, description=f"Not of DeepL. {NOTES}")


class DeepLError(BaseModel):
    """Why a request failed."""

    message: str
