"""The FastAPI application: routes of the API, state of the service, files of the web page."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import anyio
from fastapi import FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import StreamingResponse

from docaps import __version__
from docaps.web.access import Access
from docaps.web.deepl_documents import DeepLDocuments
from docaps.web.deepl_glossaries import DeepLGlossaries
from docaps.web.deepl_routes import DeepLTexts
from docaps.web.file_routes import FileRoutes
from docaps.web.file_store import FileStore
from docaps.web.file_translation import FileTranslator
from docaps.web.glossaries import GlossaryStore
from docaps.web.http_errors import add_error_handlers, describe_errors
from docaps.web.language_pairs import LanguagePairs
from docaps.web.libretranslate_files import LibreTranslateFiles
from docaps.web.libretranslate_routes import LibreTranslateTexts
from docaps.web.middleware import START_TIME, ServiceMiddleware
from docaps.web.schemas import Health, ModelList, TranslationRequest, TranslationResponse, to_json
from docaps.web.service import Service
from docaps.web.streaming import collect, stream_events

TRANSLATION_ERRORS = describe_errors(400, 401, 403, 408, 413, 415, 421, 422, 429, 500, 503)
EVENT_SCHEMA = {
    "type": "object",
    "description": "A server-sent event; its data is JSON: a sentence with `index` and `total`, the end, or an error.",
    "properties": {"event": {"enum": ["sentence", "done", "error"]}, "data": {"type": "string"}},
    "required": ["event", "data"],
}
EVENT_STREAM: dict[str, Any] = {
    "description": "`event: sentence` for each sentence in order, then `event: done`, or `event: error`.",
    "content": {"text/event-stream": {"schema": EVENT_SCHEMA}},
}
METRICS_TEXT: dict[str, Any] = {
    "description": "Metrics in the Prometheus text format.",
    "content": {"text/plain": {"schema": {"type": "string"}}},
}
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml", "txt": "text/plain"}
SCRIPTS = ("page.js", "differences.js", "routing.js", "service.js", "downloads.js", "files.js", "nodes.js", "docs.js")
PAGE_FILES: Mapping[str, tuple[str, str]] = {
    "/": ("docaps.web.static", "index.html"),
    "/docs": ("docaps.web.static", "docs.html"),
    "/favicon.ico": ("docaps.web.static", "icon.svg"),
    "/static/report.css": ("docaps.report", "page.css"),  # the page looks like the report
    **{f"/static/{name}": ("docaps.web.static", name) for name in ("page.css", "docs.css", "example.txt", *SCRIPTS)},
}


def build_app(service: Service, access: Access) -> FastAPI:
    """Build the application around a service."""
    pairs, glossaries, store = LanguagePairs(service.cards), GlossaryStore(), FileStore(service.limits.file)
    translator = FileTranslator(service, store, pairs)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        store.open()
        yield
        await translator.stop()
        store.close()
        await anyio.to_thread.run_sync(service.stop)

    app = FastAPI(
        title="docaps",
        version=__version__,
        summary="Translate whole documents: the model sees the sentences before each sentence.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    _add_translation_routes(app, service)
    _add_state_routes(app, service)
    FileRoutes(store, translator, pairs).add_to(app)
    DeepLTexts(service, pairs, glossaries).add_to(app)
    DeepLDocuments(store, translator, pairs, glossaries).add_to(app)
    DeepLGlossaries(glossaries, pairs).add_to(app)
    LibreTranslateTexts(service, access, pairs).add_to(app)
    LibreTranslateFiles(access, store, translator, pairs, service.limits).add_to(app)
    for path, (package, name) in PAGE_FILES.items():
        _add_page_file(app, path, files(package).joinpath(name).read_bytes(), TYPES[name.rpartition(".")[2]])
    add_error_handlers(app)
    if access.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(access.origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type"],
        )
    app.add_middleware(ServiceMiddleware, service=service, access=access)
    return app


def _add_translation_routes(app: FastAPI, service: Service) -> None:
    @app.post("/v1/translate", response_model=TranslationResponse, responses=TRANSLATION_ERRORS, tags=["translation"])
    async def translate(request: Request, body: TranslationRequest) -> Response:
        """Translate a document; the response has one translation per sentence, in order."""
        pending = await service.accept(body, request.scope[START_TIME])
        return Response(to_json(await collect(pending, request)), media_type="application/json")

    @app.post(
        "/v1/translate/stream",
        response_class=StreamingResponse,
        responses={**TRANSLATION_ERRORS, 200: EVENT_STREAM},
        tags=["translation"],
    )
    async def stream(request: Request, body: TranslationRequest) -> StreamingResponse:
        """Translate a document and send each sentence as soon as it is finished, as server-sent events."""
        pending = await service.accept(body, request.scope[START_TIME], promptly=True)
        return StreamingResponse(stream_events(pending), media_type="text/event-stream")

    @app.get("/v1/models", responses=describe_errors(400, 401, 403, 421), tags=["translation"])
    async def models() -> ModelList:
        """List the models, the default first."""
        return ModelList(models=service.cards, largest_request=service.limits.body, largest_file=service.limits.file)


def _add_state_routes(app: FastAPI, service: Service) -> None:
    @app.get("/healthz", tags=["state"])
    async def health() -> Health:
        """Report that the process is running."""
        return Health(status="ok")

    @app.get("/readyz", responses={503: {"model": Health, "description": "Not ready."}}, tags=["state"])
    async def readiness() -> Response:
        """Report whether the service accepts requests."""
        status = "draining" if service.draining else "ready" if service.ready else "broken"
        return Response(to_json(Health(status=status)), 200 if service.ready else 503, media_type="application/json")

    refused = describe_errors(401, 403)

    @app.get("/metrics", response_class=Response, responses={200: METRICS_TEXT, **refused}, tags=["state"])
    async def metrics() -> Response:
        """Return the metrics for Prometheus."""
        waiting = {name: worker.queue.waiting for name, worker in service.workers.items()}
        text = service.metrics.render(waiting, service.active)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_page_file(app: FastAPI, path: str, content: bytes, media_type: str) -> None:
    """Serve a file of the page from memory: no request path ever reaches the file system."""

    @app.get(path, include_in_schema=False)
    async def send() -> Response:
        return Response(content, media_type=media_type, headers={"Cache-Control": "no-cache"})
