"""Hostile and damaged files: odd values in every field of a JSON file, flipped bytes, files that are not regular.

Everything is derived from a `random.Random`, so a printed seed repeats it.
"""

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

DEEP = 100_000
ODD_VALUES = (
    *("null", "true", "0", "1", "-1", "2", "1.5", "-0.0", "1e300", "1e999", "NaN", "-Infinity", "9" * 30, "9" * 5000),
    *('""', '"x"', '"\\u001b[2J\\u0007"', '"\\u0000"', '"\\ud800"', '"../../etc/passwd"', '"/dev/zero"', '"1"'),
    *("[]", "{}", "[1]", '["a", "b"]', "[[]]", "[null]", '{"a": 1}', '{"a": {"b": null}}', '[{"a": []}]'),
    *("[" * 50 + "]" * 50, "[" * 900 + "]" * 900, "[" * DEEP + "]" * DEEP, '{"a":' * 900 + "1" + "}" * 900),
    json.dumps("x" * 100_000),
)
"""Values as JSON text: some cannot be made by `json.dumps`."""
_HOLE = "\x00hole\x00"


def places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the place of every value in a JSON value, the whole first; of long lists, only a few."""
    yield place
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(inside)[:40]:
        yield from places(inner, (*place, key))


def put(value: Any, place: tuple[str | int, ...], text: str) -> str:
    """Return JSON text with one value replaced by other JSON text."""
    if not place:
        return text
    copy = json.loads(json.dumps(value))
    holder = copy
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = _HOLE
    return json.dumps(copy).replace(json.dumps(_HOLE), text)


def drop(value: Any, place: tuple[str | int, ...]) -> str:
    """Return JSON text without one value."""
    copy = json.loads(json.dumps(value))
    holder = copy
    for key in place[:-1]:
        holder = holder[key]
    del holder[place[-1]]
    return json.dumps(copy)


def odd_json(content: bytes, random: Random, count: int) -> Iterator[bytes]:
    """Yield the content of a JSON file with one odd value, or without one of its values."""
    value = json.loads(content)
    found = list(places(value))
    for _ in range(count):
        place = random.choice(found)
        removed = place and random.random() < 0.15
        text = drop(value, place) if removed else put(value, place, random.choice(ODD_VALUES))
        yield text.encode("utf-8", errors="surrogatepass")


def odd_lines(content: bytes, random: Random, count: int) -> Iterator[bytes]:
    """Yield the content of a JSON Lines file with one odd line."""
    lines = content.splitlines()
    for _ in range(count):
        number = random.randrange(len(lines))
        (line,) = odd_json(lines[number], random, 1)
        yield b"\n".join([*lines[:number], line, *lines[number + 1 :]]) + b"\n"


def odd_bytes(content: bytes, random: Random, count: int) -> Iterator[bytes]:
    """Yield a file with flipped bits, overwritten, cut, doubled or lost parts."""
    for _ in range(count):
        data, kind = bytearray(content), random.choice(("flip", "flip", "write", "cut", "lose", "double", "empty"))
        at = random.randrange(max(len(data), 1))
        if kind == "flip":
            for _ in range(random.choice((1, 1, 3, 20))):
                at = random.randrange(max(len(data), 1))
                data[at : at + 1] = bytes([data[at] ^ (1 << random.randrange(8))]) if data else b""
        elif kind == "write":
            data[at : at + random.choice((1, 8, 64))] = random.randbytes(random.choice((1, 8, 64)))
        elif kind == "cut":
            del data[at:]
        elif kind == "lose":
            del data[at : at + random.choice((1, 8, 64))]
        elif kind == "double":
            data[at:at] = data[at : at + random.choice((1, 8, 64))]
        else:
            data.clear()
        yield bytes(data)


def odd_files(path: Path) -> Iterator[str]:
    """Put things that are not regular files in the place of a path, one after another; yield what it is now."""
    for kind in ("pipe", "zero", "full", "terminal", "folder", "loop", "socket", "nothing", "huge"):
        _remove(path)
        if kind == "pipe":
            os.mkfifo(path)
        elif kind in ("zero", "full", "terminal"):
            path.symlink_to({"zero": "/dev/zero", "full": "/dev/full", "terminal": "/dev/tty"}[kind])
        elif kind == "folder":
            path.mkdir()
        elif kind == "loop":
            path.symlink_to(path)
        elif kind == "socket":
            _bind(path)
        elif kind == "huge":
            path.touch()
            os.truncate(path, 2**40)  # sparse: it takes no room on the disk
        yield kind
    _remove(path)


def _bind(path: Path) -> None:
    """Make a socket; its name is limited to about 100 characters."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(path.name)
    finally:
        os.chdir(before)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
