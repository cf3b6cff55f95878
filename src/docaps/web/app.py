"""The routes: what can be asked, and what is answered."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from typing import Any

import anyio
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import StreamingResponse
from starlette.exceptions import HTTPException

from docaps import __version__
from docaps.web.faults import RefusalError
from docaps.web.guard import BEGUN, Access, Guard
from docaps.web.messages import Answer, Detail, Health, ModelCards, Order, describe, dump
from docaps.web.model_worker import RequestError
from docaps.web.resources import Resource, load_resources
from docaps.web.service import Service
from docaps.web.streaming import GoneError, collect, events

CLOSED = 499
"""What the log says of a client that did not wait for its answer; nobody is there to read it."""
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: describe(status) for status in (400, 401, 408, 413, 421, 422, 429, 500, 503)
}
EVENT = {
    "type": "object",
    "description": "One event; its data is JSON: a sentence with `index` and `total`, the end, or what went wrong.",
    "properties": {"event": {"enum": ["sentence", "done", "error"]}, "data": {"type": "string"}},
    "required": ["event", "data"],
}
EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "`event: sentence` for each sentence in order, then `event: done`, or `event: error`.",
        "content": {"text/event-stream": {"schema": EVENT}},
    }
}


def build_app(service: Service, access: Access | None = None, *, origins: Collection[str] = ()) -> FastAPI:
    """Make the application around a service."""

    @asynccontextmanager
    async def at_work(_: FastAPI) -> AsyncIterator[None]:
        service.start()
        yield
        await anyio.to_thread.run_sync(service.stop)

    app = FastAPI(
        title="docaps",
        version=__version__,
        summary="Translate whole documents, each sentence with the sentences before it in view.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=at_work,
    )
    _add_translations(app, service)
    _add_state(app, service)
    for address, resource in load_resources().items():
        app.get(address, include_in_schema=False)(_serving(resource))
    _add_faults(app)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    app.add_middleware(Guard, service=service, access=access or Access())
    return app


def _add_translations(app: FastAPI, service: Service) -> None:
    """Add what the service is for."""

    def left(request: Request) -> float:
        """Return how many seconds of the time for this request are left; its first byte began it."""
        return float(request.scope[BEGUN]) + service.limits.seconds - time.monotonic()

    @app.post("/v1/translate", response_model=Answer, responses=REFUSALS, tags=["translation"])
    async def translate(request: Request, order: Order) -> Response:
        """Translate a document: as many translations come back as sentences went in, in their order."""
        reception = await service.accept(order)
        answer = await collect(reception, request, left(request))
        return Response(dump(answer), media_type="application/json")

    @app.post(
        "/v1/translate/stream",
        response_class=StreamingResponse,
        responses={**REFUSALS, **EVENTS},
        tags=["translation"],
    )
    async def stream(request: Request, order: Order) -> StreamingResponse:
        """Translate a long document: sentences are sent as soon as they are finished, as server-sent events."""
        reception = await service.accept(order, promptly=True)
        return StreamingResponse(events(reception, left(request)), media_type="text/event-stream")

    @app.get("/v1/models", responses={401: describe(401), 421: describe(421)}, tags=["translation"])
    async def models() -> ModelCards:
        """List the models, the default first."""
        return ModelCards(models=service.cards, largest_request=service.limits.body)


def _add_state(app: FastAPI, service: Service) -> None:
    """Add what those ask who look after the service."""

    @app.get("/healthz", tags=["state"])
    async def health() -> Health:
        """Say that the process lives."""
        return Health(status="ok")

    @app.get("/readyz", responses={503: {"model": Health, "description": "Not ready."}}, tags=["state"])
    async def readiness() -> Response:
        """Say whether requests are taken in."""
        status = "draining" if service.draining else "ready" if service.ready else "broken"
        return Response(dump(Health(status=status)), 200 if service.ready else 503, media_type="application/json")

    @app.get(
        "/metrics",
        response_class=Response,
        responses={
            200: {"description": "Numbers for Prometheus.", "content": {"text/plain": {"schema": {"type": "string"}}}},
            401: describe(401),
        },
        tags=["state"],
    )
    async def metrics() -> Response:
        """Give numbers to Prometheus."""
        waiting = {name: worker.queue.waiting for name, worker in service.workers.items()}
        text = service.metrics.render(waiting, service.active)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _serving(resource: Resource) -> Callable[[], Awaitable[Response]]:
    async def serve() -> Response:
        return Response(resource.content, media_type=resource.type, headers={"Cache-Control": "no-cache"})

    return serve


def _add_faults(app: FastAPI) -> None:
    """Answer faults in one form, without what was sent: it may be long, or no text at all."""

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, fault: RequestValidationError) -> Response:
        details = [
            Detail(where=_printable(".".join(map(str, one["loc"][1:]))), message=_printable(_say(one["msg"])))
            for one in fault.errors()[:20]
        ]
        return _answer(RefusalError(422, "the request is not as described in /openapi.json", details))

    @app.exception_handler(HTTPException)
    async def refused(_: Request, fault: HTTPException) -> Response:
        return _answer(RefusalError(fault.status_code, _printable(str(fault.detail)), headers=fault.headers))

    @app.exception_handler(RefusalError)
    async def beyond_limits(_: Request, fault: RefusalError) -> Response:
        return _answer(fault)

    @app.exception_handler(RequestError)
    async def failed(_: Request, __: RequestError) -> Response:
        return _answer(RefusalError(500, "the server failed at this document; others are not affected"))

    @app.exception_handler(GoneError)
    async def gone(_: Request, __: GoneError) -> Response:
        return Response(status_code=CLOSED)


def _say(message: str) -> str:
    """Take off what pydantic puts before our own words."""
    return message.removeprefix("Value error, ")


def _answer(refusal: RefusalError) -> Response:
    return Response(refusal.body, refusal.status, refusal.headers, media_type="application/json")


def _printable(text: str) -> str:
    """Spell out what no text can hold."""
    return text[:200].encode("utf-8", errors="backslashreplace").decode("utf-8")
