"""Which hosts, pages and clients may call the service."""

import hmac
from pathlib import Path

import pytest
from starlette.datastructures import Headers
from tests.unit.web.serving import TOKEN, Served, models, serving

from docaps.errors import DocapsError
from docaps.web.access import LOCAL_HOSTS, Access, check_origin, is_loopback
from docaps.web.http_errors import HttpError


def status_of(access: Access, headers: dict[str, str], path: str = "/v1/translate", method: str = "POST") -> int:
    """Return the status with which a request is refused, or 200."""
    try:
        access.check(method, path, Headers(headers))
    except HttpError as error:
        return error.status_code
    return 200


@pytest.mark.parametrize(
    "header", [None, "", TOKEN, "Bearer", "Bearer open", "Bearer open sesam", "Bearer open sesamee", "Basic x"]
)
def test_requests_without_the_token_are_refused(strict: Served, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    for path in ("/v1/models", "/metrics"):
        answer = strict.get(path, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    assert strict.post({"sentences": ["x"]}, headers=headers).status_code == 401
    assert strict.post({"sentences": ["x"]}, "/v1/translate/stream", headers=headers).status_code == 401


def test_the_page_and_the_health_checks_need_no_token(strict: Served) -> None:
    assert [strict.get(path).status_code for path in ("/", "/healthz", "/readyz", "/openapi.json")] == [200] * 4
    assert strict.get("/v1/models", headers={"Authorization": "bearer open sesame"}).status_code == 200


def test_the_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    Access("söcret").check("GET", "/v1/models", Headers({"authorization": "Bearer söcret"}))
    assert compared == [("söcret".encode(), "söcret".encode())]


def test_only_local_host_names_are_answered(served: Served) -> None:
    port = served.url.rpartition(":")[2]
    for host in ("evil.example", f"evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", ""):
        assert served.get("/v1/models", headers={"Host": host}).status_code == 421
    for host in ("localhost", f"LOCALHOST:{port}", f"127.0.0.1:{port}", f"[::1]:{port}", "localhost:"):
        assert served.get("/v1/models", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("hosts", [None, LOCAL_HOSTS])
@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:x@evil", "localhost:80:80", "localhost:-1", "[::1", "[::1]x", "localhost/x", "local host", "a@b"],
)
def test_a_host_that_is_none_is_refused(host: str, hosts: frozenset[str] | None) -> None:
    assert status_of(Access(None, hosts), {"host": host}) == 400


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("x.de", False)],
)
def test_loopback_addresses(host: str, local: bool) -> None:
    assert is_loopback(host) is local


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("localhost:8000", "http://localhost:8000", 200),
        ("LOCALHOST:8000", "http://localhost:8000", 200),
        ("[::1]:8000", "http://[::1]:8000", 200),
        ("docaps.example", "https://docaps.example", 200),  # a proxy with TLS
        ("docaps.example:443", "https://docaps.example", 200),
        ("docaps.example", "http://docaps.example:80", 200),
        ("docaps.example", "https://docaps.example:80", 403),
        ("localhost:8000", "http://localhost", 403),
        ("localhost:8000", "http://127.0.0.1:8000", 403),
        ("localhost:8000", "http://evil.example", 403),
        ("localhost:8000", "ftp://localhost:8000", 403),
        ("localhost:8000", "http://localhost:8000/", 403),
        ("localhost:8000", "http://x@localhost:8000", 403),
        ("localhost:8000", "null", 403),
        ("localhost:8000", "", 403),
        ("localhost:8000", "https://friend.example", 200),
        ("localhost:8000", "https://friend.example:8000", 403),
    ],
)
def test_only_pages_of_the_service_and_of_allowed_origins_may_call_it(host: str, origin: str, status: int) -> None:
    access = Access(origins=("https://friend.example",))
    for method, path in (("POST", "/v1/translate"), ("GET", "/v1/models"), ("OPTIONS", "/v1/translate"), ("GET", "/")):
        assert status_of(access, {"host": host, "origin": origin}, path, method) == status
    assert status_of(Access(origins="*"), {"host": host, "origin": origin}) == 200


def test_what_a_browser_says_of_a_request_without_an_origin_counts() -> None:
    for site, status in (("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)):
        assert status_of(Access(), {"sec-fetch-site": site}, method="GET") == status
        assert status_of(Access(), {"sec-fetch-site": site}, "/", "GET") == 200  # links to the page are welcome
    friendly = {"origin": "https://friend.example", "sec-fetch-site": "cross-site"}
    assert status_of(Access(origins=("https://friend.example",)), friendly) == 200


def test_allowed_origins_get_cors_headers(served: Served, tiny_demo: Path) -> None:
    asked = {"Origin": "https://friend.example", "Access-Control-Request-Method": "POST"}
    with served.client() as client:
        for answer in (client.options("/v1/translate", headers=asked), client.get("/v1/models", headers=asked)):
            assert "access-control-allow-origin" not in answer.headers
            assert answer.status_code == 403
            assert "start it with --origin" in answer.json()["error"]
    origins = ["https://friend.example"]
    with serving(models(tiny_demo)[1:], origins=origins, token="t") as running, running.client() as client:
        answer = client.options("/v1/translate", headers=asked)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://friend.example"
        allowed = {"Origin": "https://friend.example", "Authorization": "Bearer t"}
        answer = client.post("/v1/translate", json={"sentences": ["x"]}, headers=allowed)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://friend.example"
        foe = client.options("/v1/translate", headers=asked | {"Origin": "https://foe.example"})
        assert foe.status_code == 403
        assert "access-control-allow-origin" not in foe.headers


def test_origins_are_given_as_browsers_send_them() -> None:
    assert check_origin("https://Friend.example/") == "https://friend.example"
    assert check_origin("https://friend.example:443") == "https://friend.example"
    assert check_origin("http://localhost:3000") == "http://localhost:3000"
    assert check_origin("*") == "*"
    for wrong in ("friend.example", "https://", "https://friend.example/page", "https://a@b", "null", "", "http://a:b"):
        with pytest.raises(DocapsError, match=f"--origin must be like https://example.org.*found '{wrong}'"):
            check_origin(wrong)
