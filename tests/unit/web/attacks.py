"""Requests that no honest client sends, as bytes on the wire, and the statuses with which the service may answer.

`ATTACKS` holds for a service that needs no token; with one, 401 may come instead of any error. Needs no server module:
other tests import it to attack a service in another process.
"""

import contextlib
import re
import socket
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

ROOM = 2_000_000
"""How much an endless attack sends: far beyond every limit on what is not a body."""
POST = b"POST /v1/translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
FORM_POST = b"POST /v2/translate HTTP/1.1\r\nHost: localhost:8000\r\nConnection: close\r\n"
MULTIPART = FORM_POST + b"Content-Type: multipart/form-data; boundary=b\r\nTransfer-Encoding: chunked\r\n\r\n"
PART = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'
BODY = b'{"sentences": ["x"]}'
CHUNK = b"%x\r\n%s\r\n" % (len(BODY), BODY)
GET = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
FORM = b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
STATUS = re.compile(rb"HTTP/1\.1 ([2-5]\d\d) ")


@dataclass(frozen=True)
class Attack:
    """What a client sends: `start`, then `repeated` until the limit of `size` bytes; and the statuses it may get.

    Statuses are those of all responses on the connection; each of them is one that is listed.
    """

    name: str
    start: bytes
    statuses: frozenset[int]
    repeated: bytes = b""
    size: int = 0

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes in the order in which they are sent."""
        yield self.start
        times = 1 + 65536 // max(1, len(self.repeated))
        for _ in range(0, self.size, 65536):
            yield self.repeated * times


def _once(name: str, sent: bytes, *statuses: int) -> Attack:
    return Attack(name, sent, frozenset(statuses))


def _endless(name: str, start: bytes, repeated: bytes, *statuses: int, size: int = ROOM) -> Attack:
    return Attack(name, start, frozenset(statuses), repeated, size)


def _get(name: str, headers: bytes, *statuses: int) -> Attack:
    return _once(name, b"GET /v1/models HTTP/1.1\r\n" + headers + b"Connection: close\r\n\r\n", *statuses)


def _post(name: str, headers: bytes, *statuses: int) -> Attack:
    head = b"POST /v1/translate HTTP/1.1\r\nHost: localhost:8000\r\nConnection: close\r\n"
    return _once(name, head + headers, *statuses)


JSON = b"Content-Type: application/json\r\nContent-Length: %d\r\n" % len(BODY)
ENDLESS = (
    _endless("endless head", GET, b"a:b\r\n", 431),
    _endless("endless header", GET + b"a: ", b"b", 431),
    _endless("endless header name", GET, b"a", 431),
    _endless("endless target", b"GET /", b"a", 431),
    _endless("endless empty lines", b"", b"\r\n", 431),
    _endless("endless trailers", CHUNKED + CHUNK + b"0\r\n", b"a:b\r\n", 413),
    _endless("endless trailer", CHUNKED + CHUNK + b"0\r\na: ", b"b", 413),
    _endless("endless trailers of a refused request", b"POST /nothing" + CHUNKED[18:] + b"0\r\n", b"a:b\r\n", 413, 404),
    _endless("endless chunk extension", CHUNKED + b"1;", b"a", 413),
    _endless("endless chunk extension value", CHUNKED + b"1;a=", b"b", 413),
    _endless("long chunk extensions", CHUNKED, b"1;" + 5000 * b"a" + b"\r\nx\r\n", 413),
    _endless("endless zeros of a chunk size", CHUNKED, b"0", 413, 400),
    _endless("endless empty lines in a chunk", CHUNKED + b"f0000\r\n", b"\n", 413),
    _endless("endless body", CHUNKED, b"1000\r\n" + 0x1000 * b" " + b"\r\n", 413),
    _endless("endless body in single bytes", CHUNKED, b"1\r\n \r\n", 413, size=8_000_000),
    _endless("endless body of a given length", POST + b"Content-Length: 9999999\r\n\r\n", b" ", 413),
    _endless("endless fields", MULTIPART, b"%x\r\n%s\r\n" % (len(PART), PART), 413, 403),
    _endless(
        "endless headers of a field",
        MULTIPART + b"5\r\n--b\r\n\r\n",
        b"4b0\r\n%s\r\n" % (200 * b"a: b\r\n"),
        413,
        400,
        403,
    ),
    _endless("endless header of a field", MULTIPART + b"8\r\n--b\r\na: \r\n", b"1\r\nb\r\n", 413, 400, 403),
    _endless("endless garbage", b"", b"\xff\x00", 400),
)
FRAMING = (
    _once("chunk size is no number", CHUNKED + b"zz\r\n", 400),
    _once("chunk size is negative", CHUNKED + b"-1\r\nx\r\n0\r\n\r\n", 400),
    _once("chunk size has a prefix", CHUNKED + b"0x5\r\nabcde\r\n0\r\n\r\n", 400),
    _once("chunk size is empty", CHUNKED + b"\r\n", 400),
    _once("chunk size overflows", CHUNKED + b"fffffffffffffffff\r\nx", 400),
    _once("chunk is longer than its size", CHUNKED + b"2\r\nabc\r\n0\r\n\r\n", 400),
    _once("bad chunk after a good one", CHUNKED + CHUNK + b"zz\r\n", 400),
    _once("bad chunk of a refused request", b"POST /nothing" + CHUNKED[18:] + b"zz\r\n", 400, 404),
    _once("bad trailer", CHUNKED + CHUNK + b"0\r\n\x01: x\r\n\r\n", 400),
    _once("length and chunks", POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    _once("two lengths", POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", 400),
    _once("length is no number", POST + b"Content-Length: 5x\r\n\r\nabcde", 400),
    _once("length is negative", POST + b"Content-Length: -5\r\n\r\n", 400),
    _once("length overflows", POST + b"Content-Length: 99999999999999999999\r\n\r\n", 400),
    _once("unknown transfer encoding", POST + b"Transfer-Encoding: gzip\r\n\r\nabcde", 400),
    _once("space before the colon", GET + b"Connection : close\r\n\r\n", 400),
    _once("no request at all", b"no request at all\r\n\r\n", 400),
    _once("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    _once("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    _once("tunnel", b"CONNECT localhost:22 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    _once("upgrade with a body", POST + b"Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 5\r\n\r\nabcde", 400),
    _once("good request, then garbage", GET + b"\r\n\xff\xff", 200, 400),
)
HEADERS = (
    _once("10,000 headers", GET + 10_000 * b"a:b\r\n" + b"\r\n", 431),
    _once("70 KB of headers", GET + 70 * (b"a: " + 995 * b"b" + b"\r\n") + b"\r\n", 431),
    _get("host with user information", b"Host: 127.0.0.1:x@evil.example\r\n", 400),
    _get("host with a path", b"Host: localhost/evil.example\r\n", 400),
    _get("host with a port that is no number", b"Host: localhost:80a\r\n", 400),
    _get("two hosts", b"Host: localhost\r\nHost: evil.example\r\n", 400),
    _get("no host", b"", 421),
    _get("foreign host", b"Host: evil.example\r\n", 421),
    _get("foreign host that begins like ours", b"Host: localhost.evil.example\r\n", 421),
    _get("foreign site without an origin", b"Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", 403),
)
PAGES = (
    _post("foreign origin", JSON + b"Origin: https://evil.example\r\n\r\n" + BODY, 403),
    _post("sandboxed page", JSON + b"Origin: null\r\n\r\n" + BODY, 403),
    _post("page of another port", JSON + b"Origin: http://localhost:3000\r\n\r\n" + BODY, 403),
    _post("origin that begins like ours", JSON + b"Origin: http://localhost:8000.evil.example\r\n\r\n" + BODY, 403),
    _post("origin that ends like ours", JSON + b"Origin: http://evil@localhost:8000\r\n\r\n" + BODY, 403),
    _post("form", FORM, 415),
    _post("form of a foreign page", b"Origin: https://evil.example\r\n" + FORM, 403),
    _once("form of a foreign page for another API", FORM_POST + b"Origin: https://evil.example\r\n" + FORM, 403),
    _once("two content types for another API", FORM_POST + b"Content-Type: application/json\r\n" + FORM, 400, 403),
    _post("no content type", b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY, 415),
    _post("two content types", b"Content-Type: application/json\r\n" + FORM, 415),
    _post("content type that begins like JSON", b"Content-Type: application/jsonp\r\nContent-Length: 2\r\n\r\n{}", 415),
)
ATTACKS: Sequence[Attack] = (*ENDLESS, *FRAMING, *HEADERS, *PAGES)


def send(address: tuple[str, int], attack: Attack, seconds: float = 60) -> bytes:
    """Send an attack, then nothing more; return all that comes back until the service closes the connection."""
    received = bytearray()
    with socket.create_connection(address, timeout=seconds) as raw:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may be closed while we send
            for piece in attack.pieces():
                raw.sendall(piece)
        with contextlib.suppress(ConnectionResetError):
            while part := raw.recv(65536):
                received += part
    return bytes(received)


def statuses(received: bytes) -> list[int]:
    """Return the statuses of all responses."""
    return [int(status) for status in STATUS.findall(received)]
