"""A client for Python programs, without more than the standard library and the messages of the service.

from docaps.web.client import Client

client = Client("http://127.0.0.1:8000")
answer = client.translate(["Anna bought a coat.", "It was warm."])
print([one.translation for one in answer.translations])

"""

import contextlib
import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from email.message import Message
from http.client import HTTPException, HTTPResponse
from typing import Any

from pydantic import ValidationError

from docaps.errors import DocapsError
from docaps.web.messages import Answer, End, Fault, ModelCard, ModelCards, Order, Step, dump


class ServiceError(DocapsError):
    """The service did not answer; `status` is 0 if it was not even reached, `retry` the seconds to wait, if told."""

    def __init__(self, message: str, status: int = 0, retry: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry = retry


class Client:
    """Ask a service for translations."""

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 130.0) -> None:
        """Remember where the service is.

        Args:
            url: its address, such as http://127.0.0.1:8000.
            token: the bearer token, if it asks for one.
            timeout: seconds without a sign of life after which to give up.
        """
        self._url = url.rstrip("/")
        self._token = token
        self._timeout = timeout

    def models(self) -> list[ModelCard]:
        """List the models, the default first."""
        with self._open("/v1/models") as answer, _understood():
            return ModelCards.model_validate_json(answer.read()).models

    def translate(self, document: Sequence[str] | str, **options: Any) -> Answer:
        """Translate a document: its sentences, or a running text.

        Args:
            document: the sentences in order, or one text, which the service splits.
            options: history, model, context, beam, nbest, routing; see `docaps.web.messages.Order`.
        """
        with self._open("/v1/translate", _order(document, options)) as answer, _understood():
            return Answer.model_validate_json(answer.read())

    def stream(self, document: Sequence[str] | str, **options: Any) -> Iterator[Step]:
        """Translate a long document and go through its sentences as they are finished."""
        with self._open("/v1/translate/stream", _order(document, options)) as answer, _understood():
            for name, data in _events(answer):
                if name == "error":
                    raise ServiceError(Fault.model_validate_json(data).error, 200)
                if name == "done":
                    End.model_validate_json(data)
                    return
                yield Step.model_validate_json(data)
        raise ServiceError("the connection was closed before the end")

    def _open(self, path: str, order: Order | None = None) -> HTTPResponse:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        body = None if order is None else dump(order).encode()
        request = urllib.request.Request(self._url + path, body, headers)
        try:
            answer: HTTPResponse = urllib.request.urlopen(request, timeout=self._timeout)
        except urllib.error.HTTPError as fault:
            with fault:
                raise _refused(fault.code, fault.headers, fault.read()) from None
        except (OSError, HTTPException) as fault:
            raise ServiceError(f"{self._url} cannot be reached: {fault}") from None
        return answer


@contextlib.contextmanager
def _understood() -> Iterator[None]:
    """Turn an answer that breaks off, or is none, into an error of the service."""
    try:
        yield
    except (OSError, HTTPException) as fault:
        raise ServiceError(f"the connection broke off: {fault}") from None
    except (ValidationError, UnicodeDecodeError):
        raise ServiceError("the answer is not one of docaps") from None


def _order(document: Sequence[str] | str, options: Mapping[str, Any]) -> Order:
    """Check a request before it is sent."""
    what = {"text": document} if isinstance(document, str) else {"sentences": list(document)}
    if "history" in options:
        options = {**options, "history": list(options["history"])}
    try:
        return Order.model_validate({**options, **what})
    except ValidationError as fault:
        found = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in fault.errors())
        raise ServiceError(f"not a request: {found}") from None


def _refused(status: int, headers: Message, body: bytes) -> ServiceError:
    """Make an error of an answer that says why there is none."""
    try:
        fault = Fault.model_validate_json(body)
    except ValidationError:
        fault = Fault(error=json.dumps(body[:200].decode("utf-8", errors="replace")))
    details = "".join(f"; {one.where}: {one.message}" for one in fault.details or ())
    retry = headers.get("Retry-After", "")
    return ServiceError(f"{fault.error}{details}", status, float(retry) if retry.isdigit() else None)


def _events(lines: HTTPResponse) -> Iterator[tuple[str, str]]:
    """Read server-sent events; comments are passed over."""
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
