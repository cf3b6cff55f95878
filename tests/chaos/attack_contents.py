"""Attacks on the service by what a request says: bytes that are no text, JSON, origins, hosts, false tokens."""

import json
from collections.abc import Callable, Iterator
from random import Random

from tests.chaos import attack_uploads, attacks
from tests.chaos.attacks import ANSWERED, ANY, BODY, REFUSED, TOKEN, Attack, head, post

LIST = "GET /v1/models HTTP/1.1"
STRANGE = (b"\x00", b"\x01", b"\x0b", b"\x1b", b"\x7f", b"\x80", b"\xff", b"\xc3\x28", b"\xed\xa0\x80")
PATHS = ("%00", "%ff", "%c0%af", "%2e%2e/%2e%2e/etc/passwd", "..%5c..", "%", "%zz", "static/../app.py", "*", "\\")


def bytes_that_are_no_text(_: Random) -> Iterator[Attack]:
    """Put NUL, control characters and invalid UTF-8 everywhere."""
    for byte in STRANGE:
        places = {
            "the path": b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "the method": b"G%sT / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            "a header name": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX%s: y\r\n\r\n",
            "the host": b"GET /healthz HTTP/1.1\r\nHost: localhost%s\r\n\r\n",
            "the token": b"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n",
        }
        for place, request in places.items():
            yield Attack(f"{byte!r} in {place}", [request % byte])
        header = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: y%s\r\n\r\n" % byte
        yield Attack(f"{byte!r} in a header", [header], ANY)
        yield Attack(f"{byte!r} in JSON", [post(b'{"sentences": ["%s"]}' % byte)], ANY if byte == b"\x7f" else REFUSED)
    for path in PATHS:
        yield Attack(f"the path {path}", [head(f"GET /{path} HTTP/1.1")])


def other_protocols(chance: Random) -> Iterator[Attack]:
    """Speak something else than HTTP/1.1."""
    foreign = {
        "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
        "SOCKS": b"\x05\x01\x00",
        "SSH": b"SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(64),
        "HTTP/0.9": b"GET /\r\n\r\n",
        "HTTP/9.9": b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        **{f"noise {number}": chance.randbytes(chance.randint(1, 2000)) for number in range(5)},
    }
    for name, data in foreign.items():
        yield Attack(name, [data], answered=False, ending="half")


DEEP = 100_000
TEXTS = {
    "deep lists": "[" * DEEP,
    "deep closed lists": "[" * DEEP + "]" * DEEP,
    "deep objects": '{"a":' * DEEP + "1" + "}" * DEEP,
    "deep sentences": f'{{"sentences": {"[" * 5000}{"]" * 5000}}}',
    "60,000 fields": json.dumps({f"f{number}": number for number in range(60_000)}),
    "a field twice": '{"sentences": ["x"], "sentences": 1}',
    "a lone surrogate": '{"sentences": ["\\ud800"]}',
    "a NUL": '{"sentences": ["\\u0000"]}',
    "no JSON": "sentences=x",
    "nothing": "",
    "a string": '"x"',
    "null": "null",
    "100,000 wrong sentences": json.dumps({"sentences": [1] * 100_000}),
    "too many sentences": json.dumps({"sentences": ["x"] * 2001}),
    "a sentence that is too long": json.dumps({"sentences": ["x" * 5001]}),
}
VALUES = (
    *("1e400", "-1", "0", "9" * 5000, "1" + "0" * 400, "1.5", "NaN", "Infinity", "-0", "1e2"),
    *("true", '"4"', "[]", "[null]", "null", "{}"),
)
FIELDS = ("beam", "nbest", "context", "routing", "model", "history", "text", "sentences")


def bodies(chance: Random) -> Iterator[Attack]:
    """Send JSON that is deep, huge, of the wrong types, or no JSON."""
    for name, text in TEXTS.items():
        yield Attack(f"JSON: {name}", [post(text.encode())])
    for value in VALUES:
        for name in chance.sample(FIELDS, 4):
            yield Attack(f"{name}: {value[:20]}", [post(f'{{"sentences": ["x"], "{name}": {value}}}'.encode())], ANY)
    accents = json.dumps({"sentences": ["Anna Z" + "\u0301" * 4000], "beam": 1})
    yield Attack("4,000 accents on a letter", [post(accents.encode())], ANSWERED)
    yield Attack("a text of spaces", [post(json.dumps({"text": " " * 900_000}).encode())], ANY)
    yield Attack("a text of full stops", [post(json.dumps({"text": ". " * 100_000, "beam": 1}).encode())], ANY)
    for encoding in ("utf-16", "utf-32", "latin-1", "utf-7", "utf-8-sig"):
        yield Attack(f"JSON in {encoding}", [post('{"sentences": ["ä"]}'.encode(encoding))], ANY)


