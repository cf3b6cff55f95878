"""What the campaigns share: the launcher, and the lines with their counts at the end of the tests."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.chaos.campaign import Campaign, chosen_seconds, chosen_seed
from tests.chaos.launcher import Launcher

Begin = Callable[..., Campaign]
PROPERTY = "campaign"


def pytest_report_header() -> str:
    """Print the seed before anything can go wrong."""
    return f"chaos: DOCAPS_CHAOS_SEED={chosen_seed()} DOCAPS_CHAOS_MINUTES={chosen_seconds() / 60:g} each"


@pytest.fixture
def begin(record_property: Callable[[str, object], None]) -> Iterator[Begin]:
    """Begin a campaign: a long one with the chosen seed and time, else a short one that is always the same."""
    begun: list[Campaign] = []

    def make(name: str, *, long: bool) -> Campaign:
        seed, seconds = (chosen_seed(), chosen_seconds()) if long else (1, 60.0)
        begun.append(Campaign(name, seed=seed, seconds=seconds))
        return begun[-1]

    yield make
    for campaign in begun:
        record_property(PROPERTY, campaign.line())


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    if not Path("/proc/self/stat").exists():
        pytest.skip("looks for processes in /proc")
    with Launcher(tmp_path_factory.mktemp("commands")) as started:
        yield started


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:
    """Print the counts of each campaign as a line of JSON."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    ends = (report for report in reports if getattr(report, "when", None) == "teardown")
    for report in ends:
        for name, line in report.user_properties:
            if name == PROPERTY:
                terminalreporter.write_line(str(line))
