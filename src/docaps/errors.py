"""What can go wrong through no fault of the program, as one tree with exit codes.

    DocapsError            1   anything a user can mend
    ├── ConfigError        1   settings: unknown key, wrong value, broken TOML
    ├── CorpusError        1   text files: unequal lines, bad encoding, no documents
    ├── FetchError         1   downloads: no network, no such file, another content than expected
    ├── RunError           1   run directories: missing, unfinished, in the way
    │   └── CheckpointError    1   weights: truncated, damaged, of another model
    └── TrainingError      1   training cannot go on (the loss is not a number)

A message says what is wrong, where, what was found and what to do. The command line prints it without a traceback.
"""

from pathlib import Path


class DocapsError(Exception):
    """A fault with a message for the user; the command line ends with `exit_code`."""

    exit_code = 1

    def __init__(self, message: str, *, path: Path | None = None, line: int | None = None) -> None:
        where = ":".join(str(part) for part in (path, line) if part is not None)
        super().__init__(f"{where}: {message}" if where else message)
        self.path = path
        self.line = line


class ConfigError(DocapsError):
    """Settings that cannot be used."""


class CorpusError(DocapsError):
    """Text that cannot be read as documents."""


class FetchError(DocapsError):
    """Files that could not be had from the network."""


class RunError(DocapsError):
    """A run directory that is missing, unfinished or in the way."""


class CheckpointError(RunError):
    """Weights that cannot be read or do not fit the model."""


class TrainingError(DocapsError):
    """Training that cannot go on."""
