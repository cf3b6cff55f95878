"""Attacks on the service as raw bytes, below the level of its routes: framing, heads, connections, mutations.

`attack_contents` has those that are well-formed HTTP. `CORPUS` there names them all.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from random import Random
from typing import Literal

TOKEN = "a token of the tests"
REFUSED = frozenset({400, 401, 403, 404, 405, 408, 411, 413, 414, 415, 421, 422, 431, 501, 505})
ANY = REFUSED | {200, 503}
ANSWERED = frozenset({200})
Ending = Literal["wait", "half", "abort"]
"""What the client does after the last byte: wait for the answer, close its own side, or reset the connection."""
SENTENCES = ["Anna bought a coat.", "It was warm."]
BODY = json.dumps({"sentences": ["x"], "beam": 1}).encode()
CHUNKS = b"%x\r\n%s\r\n" % (len(BODY), BODY)
LAST_CHUNK = b"0\r\n\r\n"
HIDDEN = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
JSON = "Content-Type: application/json"
CHUNKED = "Transfer-Encoding: chunked"
LENGTH = f"Content-Length: {len(BODY)}"
FLOOD = 32 * 2**10
"""Parts of 4 KiB of a stream that should be refused long before its end."""
FLOOD_LIMIT = 64 * 2**20
"""Bytes after which it must be: the buffers of the system alone may hold 32 MiB."""
POST = "POST /v1/translate HTTP/1.1"


@dataclass(frozen=True)
class Attack:
    """Bytes to send, in parts, and which answers are right."""

    name: str
    parts: Iterable[bytes]
    allowed: frozenset[int] = REFUSED
    answered: bool = True
    """Whether an answer must come: a client that is refused should know why."""
    most: int = 1
    """How many answers there may be; a second one is that to a smuggled request."""
    ending: Ending = "wait"
    protected: bool = False
    """Whether the client has no right to see anything."""
    within: int | None = None
    """After how many bytes a stream must be refused."""


def head(line: str, *fields: str, host: str = "localhost", token: str | None = TOKEN) -> bytes:
    """Return a request line and headers."""
    usual = [f"Host: {host}", *([f"Authorization: Bearer {token}"] if token else [])]
    return "\r\n".join([line, *usual, *fields, "", ""]).encode()


def post(body: bytes, *fields: str, kind: str = JSON) -> bytes:
    """Return a translation request with any body."""
    return head(POST, kind, f"Content-Length: {len(body)}", *fields) + body


def valid(sentences: list[str] | None = None, path: str = "/v1/translate") -> bytes:
    """Return a request that is right."""
    body = json.dumps({"sentences": sentences or SENTENCES, "beam": 1}).encode()
    return head(f"POST {path} HTTP/1.1", JSON, f"Content-Length: {len(body)}") + body


def coats(count: int) -> list[str]:
    """Return a document of many sentences."""
    return [f"Anna bought {number} coats." for number in range(count)]


AMBIGUOUS = {
    "length and chunked": (LENGTH, CHUNKED),
    "chunked and length": (CHUNKED, LENGTH),
    "two lengths": (LENGTH, "Content-Length: 4"),
    "a list of lengths": (f"{LENGTH}, 4",),
    "a signed length": (f"Content-Length: +{len(BODY)}",),
    "a negative length": ("Content-Length: -1",),
    "a hexadecimal length": (f"Content-Length: {len(BODY):#x}",),
    "a length beyond 64 bits": ("Content-Length: 36893488147419103232",),
    "a length with a space": (f"{LENGTH} 1",),
    "chunked that is not last": (f"{CHUNKED}, identity", LENGTH),
    "chunked twice": (CHUNKED, CHUNKED, LENGTH),
    "chunked misspelt": ("Transfer-Encoding: xchunked", LENGTH),
    "chunked after a tab": ("Transfer-Encoding:\tchunked", LENGTH),
    "chunked before the colon": ("Transfer-Encoding : chunked", LENGTH),
    "chunked in a folded line": ("Transfer-Encoding:\r\n chunked", LENGTH),
    "chunked with a vertical tab": ("Transfer-Encoding: \x0bchunked", LENGTH),
    "a header without a name": (": x", LENGTH, CHUNKED),
    "a header with a bare CR": (f"X: a\r{CHUNKED}", LENGTH),
    "a header with a bare LF": (f"X: a\n{CHUNKED}", LENGTH),
}
"""Headers that give a body two lengths, or one that is none."""


def smuggling(_: Random) -> Iterator[Attack]:
    """Send a request behind a body of an ambiguous length: it must not be answered."""
    for name, fields in AMBIGUOUS.items():
        yield Attack(name, [head(POST, JSON, *fields) + CHUNKS + LAST_CHUNK + HIDDEN])
    yield Attack("a length without a body", [post(b"") + HIDDEN], ANY, most=2)
    yield Attack("GET with a body", [head("GET /healthz HTTP/1.1", LENGTH) + BODY], ANY)


def chunks(_: Random) -> Iterator[Attack]:
    """Send chunks that are none."""
    begin = head(POST, JSON, CHUNKED)
    many = (b"fffffffffffffffff", b"10000000000000000")
    for size in (b"zz", b"-1", b"+5", b"0x5", b" 5", b"", b"5 5", b"\x00", b"5\x005", *many):
        yield Attack(f"the chunk size {size!r}", [begin + size + b"\r\n" + BODY + b"\r\n" + LAST_CHUNK + HIDDEN])
    yield Attack("a chunk without its end", [begin + b"2\r\n" + BODY + b"\r\n" + LAST_CHUNK])
    yield Attack("a chunk size ended by LF", [begin + (CHUNKS + LAST_CHUNK).replace(b"\r\n", b"\n")], ANY)
    yield Attack("a chunk with an extension", [begin + CHUNKS.replace(b"\r\n", b";a=b\r\n", 1) + LAST_CHUNK], ANY)
    single = b"".join(b"1\r\n%c\r\n" % byte for byte in BODY)
    yield Attack("chunks of one byte", [begin + single + LAST_CHUNK], ANSWERED)
    yield Attack("a body beyond the limit", [begin, *repeat(b"10000\r\n" + b" " * 65536 + b"\r\n", 40)])
    yield Attack("a chunk of two gigabytes", [begin + b"7fffffff\r\n" + BODY], answered=False, ending="half")


def floods(_: Random) -> Iterator[Attack]:
    """Send streams without an end, which must be refused, not stored."""
    begin, lines, letters = head(POST, JSON, CHUNKED), b"a: b\r\n" * 700, b"x" * 4096
    anonymous = head(POST, JSON, CHUNKED, token=None)
    streams = {
        "trailers": (begin + CHUNKS + b"0\r\n", lines),
        "trailers without a token": (anonymous + b"0\r\n", lines),
        "a trailer": (begin + CHUNKS + b"0\r\na: ", letters),
        "a chunk extension": (begin + b"1;", letters),
        "chunks with long extensions": (begin, b"1;" + letters + b"\r\n \r\n"),
        "a request line": (b"GET /", letters),
        "headers": (head("GET / HTTP/1.1")[:-2], lines),
        "a header": (b"GET / HTTP/1.1\r\nX: ", letters),
        "empty lines": (b"\r\n", b"\r\n" * 2048),
        "a body": (head(POST, JSON, f"Content-Length: {2**40}"), letters),
        "a body without a token": (head(POST, JSON, f"Content-Length: {2**40}", token=None), letters),
    }
    for name, (first, again) in streams.items():
        yield Attack(f"{name} without an end", [first, *repeat(again, FLOOD)], answered=False, within=FLOOD_LIMIT)


def heads(_: Random) -> Iterator[Attack]:
    """Send heads beyond 64 KiB, or with very many headers."""
    line, long = "GET /healthz HTTP/1.1", "a" * 70_000
    yield Attack("a request line of 70 KB", [head(f"GET /{long} HTTP/1.1")])
    yield Attack("a header of 70 KB", [head(line, f"X: {long}")])
    yield Attack("a header name of 70 KB", [head(line, f"{long}: y")])
    yield Attack("10,000 headers", [head(line, *(f"X{number}: y" for number in range(10_000)))])
    yield Attack("a query of 60 KB", [head(f"GET /healthz?{'a=b&' * 15_000} HTTP/1.1")], ANY)
    yield Attack("1,000 cookies", [head(line, *(f"Cookie: c{number}=x" for number in range(1000)))], ANY)
    yield Attack("1,000 ranges", [head("GET / HTTP/1.1", f"Range: bytes={','.join(['0-'] * 1000)}")], ANY)


def connections(chance: Random) -> Iterator[Attack]:
    """Close connections halfway, or send many requests, upgrades and noise on one."""
    whole = valid()
    yield Attack("half closed after a request", [whole], ANY, answered=False, ending="half")
    yield Attack("half closed after nothing", [], ANY, answered=False, ending="half")
    for _ in range(10):
        cut, ending = chance.randrange(len(whole)), chance.choice(("half", "abort"))
        yield Attack(f"{ending} after {cut} bytes", [whole[:cut]], answered=False, ending=ending)  # type: ignore[arg-type]
    for size in (1, 50):
        pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
        yield Attack(f"a request in pieces of {size} bytes", pieces, ANSWERED)
    yield Attack("100 requests at once", [HIDDEN * 100], ANSWERED, most=100)
    yield Attack("20 translations at once", [whole * 20], ANSWERED, most=20)
    yield Attack("5,000 requests that nobody reads", [HIDDEN * 5000], ANY, answered=False, most=5000, ending="abort")
    yield Attack("a request and noise", [HIDDEN + chance.randbytes(500)], ANY, answered=False, most=2)
    yield Attack("a wait for 100 Continue", [head(POST, JSON, "Expect: 100-continue", "Content-Length: 99999999")])
    yield Attack("an unknown expectation", [post(BODY, "Expect: a miracle")], ANY)
    upgrade = ("Connection: Upgrade", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13")
    for protocol in ("websocket", "h2c", "TLS/1.2"):
        yield Attack(f"to {protocol}", [head("GET /v1/models HTTP/1.1", f"Upgrade: {protocol}", *upgrade)], ANY)
    yield Attack("a translation with an upgrade", [post(BODY, "Upgrade: h2c", "Connection: Upgrade")], ANY)


def aborted_translations(chance: Random) -> Iterator[Attack]:
    """Go away while a document is translated."""
    for _ in range(4):
        path = chance.choice(("/v1/translate", "/v1/translate/stream"))
        request = valid(coats(chance.randint(20, 300)), path)
        yield Attack(f"a client that leaves {path}", [request], ANY, answered=False, ending="abort")


def mutations(chance: Random) -> Iterator[Attack]:
    """Send requests with some bytes changed, added, repeated or lost."""
    whole = [valid(), HIDDEN, head(POST, JSON, CHUNKED) + CHUNKS + LAST_CHUNK]
    for _ in range(40):
        data = bytearray(chance.choice(whole))
        for _ in range(chance.randint(1, 8)):
            mutate(data, chance)
        yield Attack(f"mutation {bytes(data)!r}", [bytes(data)], ANY, answered=False, most=9, ending="half")


SPECIAL = (
    *(b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\0", b":", b" ", b"\t", b";", b"\xff", b"{", b'"'),
    *(b"0\r\n\r\n", b"Host: x\r\n", b"chunked", b"-1", b"999999999999999999999"),
)


def mutate(data: bytearray, chance: Random) -> None:
    """Change some bytes in place."""
    place, kind = chance.randrange(len(data) + 1), chance.randrange(5)
    if kind == 0 and place < len(data):
        data[place] ^= 1 << chance.randrange(8)
    elif kind == 1:
        data[place:place] = chance.choice(SPECIAL)
    elif kind == 2:
        del data[place : place + chance.randint(1, 20)]
    elif kind == 3:
        data[place:place] = data[place : place + chance.randint(1, 60)]
    else:
        data[place : place + 4] = chance.randbytes(4)
