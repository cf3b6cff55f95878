"""The command `docaps`: one table of its commands. `docaps.errors` lists the exit codes.

Only the requested command is imported, so `docaps --help` is fast.
"""

import contextlib
import functools
import importlib
import io
import keyword
import os
import sys
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import typer

from docaps import __version__, interruption, progress
from docaps.cli.help_page import HelpfulCommand, HelpfulGroup
from docaps.errors import DocapsError, printable
from docaps.memory import limit_kernel_caches

STOP_AT = "DOCAPS_STOP_AT"
"""The environment variable with a time at which every command stops: one limit for several commands."""
TIME_OVER = "\nIts time is over. The same command goes on where it stopped."


class Command(NamedTuple):
    """A command's summary and its group in the help; its function has the name of its module and of the command.

    Names that are words of Python have an underscore at the end there.
    """

    summary: str
    panel: str


COMMANDS = {
    "demo": Command("Train two small models, with and without context, and compare them.", "Start here"),
    "minidocs": Command("Generate small documents that need context.", "Corpora"),
    "fetch": Command("Download a public corpus, or say where its files belong.", "Corpora"),
    "corpus": Command("Count a corpus: sizes, lengths, unknown words.", "Corpora"),
    "divide": Command("Divide a corpus by documents: a share drawn for tests, and the rest.", "Corpora"),
    "prepare": Command("Turn raw documents into a store of token ids.", "Corpora"),
    "mine": Command("Find what context decides, for tests and for training.", "Corpora"),
    "variants": Command("List the systems and their parts.", "Models"),
    "train": Command("Train the stages of a recipe.", "Models"),
    "runs": Command("Compare finished runs: size, training, perplexity.", "Models"),
    "import": Command("Make a run of a published Marian or Opus-MT model.", "Models"),
    "export": Command("Make a model of another program of a run.", "Models"),
    "push": Command("Upload a run to the Hugging Face hub.", "Models"),
    "translate": Command("Translate documents.", "Models"),
    "serve": Command("Serve translations over HTTP, with a web page.", "Models"),
    "score": Command("Score given translations.", "Models"),
    "precision": Command("Compare translation quality in lower precision.", "Models"),
    "evaluate": Command("Compare translations with a reference.", "Results"),
    "contrast": Command("Test a model on contrastive sets.", "Results"),
    "diagnose": Command("Find out whether a model uses its context.", "Results"),
    "experiment": Command("Train and compare many runs.", "Results"),
    "endpoints": Command("Measure a grid's runs on further texts and items, each once.", "Results"),
    "report": Command("Write a report on runs: scores, samples, routing.", "Results"),
}


def build_app(arguments: list[str], *, exiting: bool = False) -> typer.Typer:
    """Return the command line, importing only the command that `arguments` name.

    `exiting` says that the program ends with the command.
    """
    app = typer.Typer(
        name="docaps",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        cls=HelpfulGroup,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(about)
    wanted = next((argument for argument in arguments if not argument.startswith("-")), None)
    completing = "_DOCAPS_COMPLETE" in os.environ
    for name, command in COMMANDS.items():
        function = load_command(name) if name == wanted or completing else _placeholder
        added = app.command(name, cls=HelpfulCommand, short_help=command.summary, rich_help_panel=command.panel)
        added(_guarded(function, exiting))
    return app


def load_command(name: str) -> Callable[..., None]:
    """Import the function of a command."""
    module = f"{name}_" if keyword.iskeyword(name) else name
    function: Callable[..., None] = getattr(importlib.import_module(f"docaps.cli.{module}"), module)
    return function


def _print_version(wanted: bool) -> None:
    """Print the version and exit, before a missing command is reported."""
    if wanted:
        typer.echo(f"docaps {__version__}")
        raise typer.Exit


def about(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Translate whole documents: each sentence is translated with the sentences before it in view."""


def _placeholder() -> None:
    """Stand in for a command that was not requested."""


def _guarded(function: Callable[..., None], exiting: bool) -> Callable[..., None]:
    """Turn errors that a user can fix into a message and an exit code."""

    @functools.wraps(function)
    def run(*arguments: Any, **options: Any) -> None:
        progress.REPORTER.enabled = True
        _use_utf8()
        try:
            with interruption.caught(exiting=exiting):
                interruption.stop_at(_moment_to_stop())
                function(*arguments, **options)
                print(end="", flush=True)
        except DocapsError as error:
            typer.echo(f"docaps: {error}", err=True)
            raise typer.Exit(error.exit_code) from None
        except KeyboardInterrupt as stop:
            plain = interruption.Interrupted(interruption.signal_of(stop))
            found = stop if isinstance(stop, interruption.Interrupted) else plain
            typer.echo(f"docaps: {found}{TIME_OVER if found.is_end_of_time else ''}", err=True)
            raise typer.Exit(found.exit_code) from None
        except BrokenPipeError:  # the reader closed the pipe, as in `docaps ... | head`
            _drop_output()
        except OSError as error:  # such as a path that cannot be written, or a full disk
            typer.echo(f"docaps: {_describe(error)}", err=True)
            if error.filename is None:
                _drop_output()
            raise typer.Exit(DocapsError.exit_code) from None

    return run


def _moment_to_stop() -> float | None:
    """Return the Unix time at which every command stops, if the environment says one."""
    given = os.environ.get(STOP_AT)
    if not given:
        return None
    try:
        return float(given)
    except ValueError:
        raise DocapsError(f"{STOP_AT}={given}: expected a Unix time in seconds, as `date +%s` prints") from None


def _use_utf8() -> None:
    """Make stdout UTF-8 in every locale: it carries text in all languages."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def _drop_output() -> None:
    """Discard the rest of stdout, which Python would otherwise fail to flush at exit."""
    with contextlib.suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _describe(error: OSError) -> str:
    """Describe an operating-system error with its paths."""
    paths = [printable(str(path), one_line=True) for path in (error.filename, error.filename2) if path is not None]
    return ": ".join([" -> ".join(paths) or "output", error.strerror or str(error)])


def main() -> None:
    """Run the command line."""
    limit_kernel_caches()  # before any command imports torch
    build_app(sys.argv[1:], exiting=True)()
