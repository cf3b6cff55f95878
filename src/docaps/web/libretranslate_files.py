"""The route of LibreTranslate's API for files, and the address where a client fetches the translation.

That address needs no token, as LibreTranslate's: it has the number of the file, which nobody can guess.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import ClientDisconnect

from docaps.web.access import Access
from docaps.web.deepl_schemas import Code
from docaps.web.dialects import JSON_TYPE, MULTIPART_TYPE
from docaps.web.file_routes import FILE_CONTENT, receive_form, send_result
from docaps.web.file_store import FileRequest, FileStore
from docaps.web.file_translation import FileTranslator
from docaps.web.forms import describe_body, parse
from docaps.web.http_errors import HttpError, describe_errors
from docaps.web.language_pairs import LanguagePairs
from docaps.web.libretranslate_routes import AUTO, ERRORS, Key
from docaps.web.middleware import START_TIME
from docaps.web.schemas import NOTES, WARNING, Limits
from docaps.web.streaming import TIMED_OUT, wait_for_disconnect

DOWNLOAD_ERRORS = describe_errors(400, 404, 421, 422, 500, 503)


class LibreTranslateFile(BaseModel):
    """How to translate a file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source: Code = Field(description="The language of the file; `auto`: it is detected.")
    target: Code = Field(description="The language to translate into.")
    api_key: Key


class LibreTranslateFileResponse(BaseModel):
    """Where the translation is."""

    url: str = Field(alias="translatedFileUrl")
    warning: str | None = Field(None, description=f"Not of LibreTranslate. {WARNING}")
    notes: list[str] | None = Field(None, description=f"Not of LibreTranslate. {NOTES}")


@dataclass(frozen=True)
class LibreTranslateFiles:
    """The routes for files."""

    access: Access
    store: FileStore
    translator: FileTranslator
    pairs: LanguagePairs
    limits: Limits

    def add_to(self, app: FastAPI) -> None:
        """Add the routes to an application."""
        app.add_api_route(
            "/translate_file",
            self.translate,
            methods=["POST"],
            response_class=Response,
            responses={**ERRORS, 200: {"model": LibreTranslateFileResponse}},
            openapi_extra=describe_body(LibreTranslateFile, kinds=[MULTIPART_TYPE], file=True),
            tags=["LibreTranslate"],
        )
        app.add_api_route(
            "/download_file/{number}/{name}",
            self.download,
            response_class=Response,
            responses={**DOWNLOAD_ERRORS, 200: FILE_CONTENT},
            tags=["LibreTranslate"],
        )

    async def translate(self, request: Request) -> Response:
        """Translate a file and return where the translation is; `api_key` must come before the file."""

        def check(fields: dict[str, Any]) -> None:
            self.access.check_key(request.headers, fields.get("api_key"))

        async with receive_form(request, self.store, check) as (upload, fields):
            asked = parse(LibreTranslateFile, fields)
            source = None if asked.source == AUTO else asked.source
            card = self.pairs.choose(source, asked.target, fields=("source", "target"))
            file = upload.finish(FileRequest(card.name, detect=None if source else asked.target))
            await self._wait(self.translator.begin(file), request)
            if file.error is not None:
                raise file.error
        url = f"{request.base_url}download_file/{file.number}/{quote(file.result_name, safe='')}"
        answer = LibreTranslateFileResponse(translatedFileUrl=url, warning=file.warning, notes=file.notes or None)
        return Response(answer.model_dump_json(by_alias=True, exclude_none=True), media_type=JSON_TYPE)

    async def _wait(self, task: "asyncio.Task[None]", request: Request) -> None:
        """Wait for a translation until the deadline (503), or until the client disconnects."""
        left = request.scope[START_TIME] + self.limits.seconds - time.monotonic()
        disconnected = asyncio.ensure_future(wait_for_disconnect(request))
        await asyncio.wait({task, disconnected}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
        disconnected.cancel()
        if not task.done():
            if disconnected.done():
                raise ClientDisconnect
            raise HttpError(503, TIMED_OUT, headers={"Retry-After": "5"})

    async def download(self, number: str, name: str) -> Response:  # noqa: ARG002
        """Return a translated file; it is kept for an hour."""
        return send_result(self.store.find(number))
