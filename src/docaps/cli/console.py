"""Shared options of commands, and their output: results on stdout, as tables or as one JSON object."""

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text


def completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a function that completes what was typed to some names."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def _list_recipes() -> Iterable[str]:
    from docaps.config import bundled_recipes

    return bundled_recipes()


def _list_formats() -> Iterable[str]:
    from docaps.corpus.formats import NAMES

    return NAMES


complete_recipe = completing(_list_recipes)


EngineOption = Annotated[
    Literal["local", "ray"],
    typer.Option(help="local: processes of this machine; ray: a Ray cluster whose machines share the files."),
]
AddressOption = Annotated[
    str | None, typer.Option(help="HOST:PORT of the Ray cluster.", show_default="RAY_ADDRESS, or else a local Ray")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
TranslationsOption = Annotated[
    Literal["reference", "own"],
    typer.Option(
        help="What a model that reads translations of the history is shown: reference translations, where there are "
        "any, or its own."
    ),
]
OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace existing output.")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        autocompletion=completing(_list_formats),
        help="Format of the documents, if it is not detected from their content: lines (one sentence a line, <d> "
        "before each document), blank (empty lines between documents), tags (IWSLT), sgml and xml (WMT), jsonl, tsv "
        "(id, source, target), starts (with --starts), bars (id ||| sentence), text (running text), directory (a "
        "file is a document), docx, odt, html, markdown, srt, vtt and ass (subtitles), po, xliff, tmx, json and yaml "
        "(strings).",
    ),
]
StartsOption = Annotated[
    Path | None,
    typer.Option(
        "--starts", metavar="FILE", help="Plain lines: a file with the line numbers, from 0, where documents start."
    ),
]
StopAfterOption = Annotated[
    str | None,
    typer.Option(
        "--stop-after",
        metavar="TIME",
        help="Save and stop after this time, such as 2h or 1h30m, with exit code 75; the same command goes on.",
    ),
]
BlockOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="With --into: the name in these comments.", show_default="that of the table"),
]
ContextDirOption = Annotated[Path | None, typer.Option("--context-dir", help="ContraPro: the folder of its documents.")]
ContextLinesOption = Annotated[
    int | None, typer.Option("--context-lines", min=1, help="ContraPro: history lines per item (default: all).")
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a setting of the recipe, for example stage.sentence.steps=100."
    ),
]
PhenomenaOption = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        show_default=False,
        help="Phenomena, separated by commas: pronoun, ambiguity, address, profession, ellipsis (default: these), "
        "and wording, which only the translation of an earlier sentence decides.",
    ),
]


def choose_language(option: str, what: str, given: str | None, paths: Iterable[Path]) -> str:
    """Return the language given with an option, or else the one that the names of files end in; say which."""
    from docaps import progress
    from docaps.corpus.text.languages import check_language
    from docaps.errors import ConfigError

    if given is not None:
        check_language(given)
        return given
    files = list(dict.fromkeys(paths))
    if found := language_of_names(option, what, files):
        progress.say(f"language of {what}: {found[0]}, by the name of {found[1]} ({option})")
        return found[0]
    names = ", ".join(map(str, files))
    advice = f"give {option} (such as {option} de), or name a file by its language (such as story.de)"
    raise ConfigError(f"which language has {what}? The names do not tell ({names}): {advice}")


def language_of_names(option: str, what: str, paths: Iterable[Path]) -> tuple[str, Path] | None:
    """Return the language that names of files end in, and the first such file; refuse names that differ."""
    from docaps.corpus.text.languages import language_in_name
    from docaps.errors import ConfigError

    found: dict[str, Path] = {}
    for path in paths:
        if language := language_in_name(path):
            found.setdefault(language, path)
    if len(found) > 1:
        listed = ", ".join(f"{path} in {language!r}" for language, path in found.items())
        raise ConfigError(f"which language has {what}? The names differ, {listed}: give {option}")
    return next(iter(found.items()), None)


def format_json(value: Mapping[str, Any]) -> str:
    """Format one JSON object, indented."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object."""
    typer.echo(format_json(value), nl=False)


