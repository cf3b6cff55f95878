"""The files of original Marian models: settings and vocabularies in YAML, and weights in one .npz file.

Only as much of YAML is read as Marian writes: `key: value` and lists of plain values.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from docaps.errors import CheckpointError, RunError
from docaps.files import open_regular, read_text

SETTINGS = "special:model.yml"
_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')"""
_ENTRY = re.compile(rf"""(?P<key>{_QUOTED}|(?:[^\s#-]|-\S)(?:[^#]|(?<=\S)#)*?): +(?P<value>.*?)""")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_ITEM = re.compile(rf"(?:{_QUOTED}|[^,])+")
_NUMBER = re.compile(r"\d{1,9}(\.\d{0,9})?", re.ASCII)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)")
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
_NAMED |= {"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}
Settings = Mapping[str, Any]


def read_arrays(path: Path) -> tuple[dict[str, Tensor], Settings]:
    """Read the weights of a model, without unpickling anything, and the settings that are stored among them."""
    try:
        with open_regular(path) as file, np.load(file, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files}
    except FileNotFoundError:
        raise CheckpointError("no weights here", path=path) from None
    except Exception as fault:  # of damaged files NumPy, zipfile and zlib raise whatever their parts do
        raise CheckpointError(f"the weights are damaged: {str(fault) or type(fault).__name__}", path=path) from None
    text = arrays.pop(SETTINGS, None)
    if text is None:
        raise CheckpointError(f"no model of Marian: it has no {SETTINGS}", path=path)
    for name, array in arrays.items():
        if array.dtype not in (np.float32, np.float16):
            raise CheckpointError(f"not weights: {name!r} is of the type {array.dtype}", path=path)
    settings = parse_settings(text.tobytes().rstrip(b"\0").decode("utf-8", errors="replace"), path)
    return {name: torch.from_numpy(array.astype(np.float32)) for name, array in arrays.items()}, settings


def parse_settings(text: str, path: Path) -> dict[str, Any]:
    """Parse settings: texts by key, or lists of texts."""
    found: dict[str, Any] = {}
    key = ""
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.rstrip("\0").strip()
        if not content or content.startswith("#") or content == "[]":
            continue
        if content.startswith("- ") and isinstance(found.get(key), list):
            found[key].append(_parse_value(content[2:]))
            continue
        key, colon, value = content.partition(":")
        if not colon:
            raise RunError(f"expected 'key: value', found {content[:60]!r}", path=path, line=number)
        key = key.strip()
        found[key] = _parse_value(value) if _without_comment(value) else []
    return found


def _parse_value(text: str) -> str | list[str]:
    """Return a plain value, or the values of a list in brackets."""
    value = _without_comment(text)
    if value.startswith("[") and value.endswith("]"):
        return [_unquoted(one.strip()) for one in _ITEM.findall(value[1:-1]) if one.strip()]
    return _unquoted(value)


def _without_comment(text: str) -> str:
    """Return a value without the comment behind it."""
    value = text.strip()
    quoted = re.match(rf"({_QUOTED})\s*(?:#.*)?$", value)
    return quoted[1] if quoted else _COMMENT.sub("", value).strip()


def as_number(value: Any) -> Any:
    """Return what a text says if it is a number; anything else as it is."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return value
    return int(value) if value.isdecimal() else float(value)


def read_settings(path: Path) -> dict[str, Any]:
    """Read a file of settings, such as decoder.yml."""
    return parse_settings(read_text(path, error=RunError), path)


def read_numbers(path: Path) -> dict[str, int]:
    """Read a vocabulary: the number of each word."""
    numbers: dict[str, int] = {}
    for line, text in enumerate(read_text(path, error=RunError).split("\n"), start=1):
        if not text.strip() or text.startswith("#"):
            continue
        entry = _ENTRY.fullmatch(text.rstrip("\r"))
        if entry is None or not re.fullmatch(r"\d{1,9}", entry["value"]):
            raise RunError(f"expected a word, a colon and its number, found {text[:60]!r}", path=path, line=line)
        numbers[_unquoted(entry["key"])] = int(entry["value"])
    return numbers


def _unquoted(text: str) -> str:
    """Return a scalar without its quotes and escapes."""
    if len(text) > 1 and text[0] == text[-1] == '"':
        return _ESCAPE.sub(_unescaped, text[1:-1])
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        number = int(code[1:], 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    return _NAMED.get(code, code)
