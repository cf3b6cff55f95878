"""The routes of DeepL's API for documents: upload, status and result."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import FastAPI, Request, Response
from starlette.background import BackgroundTask

from docaps.web.deepl_routes import ERRORS, FIELDS, REFUSALS, control_fields, respond
from docaps.web.deepl_schemas import (
    DeepLDocument,
    DeepLDocumentKey,
    DeepLDocumentStatus,
    DeepLError,
    DeepLOptions,
    DeepLUpload,
)
from docaps.web.dialects import MULTIPART_TYPE
from docaps.web.file_routes import FILE_CONTENT, describe_file, receive_form, send_result
from docaps.web.file_store import FileRequest, FileStore, StoredFile
from docaps.web.file_translation import FileTranslator
from docaps.web.forms import describe_body, parse, read_fields
from docaps.web.glossaries import GlossaryStore
from docaps.web.http_errors import describe_errors
from docaps.web.language_pairs import LanguagePairs

DOCUMENT_ERRORS = REFUSALS | describe_errors(404, 408, 413, model=DeepLError)


@dataclass(frozen=True)
class DeepLDocuments:
    """The routes for documents."""

    store: FileStore
    translator: FileTranslator
    pairs: LanguagePairs
    glossaries: GlossaryStore

    def add_to(self, app: FastAPI) -> None:
        """Add the routes to an application."""
        options: Mapping[str, Any] = {"methods": ["POST"], "response_class": Response, "tags": ["DeepL documents"]}
        upload = describe_body(DeepLUpload, kinds=[MULTIPART_TYPE], file=True)
        key = describe_body(DeepLDocumentKey)
        one = "/v2/document/{number}"
        app.add_api_route(
            "/v2/document",
            self.upload,
            responses={**ERRORS, 200: {"model": DeepLDocument}},
            openapi_extra=upload,
            **options,
        )
        states = {**DOCUMENT_ERRORS, 200: {"model": DeepLDocumentStatus}}
        app.add_api_route(one, self.state, responses=states, openapi_extra=key, **options)
        results = {**DOCUMENT_ERRORS, **describe_errors(500, 503, model=DeepLError), 200: FILE_CONTENT}
        app.add_api_route(f"{one}/result", self.result, responses=results, openapi_extra=key, **options)

    async def upload(self, request: Request) -> Response:
        """Upload a document to be translated in the background."""
        async with receive_form(request, self.store) as (upload, fields):
            asked = parse(DeepLUpload, fields)
            # Clients that send a stream give its name here: the name of its part is then that of the field.
            file = upload.finish(self._choose(asked), name=asked.filename)
        self.translator.begin(file)
        return respond(DeepLDocument(document_id=file.number, document_key=file.key))

    def _choose(self, asked: DeepLOptions) -> FileRequest:
        """Return how to translate a document; without a source language it is detected once the file is read."""
        card = self.pairs.choose(asked.source_lang, asked.target_lang, fields=FIELDS)
        options = control_fields(asked, card, self.glossaries)
        return FileRequest(card.name, None if asked.source_lang else asked.target_lang, options)

    async def _find(self, number: str, request: Request) -> StoredFile:
        asked = parse(DeepLDocumentKey, await read_fields(request))
        return self.store.find(number, asked.document_key)

    async def state(self, number: str, request: Request) -> Response:
        """Report how far the translation of a document is."""
        state = describe_file(file := await self._find(number, request))
        return respond(
            DeepLDocumentStatus(
                document_id=state.id,
                status=state.status,
                seconds_remaining=state.seconds_left,
                billed_characters=file.characters if state.status == "done" else None,
                error_message=state.error,
                warning=state.warning,
                missing_terms=state.missing_terms or None,
                notes=state.notes,
            )
        )

    async def result(self, number: str, request: Request) -> Response:
        """Return the translated document, once: then it is deleted."""
        file = await self._find(number, request)
        return send_result(file, BackgroundTask(asyncio.to_thread, self.store.remove, file))
