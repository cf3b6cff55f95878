"""Errors that a user can fix, as one tree with exit codes.

    DocapsError                1   any of these
    ├── ConfigError            1   settings: unknown key, wrong value, broken TOML
    ├── CorpusError            1   text files: unequal lines, bad encoding, no documents
    ├── FetchError             1   downloads: no network, no such file, unexpected content
    ├── RunError               1   run directories: missing, unfinished, of another run
    │   └── CheckpointError    1   weights: truncated, damaged, of another model
    └── TrainingError          1   training cannot continue (non-finite loss, lost process)

Signals exit with 130 (Ctrl-C) and 143 (SIGTERM), wrong options with 2. A message says what is wrong, where, what was
found and what to do; the command line prints it without a traceback.
"""

from pathlib import Path

__all__ = ["CheckpointError", "ConfigError", "CorpusError", "DocapsError", "FetchError", "RunError", "TrainingError"]


def __dir__() -> list[str]:
    """List the public API only."""
    return __all__


class DocapsError(Exception):
    """An error with a message for the user; the command line exits with `exit_code`."""

    exit_code = 1

    def __init__(self, message: str, *, path: Path | None = None, line: int | None = None) -> None:
        where = ":".join(str(part) for part in (path, line) if part is not None)
        super().__init__(f"{where}: {message}" if where else message)
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
