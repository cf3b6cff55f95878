"""Attacks on the routes for files and on those of other services: forms, archives, tags, glossaries, keys."""

import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from random import Random

from tests.chaos.attacks import ANY, JSON, REFUSED, TOKEN, Attack, head, mutate

FULL = REFUSED | {429}
"""There may be no room for another file."""
UPLOADED = ANY | FULL | {201, 202, 204}
FORM = "Content-Type: multipart/form-data; boundary=x"
URLENCODED = "Content-Type: application/x-www-form-urlencoded"
END = b"--x--\r\n"
UPLOADS = ("/v1/files", "/v2/document", "/translate_file")
LANGUAGES = {
    "/v1/files": {},
    "/v2/document": {"target_lang": "DE"},
    "/translate_file": {"source": "en", "target": "de"},
}
NAMES = (
    *("../../../etc/passwd", "..\\..\\a.txt", "a\0b.srt", "con", "/", ".", "a" * 3000, "\u202etxt.exe", "%2e%2e%2f"),
    *('a"; name="b', "a.docx", "a.srt", "a.po", "a.html", "a.md", "a.yaml", "a.json", "a.gz", ""),
)
NOT_FOUND = "0" * 32


def part(name: str, content: bytes, *, filename: str | None = None) -> bytes:
    """Return a part of a form."""
    file = "" if filename is None else f'; filename="{filename}"'
    return f'--x\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + content + b"\r\n"


def send(path: str, body: bytes, kind: str = JSON, method: str = "POST", token: str | None = TOKEN) -> bytes:
    """Return a request with any body."""
    return head(f"{method} {path} HTTP/1.1", kind, f"Content-Length: {len(body)}", token=token) + body


def upload(path: str, content: bytes, name: str = "a.txt", **fields: str) -> bytes:
    """Return the upload of a file."""
    parts = [part(key, value.encode()) for key, value in {**LANGUAGES[path], **fields}.items()]
    return send(path, b"".join(parts) + part("file", content, filename=name) + END, FORM)


