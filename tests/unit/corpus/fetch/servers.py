"""A web server with every fault that a download must handle."""

import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Answer each path as its function says."""

    server: "Server"

    def do_GET(self) -> None:
        self.server.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        self.server.answers[self.path](self)

    def head(self, status: int, **headers: Any) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass

    @property
    def offset(self) -> int:
        return int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))


class Server(ThreadingHTTPServer):
    """Serve `answers`, and remember what was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: dict[str, Answer] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def ranges(self) -> list[str | None]:
        """What was asked for, request by request."""
        return [headers.get("range") for _, headers in self.asked]


@contextmanager
def running() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@dataclass
class File:
    """A file on the server; `breaks` are how many bytes the first answers send before the connection breaks."""

    content: bytes
    breaks: list[int] = field(default_factory=list)
    tag: str | None = None
    ranges: bool = True
    if_range: bool = True
    length: int | None = None
    before: Callable[[int], None] = lambda _: None
    answered: int = 0

    @property
    def etag(self) -> str:
        return self.tag or f'"{hashlib.md5(self.content).hexdigest()}"'

    def __call__(self, handler: Handler) -> None:
        self.answered += 1
        self.before(self.answered)
        same = not self.if_range or handler.headers.get("If-Range") == self.etag
        offset = handler.offset if self.ranges and same else 0
        if offset >= len(self.content):
            handler.head(416, Content_Range=f"bytes */{len(self.content)}")
            return
        body = self.content[offset:]
        headers: dict[str, Any] = {"ETag": self.etag, "Content_Length": self.length or len(body)}
        if offset:
            headers["Content_Range"] = f"bytes {offset}-{len(self.content) - 1}/{len(self.content)}"
        handler.head(206 if offset else 200, **headers)
        handler.wfile.write(body[: self.breaks.pop(0)] if self.breaks else body)


def sleeping(seconds: float, then: Answer) -> Answer:
    """Keep the first caller waiting."""
    calls: list[int] = []

    def answer(handler: Handler) -> None:
        calls.append(1)
        if len(calls) == 1:
            time.sleep(seconds)
            return
        then(handler)

    return answer


def redirect(location: str, status: int = 302) -> Answer:
    return lambda handler: handler.head(status, Location=location, Content_Length=0)


def status(code: int) -> Answer:
    return lambda handler: handler.head(code, Content_Length=0)
