"""The routes for whole files: upload one, ask how far its translation is, fetch the translation.

curl --data-binary @story.srt -H 'Content-Type: application/octet-stream' http://127.0.0.1:8000/v1/files?name=story.srt
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask

from docaps.corpus.formats.encoded_text import is_encoding
from docaps.web.dialects import FILE_TYPE, FILES_PATH, describe_error
from docaps.web.file_store import FileRequest, FileStore, FileUpload, StoredFile
from docaps.web.file_translation import FileTranslator
from docaps.web.forms import read_upload
from docaps.web.http_errors import HttpError, describe_errors, invalid
from docaps.web.language_pairs import LanguagePairs
from docaps.web.schemas import to_json
from docaps.web.service import read_terms

REFUSALS = describe_errors(400, 401, 403, 404, 421)
UPLOAD_ERRORS = describe_errors(400, 401, 403, 408, 413, 415, 421, 422, 429, 503)
FILE_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {FILE_TYPE: {"schema": {"type": "string", "format": "binary"}}}}
}
FILE_CONTENT: dict[str, Any] = {
    "description": "The translated file.",
    "content": {FILE_TYPE: {"schema": {"type": "string", "format": "binary"}}},
}
DELETED: dict[str, Any] = {"description": "The file is deleted."}


class FileState(BaseModel):
    """How far the translation of a file is."""

    id: str = Field(description="The number of the file: whoever knows it can fetch the translation.")
    name: str
    status: Literal["queued", "translating", "done", "downloaded", "error"]
    sentences: int = Field(description="Number of sentences; 0 until the file is read.")
    translated: int = Field(description="How many of them are translated.")
    seconds_left: int | None = None
    result_name: str | None = Field(None, description="What to call the translation.")
    warning: str | None = None
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
            openapi_extra=FILE_BODY,
            **options,
        )
        app.add_api_route(one, self.state, responses={**REFUSALS, 200: {"model": FileState}}, **options)
        results = {**REFUSALS, **describe_errors(422, 500, 503), 200: FILE_CONTENT}
        app.add_api_route(f"{one}/result", self.result, responses=results, **options)
        deletions = {**REFUSALS, 204: DELETED}
        app.add_api_route(one, self.delete, methods=["DELETE"], status_code=204, responses=deletions, **options)

    async def upload(
        self,
        request: Request,
        name: Annotated[str, Query(description="The name of the file; its suffix helps to tell the format.")],
        model: Annotated[str | None, Query(description="A model name from `/v1/models`; by default the first.")] = None,
        context: Annotated[bool, Query(description="Whether the model sees earlier sentences.")] = True,
        formality: Annotated[Literal["formal", "informal"] | None, Query(description="The form of address.")] = None,
        glossary: Annotated[str | None, Query(description="Terms, tab-separated as in a glossary file.")] = None,
        encoding: Annotated[str | None, Query(description="Of subtitles, such as windows-1252; else UTF-8.")] = None,
    ) -> Response:
        """Upload a file to be translated in the background; its format is told by its content and name."""
        options: dict[str, Any] = {"context": context, "formality": formality, "glossary": glossary}
        if glossary:
            read_terms(glossary, self.translator.service.limits)
        if encoding and not is_encoding(encoding):
            raise invalid("no such encoding", "encoding", "a name such as windows-1252 or iso-8859-2")
        asked = FileRequest(self.pairs.card(model).name, options=options, encoding=encoding)
        upload = self.store.create(name)
        with upload:
            async for piece in request.stream():
                upload.write(piece)
            file = upload.finish(asked)
        self.translator.begin(file)
        return Response(to_json(describe_file(file)), 202, media_type="application/json")

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
