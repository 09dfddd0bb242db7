from __future__ import annotations

import _thread
import errno
import signal
import threading
import time

import pytest

from crawl.cli.output import remark
from crawl.errors import StorageError
from crawl.operations.interrupt import sigterm_interrupts, stop_on_signal


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_asks_and_the_second_ends(
    number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = threading.Event()
    times: list[int] = []

    def ask() -> None:
        times.append(1)
        asked.set()

    with pytest.raises(KeyboardInterrupt), stop_on_signal(ask, "fetch", remark) as interrupted:
        assert not interrupted()
        signal.raise_signal(number)
        assert interrupted()
        assert asked.wait(60)
        signal.raise_signal(number)
    assert times == [1]
    message = "fetch: stopping gracefully; interrupt again to stop at once\n"
    assert capsys.readouterr().err == message


@pytest.mark.usefixtures("usual_hangup")
def test_a_terminal_that_is_closed_asks_and_never_ends() -> None:
    """Its system and its shell may both say so, and nobody reads what is printed then."""
    times: list[int] = []
    asked = threading.Event()

    def ask() -> None:
        times.append(1)
        asked.set()

    def nobody_reads(_: str) -> None:
        raise OSError(errno.EIO, "input/output error")

    with stop_on_signal(ask, "serve", nobody_reads) as interrupted:
        signal.raise_signal(signal.SIGHUP)
        assert asked.wait(60)
        signal.raise_signal(signal.SIGHUP)
        assert interrupted()
    assert times == [1]


def test_one_that_is_to_outlive_its_terminal_does() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stop_on_signal(lambda: None, "serve", remark) as interrupted:
            signal.raise_signal(signal.SIGHUP)
            assert not interrupted()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_holder_of_a_lock_that_asking_needs_may_be_interrupted() -> None:
    held, asked = threading.Lock(), threading.Event()

    def ask() -> None:
        with held:
            asked.set()

    with stop_on_signal(ask, "fetch", remark):
        with held:
            signal.raise_signal(signal.SIGTERM)
        assert asked.wait(60)


def test_nothing_that_a_signal_asks_for_comes_after_the_block() -> None:
    """The block ends of itself while its interruption is on its way."""

    def slowly(_: str) -> None:
        time.sleep(0.2)

    with pytest.raises(KeyboardInterrupt), stop_on_signal(_thread.interrupt_main, "run", slowly):
        signal.raise_signal(signal.SIGINT)


def test_a_request_to_stop_that_fails_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    tried = threading.Event()

    def ask() -> None:
        tried.set()
        raise StorageError("disk full")

    with stop_on_signal(ask, "fetch", remark):
        signal.raise_signal(signal.SIGINT)
        assert tried.wait(60)
    assert "fetch: cannot be stopped gracefully: disk full" in capsys.readouterr().err


@pytest.mark.usefixtures("usual_hangup")
def test_the_handlers_come_back() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    with sigterm_interrupts(), stop_on_signal(lambda: None, "fetch", remark):
        for number, handler in zip(numbers, before, strict=True):
            assert signal.getsignal(number) is not handler
    assert [signal.getsignal(number) for number in numbers] == before


def test_a_termination_is_an_interruption() -> None:
    with pytest.raises(KeyboardInterrupt), sigterm_interrupts():
        signal.raise_signal(signal.SIGTERM)


def test_another_thread_is_left_alone() -> None:
    handlers: list[object] = []

    def in_thread() -> None:
        with stop_on_signal(lambda: None, "fetch", remark) as interrupted:
            handlers.append(signal.getsignal(signal.SIGINT))
            assert not interrupted()

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
    assert handlers == [before]
