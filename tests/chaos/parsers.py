"""The parsers that read most foreign bytes, as targets of a coverage-guided fuzzer (atheris).

`python -m tests.chaos.parsers TARGET [libFuzzer's options]` runs one. An error for the user is right; anything else
that a target raises, or a slow input, is a fault.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from tests.chaos import upload_parsers

ROOT = Path(__file__).parents[2]
FIXTURE = ROOT / "tests" / "fixtures" / "run-0.1"
Target = Callable[[bytes], None]


@cache
def scratch() -> Path:
    """Return the file that holds an input: in memory where there is such a directory."""
    memory = Path("/dev/shm")
    folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
    scratch.folder = folder  # type: ignore[attr-defined]  # removed when the process ends
    return Path(folder.name) / "input"


def read_documents(data: bytes) -> None:
    """Read documents of any format, named or detected, and write them back: the first byte chooses."""
    from docaps.corpus.formats import FORMATS, format_translations, iterate_documents
    from docaps.errors import DocapsError

    names = [*FORMATS, None, None]
    choice = data[0] if data else 0
    path = scratch()
    path.write_bytes(data[1:])
    try:
        documents = list(iterate_documents(path, format=names[choice % len(names)], running_text=choice >= 128))
        text = "".join(format_translations((document, document.sentences) for document in documents))
    except DocapsError:
        return
    assert all("\n" not in sentence for document in documents for sentence in document.sentences)
    text.encode("utf-8", errors="backslashreplace")


def process_text(data: bytes) -> None:
    """Tokenise a sentence, number its subwords, split it if it is long, and decode any numbers."""
    from docaps.translation.segments import decode, segment_sentence

    codec = stored_codec()
    limit, sentence = 8 + (data[0] if data else 0), data[1:].decode("utf-8", errors="replace")
    found = segment_sentence(codec, sentence, limit)
    for segment in found.segments:
        assert all(0 <= number < len(codec.vocabulary) for number in segment.tokens)
        decode(codec, segment.tokens, segment.unknown)
    words = codec.source.words(sentence)
    assert not any(character.isspace() for word in words for character in word if character in " \t\n")
    assert "\n" not in codec.decode_target([byte % len(codec.vocabulary) for byte in data])


def parse_requests(data: bytes) -> None:
    """Parse the body of an HTTP request, split its text, and answer, or answer with an error.

    The body is the data, or JSON with fields and values that the data choose: a fuzzer finds few of them by itself.
    """
    status, body = _answer(data[1:] if data[:1] < b"\x80" else json.dumps(_chosen_fields(data[1:])).encode())
    assert status in (200, 400, 422), f"status {status}"
    json.loads(body)


TARGETS: dict[str, Target] = {
    "documents": read_documents,
    "text": process_text,
    "requests": parse_requests,
    "files": upload_parsers.read_files,
    "tags": upload_parsers.read_tags,
    "glossaries": upload_parsers.read_glossaries,
    "forms": upload_parsers.read_forms,
}


@cache
def stored_codec() -> Any:
    """Return the codec of a stored run."""
    from docaps.corpus.text.codec import load_codec

    return load_codec(FIXTURE / "document" / "text")


@cache
def _application() -> Any:
    """Return an application that parses translation requests as the service does, and translates nothing."""
    from fastapi import FastAPI

    from docaps.web.http_errors import add_error_handlers
    from docaps.web.schemas import TranslationRequest
    from docaps.web.service import split_text

    app = FastAPI()
    add_error_handlers(app)

    async def read(body: TranslationRequest) -> list[list[str]]:
        return split_text(body.text or "", "en")

    app.post("/")(read)
    return app


def _answer(data: bytes) -> tuple[int, bytes]:
    """Send a body to the application; return the status and the body of its answer."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/", "query_string": b"", "http_version": "1.1"}
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
    upload_parsers.loop().run_until_complete(
        _application()({**scope, "headers": headers, "scheme": "http"}, receive, send)
    )
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


FIELDS = ("sentences", "text", "history", "model", "context", "beam", "nbest", "routing", "other")


def _chosen_fields(data: bytes) -> dict[str, Any]:
    """Return fields of a request, chosen by the bytes."""
    rest = iter(data)
    return {FIELDS[byte % len(FIELDS)]: _chosen_value(rest, 4) for byte in rest}


def _chosen_value(rest: Iterator[int], depth: int) -> Any:
    """Return a JSON value, chosen by the next bytes."""
    kind, size = next(rest, 0), next(rest, 0)
    if kind % 8 < 2 and depth:
        values = [_chosen_value(rest, depth - 1) for _ in range(size % 6)]
        return values if kind % 8 else {f"{value}"[:20]: value for value in values}
    if kind % 8 < 5:
        return bytes(islice(rest, size)).decode("utf-8", errors="surrogateescape" if kind > 127 else "replace")
    return (None, True, False, size, -size, size / 7, 10**size, float("inf"))[kind // 8 % 8]


def seeds(name: str) -> list[bytes]:
    """Return inputs to start from: some that are right, in every form."""
    return SEEDS[name]()


def _document_seeds() -> list[bytes]:
    from docaps.corpus.documents import Document
    from docaps.corpus.formats import FORMATS, format_documents

    documents = [Document(("Anna bought a coat.", "", "It was <warm> & red."), "d1"), Document(("She left.",), "d2")]
    texts = [
        (number, format_documents(documents, name).encode()) for number, name in enumerate(FORMATS) if name != "starts"
    ]
    running = 'Mr. Hill said: "Go!" He left. 漢字。\n\nIt rained;\nthen it stopped.\n'.encode()
    return [bytes([first]) + text for number, text in texts for first in (number, 127, 255)] + [b"\xff" + running]


def _text_seeds() -> list[bytes]:
    source = (FIXTURE / "prepared" / "dev.source.txt").read_bytes().splitlines()
    strange = (
        "e\u0301\u0302 ß 漢字, «x» ...  http://a.org/?b=1 @-@ &amp; a@@ <unk> \ufdd0",
        "Z" + "\u0301" * 60,
        ". " * 40,
    )
    return [b"\x04" + line for line in (*source[:5], *(text.encode() for text in strange))]


def _request_seeds() -> list[bytes]:
    bodies: list[dict[str, Any]] = [
        {"sentences": ["Anna left."], "history": ["She came."], "beam": 2, "nbest": 2, "routing": True},
        {"text": "Anna left. It rained.\n\nShe came.", "model": "document", "context": False},
        {"sentences": [], "beam": 99},
    ]
    return [b"\0" + json.dumps(body).encode() for body in bodies] + [b"\xff\x01\x03\x0cAnna left. B"]


SEEDS: dict[str, Callable[[], list[bytes]]] = {
    "documents": _document_seeds,
    "text": _text_seeds,
    "requests": _request_seeds,
    "files": upload_parsers.file_seeds,
    "tags": upload_parsers.tag_seeds,
    "glossaries": upload_parsers.glossary_seeds,
    "forms": upload_parsers.form_seeds,
}


def main() -> None:
    """Fuzz the target of the first argument; the other arguments are libFuzzer's."""
    import atheris

    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=["docaps"], enable_loader_override=False):
        for data in seeds(name):
            TARGETS[name](data)  # imports what it needs; the seeds must pass
    atheris.Setup(sys.argv, TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
