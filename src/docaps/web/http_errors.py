"""Error responses: one JSON form for every failed request, without tracebacks and without the data that was sent."""

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import fastapi
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from docaps.web.dialects import OWN, ApiDialect, dialect_of
from docaps.web.model_worker import RequestError
from docaps.web.request_queue import RoutingTooLargeError
from docaps.web.schemas import ErrorDetail, ErrorResponse

CLIENT_CLOSED_REQUEST = 499
"""Status in the metrics of a request whose client disconnected early; it is never received."""
DESCRIPTIONS = {
    400: "The request is not valid: the message says why.",
    401: "The bearer token is missing or wrong.",
    403: "The key is missing or wrong, or a page of another origin sent the request.",
    404: "There is nothing of that number.",
    408: "The request did not arrive in time.",
    413: "The request is too large.",
    415: "The body is not declared as JSON.",
    421: "The service does not answer for this host name.",
    422: "The request does not match the schema or exceeds a limit; `details` names the fields.",
    429: "The queue is full: retry after `Retry-After` seconds.",
    500: "The server failed on this request; other requests are not affected.",
    503: "The translation took too long, or the server is shutting down.",
}


class HttpError(fastapi.HTTPException):
    """A failed request: HTTP status, message, details by field, headers."""

    def __init__(
        self, status: int, text: str, details: list[ErrorDetail] | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, text, headers)
        self.details = details

    def message(self) -> ErrorResponse:
        """Return the message to send."""
        return ErrorResponse(error=self.detail, details=self.details)

    def response(self, dialect: ApiDialect = OWN) -> Response:
        """Return the response to send."""
        content = json.dumps(dialect.as_content(self.message()), ensure_ascii=False, separators=(",", ":"))
        return Response(content, dialect.status(self.status_code), self.headers, media_type="application/json")


def invalid(message: str, field: str, detail: str) -> HttpError:
    """Return the error of a request with one invalid field."""
    return HttpError(422, message, [ErrorDetail(where=field, message=detail)])


def validation_error(errors: Iterable[Any], skip: int) -> HttpError:
    """Return the error of a request that does not match a schema; `skip` parts of each place name no field."""
    details = [
        ErrorDetail(
            where=_printable(".".join(map(str, one["loc"][skip:]))),
            message=_printable(one["msg"].removeprefix("Value error, ")),  # pydantic's prefix of our own messages
        )
        for one in islice(errors, 20)
    ]
    return HttpError(422, "the request does not match the schema in /openapi.json", details)


def routing_error(error: RoutingTooLargeError) -> HttpError:
    """Return the error of a request for too much routing."""
    return invalid("the routing is too large", "routing", str(error))


def stopping_error() -> HttpError:
    """Return the error of a request that arrives while the server stops."""
    return HttpError(503, "the server is about to stop", headers={"Retry-After": "5"})


def describe_errors(*statuses: int, model: type[BaseModel] = ErrorResponse) -> dict[int | str, dict[str, Any]]:
    """Describe error responses for OpenAPI."""
    return {status: {"model": model, "description": DESCRIPTIONS[status]} for status in statuses}


def add_error_handlers(app: FastAPI) -> None:
    """Turn every exception that a request can cause into an error response."""

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return validation_error(error.errors(), skip=1).response(dialect_of(request.url.path))

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        dialect = dialect_of(request.url.path)
        if not isinstance(error, HttpError):
            text = dialect.unknown if error.status_code == 404 else _printable(str(error.detail))
            error = HttpError(error.status_code, text, headers=error.headers)
        return error.response(dialect)

    @app.exception_handler(RoutingTooLargeError)
    async def routing_refused(request: Request, error: RoutingTooLargeError) -> Response:
        return routing_error(error).response(dialect_of(request.url.path))

    @app.exception_handler(RequestError)
    async def failed(request: Request, _: RequestError) -> Response:
        error = HttpError(500, "the server failed on this document; other requests are not affected")
        return error.response(dialect_of(request.url.path))

    @app.exception_handler(ClientDisconnect)
    async def disconnected(_: Request, __: ClientDisconnect) -> Response:
        return Response(status_code=CLIENT_CLOSED_REQUEST)


def _printable(text: str) -> str:
    """Shorten a text and escape what UTF-8 cannot encode."""
    return text[:200].encode("utf-8", errors="backslashreplace").decode("utf-8")
