"""Signals raise between two actions, wait while a shield is up, and leave the handlers as they were."""

import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

from docaps.interruption import TIME_IS_OVER, Interrupted, caught, ignore_signals, kept, shielded, signal_of, stop_at


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_raises_with_the_code_a_shell_expects(number: int, code: int) -> None:
    with pytest.raises(Interrupted, match="nothing is half-written") as raised, caught():
        os.kill(os.getpid(), number)
    assert raised.value.exit_code == code
    assert isinstance(raised.value, KeyboardInterrupt)


def test_an_exception_that_a_library_raised_instead_keeps_the_signal() -> None:
    def wait() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except Interrupted:
            raise KeyboardInterrupt from None

    with pytest.raises(KeyboardInterrupt) as raised, caught():
        wait()
    assert signal_of(raised.value) == signal.SIGTERM
    assert signal_of(Interrupted(signal.SIGINT)) == signal.SIGINT
    with caught():
        assert signal_of(KeyboardInterrupt()) == signal.SIGINT


def test_a_library_cannot_keep_its_own_handlers() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with kept():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_shield_holds_signals_back_until_its_end() -> None:
    done: list[str] = []

    def work() -> None:
        with shielded():
            with shielded():
                os.kill(os.getpid(), signal.SIGTERM)
                done.append("inner")
            done.append("outer")
        done.append("never")

    with pytest.raises(Interrupted) as raised, caught():
        work()
    assert done == ["inner", "outer"]
    assert raised.value.exit_code == 143


def test_after_a_shield_signals_raise_at_once_again() -> None:
    with caught():
        with shielded():
            pass
        with pytest.raises(Interrupted):
            os.kill(os.getpid(), signal.SIGINT)


def test_an_error_under_a_shield_is_not_hidden() -> None:
    def work() -> None:
        with shielded():
            os.kill(os.getpid(), signal.SIGINT)
            raise ValueError("first")

    with pytest.raises(ValueError, match="first"), caught():
        work()
    with caught(), shielded():  # the signal has had its effect: the program ends anyway
        pass


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with caught():
        assert signal.getsignal(signal.SIGTERM) != before[1]
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_another_thread_can_use_it_too() -> None:
    found: list[bool] = []

    def work() -> None:
        with caught():
            found.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True]


@pytest.fixture
def own_handlers() -> Iterator[None]:
    """Put back what a deaf program leaves behind."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("own_handlers")
def test_a_program_that_ignores_signals_can_report_its_own_error() -> None:
    def work() -> None:
        with shielded():
            os.kill(os.getpid(), signal.SIGTERM)
            ignore_signals()
        os.kill(os.getpid(), signal.SIGTERM)
        raise ValueError("the reason")

    with pytest.raises(ValueError, match="the reason"), caught(), caught():
        work()
    os.kill(os.getpid(), signal.SIGTERM)  # behind the block too: a default handler would end the program unheard
    with caught(), shielded():  # the signal that waited is forgotten
        pass
    with pytest.raises(Interrupted), caught():  # another command in the same process hears again
        os.kill(os.getpid(), signal.SIGINT)


def wait_until(moment: float) -> None:
    """Ask for an end, and wait longer."""
    stop_at(moment)
    threading.Event().wait(5)


def test_the_end_of_its_time_interrupts_a_program() -> None:
    with pytest.raises(Interrupted) as raised, caught():
        wait_until(time.time() + 0.01)
    assert raised.value.is_end_of_time
    assert raised.value.exit_code == TIME_IS_OVER == 75


def test_the_earlier_of_two_ends_counts_and_none_outlives_its_block() -> None:
    with caught():
        stop_at(time.time() + 100)
        stop_at(time.time() + 300)
        stop_at(None)
        assert 90 < signal.getitimer(signal.ITIMER_REAL)[0] <= 100
        with caught():  # as training does
            pass
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 90
        stop_at(time.time() + 50)
        assert signal.getitimer(signal.ITIMER_REAL)[0] <= 50
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0


def test_a_time_in_the_past_is_over_at_once() -> None:
    with pytest.raises(Interrupted), caught():
        wait_until(1.0)