def archive(name: str, content: bytes) -> bytes:
    """Return a zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(name, content)
    return file.getvalue()


ENTITIES = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><x>&b;&b;</x>'
TEXT = "word/document.xml"


def files() -> dict[str, tuple[str, bytes]]:
    """Return files that are none, or more than they seem."""
    whole = archive(TEXT, b"<x/>")
    return {
        "a truncated archive": ("a.docx", whole[: len(whole) // 2]),
        "an archive bomb": ("a.docx", archive(TEXT, bytes(40_000_000))),
        "entities in an archive": ("a.odt", archive("content.xml", ENTITIES)),
        "entities": ("a.tmx", ENTITIES),
        "an external entity": ("a.xlf", b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><xliff>&a;</xliff>'),
        "a gzip file": ("a.txt", gzip.compress(bytes(1_000_000))),
        "20,000 cues": ("a.srt", b"1\n00:00:01,000 --> 00:00:02,000\nx\n\n" * 20_000),
        "deep HTML": ("a.html", b"<div>" * 100_000 + b"x"),
        "deep JSON": ("a.json", b"[" * 100_000),
        "deep Markdown": ("a.md", b">" * 50_000 + b" x"),
        "open emphasis": ("a.md", b"*a _b " * 20_000),
        "YAML of aliases": ("a.yaml", b"a: &a [x]\n" + b"".join(b"b%d: [*a, *a]\n" % number for number in range(999))),
        "a regular expression's fear": ("a.po", b'msgid "' + b"%(" * 50_000 + b'"\nmsgstr ""\n'),
        "a line without an end": ("a.txt", b"x" * 3_000_000),
        "another encoding": ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nä\n".encode("utf-16-be")),
        "control characters": ("a.txt", bytes(range(32)) * 100),
    }


def uploads(chance: Random) -> Iterator[Attack]:
    """Send files that are damaged, deep or large, under names that are none."""
    for name, (file, content) in files().items():
        path = chance.choice(UPLOADS)
        yield Attack(f"{name} to {path}", [upload(path, content, file)], UPLOADED)
    for name in NAMES:
        path = chance.choice(UPLOADS)
        yield Attack(f"a file named {name[:30]!r} to {path}", [upload(path, b"It was old.", name)], UPLOADED)
    for name, value in (
        ("encoding", "base64"),
        ("lines", "9" * 5000),
        ("line_length", "nan"),
        ("glossary", "a\t" * 9999),
    ):
        yield Attack(f"{name} of a file", [upload("/v1/files", b"x", **{name: value})], FULL)


def forms(chance: Random) -> Iterator[Attack]:
    """Send forms that are none."""
    file = part("file", b"It was old.", filename="a.txt")
    bodies = {
        "nothing": b"",
        "no end": file,
        "no file": part("a", b"b") + END,
        "two files": file + file + END,
        "a file of another name": part("other", b"x", filename="a") + END,
        "101 fields": part("a", b"b") * 101 + END,
        "two megabytes of fields": part("glossary", b"x" * 2**21) + file + END,
        "an endless header": b"--x\r\nContent-Disposition: " + b"a" * 100_000 + b"\r\n\r\n" + END,
        "bytes that are no text": part("a", b"\xff\xfe") + file + END,
        "a boundary within a boundary": b"--x\r\n--x\r\n--x--\r\n--x--\r\n",
    }
    for name, body in bodies.items():
        yield Attack(f"a form with {name}", [send(chance.choice(UPLOADS), body, FORM)], FULL)
    for kind in ("Content-Type: multipart/form-data", f"{FORM}{'y' * 100}", JSON, URLENCODED, "Content-Type: a/b"):
        yield Attack(f"an upload as {kind[:60]}", [send(chance.choice(UPLOADS), file + END, kind)], FULL)
    larger = part("file", b" " * 12_000_000, filename="a.txt") + END
    yield Attack("a file beyond the limit", [send("/v1/files", larger, FORM)], FULL, answered=False)


BODIES: dict[str, list[object]] = {
    "/v2/translate": [
        {"text": ["x"] * 3000, "target_lang": "DE"},
        {"text": ["<b>" * 50_000], "target_lang": "DE", "tag_handling": "xml"},
        {"text": ["<b>" * 50_000], "target_lang": "DE", "tag_handling": "html"},
        {"text": ["<x>" * 200_000], "target_lang": "DE", "tag_handling": "xml", "ignore_tags": ["x"]},
        {"text": ["<a>" * 100_000 + "</b>" * 100_000], "target_lang": "DE", "tag_handling": "xml"},
        {"text": ["<!--" * 200_000], "target_lang": "DE", "tag_handling": "xml"},
        {"text": ["<![CDATA[" * 100_000], "target_lang": "DE", "tag_handling": "xml"},
        {"text": ["<" * 200_000], "target_lang": "DE", "tag_handling": "xml"},
        {"text": ["<a b='" * 30_000], "target_lang": "DE", "tag_handling": "xml"},
        {"text": ["<x>a</x>" * 1000], "target_lang": "DE", "tag_handling": "xml", "ignore_tags": ["x"]},
        {"text": ["It was old."], "target_lang": "DE", "context": "x. " * 200_000},
        {"text": ["x"], "target_lang": "DE", "glossary_id": NOT_FOUND, "source_lang": "EN"},
        {"text": ["x"], "target_lang": "DE", "ignore_tags": "," * 100_000},
    ],
    "/v2/glossaries": [
        {"name": "x", "source_lang": "en", "target_lang": "de", "entries": "a\tb\n" * 9999, "entries_format": "tsv"},
        {"name": "x" * 9999, "source_lang": "en", "target_lang": "de", "entries": "a\tb", "entries_format": "tsv"},
        {"name": "x", "source_lang": "en", "target_lang": "de", "entries": '"' * 99_999, "entries_format": "csv"},
    ],
    "/v3/glossaries": [{"name": "x", "dictionaries": [{}] * 101}, {"dictionaries": None}],
    "/translate": [
        {"q": "It was old.", "source": "auto", "target": "de", "alternatives": 31},
        {"q": "<i>" * 50_000, "source": "en", "target": "de", "format": "html"},
        {"q": [["x"]], "source": "en", "target": "de"},
        {"q": "x", "source": "en" * 5000, "target": "de"},
    ],
    "/detect": [{"q": ["x"] * 1001}, {"q": "x " * 400_000}, {"q": "\udcff"}, {"q": {}}],
}
RESOURCES = (
    *(f"GET /v1/files/{NOT_FOUND}", f"GET /v1/files/{NOT_FOUND}/result", "GET /v1/files/..%2f..%2fetc"),
    *(f"DELETE /v1/files/{NOT_FOUND}", f"GET /download_file/{NOT_FOUND}/x", "GET /download_file/../x"),
    *(f"DELETE /v2/glossaries/{NOT_FOUND}", "GET /v2/glossaries/%00", f"GET /v2/glossaries/{NOT_FOUND}/entries"),
    *(f"GET /v3/glossaries/{NOT_FOUND}/entries?source_lang=en", "GET /v2/languages?type=x", "GET /v2/document"),
)


def clients(chance: Random) -> Iterator[Attack]:
    """Send what no client of DeepL or LibreTranslate sends."""
    for path, bodies in BODIES.items():
        for number, body in enumerate(bodies):
            yield Attack(f"{path} {number}", [send(path, json.dumps(body).encode())], UPLOADED)
        kind = chance.choice((JSON, URLENCODED, FORM))
        noise = [send(path, chance.randbytes(300), kind)]
        yield Attack(f"noise to {path}", noise)
    for line in RESOURCES:
        yield Attack(line, [head(f"{line} HTTP/1.1")])
    key = f"/v2/document/{NOT_FOUND}"
    yield Attack("a document without a key", [send(key, b"{}")])
    yield Attack("a document of nobody", [send(f"{key}/result", b'{"document_key": "x"}')])


CLOSED = (
    *("GET /v2/usage", "GET /v2/languages", "GET /v2/glossaries", "GET /v3/glossaries", "GET /languages"),
    *("GET /V2/usage", "GET //v2/usage", "GET /v2/usage/", "GET /languages/", "GET /%6canguages", "GET /v2/./usage"),
    *(f"GET /v1/files/{NOT_FOUND}", "GET /languages?api_key=x", "GET /languages?api_key[]="),
)


def keys(_: Random) -> Iterator[Attack]:
    """Use the routes of other services without the token."""
    for line in CLOSED:
        yield Attack(f"{line} without a key", [head(f"{line} HTTP/1.1", token=None)], protected=True)
    wrong = {"text": ["x"], "target_lang": "DE"}
    yield Attack("DeepL without a key", [send("/v2/translate", json.dumps(wrong).encode(), token=None)], protected=True)
    for key in ("", "x", None, [TOKEN[:-1]], {"a": TOKEN}, 0, True):
        body = json.dumps({"q": "x", "source": "en", "target": "de", "api_key": key}).encode()
        yield Attack(f"LibreTranslate with the key {key!r}", [send("/translate", body, token=None)], protected=True)
    for path in UPLOADS:
        body = part("file", b"It was old.", filename="a.txt") + END
        yield Attack(f"{path} without a key", [send(path, body, FORM, token=None)], protected=True)


def mutated_uploads(chance: Random) -> Iterator[Attack]:
    """Send uploads with some bytes changed, added, repeated or lost."""
    srt = b"1\n00:00:01,000 --> 00:00:02,000\nIt was old.\n"
    whole = [
        upload(path, content, name) for path in UPLOADS for name, content in (("a.srt", srt), ("b.txt", b"It ran."))
    ]
    for _ in range(30):
        data = bytearray(chance.choice(whole))
        for _ in range(chance.randint(1, 6)):
            mutate(data, chance)
        yield Attack(f"mutation {bytes(data)!r}", [bytes(data)], UPLOADED, answered=False, most=9, ending="half")
