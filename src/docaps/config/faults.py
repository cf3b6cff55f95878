"""Error messages for settings: all errors at once, each with file and line, and the nearest name of an unknown key."""

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

LONGEST_VALUE = 340  # characters of text, or bits of a number


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """A file that settings were read from."""

    path: Path
    text: str


def describe_faults(
    fault: ValidationError,
    model: type[BaseModel],
    *,
    layers: Sequence[SettingsFile] = (),
    overrides: Sequence[str] = (),
) -> str:
    """Describe all errors of some settings, one per line, each with its origin."""
    lines = []
    for error in fault.errors():
        location = tuple(str(part) for part in error["loc"])
        origin = _override_of(location, overrides) or _line_in_files(location, layers)
        lines.append(": ".join(filter(None, (origin, ".".join(location), _describe(error, model, location)))))
    return "\n".join(lines)


def _override_of(location: Sequence[str], overrides: Sequence[str]) -> str | None:
    """Return the last `--set` option that set a key or a table around it."""
    for override in reversed(overrides):
        names = override.partition("=")[0].strip().split(".")
        if list(location[: len(names)]) == names:
            return f"--set {override}"
    return None


def _line_in_files(location: Sequence[str], layers: Sequence[SettingsFile]) -> str:
    """Return file and line where a key, or the table around it, is set; the nearest file first."""
    for depth in range(len(location), 0, -1):
        for layer in layers:
            line = _line_of(location[:depth], layer.text)
            if line is not None:
                return f"{layer.path}:{line}"
    return str(layers[0].path) if layers else ""


def _describe(error: Any, model: type[BaseModel], location: tuple[str, ...]) -> str:
    """Describe what is wrong with one value."""
    if error["type"] == "extra_forbidden":
        return f"unknown key; {suggest(location[-1], _names_at(model, location[:-1]), 'keys')}"
    message = error["msg"].removeprefix("Value error, ")
    if isinstance(error["input"], str | int | float | bool):
        return f"{message} (found {_quote(error['input'])})"
    return str(message)


def _quote(value: str | float) -> str:
    """Quote a value; Python refuses to write numbers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > LONGEST_VALUE:
        return "a number of more than a hundred digits"
    text = repr(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def suggest(name: str, known: Sequence[str], kind: str) -> str:
    """Suggest the nearest known name, or list them all."""
    nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"did you mean '{nearest[0]}'?" if nearest else f"known {kind}: {', '.join(known)}"


def _names_at(model: type[BaseModel], location: Sequence[str]) -> list[str]:
    """List the known keys of a table of settings, those of single values first."""
    for name in location:
        field = model.model_fields.get(name)
        if field is not None:  # otherwise a free key of a table, such as the name of a stage
            model = _table_in(field) or model
    return sorted(model.model_fields, key=lambda name: _table_in(model.model_fields[name]) is not None)


def _table_in(field: FieldInfo) -> type[BaseModel] | None:
    """Return the class of a field's table, or of its tables; None for a single value."""
    kinds = (field.annotation, *get_args(field.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)


def _line_of(location: Sequence[str], text: str) -> int | None:
    """Return the line of a TOML text that sets a key, or None if it does not."""
    section: tuple[str, ...] = ()
    best = None
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[([^\[\]]+)\]", line)
        if header:
            section = tuple(part.strip().strip('"') for part in header[1].split("."))
            best = number if section == tuple(location) else best
        key = re.match(r"\s*([\w.\"-]+)\s*=", line)
        if key and (*section, *key[1].replace('"', "").split(".")) == tuple(location):
            return number
    return best
