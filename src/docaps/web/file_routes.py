"""The routes for whole files: upload one, ask how far its translation is, fetch the translation.

curl --form file=@story.srt http://127.0.0.1:8000/v1/files
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.responses import FileResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.background import BackgroundTask

from docaps.corpus.formats.encoded_text import is_encoding
from docaps.corpus.formats.format import DEFAULT_CHOICES, FileChoices
from docaps.web.dialects import FILE_TYPE, FILES_PATH, JSON_TYPE, MULTIPART_TYPE, describe_error
from docaps.web.file_store import FileRequest, FileStore, FileUpload, StoredFile
from docaps.web.file_translation import FileTranslator
from docaps.web.forms import describe_body, parse, read_upload
from docaps.web.http_errors import HttpError, describe_errors
from docaps.web.language_pairs import LanguagePairs
from docaps.web.schemas import NOTES, WARNING, Text, to_json
from docaps.web.service import read_terms

REFUSALS = describe_errors(400, 401, 403, 404, 421)
UPLOAD_ERRORS = describe_errors(400, 401, 403, 408, 413, 415, 421, 422, 429, 503)
FILE_CONTENT: dict[str, Any] = {
    "description": "The translated file.",
    "content": {FILE_TYPE: {"schema": {"type": "string", "format": "binary"}}},
}
DELETED: dict[str, Any] = {"description": "The file is deleted."}


def _check_encoding(name: str) -> str:
    if not is_encoding(name):
        raise ValueError("no such encoding: expected a name such as windows-1252 or iso-8859-2")
    return name


class FileOptions(BaseModel):
    """How to translate a file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text | None = Field(None, description="The name of the file, if its part of the form has none.")
    model: Text | None = Field(None, description="A model name from `/v1/models`; by default the first.")
    context: bool = Field(True, description="Whether the model sees earlier sentences.")
    formality: Literal["formal", "informal"] | None = Field(None, description="The form of address.")
    glossary: Text | None = Field(None, description="Terms, as the text of a glossary file.")
    encoding: Annotated[Text, AfterValidator(_check_encoding)] | None = Field(
        None, description="Subtitles: encoding of a file that is not UTF-8, such as windows-1252."
    )
    everything: bool = Field(
        False, alias="all", description="PO, XLIFF, TMX: whether to translate what has a translation already."
    )
    line_length: int = Field(
        DEFAULT_CHOICES.line_length, ge=1, le=1000, description="Subtitles: characters of a line, at most."
    )
    lines: int = Field(DEFAULT_CHOICES.lines, ge=1, le=100, description="Subtitles: lines of a cue, at most.")
    reading_speed: float = Field(
        DEFAULT_CHOICES.reading_speed, ge=1, le=1000, description="Subtitles: characters per second, at most."
    )

    @property
    def fields(self) -> dict[str, Any]:
        """The options that a translation request has too."""
        return {"context": self.context, "formality": self.formality, "glossary": self.glossary}

    @property
    def choices(self) -> FileChoices:
        """The options for subtitles and strings."""
        return FileChoices(self.encoding, self.everything, self.line_length, self.lines, self.reading_speed)


class FileState(BaseModel):
    """How far the translation of a file is."""

    id: str = Field(description="The number of the file: whoever knows it can fetch the translation.")
    name: str
    status: Literal["queued", "translating", "done", "downloaded", "error"]
    sentences: int = Field(description="Number of sentences to translate; 0 until the file is read.")
    translated: int = Field(description="How many of them are translated.")
    seconds_left: int | None = None
    result_name: str | None = Field(None, description="What to call the translation.")
    warning: str | None = Field(None, description=WARNING)
    notes: list[str] | None = Field(None, description=NOTES)
    missing_terms: int = Field(0, description="How many terms of the glossary could not be written.")
    error: str | None = Field(None, description="Why the file cannot be translated.")


