"""The help of docaps and of its commands: as wide as the terminal, and nothing is cut off.

Typer's own pages cut words and defaults in narrow terminals. Here a command is described by its function: docstring,
annotations and defaults.
"""

import inspect
import re
import shutil
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

WIDEST, NARROW, NAMES_WIDTH = 100, 60, 30
"""Columns of the widest page; below `NARROW`, descriptions stand under the names, else to the right of this column."""
PLACEHOLDERS = {Path: "PATH", int: "N", float: "NUMBER", str: "TEXT"}
EXAMPLE = "docaps "


@dataclass(frozen=True, slots=True)
class ParameterHelp:
    """An argument or option of a command, as its help shows it."""

    name: str
    """Names and placeholder, such as `--out, -o PATH` or `[FILES]...`."""
    text: str
    facts: tuple[str, ...]
    """Range, choices and default, or that it is required."""
    required: bool
    is_argument: bool

    @property
    def description(self) -> str:
        """The text with the facts in brackets."""
        return f"{self.text} [{'; '.join(self.facts)}]" if self.facts else self.text


def describe_parameters(function: Callable[..., None]) -> list[ParameterHelp]:
    """Describe the arguments and options of a command, in order."""
    return [_describe(parameter) for parameter in inspect.signature(function).parameters.values()]


def _describe(parameter: inspect.Parameter) -> ParameterHelp:
    """Describe an argument or option by its annotation and default."""
    kind, info = typing.get_args(parameter.annotation)
    kind, several, choices = _resolve(kind)
    required = parameter.default is inspect.Parameter.empty
    is_argument = isinstance(info, typer.models.ArgumentInfo)
    placeholder = info.metavar or (parameter.name.upper() if is_argument else PLACEHOLDERS.get(kind, "NAME"))
    if is_argument:
        name = (placeholder if required else f"[{placeholder}]") + "..." * several
    else:
        given = [one for one in (info.default, *(info.param_decls or ())) if isinstance(one, str)]
        names = ", ".join(given or [f"--{parameter.name.replace('_', '-')}"])
        name = names if kind is bool else f"{names} {placeholder}"
    facts = [_range(info.min, info.max), f"{', '.join(choices[:-1])} or {choices[-1]}" if choices else ""]
    facts += ["may be repeated"] if several and not is_argument else []
    facts += ["required"] if required else [_default(parameter.default, info.show_default)]
    return ParameterHelp(name, info.help or "", tuple(filter(None, facts)), required, is_argument)


def _resolve(kind: Any) -> tuple[Any, bool, tuple[str, ...]]:
    """Return the type of one value, whether there may be several, and the values to choose from."""
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        (kind,) = (one for one in typing.get_args(kind) if one is not types.NoneType)
    several = typing.get_origin(kind) is list
    kind = typing.get_args(kind)[0] if several else kind
    choices = typing.get_args(kind) if typing.get_origin(kind) is Literal else ()
    return kind, several, choices


def _range(least: float | None, most: float | None) -> str:
    if least is None:
        return "" if most is None else f"at most {most}"
    return f"at least {least}" if most is None else f"{least} to {most}"


def _default(value: object, shown: bool | str) -> str:
    """Write a default; None and False are left to the text."""
    if isinstance(shown, str):
        return f"default: {shown}"
    return "" if value is None or value is False or not shown else f"default: {value}"


