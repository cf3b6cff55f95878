"""Messages carry file and line, and all user errors are one family."""

from pathlib import Path

import pytest

from docaps import errors


@pytest.mark.parametrize(
    ("path", "line", "expected"),
    [(None, None, "wrong"), (Path("a"), None, "a: wrong"), (Path("a"), 3, "a:3: wrong")],
)
def test_a_message_begins_with_its_place(path: Path | None, line: int | None, expected: str) -> None:
    error = errors.DocapsError("wrong", path=path, line=line)
    assert (str(error), error.path, error.line) == (expected, path, line)


@pytest.mark.parametrize(
    "name", ["ConfigError", "CorpusError", "FetchError", "RunError", "CheckpointError", "TrainingError"]
)
def test_every_error_is_a_docaps_error_with_an_exit_code(name: str) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, errors.DocapsError)
    assert kind.exit_code == 1