EVIL_ORIGINS = ("http://evil.example", "null", "http://localhost.evil.example", "http://127.0.0.1:x@evil.example")
EVIL_HOSTS = (
    *("evil.example", "localhost.evil.example", "evil.example:8000", "127.0.0.1.evil.example", ""),
    *("localhost:x@evil.example", "127.0.0.1:x@evil.example", "[::1].evil.example", "localhost/evil", "localhost evil"),
)
SIMPLE_TYPES = (
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "text/json",
    "*/*",
)


def origins(_: Random) -> Iterator[Attack]:
    """Come from the page of another site, for another host, or with a content type that any page may send."""
    for origin in EVIL_ORIGINS:
        yield Attack(f"the origin {origin}", [post(BODY, f"Origin: {origin}")], frozenset({400, 403}))
    for kind in (*(f"Content-Type: {kind}" for kind in SIMPLE_TYPES), "Content-Type:", "X: no content type"):
        yield Attack(kind, [post(BODY, kind=kind)])
    foreign = frozenset({400, 421})
    for host in EVIL_HOSTS:
        yield Attack(f"the host {host!r}", [head(LIST, host=host)], foreign, protected=True)
    nowhere = head(LIST).replace(b"Host: localhost\r\n", b"")
    yield Attack("no host", [nowhere], foreign, protected=True)
    yield Attack("two hosts", [head(LIST, "Host: evil.example")], ANY)
    yield Attack("a whole URL", [head("GET http://evil.example/v1/models HTTP/1.1")], ANY)
    yield Attack("CONNECT", [head("CONNECT evil.example:443 HTTP/1.1")])


PROTECTED = (
    *("/v1/models", "//v1/models", "/v1//models", "/V1/models", "/v1/models/", "/./v1/models", "/x/../v1/models"),
    *("/%76%31/models", "/v1%2fmodels", "/v1/models%00", "/v1/models%20", "/v1/models;x", "/v1/models?token=1"),
    *("/metrics", "/metrics/", "//metrics", "/%6detrics", "/METRICS", "/static/../v1/models", "/v1/models#x"),
    *("http://localhost/v1/models", "/healthz/../v1/models", "\\v1\\models", "/v1\\models", "/v1/./models"),
)
WRONG_TOKENS = (
    *("", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN} x"),
    *(f"Bearer\t{TOKEN}x", "Bearer null", f"Bearer {TOKEN.upper()}"),
)
DISGUISES = (
    *("X-Original-URL: /healthz", "X-Rewrite-URL: /healthz", "X-HTTP-Method-Override: OPTIONS"),
    *("X-Forwarded-For: 127.0.0.1", "X-Forwarded-Prefix: /v1", f"Cookie: token={TOKEN}", f"X-Token: {TOKEN}"),
)


def bypasses(chance: Random) -> Iterator[Attack]:
    """Try to get around the token: nothing that it protects may come back."""
    for path in PROTECTED:
        for method in ("GET", chance.choice(("HEAD", "OPTIONS", "get", "GET\tX", "POST"))):
            request = head(f"{method} {path} HTTP/1.1", token=None)
            yield Attack(f"{method} {path} without a token", [request], ANY, protected=True)
    wrong = frozenset({400, 401})
    for field in (*(f"Authorization: {token}" for token in WRONG_TOKENS), *DISGUISES):
        yield Attack(f"{field} instead of a token", [head(LIST, field, token=None)], wrong, protected=True)


CORPUS: dict[str, Callable[[Random], Iterator[Attack]]] = {
    function.__name__.replace("_", " "): function
    for function in (
        *(attacks.smuggling, attacks.chunks, attacks.floods, attacks.heads, attacks.connections),
        *(bytes_that_are_no_text, other_protocols, bodies, origins, bypasses),
        *(attack_uploads.uploads, attack_uploads.forms, attack_uploads.clients, attack_uploads.keys),
        *(attacks.aborted_translations, attacks.mutations, attack_uploads.mutated_uploads),
    )
}
"""All attacks by their kind; part of them is drawn anew each time."""