class HelpfulCommand(TyperCommand):
    """A command whose help is made of its function."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse an option that has fewer values than it needs, before the next option is taken for one of them."""
        needed = {name: param for param in self.params if param.nargs > 1 for name in param.opts}
        for position, word in enumerate(() if ctx.resilient_parsing else args):  # a shell completes unfinished commands
            if (option := needed.get(word)) and len(values := _values_after(position, args)) < option.nargs:
                what = f"{word} needs {option.nargs} values, {option.metavar}"
                ctx.fail(f"{what}: found {' '.join(values) or 'none'}")
        try:
            return super().parse_args(ctx, args)
        except Exception as fault:
            _suggest_longer(fault, [name for param in self.params for name in param.opts])
            raise

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write how to call it, with what is required."""
        formatter.write(_usage(ctx.command_path, describe_parameters(_function_of(self))) + "\n")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        function, width = _function_of(self), page_width()
        parameters = describe_parameters(function)
        arguments = [(one.name, one.description) for one in parameters if one.is_argument]
        options = [(one.name, one.description) for one in parameters if not one.is_argument]
        options += [("--help, -h", "Show this page and stop.")]
        blocks = [_usage(ctx.command_path, parameters), *_format_text(inspect.getdoc(function) or "", width)]
        parts, column = (("Arguments", arguments), ("Options", options)), _column([*arguments, *options])
        blocks += [_section(title, rows, width, column) for title, rows in parts if rows]
        formatter.write("\n\n".join(blocks) + "\n")


def _suggest_longer(fault: Exception, options: Sequence[str]) -> None:
    """Suggest the options that an unknown one is the beginning of, as `--hyp` of `--hypothesis`."""
    typed = getattr(fault, "option_name", None)
    if typed and hasattr(fault, "possibilities"):
        fault.possibilities = [name for name in options if name.startswith(typed)] or fault.possibilities


def _values_after(position: int, args: Sequence[str]) -> list[str]:
    """Return the words after an option, up to the next one."""
    return list(takewhile(lambda word: word == "-" or not word.startswith("-"), args[position + 1 :]))


def _function_of(command: TyperCommand) -> Callable[..., None]:
    """Return the function that a command calls."""
    assert command.callback is not None
    return command.callback


class HelpfulGroup(TyperGroup):
    """The command `docaps`, whose help lists the commands by panel."""

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write how to call it."""
        formatter.write(f"Usage: {ctx.command_path} COMMAND ...\n")

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        width, panels = page_width(), dict[str, list[tuple[str, str]]]()
        for name, command in self.commands.items():
            panel = str(getattr(command, "rich_help_panel", "Commands"))
            panels.setdefault(panel, []).append((name, command.short_help or ""))
        options = [(", ".join(option.opts), getattr(option, "help", "")) for option in self.get_params(ctx)]
        about = textwrap.fill(self.help or "", width)
        parts = [*panels.items(), ("Options", options)]
        column = _column([row for _, rows in parts for row in rows])
        blocks = [f"Usage: {ctx.command_path} COMMAND ...", about]
        blocks += [_section(title, rows, width, column) for title, rows in parts]
        more = f"Start with: {EXAMPLE}demo. Options of a command: {EXAMPLE}COMMAND --help."
        formatter.write("\n\n".join([*blocks, _wrap(more, width)]) + "\n")


def page_width() -> int:
    """Return the width of a page: that of the terminal, up to a readable maximum."""
    return min(shutil.get_terminal_size().columns, WIDEST)


def _usage(command: str, parameters: Sequence[ParameterHelp]) -> str:
    """Write how to call a command: what is required, then the rest."""
    words = [re.sub(r", -\w", "", one.name) for one in parameters if one.required]
    words += [one.name for one in parameters if one.is_argument and not one.required]
    return _wrap_command(f"Usage: {command} {' '.join([*words, '[OPTIONS]'])}", page_width(), end="")


def _format_text(text: str, width: int) -> Iterator[str]:
    """Wrap the paragraphs of a docstring; its examples follow, each on a line of its own, ready to be copied."""
    paragraphs, examples = split_text(text)
    yield from (_wrap(paragraph, width) for paragraph in paragraphs)
    lines = [_wrap_command(f"  {one}", width) for one in examples]
    yield "\n".join([typer.style("Examples:" if len(lines) > 1 else "Example:", bold=True), *lines])


def split_text(text: str) -> tuple[list[str], list[str]]:
    """Split the docstring of a command into paragraphs and examples."""
    paragraphs, examples = [], []
    for paragraph in (" ".join(one.split()) for one in text.split("\n\n")):
        if paragraph.startswith("Example"):
            examples += [f"{EXAMPLE}{one.strip(' ;')}" for one in paragraph.split(EXAMPLE)[1:]]
        else:
            paragraphs.append(paragraph)
    return paragraphs, examples


def _column(rows: Iterable[tuple[str, str]]) -> int:
    """Return the column where descriptions start."""
    return min(NAMES_WIDTH, 4 + max(len(name) for name, _ in rows))


def _section(title: str, rows: Iterable[tuple[str, str]], width: int, column: int) -> str:
    """Write names and descriptions: side by side, or one below the other where there is little room."""
    lines = [typer.style(f"{title}:", bold=True)]
    for name, text in rows:
        start = 6 if width < NARROW else column
        wrapped = _wrap(text, width, " " * start)
        beside = width >= NARROW and len(name) + 4 <= column
        lines += [f"  {name:<{column - 2}}{wrapped[column:]}"] if beside else [f"  {name}", wrapped]
    return "\n".join(lines)


def _wrap(text: str, width: int, indent: str = "", hanging: str | None = None) -> str:
    """Wrap text between words: options, paths and numbers stay whole."""
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    wrapper.initial_indent, wrapper.subsequent_indent = indent, indent if hanging is None else hanging
    return wrapper.fill(text)


def _wrap_command(command: str, width: int, end: str = " \\") -> str:
    """Wrap a command; each line but the last ends as the shell expects it."""
    indent = " " * (len(command) - len(command.lstrip()))
    lines = _wrap(command.strip(), width - len(end), indent, f"{indent}    ").splitlines()
    return f"{end}\n".join(lines)
