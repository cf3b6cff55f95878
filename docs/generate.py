"""Hook for mkdocs: generate the reference of commands and settings from the code, and show the notebook.

A page that contains the line `<!-- generated: commands -->` (or `settings`, or `notebook`) gets the text in its place
when the site is built.
"""

import inspect
import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from docaps.cli.help_page import ParameterHelp, describe_parameters, split_text
from docaps.cli.main import COMMANDS, load_command
from docaps.config import Recipe


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the markers of a page by generated text (called by mkdocs)."""
    for name, generate in GENERATED.items():
        marker = f"<!-- generated: {name} -->"
        if marker in markdown:
            markdown = markdown.replace(marker, "\n".join(generate()))
    return markdown


def _commands() -> Iterator[str]:
    """Describe every command with its arguments, options and examples."""
    for name in COMMANDS:
        function = load_command(name)
        paragraphs, examples = split_text(inspect.getdoc(function) or "")
        yield from (f"## docaps {name}", "", *(f"{paragraph}\n" for paragraph in paragraphs))
        yield from ("```text", *examples, "```", "")
        yield from ("| argument or option | meaning | values |", "|---|---|---|")
        yield from (_parameter_row(parameter) for parameter in describe_parameters(function))
        yield ""


def _parameter_row(parameter: ParameterHelp) -> str:
    """Describe one argument or option as a row of a table."""
    return f"| `{parameter.name}` | {_cell(parameter.text)} | {_cell('; '.join(parameter.facts))} |"


def _settings() -> Iterator[str]:
    """Describe every setting of a recipe, table by table."""
    yield from _table_of("Top level", Recipe, skip_tables=True)
    for name, field in Recipe.model_fields.items():
        for path, model in _tables(name, field):
            yield from _table_of(f"[{path}]", model)


def _tables(name: str, field: FieldInfo) -> Iterator[tuple[str, type[BaseModel]]]:
    """Find the settings tables at and below a field."""
    kind: Any = field.annotation
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is dict and issubclass(arguments[1], BaseModel):
        name, kind = f"{name}.NAME", arguments[1]
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield name, kind
        for inner, below in kind.model_fields.items():
            yield from _tables(f"{name}.{inner}", below)


def _table_of(title: str, model: type[BaseModel], *, skip_tables: bool = False) -> Iterator[str]:
    """Describe the fields of one settings class."""
    yield from (f"## {title}", "", _cell(" ".join((model.__doc__ or "").split())), "")
    yield from ("| setting | type | default | meaning |", "|---|---|---|---|")
    for name, field in sorted(model.model_fields.items(), key=lambda one: _is_changes(one[1].annotation)):
        if skip_tables and list(_tables(name, field)):
            continue
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            continue
        default = field.get_default(call_default_factory=True)
        yield f"| `{name}` | {_type_name(field.annotation)} | `{_toml(default)}` | {_cell(field.description or '')} |"
    yield ""


def _type_name(kind: Any) -> str:
    """Write a type as people read it."""
    if _is_changes(kind):
        return "table"
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(f"`{_toml(value)}`" for value in typing.get_args(kind))
    arguments = [argument for argument in typing.get_args(kind) if argument is not type(None)]
    if typing.get_origin(kind) is tuple:
        return "list of strings"
    if arguments:
        return " or ".join(dict.fromkeys(_type_name(argument) for argument in arguments if _is_type(argument)))
    return {"int": "whole number", "float": "number", "str": "string", "bool": "true or false"}.get(
        getattr(kind, "__name__", ""), str(getattr(kind, "__name__", kind))
    )


def _is_changes(kind: Any) -> bool:
    """Return whether a setting is a table that may be left out: changes of a system's table in one stage."""
    return any(isinstance(one, type) and issubclass(one, BaseModel) for one in typing.get_args(kind))


def _is_type(argument: Any) -> bool:
    """Leave out the constraints of an annotated type."""
    return isinstance(argument, type) or typing.get_origin(argument) is not None


def _toml(value: Any) -> str:
    """Write a value as in a recipe."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def _cell(text: str) -> str:
    """Keep text within its cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _notebook() -> Iterator[str]:
    """Show the cells of the tutorial's notebook and what they printed."""
    for cell in json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield from (source.replace("# What context changes\n", ""), "")
            continue
        yield from ("```python", source, "```", "")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "text/html" in data:
                yield from ("".join(data["text/html"]), "")
            else:
                yield from ("```text", "".join(output.get("text", data.get("text/plain", ""))).rstrip(), "```", "")


NOTEBOOK = Path(__file__).parent / "tutorial" / "context.ipynb"
GENERATED = {"commands": _commands, "settings": _settings, "notebook": _notebook}