def replace_generated(path: Path, name: str, text: str | None = None) -> None:
    """Replace the part of a Markdown file between its begin and end comments; without text, only check the file."""
    from docaps.errors import RunError
    from docaps.files import replacing

    begin, end = (f"<!-- {word} {name} -->" for word in ("begin", "end"))
    if not path.is_file():
        raise RunError(f"no such file; it should hold the lines {begin} and {end}", path=path)
    before, opened, rest = path.read_bytes().partition(begin.encode())
    _, closed, after = rest.partition(end.encode())
    if not opened or not closed:
        raise RunError(f"expected the lines {begin} and, after it, {end}", path=path)
    if text is not None:
        with replacing(path) as temporary:
            temporary.write_bytes(before + opened + f"\n{text.strip()}\n".encode() + closed + after)


def terminal_width() -> int:
    """Return the columns of the terminal that stdout is; a file has room for everything."""
    return shutil.get_terminal_size().columns if sys.stdout and sys.stdout.isatty() else 1000


def print_table(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str | Text]], *, texts: Collection[int] = (0,)
) -> None:
    """Print a table of numbers, with text in the columns `texts`; only a terminal limits its width.

    In a narrow terminal headers and texts are wrapped; if that is not enough, each row becomes a list. Nothing is cut.
    """
    console = Console(markup=False, width=terminal_width())
    console.print(title, highlight=False, soft_wrap=True)
    broken = [name.replace(" ", "\n") for name in header]
    for names, wrapped in ((header, ()), (broken, ()), (header, texts), (broken, texts)):
        widths = _fit_widths(names, rows, wrapped, console.width - 3 * len(header) - 1)
        if widths is not None:
            console.print(_make_table(names, rows, texts, widths), highlight=False)
            return
    longest = max(map(len, header[1:]), default=0)
    for row in rows:
        console.print(row[0], highlight=False, soft_wrap=True)
        for name, cell in zip(header[1:], row[1:], strict=True):
            if len(cell):
                console.print(Text.assemble(f"  {name:<{longest}}  ", cell), highlight=False, soft_wrap=True)


def _make_table(
    header: Sequence[str], rows: Sequence[Sequence[str | Text]], texts: Collection[int], widths: Sequence[int]
) -> Table:
    """Make a table with columns of given widths."""
    table = Table(header_style="bold")
    for position, (name, width) in enumerate(zip(header, widths, strict=True)):
        table.add_column(name, justify="left" if position in texts else "right", width=width)
    for row in rows:
        table.add_row(*row)
    return table


def _fit_widths(
    header: Sequence[str], rows: Sequence[Sequence[str | Text]], wrapped: Collection[int], room: int
) -> list[int] | None:
    """Return widths of columns that fit into a room, with some columns wrapped between words; None if none do."""
    columns = [[*name.splitlines(), *(str(row[position]) for row in rows)] for position, name in enumerate(header)]
    wanted = [max(map(cell_len, cells)) for cells in columns]
    least = [
        max((cell_len(word) for cell in cells for word in cell.split()), default=0) if position in wrapped else width
        for position, (cells, width) in enumerate(zip(columns, wanted, strict=True))
    ]
    if sum(least) > room:
        return None
    while sum(wanted) > room:  # take from the widest text that can still be narrower
        _, position = max((width, number) for number, width in enumerate(wanted) if width > least[number])
        wanted[position] -= 1
    return wanted


def stop_after(duration: str | None) -> None:
    """Let the command stop by itself after some time."""
    import time

    from docaps.config import parse_duration
    from docaps.errors import ConfigError
    from docaps.interruption import stop_at

    if duration is not None:
        try:
            stop_at(time.time() + parse_duration(duration))
        except ValueError as fault:
            raise ConfigError(f"--stop-after {fault}") from None


def command_name() -> str:
    """Return the command that calls docaps: `docaps` if it is on the path, else the script's path."""
    script = Path(sys.argv[0])
    if script.name != "docaps":
        return f"{Path(sys.executable).name} -m docaps"
    found = shutil.which("docaps")
    if found and Path(found).resolve() == script.resolve():
        return "docaps"
    return str(script.relative_to(Path.cwd())) if script.is_relative_to(Path.cwd()) else str(script)


def typed(*words: str | Path) -> str:
    """Return a docaps command that can be typed, its words quoted for the shell."""
    return f"{command_name()} {shlex.join(map(str, words))}"


def typed_command() -> str:
    """Return the command line as the user typed it, quoted for the shell."""
    return shlex.join(["docaps", *sys.argv[1:]])


def print_next(commands: Sequence[tuple[str, str]]) -> None:
    """Print the next commands to type, on stderr."""
    width = max(len(what) for what, _ in commands)
    typer.echo("Next:", err=True)
    for what, command in commands:
        typer.echo(f"  {what:<{width}}  {command}", err=True)
