"""Request bodies as fields and files: JSON, URL-encoded and multipart forms, each read within limits.

A multipart body is parsed while it arrives: a file goes to its destination piece by piece, and all else is small.
"""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import Request

from docaps.web.dialects import FORM_TYPES, JSON_TYPE, MULTIPART_TYPE
from docaps.web.http_errors import HttpError, validation_error

MAX_FORM_FIELDS = 5_000
"""More than the sentences of a request: each may be a field of its own."""
MAX_PARTS = 100
"""Of a multipart body."""
MAX_FIELD_BYTES = 2**20
"""Of all fields beside a file, a glossary among them: the file goes to disk, but fields are kept in memory."""
MAX_FRAME_BYTES = MAX_FIELD_BYTES + 2**16
"""Of all that a multipart body may have beside a file."""
FILE_NEEDED = "send the file as multipart/form-data, in the field `file`"
MAX_PART_HEADERS = 4_096
"""Bytes of the headers of a part."""
Model = TypeVar("Model", bound=BaseModel)


# A bad form is refused with the reason; it must not fill the log.
logging.getLogger("python_multipart").setLevel(logging.ERROR)


class Destination(Protocol):
    """Where the bytes of an uploaded file go."""

    def write(self, data: bytes, /) -> object:
        """Take the next piece."""


Accept = Callable[[str, dict[str, Any]], Destination]


async def read_fields(request: Request) -> dict[str, Any]:
    """Return the fields of a request without files: of its query, then of its body; repeated ones are lists."""
    fields = _group(request.query_params.multi_items())
    kind, options = _content_type(request)
    if kind == MULTIPART_TYPE:
        return fields | _group((await _read_multipart(request, options, None)).pairs)
    body = await request.body()
    if not body:
        return fields
    if kind == JSON_TYPE:
        return fields | _read_json(body)
    return fields | _read_form(body)


async def read_upload(request: Request, accept: Accept) -> dict[str, Any]:
    """Read a multipart body with one file, and return its fields.

    `accept` gets the name of the file, which is never used as a path, and the fields before it; it returns where the
    file goes.
    """
    kind, options = _content_type(request)
    if kind != MULTIPART_TYPE:
        raise HttpError(415, FILE_NEEDED)
    reader = await _read_multipart(request, options, accept)
    if not reader.has_file:
        raise HttpError(422, "no file: send it in the field `file`")
    return _group(reader.pairs)


def parse(model: type[Model], fields: Mapping[str, Any]) -> Model:
    """Check fields against a schema."""
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        raise validation_error(error.errors(), skip=0) from None


def _content_type(request: Request) -> tuple[str, dict[bytes, bytes]]:
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    return kind.decode("latin-1").lower(), options


def _read_json(body: bytes) -> dict[str, Any]:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise HttpError(400, f"the body is not valid JSON: {str(error)[:100]}") from None
    if not isinstance(fields, dict):
        raise HttpError(422, "the body must be a JSON object")
    return fields


def _read_form(body: bytes) -> dict[str, Any]:
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FORM_FIELDS)
    except UnicodeError:
        raise HttpError(400, "the form is not URL-encoded UTF-8") from None
    except ValueError:
        raise HttpError(413, f"the form has too many fields: at most {MAX_FORM_FIELDS}") from None
    return _group(pairs)


def _group(pairs: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return fields by name, without the brackets that some clients put after that of a list."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        key = name.removesuffix("[]")
        if key not in found:
            found[key] = value
        elif isinstance(found[key], list):
            found[key].append(value)
        else:
            found[key] = [found[key], value]
    return found


async def _read_multipart(
    request: Request, options: Mapping[bytes, bytes], accept: Accept | None
) -> "_MultipartReader":
    boundary = options.get(b"boundary", b"")
    if not 0 < len(boundary) <= 70:  # RFC 2046
        raise HttpError(400, "the multipart body has no boundary, or one that is too long")
    reader = _MultipartReader(accept)
    parser = MultipartParser(boundary, reader.callbacks())  # type: ignore[arg-type]
    try:
        async for piece in request.stream():
            parser.write(piece)
        parser.finalize()
    except FormParserError as error:
        raise HttpError(400, f"not a valid multipart body: {str(error)[:100]}") from None
    if not reader.complete:
        raise HttpError(400, "not a valid multipart body: it ends before its last boundary")
    return reader


class _MultipartReader:
    """Collect the parts of a multipart body."""

    def __init__(self, accept: Accept | None) -> None:
        self._accept = accept
        self.pairs: list[tuple[str, str]] = []
        self.has_file = self.complete = False
        self._parts = self._header_bytes = self._field_bytes = 0

    def callbacks(self) -> dict[str, Callable[..., None]]:
        """Return what the parser calls."""
        names = "part_begin header_field header_value header_end headers_finished part_data part_end end"
        return {f"on_{name}": getattr(self, f"_on_{name}") for name in names.split()}

    def _on_part_begin(self) -> None:
        self._parts += 1
        if self._parts > MAX_PARTS:
            raise HttpError(413, f"the form has too many fields: at most {MAX_PARTS}")
        self._header, self._value, self._disposition = b"", b"", b""
        self._header_bytes, self._text = 0, bytearray()
        self._file: Destination | None = None

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._count_header(end - start)
        self._header += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._count_header(end - start)
        self._value += data[start:end]

    def _count_header(self, size: int) -> None:
        self._header_bytes += size
        if self._header_bytes > MAX_PART_HEADERS:
            raise HttpError(413, f"the headers of a field are too long: at most {MAX_PART_HEADERS} bytes")

    def _on_header_end(self) -> None:
        if self._header.strip().lower() == b"content-disposition":
            self._disposition = self._value
        self._header, self._value = b"", b""

    def _on_headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._field = _decode(options.get(b"name", b""))
        if b"filename" in options or (self._field == "file" and self._accept is not None):
            self._begin_file(_decode(options.get(b"filename", b"")))

    def _begin_file(self, name: str) -> None:
        if self._accept is None or self.has_file or self._field != "file":
            raise HttpError(
                422, "only one file is expected, in the field `file`" if self._accept else "no file is expected"
            )
        self.has_file = True
        self._file = self._accept(name, _group(self.pairs))

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        if self._file is None:
            self._field_bytes += end - start
            if self._accept is not None and self._field_bytes > MAX_FIELD_BYTES:
                raise HttpError(413, f"the fields beside the file are too long: at most {MAX_FIELD_BYTES} bytes")
            self._text += data[start:end]
        else:
            self._file.write(data[start:end])

    def _on_part_end(self) -> None:
        if self._file is None:
            self.pairs.append((self._field, _decode(bytes(self._text))))

    def _on_end(self) -> None:
        self.complete = True


def _decode(text: bytes) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        raise HttpError(400, "the form is not UTF-8") from None


def describe_body(model: type[BaseModel], *, kinds: Sequence[str] = FORM_TYPES, file: bool = False) -> dict[str, Any]:
    """Describe a body that is read here for OpenAPI."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    if file:
        properties = {**schema["properties"], "file": {"type": "string", "format": "binary"}}
        schema = {**schema, "properties": properties, "required": [*schema.get("required", ()), "file"]}
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}}
