"""Every route belongs to an API, and none but those of pages and state is open to clients without the token."""

import re

from tests.unit.web.serving import Served

from docaps.web.dialects import DEEPL, LIBRETRANSLATE, OPEN, OWN, dialect_of

FORM = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n'
FREE = {"/healthz", "/readyz", "/download_file/{number}/{name}"}


def test_paths_belong_to_an_api() -> None:
    for path, dialect in {"/v1/x": OWN, "/v2/x": DEEPL, "/translate": LIBRETRANSLATE, "/": OPEN, "/v2": OPEN}.items():
        assert dialect_of(path) is dialect


def test_every_route_needs_the_token(strict: Served) -> None:
    paths = strict.get("/openapi.json").json()["paths"]
    assert set(paths) > FREE
    with strict.client() as client:
        for path, operations in paths.items():
            for method, operation in operations.items():
                kinds = list(operation.get("requestBody", {}).get("content", {}))
                kind, body = (kinds[0], b"{}") if kinds else ("", None)
                if kind == "multipart/form-data":
                    kind, body = f"{kind}; boundary=b", FORM
                address = re.sub(r"\{\w+\}", "x", path)
                answer = client.request(method, address, content=body, headers={"Content-Type": kind} if kind else {})
                refused = answer.status_code in (401, 403)
                assert refused is (path not in FREE), (method, path, answer.status_code)
                assert not refused or set(answer.json()) == {dialect_of(path).message or "error"}
