"""Damage to files: bytes, values of JSON, entries of arrays, links, pipes and devices, exchanged files."""

import json
import os
import shutil
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

MARK = "@the damaged value@"
FRAGMENTS = (
    *(
        "null",
        "true",
        "0",
        "-1",
        "1",
        "1.5",
        "1e300",
        "-1e400",
        "NaN",
        "Infinity",
        "9" * 30,
        "9" * 5000,
        "1" + "0" * 400,
    ),
    *('""', '"x"', '"\\u0000"', '"\\ud800"', '"\\u001b[31mred"', '"a\\nb"', '"/dev/zero"', '"../../bystander"', '"~"'),
    *("[]", "{}", "[[]]", "[null]", '{"a": 1}', '["<pad>"]', "[" * 200 + "]" * 200, "[" * 100_000 + "]" * 100_000),
    *(
        "[" * 100_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        f'"{"x" * 200_000}"',
        "1000000000",
        "[1" + ", 1" * 1000 + "]",
    ),
)
"""Values as they may stand in a JSON file: wrong types, huge numbers, deep nesting, strange texts."""
ENTRIES = (-(2**31), -1, 0, 1, 7, 2**15, 2**31 - 1)
OUTSIDE = (
    "/dev/zero",
    "/dev/full",
    "/proc/self/mem",
    "/nowhere",
    "../../bystander/file",
    "../../bystander",
    ".",
    "itself",
)


@dataclass(frozen=True)
class Damage:
    """One damage: what is done to which file, with a number and a piece of text that say how."""

    kind: str
    file: str
    number: int
    text: str

    def apply(self, folder: Path, names: Sequence[str]) -> None:
        """Damage the file in a folder; `names` are all files that it may be exchanged with."""
        path = folder / self.file
        if self.kind == "exchange":
            other = folder / names[self.number % len(names)]
            first, second = (place.read_bytes() if place.is_file() else b"" for place in (path, other))
            replace(path, second)
            replace(other, first)
        else:
            KINDS[self.kind](path, self.number, self.text)

    def __str__(self) -> str:
        return f"{self.kind} {self.file} ({self.number}, {self.text[:40]!r})"


def remove(path: Path) -> None:
    """Remove what is at a path."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def replace(path: Path, data: bytes) -> None:
    """Put a regular file with these bytes at a path."""
    remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def content(path: Path) -> bytes:
    """Return the bytes of a regular file; of anything else, none."""
    return path.read_bytes() if path.is_file() and not path.is_symlink() else b""


def flip(path: Path, number: int, _: str) -> None:
    """Flip a bit."""
    data = bytearray(content(path) or b"\0")
    data[number % len(data)] ^= 1 << number % 8
    replace(path, bytes(data))


def cut(path: Path, number: int, _: str) -> None:
    """Lose the end of a file."""
    data = content(path)
    replace(path, data[: number % max(len(data), 1)])


def insert(path: Path, number: int, text: str) -> None:
    """Insert text somewhere."""
    data = content(path)
    place = number % (len(data) + 1)
    replace(path, data[:place] + text.encode("utf-8", errors="surrogatepass") + data[place:])


def overwrite(path: Path, _: int, text: str) -> None:
    """Write something else."""
    replace(path, text.encode("utf-8", errors="surrogatepass"))


def edit(path: Path, number: int, text: str) -> None:
    """Change, remove or rename a value in JSON, in a line of JSON, or in the header of a file of weights."""
    data = content(path)
    if path.suffix == ".safetensors" and len(data) > 8:
        size = int.from_bytes(data[:8], "little")
        header = edited(data[8 : 8 + size], number, text)
        replace(path, len(header).to_bytes(8, "little") + header + data[8 + size :])
    elif path.suffix == ".jsonl":
        lines = data.splitlines(keepends=True) or [b"{}\n"]
        place = number % len(lines)
        lines[place] = edited(lines[place], number // len(lines), text) + b"\n"
        replace(path, b"".join(lines))
    else:
        replace(path, edited(data, number, text))


def edited(data: bytes, number: int, text: str) -> bytes:
    """Return JSON with one value replaced by any text, removed, or under another key."""
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        return text.encode("utf-8", errors="surrogatepass")
    places = list(_places(tree))
    if not places:
        return text.encode("utf-8", errors="surrogatepass")
    inside, key = places[number % len(places)]
    way = number // len(places) % 6
    if way == 0:
        del inside[key]
    elif way == 1 and isinstance(inside, dict):
        inside[f"{key}_"] = inside.pop(key)
    else:
        inside[key] = MARK
    return json.dumps(tree).replace(f'"{MARK}"', text).encode("utf-8", errors="surrogatepass")


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each value of a tree as the object or list that holds it, and its key there."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ():
        yield tree, key
        yield from _places(value)


def distort(path: Path, number: int, _: str) -> None:
    """Change an entry of an array, its type or its shape."""
    try:
        array = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        flip(path, number, "")
        return
    way, place = number % 8, number // 8
    if way == 0:
        array = array.astype(np.float64)
    elif way == 1:
        array = array.reshape(-1, 1)
    elif way > 2 and array.size:
        array.flat[place % array.size] = np.asarray(ENTRIES[place % len(ENTRIES)]).astype(array.dtype)
    remove(path)
    np.save(path, array)
    if way == 2:  # a shape that the file is too short for
        replace(path, path.read_bytes().replace(b"(%d,)" % len(array), b"(%d,)" % 10**9))


def lose(path: Path, _: int, __: str) -> None:
    """Remove a file."""
    remove(path)


def block(path: Path, number: int, _: str) -> None:
    """Put a pipe, a socket or a directory in the place of a file."""
    remove(path)
    if number % 3 == 0:
        os.mkfifo(path)
    elif number % 3 == 1:
        path.mkdir()
    else:
        with closing(socket.socket(socket.AF_UNIX)) as made:
            here = Path.cwd()
            os.chdir(path.parent)  # the name of a socket must be short
            try:
                made.bind(path.name)
            finally:
                os.chdir(here)


def link(path: Path, number: int, _: str) -> None:
    """Put a link to something else in the place of a file or of its directory."""
    target = OUTSIDE[number % len(OUTSIDE)]
    if number // len(OUTSIDE) % 4 == 0 and path.parent.name in ("text", "snapshots", "assessment", "contrast"):
        path = path.parent
    remove(path)
    path.symlink_to(path.name if target == "itself" else target)


KINDS: dict[str, Callable[[Path, int, str], None]] = {
    function.__name__: function for function in (flip, cut, insert, overwrite, edit, distort, lose, block, link)
}


def damages(names: Sequence[str]) -> st.SearchStrategy[Damage]:
    """Draw a damage to one of these files, of a kind that suits it."""
    texts = st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=20), st.integers().map(str))
    return st.sampled_from(sorted(names)).flatmap(
        lambda name: st.builds(Damage, st.sampled_from(kinds_for(name)), st.just(name), st.integers(0, 2**24), texts)
    )


def kinds_for(name: str) -> list[str]:
    """Return the kinds of damage for a file; the fitting ones more often."""
    special = {".json": ["edit"] * 12, ".jsonl": ["edit"] * 6, ".safetensors": ["edit"] * 6, ".npy": ["distort"] * 8}
    return [*KINDS, "exchange", *special.get(Path(name).suffix, [])]
