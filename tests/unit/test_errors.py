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


ORDERS = ["\x1b[2J", "\x07", "\x00", "\r", "\x7f", "\x9b31m", "\u202e", "\u2066", "\u2028", "\ud800"]


@pytest.mark.parametrize("order", ORDERS, ids=ascii)
def test_what_a_terminal_would_obey_is_escaped(order: str) -> None:
    error = errors.DocapsError(f"found {order}text", path=Path(f"a{order}b"))
    assert order[0] not in str(error)
    assert str(error).count("\\") == 2
    str(error).encode()  # is text


def test_the_lines_of_a_message_are_kept_and_those_of_a_file_name_are_not() -> None:
    error = errors.DocapsError("one\n\ttwo", path=Path("a\nb\tc"))
    assert str(error) == "a\\nb\\tc: one\n\ttwo"
    assert errors.printable("ä ß 中 \u00ad") == "ä ß 中 \u00ad"


def test_a_very_long_line_of_a_message_is_cut() -> None:
    lines = str(errors.DocapsError("short\n" + "x" * 5000)).splitlines()
    assert lines[0] == "short"
    assert lines[1] == "x" * errors.LONGEST_LINE + "... (3,000 more)"
