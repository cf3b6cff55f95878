"""Options of `docaps translate` for files of subtitles and strings."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from docaps.corpus.formats.format import FileChoices


def _check_encoding(name: str | None) -> str | None:
    """Refuse an encoding that Python does not know, or that is none of text."""
    from docaps.corpus.formats.encoded_text import is_encoding

    if name is not None and not is_encoding(name):
        raise typer.BadParameter(f"no encoding '{name}': expected a name such as windows-1252 or iso-8859-2")
    return name


EverythingOption = Annotated[
    bool, typer.Option("--all", help="PO, XLIFF, TMX: also translate what has a translation already.")
]
EncodingOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        callback=_check_encoding,
        help="Subtitles: encoding of a file that is not UTF-8, such as windows-1252.",
    ),
]
LineLengthOption = Annotated[
    int | None, typer.Option(min=1, help="Subtitles: characters of a line, at most. Default: 42.")
]
LinesOption = Annotated[int | None, typer.Option(min=1, help="Subtitles: lines of a cue, at most. Default: 2.")]
ReadingSpeedOption = Annotated[
    float | None,
    typer.Option(min=1, help="Subtitles: characters per second; faster cues are reported. Default: 17."),
]

ExistingOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="JSON, YAML: a translation, such as an older one; only keys that it lacks are translated."
    ),
]


def choose(
    encoding: str | None,
    everything: bool,
    line_length: int | None,
    lines: int | None,
    reading_speed: float | None,
    existing: Path | None,
) -> "FileChoices":
    """Return what a user chose; what was not given is as by default."""
    from docaps.corpus.formats.format import DEFAULT_CHOICES, FileChoices

    return FileChoices(
        encoding,
        everything,
        line_length or DEFAULT_CHOICES.line_length,
        lines or DEFAULT_CHOICES.lines,
        reading_speed or DEFAULT_CHOICES.reading_speed,
        None if existing is None else str(existing),
    )
