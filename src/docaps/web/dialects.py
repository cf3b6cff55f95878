"""Dialects: the same service speaks its own API, that of DeepL and that of LibreTranslate, told apart by the path.

They differ in how a client authenticates, how an error looks, and in the status of some errors.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from docaps.web.schemas import ErrorResponse


@dataclass(frozen=True)
class ApiDialect:
    """The paths of one API and its conventions."""

    paths: tuple[str, ...]
    """Prefixes that end with a slash, and whole paths."""
    schemes: tuple[str, ...] = ("bearer",)
    """Schemes of the header Authorization, in lower case."""
    key_in_body: bool = False
    """Whether a client may send the token as the field `api_key` instead."""
    forms: bool = False
    """Whether bodies may be forms."""
    statuses: Mapping[int, int] = field(default_factory=dict)
    """The status of an error, where it is not that of the own API."""
    message: str | None = None
    """The only field of an error; None: an error is an `ErrorResponse`."""
    unknown: str = "Not Found"
    """What is said of a path that does not exist."""

    def covers(self, path: str) -> bool:
        """Return whether a path belongs to this API."""
        return any(path.startswith(one) if one.endswith("/") else path == one for one in self.paths)

    def as_content(self, error: ErrorResponse) -> dict[str, Any]:
        """Return an error as JSON values."""
        if self.message is None:
            return error.model_dump(exclude_none=True)
        return {self.message: describe_error(error)}

    def status(self, status: int) -> int:
        """Return the status that this API has for an error of the own API."""
        return self.statuses.get(status, status)


OWN = ApiDialect(("/v1/", "/metrics"))
DEEPL = ApiDialect(
    ("/v2/", "/v3/"),
    schemes=("deepl-auth-key", "bearer"),
    forms=True,
    statuses={401: 403, 415: 400, 422: 400},
    message="message",
    unknown="this service has no such path: of DeepL's API it has translate, document, languages, usage and glossaries",
)
LIBRETRANSLATE = ApiDialect(
    ("/translate", "/translate_file", "/detect", "/languages"),
    key_in_body=True,
    forms=True,
    statuses={401: 403, 415: 400, 422: 400},
    message="error",
)
OPEN = ApiDialect(())
"""What needs no token: the pages and the state of the service."""
JSON_TYPE, FILE_TYPE, MULTIPART_TYPE = "application/json", "application/octet-stream", "multipart/form-data"
FORM_TYPES = (JSON_TYPE, "application/x-www-form-urlencoded", MULTIPART_TYPE)
FILES_PATH = "/v1/files"
TEXT_PATHS = ("/v1/translate", "/v1/translate/stream", "/v2/translate", "/translate")
FILE_PATHS = (FILES_PATH, "/v2/document", "/translate_file")
TRANSLATING = (*TEXT_PATHS, *FILE_PATHS)
"""Paths on which work is accepted; refused while the service stops."""


def dialect_of(path: str) -> ApiDialect:
    """Return the API that a path belongs to."""
    return next((one for one in (OWN, DEEPL, LIBRETRANSLATE) if one.covers(path)), OPEN)


def describe_error(error: ErrorResponse) -> str:
    """Return the message and details of an error in one line."""
    return "; ".join([error.error, *(f"{one.where}: {one.message}".removeprefix(": ") for one in error.details or ())])
