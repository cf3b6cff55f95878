"""The routes of DeepL's API for texts, languages and usage, on the same models, limits and metrics as the own routes.

Point a client of DeepL at this service: `deepl.DeepLClient(token, server_url="http://127.0.0.1:8000")`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel

from docaps.web.deepl_schemas import (
    DeepLError,
    DeepLLanguage,
    DeepLOptions,
    DeepLRequest,
    DeepLResponse,
    DeepLTranslation,
    DeepLUsage,
)
from docaps.web.dialects import JSON_TYPE
from docaps.web.forms import describe_body, parse, read_fields
from docaps.web.glossaries import GlossaryStore
from docaps.web.http_errors import describe_errors, invalid
from docaps.web.language_pairs import REGIONS, LanguagePairs, language_name
from docaps.web.schemas import ModelCard, to_json
from docaps.web.service import Service
from docaps.web.tagged_text import TagHandling
from docaps.web.text_translation import TextRequest, translate_texts

NO_LIMIT = 1_000_000_000_000
"""The limit that `/v2/usage` names: clients take a missing one for an unknown usage."""
FIELDS = ("source_lang", "target_lang")
REFUSALS = describe_errors(400, 403, 421, model=DeepLError)
ERRORS = REFUSALS | describe_errors(408, 413, 429, 500, 503, model=DeepLError)
TYPE_PARAMETER: dict[str, Any] = {
    "name": "type",
    "in": "query",
    "description": "Which languages to list.",
    "schema": {"enum": ["source", "target"], "default": "source"},
}


def respond(message: BaseModel | Sequence[BaseModel], status: int = 200) -> Response:
    """Return a response of JSON."""
    content = to_json(message) if isinstance(message, BaseModel) else f"[{','.join(map(to_json, message))}]"
    return Response(content, status, media_type=JSON_TYPE)


def control_fields(asked: DeepLOptions, card: ModelCard, glossaries: GlossaryStore) -> dict[str, Any]:
    """Return the formality and the glossary of a request as fields of the own API."""
    fields: dict[str, Any] = {}
    wish = asked.formality.removeprefix("prefer_")
    if wish != "default" and (card.formality or not asked.formality.startswith("prefer_")):
        fields["formality"] = "formal" if wish == "more" else "informal"
    if numbers := asked.glossaries:
        if asked.source_lang is None:
            raise invalid("a glossary needs the source language", "source_lang", "name it")
        terms = glossaries.terms(numbers, (card.source_language, card.target_language))
        fields["glossary"] = [list(pair) for pair in terms.items()]
    return fields


@dataclass(frozen=True)
class DeepLTexts:
    """The routes for texts, languages and usage."""

    service: Service
    pairs: LanguagePairs
    glossaries: GlossaryStore

    def add_to(self, app: FastAPI) -> None:
        """Add the routes to an application."""
        routes: Mapping[str, Any] = {"response_class": Response, "tags": ["DeepL"]}
        app.add_api_route(
            "/v2/translate",
            self.translate,
            methods=["POST"],
            responses={**ERRORS, 200: {"model": DeepLResponse}},
            openapi_extra=describe_body(DeepLRequest),
            **routes,
        )
        app.add_api_route(
            "/v2/languages",
            self.languages,
            responses={**REFUSALS, 200: {"model": list[DeepLLanguage]}},
            openapi_extra={"parameters": [TYPE_PARAMETER]},
            **routes,
        )
        app.add_api_route("/v2/usage", self.usage, responses={**REFUSALS, 200: {"model": DeepLUsage}}, **routes)

    async def translate(self, request: Request) -> Response:
        """Translate texts as DeepL's API does; the texts are one document, and each sees those before it."""
        asked = parse(DeepLRequest, await read_fields(request))
        card = self.pairs.choose(asked.source_lang, asked.target_lang, " ".join(asked.text), fields=FIELDS)
        found = await translate_texts(self.service, self._as_job(asked, card), request)
        source = card.source_language.upper()
        return respond(
            DeepLResponse(
                translations=[
                    DeepLTranslation(
                        detected_source_language=source,
                        text=one.best,
                        billed_characters=len(text),
                        confidence=one.confidence,
                        missing_terms=one.missing_terms or None,
                    )
                    for text, one in zip(asked.text, found.texts, strict=True)
                ],
                warning=found.warning,
            )
        )

    def _as_job(self, asked: DeepLRequest, card: ModelCard) -> TextRequest:
        tags = None
        if asked.tag_handling is not None:
            tags = TagHandling(
                asked.tag_handling,
                splitting=frozenset(asked.splitting_tags),
                inline=frozenset(asked.non_splitting_tags),
                ignored=frozenset(asked.ignore_tags),
                outline=asked.outline_detection is not False,
            )
        split = asked.split_sentences or ("nonewlines" if asked.tag_handling == "html" else "1")
        options = control_fields(asked, card, self.glossaries)
        return TextRequest(asked.text, card.name, card.source_language, asked.context, split, tags, options=options)

    async def languages(self, request: Request) -> Response:
        """List the languages that are translated from, or with `type=target` those translated into."""
        kind = (await read_fields(request)).get("type", "source")
        if kind not in ("source", "target"):
            raise invalid("no such type of languages", "type", "source or target")
        codes = self.pairs.sources if kind == "source" else self.pairs.targets
        return respond([one for code in codes for one in self._describe(code, target=kind == "target")])

    def _describe(self, code: str, *, target: bool) -> list[DeepLLanguage]:
        if not target:
            return [DeepLLanguage(language=code.upper(), name=language_name(code))]
        return [
            DeepLLanguage(language=region.upper(), name=language_name(code), supports_formality=self.pairs.formal(code))
            for region in REGIONS.get(code, (code,))
        ]

    async def usage(self) -> Response:
        """Return how many characters were accepted for translation since the service started."""
        return respond(DeepLUsage(character_count=self.service.metrics.characters, character_limit=NO_LIMIT))
