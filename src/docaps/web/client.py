"""A Python client of the service that needs only the standard library and pydantic.

from docaps.web.client import Client

client = Client("http://127.0.0.1:8000")
answer = client.translate(["Anna bought a red blouse in the sale.", "It fitted Anna like a glove."])
print([one.translation for one in answer.translations])

"""

import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from http.client import HTTPException, HTTPResponse
from typing import Any

from pydantic import ValidationError

from docaps.errors import DocapsError
from docaps.web.dialects import describe_error
from docaps.web.schemas import (
    ErrorResponse,
    ModelCard,
    ModelList,
    StreamedSentence,
    StreamEnd,
    TranslationRequest,
    TranslationResponse,
    to_json,
)

__all__ = ["Client", "ServiceError"]


def __dir__() -> list[str]:
    """List the public API only."""
    return __all__


class ServiceError(DocapsError):
    """A failed call: `status` is the HTTP status (0 without a response), `retry` the seconds to wait, if given."""

    def __init__(self, message: str, status: int = 0, retry: float | None = None) -> None:
        super().__init__(message)
        self.status, self.retry = status, retry


class Client:
    """A client of the service at a `url`, such as http://127.0.0.1:8000, with a bearer `token` if it needs one.

    It gives up after `timeout` seconds without any data.
    """

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 130.0) -> None:
        self._url, self._token, self._timeout = url.rstrip("/"), token, timeout

    def models(self) -> list[ModelCard]:
        """List the models, the default first."""
        with self._open("/v1/models") as response, _checked():
            return ModelList.model_validate_json(response.read()).models

    def translate(self, document: Sequence[str] | str, **options: Any) -> TranslationResponse:
        """Translate a document: its sentences in order, or running text, which the service splits into sentences.

        Options are history, model, context, glossary, formality, beam, nbest and routing: see
        `docaps.web.schemas.TranslationRequest`. A glossary may also be a mapping of terms to translations.
        """
        with self._open("/v1/translate", _make_request(document, options)) as response, _checked():
            return TranslationResponse.model_validate_json(response.read())

    def stream(self, document: Sequence[str] | str, **options: Any) -> Iterator[StreamedSentence]:
        """Translate a document and yield each sentence as soon as it is finished."""
        with self._open("/v1/translate/stream", _make_request(document, options)) as response, _checked():
            for name, data in _read_events(response):
                if name == "error":
                    raise ServiceError(describe_error(ErrorResponse.model_validate_json(data)), 200)
                if name == "done":
                    StreamEnd.model_validate_json(data)
                    return
                yield StreamedSentence.model_validate_json(data)
        raise ServiceError("the connection was closed before the end")

    def _open(self, path: str, message: TranslationRequest | None = None) -> HTTPResponse:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        body = None if message is None else to_json(message).encode()
        request = urllib.request.Request(self._url + path, body, headers)
        try:
            response: HTTPResponse = urllib.request.urlopen(request, timeout=self._timeout)
        except urllib.error.HTTPError as error:
            with error:
                raise _service_error(error) from None
        except (OSError, HTTPException) as error:
            raise ServiceError(f"{self._url} cannot be reached: {error}") from None
        return response


@contextlib.contextmanager
def _checked() -> Iterator[None]:
    """Raise a service error for a response that is incomplete or does not match the schema."""
    try:
        yield
    except (OSError, HTTPException) as error:
        raise ServiceError(f"the connection broke: {error}") from None
    except (ValidationError, UnicodeDecodeError):
        raise ServiceError("the response is not from a docaps service") from None


def _make_request(document: Sequence[str] | str, options: Mapping[str, Any]) -> TranslationRequest:
    """Build and validate a request before it is sent."""
    text = {"text": document} if isinstance(document, str) else {"sentences": list(document)}
    if "history" in options:
        options = {**options, "history": list(options["history"])}
    if isinstance(options.get("glossary"), Mapping):
        options = {**options, "glossary": [list(pair) for pair in options["glossary"].items()]}
    try:
        return TranslationRequest.model_validate({**options, **text})
    except ValidationError as error:
        found = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise ServiceError(f"not a valid request: {found}") from None


def _service_error(response: urllib.error.HTTPError) -> ServiceError:
    """Read the message, details and waiting time of an error response."""
    body = response.read()
    try:
        error = ErrorResponse.model_validate_json(body)
    except ValidationError:
        error = ErrorResponse(error=json.dumps(body[:200].decode("utf-8", errors="replace")))
    retry = response.headers.get("Retry-After", "")
    return ServiceError(describe_error(error), response.code, float(retry) if retry.isdigit() else None)


def _read_events(lines: HTTPResponse) -> Iterator[tuple[str, str]]:
    """Read server-sent events and skip comments."""
    name, data = "message", ""
    for raw in lines:
        line = raw.decode("utf-8").rstrip("\r\n")
        field, _, value = line.partition(": ")
        if not line and data:
            yield name, data
            name, data = "message", ""
        elif field == "event":
            name = value
        elif field == "data":
            data = value
