"""Error responses: one JSON form for every failed request, without tracebacks and without the data that was sent."""

from collections.abc import Mapping
from typing import Any

import fastapi
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from docaps.web.model_worker import RequestError
from docaps.web.request_queue import RoutingTooLargeError
from docaps.web.schemas import ErrorDetail, ErrorResponse, to_json

CLIENT_CLOSED_REQUEST = 499
"""Status in the metrics of a request whose client disconnected early; it is never received."""
DESCRIPTIONS = {
    400: "The request is not valid HTTP, or its body is not valid text.",
    401: "The bearer token is missing or wrong.",
    403: "A page of another origin sent the request.",
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

    def response(self) -> Response:
        """Return the response to send."""
        return Response(to_json(self.message()), self.status_code, self.headers, media_type="application/json")


def invalid(message: str, field: str, detail: str) -> HttpError:
    """Return the error of a request with one invalid field."""
    return HttpError(422, message, [ErrorDetail(where=field, message=detail)])


def routing_error(error: RoutingTooLargeError) -> HttpError:
    """Return the error of a request for too much routing."""
    return invalid("the routing is too large", "routing", str(error))


def stopping_error() -> HttpError:
    """Return the error of a request that arrives while the server stops."""
    return HttpError(503, "the server is about to stop", headers={"Retry-After": "5"})


def describe_errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe error responses for OpenAPI."""
    return {status: {"model": ErrorResponse, "description": DESCRIPTIONS[status]} for status in statuses}


def add_error_handlers(app: FastAPI) -> None:
    """Turn every exception that a request can cause into an error response."""

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        details = [
            ErrorDetail(
                where=_printable(".".join(map(str, one["loc"][1:]))),
                message=_printable(one["msg"].removeprefix("Value error, ")),  # pydantic's prefix of our own messages
            )
            for one in error.errors()[:20]
        ]
        return HttpError(422, "the request does not match the schema in /openapi.json", details).response()

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> Response:
        if not isinstance(error, HttpError):
            error = HttpError(error.status_code, _printable(str(error.detail)), headers=error.headers)
        return error.response()

    @app.exception_handler(RoutingTooLargeError)
    async def routing_refused(_: Request, error: RoutingTooLargeError) -> Response:
        return routing_error(error).response()

    @app.exception_handler(RequestError)
    async def failed(_: Request, __: RequestError) -> Response:
        return HttpError(500, "the server failed on this document; other requests are not affected").response()

    @app.exception_handler(ClientDisconnect)
    async def disconnected(_: Request, __: ClientDisconnect) -> Response:
        return Response(status_code=CLIENT_CLOSED_REQUEST)


def _printable(text: str) -> str:
    """Shorten a text and escape what UTF-8 cannot encode."""
    return text[:200].encode("utf-8", errors="backslashreplace").decode("utf-8")
