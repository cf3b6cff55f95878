"""The routes of LibreTranslate's API, on the same models, limits and metrics as the own routes.

Point a client of LibreTranslate at this service: `LibreTranslateAPI("http://127.0.0.1:8000", api_key=token)`.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from docaps.web.access import Access
from docaps.web.deepl_routes import respond
from docaps.web.deepl_schemas import Code, Texts
from docaps.web.forms import describe_body, parse, read_fields
from docaps.web.http_errors import describe_errors
from docaps.web.language_pairs import LanguagePairs, detect_languages, language_name
from docaps.web.schemas import MAX_BEAM, WARNING, SentenceConfidence
from docaps.web.service import Service
from docaps.web.tagged_text import TagHandling
from docaps.web.text_translation import TextRequest, TranslatedTexts, translate_texts

AUTO = "auto"
MOST_DETECTED = 1_000
"""Texts whose languages are detected at once."""
EXAMPLE: dict[str, Any] = {"q": "It was surrounded by a high wall.", "source": "en", "target": "de", "format": "text"}
Key = Annotated[str | None, Field(None, description="The token of this service, if it needs one.")]


class LibreTranslateLanguage(BaseModel):
    """A language that is translated from, and those it is translated into."""

    code: str
    name: str
    targets: list[str]


class LibreTranslateDetected(BaseModel):
    """A likely language of a text, and its probability in percent."""

    confidence: float
    language: str


class LibreTranslateRequest(BaseModel):
    """A text to translate, or several that are one document in their order."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra={"examples": [EXAMPLE]})

    q: Texts = Field(description="The text or texts.")
    source: Code = Field(description="The language of the text; `auto`: it is detected.")
    target: Code = Field(description="The language to translate into.")
    format: Literal["text", "html"] = Field("text", description="Whether the text is HTML, whose tags come back.")
    alternatives: Annotated[int, Field(ge=0, lt=MAX_BEAM)] = Field(0, description="How many other translations to add.")
    api_key: Key


class LibreTranslateResponse(BaseModel):
    """The translation of a text, or of each text in order."""

    model_config = ConfigDict(populate_by_name=True)

    translated: str | list[str] = Field(alias="translatedText")
    detected: LibreTranslateDetected | list[LibreTranslateDetected] | None = Field(None, alias="detectedLanguage")
    alternatives: list[str] | list[list[str]] | None = None
    confidence: list[SentenceConfidence] | list[list[SentenceConfidence]] = Field(
        description="Not of LibreTranslate. How much each sentence can be trusted."
    )
    warning: str | None = Field(None, description=f"Not of LibreTranslate. {WARNING}")


class LibreTranslateDetection(BaseModel):
    """A text whose language is asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    q: Annotated[Texts, Field(max_length=MOST_DETECTED)] = Field(description="The text or texts.")
    api_key: Key


class LibreTranslateError(BaseModel):
    """Why a request failed."""

    error: str


Detections = list[LibreTranslateDetected] | list[list[LibreTranslateDetected]]
REFUSALS = describe_errors(400, 403, 421, model=LibreTranslateError)
ERRORS = REFUSALS | describe_errors(408, 413, 429, 500, 503, model=LibreTranslateError)


@dataclass(frozen=True)
class LibreTranslateTexts:
    """The routes for texts and languages."""

    service: Service
    access: Access
    pairs: LanguagePairs

    def add_to(self, app: FastAPI) -> None:
        """Add the routes to an application."""
        rows: list[tuple[str, str, Any, Mapping[Any, Any], Any, dict[str, Any]]] = [
            (
                "POST",
                "/translate",
                self.translate,
                ERRORS,
                LibreTranslateResponse,
                describe_body(LibreTranslateRequest),
            ),
            (
                "POST",
                "/detect",
                self.detect,
                REFUSALS | describe_errors(408, 413, model=LibreTranslateError),
                list[LibreTranslateDetected] | list[list[LibreTranslateDetected]],
                describe_body(LibreTranslateDetection),
            ),
            ("GET", "/languages", self.languages, REFUSALS, list[LibreTranslateLanguage], {}),
        ]
        for method, path, endpoint, errors, model, extra in rows:
            app.add_api_route(
                path,
                endpoint,
                methods=[method],
                response_class=Response,
                responses={**errors, 200: {"model": model}},
                openapi_extra=extra,
                tags=["LibreTranslate"],
            )

    async def _read(self, request: Request) -> dict[str, Any]:
        """Return the fields of a request whose client has the token."""
        fields = await read_fields(request)
        self.access.check_key(request.headers, fields.get("api_key"))
        return fields

    async def translate(self, request: Request) -> Response:
        """Translate a text as LibreTranslate does; several texts are one document, and each sees those before it."""
        fields = await self._read(request)
        asked = parse(LibreTranslateRequest, fields)
        source = None if asked.source == AUTO else asked.source
        card = self.pairs.choose(source, asked.target, " ".join(asked.q), fields=("source", "target"))
        tags = TagHandling("html") if asked.format == "html" else None
        job = TextRequest(asked.q, card.name, card.source_language, tags=tags, nbest=asked.alternatives + 1)
        found = await translate_texts(self.service, job, request)
        detected = None
        if source is None:
            detected = [await self._detected(text, card.source_language) for text in asked.q]
        return _respond(asked, found, detected, single=isinstance(fields["q"], str))

    async def _detected(self, text: str, code: str) -> LibreTranslateDetected:
        """Return the language that a text was translated from, and how likely it is in that language."""
        found = await asyncio.to_thread(detect_languages, text)
        share = next((one.confidence for one in found if one.code == code), 0.0)
        return LibreTranslateDetected(confidence=round(100 * share, 1), language=code)

    async def detect(self, request: Request) -> Response:
        """Return the likely languages of a text, the likeliest first."""
        fields = await self._read(request)
        asked = parse(LibreTranslateDetection, fields)
        lists = [await asyncio.to_thread(_detect, text) for text in asked.q]
        if isinstance(fields["q"], str):
            return respond(lists[0])
        content = ",".join(bytes(respond(one).body).decode() for one in lists)
        return Response(f"[{content}]", media_type="application/json")

    async def languages(self, request: Request) -> Response:
        """List the languages that are translated from, each with those it is translated into."""
        await self._read(request)
        return respond(
            [
                LibreTranslateLanguage(code=code, name=language_name(code), targets=self.pairs.targets_of(code))
                for code in self.pairs.sources
            ]
        )


def _detect(text: str) -> list[LibreTranslateDetected]:
    return [
        LibreTranslateDetected(confidence=round(100 * one.confidence, 1), language=one.code)
        for one in detect_languages(text)
    ]


def _respond(
    asked: LibreTranslateRequest,
    found: TranslatedTexts,
    detected: list[LibreTranslateDetected] | None,
    *,
    single: bool,
) -> Response:
    """Return the translations as a list, or that of a `single` text by itself."""
    best: Any = [one.best for one in found.texts]
    others: Any = [one.ranked[1:] for one in found.texts] if asked.alternatives else None
    confidence: Any = [one.confidence for one in found.texts]
    response = LibreTranslateResponse(
        translated=best[0] if single else best,
        detected=detected[0] if single and detected else detected,
        alternatives=others[0] if single and others else others,
        confidence=confidence[0] if single else confidence,
        warning=found.warning,
    )
    return Response(response.model_dump_json(by_alias=True, exclude_none=True), media_type="application/json")
