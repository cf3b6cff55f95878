"""Errors that a user can fix, as one tree with exit codes.

    DocapsError                1   any of these
    ├── ConfigError            1   settings: unknown key, wrong value, broken TOML
    ├── CorpusError            1   text files: unequal lines, bad encoding, no documents
    ├── FetchError             1   downloads: no network, no such file, unexpected content
    ├── RunError               1   run directories: missing, unfinished, of another run
    │   └── CheckpointError    1   weights: truncated, damaged, of another model
    └── TrainingError          1   training cannot continue (non-finite loss, lost process)

Signals exit with 130 (Ctrl-C) and 143 (SIGTERM), the end of a command's time (`--stop-after`) with 75, wrong options
with 2. A message says what is wrong, where, what was found and what to do; the command line prints it without a
traceback. It may quote file names and foreign text, so whatever a terminal would obey is escaped here.
"""

import re
from pathlib import Path

__all__ = ["CheckpointError", "ConfigError", "CorpusError", "DocapsError", "FetchError", "RunError", "TrainingError"]
LONGEST_LINE = 2000
"""Characters of a line of a message: a message may quote a value of any length."""
_ORDERS = r"\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
"""Control characters, separators of lines, marks that turn the direction of text, and what is no text at all."""
_UNPRINTABLE, _UNPRINTABLE_OR_LAYOUT = re.compile(f"[{_ORDERS}]"), re.compile(rf"[{_ORDERS}\t\n]")


def __dir__() -> list[str]:
    """List the public API only."""
    return __all__


def printable(text: str, *, one_line: bool = False) -> str:
    """Escape what a terminal would obey instead of showing it; with `one_line`, tabs and line ends too."""
    unsafe = _UNPRINTABLE_OR_LAYOUT if one_line else _UNPRINTABLE
    return unsafe.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def _shorten(line: str) -> str:
    """Cut a line of a message that quotes something very long."""
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}... ({len(line) - LONGEST_LINE:,} more)"


class DocapsError(Exception):
    """An error with a message for the user; the command line exits with `exit_code`."""

    exit_code = 1

    def __init__(self, message: str, *, path: Path | None = None, line: int | None = None) -> None:
        where = ":".join(printable(str(part), one_line=True) for part in (path, line) if part is not None)
        super().__init__("\n".join(map(_shorten, printable(f"{where}: {message}" if where else message).split("\n"))))
        self.path = path
        self.line = line


class ConfigError(DocapsError):
    """Invalid settings."""


class CorpusError(DocapsError):
    """Text that cannot be read as documents."""


class FetchError(DocapsError):
    """Files that cannot be downloaded."""


class RunError(DocapsError):
    """A run directory that is missing, unfinished or holds another run."""


class CheckpointError(RunError):
    """Weights that cannot be read or do not fit the model."""


class TrainingError(DocapsError):
    """Training that cannot continue."""
