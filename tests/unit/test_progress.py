"""Progress passes work through unchanged, speaks on stderr only, and is silent in library use."""

import contextlib
import io
import re

import pytest
from rich.console import Console

from docaps import progress


@pytest.fixture
def spoken(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    text = io.StringIO()
    monkeypatch.setattr(progress.REPORTER, "console", Console(file=text, width=40))
    monkeypatch.setattr(progress.REPORTER, "enabled", False)  # a test of a command in this process may have enabled it
    return text


def test_a_library_is_silent(spoken: io.StringIO) -> None:
    assert not progress.Reporter().enabled
    assert list(progress.track("abc", "work", 3)) == ["a", "b", "c"]
    progress.say("hello")
    assert spoken.getvalue() == ""


def test_a_pipe_gets_one_plain_line_at_the_end(spoken: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    with progress.start("work", 5) as task:
        task.advance(2)
        task.advance(3, status="fine")
    assert spoken.getvalue() == "work: 5 fine (0.0 s)\n"


def test_a_pipe_gets_a_line_now_and_then(spoken: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", -1.0)
    assert list(progress.track("ab", "work", 2)) == ["a", "b"]
    assert spoken.getvalue().splitlines() == ["work: 1/2 (0.0 s)", "work: 2/2 (0.0 s)", "work: 2 (0.0 s)"]


def test_messages_are_not_cut_or_read_as_markup(spoken: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    message = "[bold]a[/nope] " + "x" * 60
    progress.say(message)
    assert spoken.getvalue() == message + "\n"


def test_what_a_terminal_would_obey_is_escaped(spoken: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    progress.say("a \x1b[2J file\nof two lines")
    with progress.start("read \x1b]0;x\x07\n", 1) as task:
        task.advance(1, status="\x9b31m")
    lines = spoken.getvalue().splitlines()
    assert lines[:2] == ["a \\x1b[2J file", "of two lines"]
    assert lines[2].startswith("read \\x1b]0;x\\x07\\n: 1 \\x9b31m (")


def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.StringIO()
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    monkeypatch.setattr(progress.REPORTER, "console", Console(file=text, force_terminal=True, width=80))
    with progress.start("work", 2) as task:
        task.advance(2, status="[fine]")
    assert "work" in text.getvalue()
    assert "━" in text.getvalue()


def test_a_part_of_shown_work_can_be_silent(spoken: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    with progress.silent():
        assert list(progress.track("ab", "inner", 2)) == ["a", "b"]
        progress.say("inner")
    progress.say("outer")
    assert spoken.getvalue() == "outer\n"


def test_silence_ends_with_an_error(spoken: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    with contextlib.suppress(ValueError), progress.silent():
        raise ValueError
    progress.say("outer")
    assert spoken.getvalue() == "outer\n"


def test_silence_does_not_switch_a_library_on(spoken: io.StringIO) -> None:
    with progress.silent():
        pass
    progress.say("hello")
    assert spoken.getvalue() == ""


STATUS = (
    "loss 2.35, ppl 15.2, PCC 0.50 (mismatched 0.49), 1,234 tokens/s (46% of peak), best dev loss 2.500 at 200, "
    "25 min left"
)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_terminal_of_any_width_shows_the_whole_status(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    text = io.StringIO()
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    monkeypatch.setattr(progress.REPORTER, "console", Console(file=text, force_terminal=True, width=width))
    with progress.start("train sentence", 6000, clock=False) as task:
        task.advance(300, status=STATUS)
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text.getvalue())
    last = shown[shown.rindex("train sentence") :]
    assert "300/6000" in last
    for word in STATUS.split():
        assert word in last
    assert ("━" in last) == (width >= progress.WIDE)


def test_a_plain_line_is_not_broken(spoken: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress.REPORTER, "enabled", True)
    with progress.start("train sentence", 6000) as task:
        task.advance(300, status=STATUS)
    assert spoken.getvalue() == f"train sentence: 300 {STATUS} (0.0 s)\n"