def describe_file(file: StoredFile) -> FileState:
    """Return the state of a file."""
    file.seen = file.seen or file.status == "error"
    return FileState(
        id=file.number,
        name=file.name,
        status=file.status,
        sentences=file.sentences,
        translated=file.translated,
        seconds_left=file.seconds_left,
        result_name=file.result_name or None,
        warning=file.warning,
        notes=file.notes or None,
        missing_terms=file.missing_terms,
        error=file.error and describe_error(file.error.message()),
    )


def send_result(file: StoredFile, background: BackgroundTask | None = None) -> Response:
    """Return the translation of a file as a download, whatever is in it."""
    if file.error is not None:
        raise file.error
    if file.status != "done":
        raise HttpError(503, "the translation is not finished", headers={"Retry-After": "1"})
    file.seen = True
    name = quote(file.result_name, safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    return FileResponse(file.result, media_type=FILE_TYPE, headers=headers, background=background)


@dataclass(frozen=True)
class FileRoutes:
    """The own routes for files."""

    store: FileStore
    translator: FileTranslator
    pairs: LanguagePairs

    def add_to(self, app: FastAPI) -> None:
        """Add the routes to an application."""
        options: Mapping[str, Any] = {"response_class": Response, "tags": ["files"]}
        one = f"{FILES_PATH}/{{number}}"
        errors = {**UPLOAD_ERRORS, 202: {"model": FileState}}
        app.add_api_route(
            FILES_PATH,
            self.upload,
            methods=["POST"],
            status_code=202,
            responses=errors,
            openapi_extra=describe_body(FileOptions, kinds=[MULTIPART_TYPE], file=True),
            **options,
        )
        app.add_api_route(one, self.state, responses={**REFUSALS, 200: {"model": FileState}}, **options)
        results = {**REFUSALS, **describe_errors(422, 500, 503), 200: FILE_CONTENT}
        app.add_api_route(f"{one}/result", self.result, responses=results, **options)
        deletions = {**REFUSALS, 204: DELETED}
        app.add_api_route(one, self.delete, methods=["DELETE"], status_code=204, responses=deletions, **options)

    async def upload(self, request: Request) -> Response:
        """Upload a file to be translated in the background; its format is told by its content and name."""
        async with receive_form(request, self.store) as (upload, fields):
            asked = parse(FileOptions, fields)
            card = self.pairs.card(asked.model)
            if asked.glossary:
                # In a thread: a large glossary must not block other requests.
                limits, codes = self.translator.service.limits, (card.source_language, card.target_language)
                await asyncio.to_thread(read_terms, asked.glossary, limits, source=codes[0], target=codes[1])
            file = upload.finish(FileRequest(card.name, options=asked.fields, choices=asked.choices), name=asked.name)
        self.translator.begin(file)
        return Response(to_json(describe_file(file)), 202, media_type=JSON_TYPE)

    async def state(self, number: str) -> Response:
        """Report how far the translation of a file is."""
        return Response(to_json(describe_file(self.store.find(number))), media_type="application/json")

    async def result(self, number: str) -> Response:
        """Return the translated file; it is kept for an hour."""
        return send_result(self.store.find(number))

    async def delete(self, number: str) -> Response:
        """Delete a file and its translation, finished or not."""
        self.store.remove(self.store.find(number))
        return Response(status_code=204)


@asynccontextmanager
async def receive_form(
    request: Request, store: FileStore, check: Callable[[dict[str, Any]], None] = lambda _: None
) -> AsyncIterator[tuple[FileUpload, dict[str, Any]]]:
    """Receive a form with a file; yield that and the fields. Nothing of it stays if the form or the block fails.

    `check` gets the fields before the file, and may refuse it before it is read.
    """
    uploads: list[FileUpload] = []
    with ExitStack() as stack:

        def accept(name: str, fields: dict[str, Any]) -> FileUpload:
            check(fields)
            uploads.append(stack.enter_context(store.create(name)))
            return uploads[0]

        fields = await read_upload(request, accept)
        yield uploads[0], fields
