"""Bodies become fields and files, within limits, however they are cut into pieces."""

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request

from docaps.web import forms
from docaps.web.http_errors import HttpError

BOUNDARY = "frontier"


def run_apart(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine in a thread of its own: browser tests leave an event loop in the main thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


class Memory:
    """A destination that keeps what is written."""

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        self.name, self.fields, self.content = name, fields, b""

    def write(self, data: bytes) -> None:
        self.content += data


def make_request(pieces: Sequence[bytes], kind: str) -> Request:
    left = list(pieces)

    async def receive() -> dict[str, Any]:
        body = left.pop(0) if left else b""
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    headers = [(b"content-type", kind.encode("latin-1"))]
    return Request({"type": "http", "method": "POST", "query_string": b"", "headers": headers}, receive)


def part(name: str, content: bytes, filename: str | None = None) -> bytes:
    file = "" if filename is None else f'; filename="{filename}"'
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'
    return head.encode() + content + b"\r\n"


def upload(*pieces: bytes) -> tuple[list[Memory], dict[str, Any]]:
    """Read a multipart body with a file."""
    found: list[Memory] = []

    def accept(name: str, fields: dict[str, Any]) -> Memory:
        found.append(Memory(name, fields))
        return found[-1]

    request = make_request(pieces, f"multipart/form-data; boundary={BOUNDARY}")
    fields = run_apart(forms.read_upload(request, accept))
    return found, fields


END = f"--{BOUNDARY}--\r\n".encode()
safe = st.text(st.characters(codec="utf-8", exclude_characters='"\\\r\n;'), max_size=20)


@settings(max_examples=40, deadline=None)
@given(
    fields=st.dictionaries(st.from_regex("[a-z]{1,8}", fullmatch=True), safe, max_size=4),
    content=st.binary(max_size=200),
    name=safe,
    cuts=st.lists(st.integers(0, 500), max_size=8),
)
def test_a_form_is_read_however_it_is_cut(fields: dict[str, str], content: bytes, name: str, cuts: list[int]) -> None:
    fields.pop("file", None)
    body = b"".join(part(key, value.encode()) for key, value in fields.items()) + part("file", content, name) + END
    borders = sorted({0, len(body), *(cut % (len(body) + 1) for cut in cuts)})
    (file,), found = upload(*(body[start:end] for start, end in pairwise(borders)))
    assert (file.content, found, file.fields) == (content, fields, fields)


@settings(max_examples=150, deadline=None)
@given(body=st.binary(max_size=300), place=st.integers(0, 400), start=st.booleans())
def test_any_bytes_are_read_or_refused(body: bytes, place: int, start: bool) -> None:
    good = part("a", b"b") + part("file", b"content", "name") + END
    place %= len(good)
    damaged = good[:place] + body + good[place + (len(body) if start else 0) :]
    statuses = set[int]()
    try:
        upload(damaged)
    except HttpError as error:
        statuses.add(error.status_code)
    assert statuses <= {400, 413, 422}


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        (b"", 400, "ends before its last boundary"),
        (part("file", b"x", "a"), 400, "ends before its last boundary"),
        (part("a", b"b") + END, 422, "no file"),
        (part("file", b"x", "a") + part("file", b"y", "b") + END, 422, "one file is expected"),
        (part("other", b"x", "a") + END, 422, "one file is expected"),
        (part("a", b"b") * 101 + END, 413, "too many fields: at most 100"),
        (part("a", b"b" * forms.MAX_FIELD_BYTES) + part("c", b"d") + END, 413, "fields beside the file are too long"),
        (part("a", b"\xff") + END, 400, "not UTF-8"),
        (b"no boundary", 400, "not a valid multipart body"),
    ],
)
def test_bad_forms_are_refused(body: bytes, status: int, message: str) -> None:
    with pytest.raises(HttpError, match=message) as refused:
        upload(body)
    assert refused.value.status_code == status


def test_long_headers_of_a_field_are_refused() -> None:
    lines = b"".join(b"X-%d: %s\r\n" % (number, b"y" * 1000) for number in range(5))
    for body in (part("a" * 5000, b"b"), f"--{BOUNDARY}\r\n".encode() + lines + b"\r\n"):
        with pytest.raises(HttpError, match="header"):  # the parser has limits of its own, which depend on its version
            upload(body + END)


def test_fields_come_from_query_and_body() -> None:
    request = make_request([b"b=2&b=3&c[]=4"], "application/x-www-form-urlencoded")
    request.scope["query_string"] = b"a=1&b=0"
    assert run_apart(forms.read_fields(request)) == {"a": "1", "b": ["2", "3"], "c": "4"}
    with pytest.raises(HttpError, match="too many fields: at most 5000"):
        run_apart(forms.read_fields(make_request([b"a&" * 5001], "application/x-www-form-urlencoded")))
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    with pytest.raises(HttpError, match="no file is expected"):
        run_apart(forms.read_fields(make_request([part("file", b"x", "a") + END], kind)))


def test_other_bodies_are_no_upload() -> None:
    for kind in ("application/json", "", f"multipart/form-data; boundary={'b' * 71}"):
        with pytest.raises(HttpError):
            run_apart(forms.read_upload(make_request([END], kind), Memory))
