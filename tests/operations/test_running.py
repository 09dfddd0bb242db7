"""Operations under way: started, watched and cancelled by whoever holds them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from crawl.config import Config
from crawl.errors import Cancelled, UsageError
from crawl.operations.events import Finished, Notice, Remark
from crawl.operations.operation import Operation
from crawl.operations.running import Running, perform
from crawl.operations.view import Line
from crawl.operations.work import Work
from crawl.tables.runner import InProcess, Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """No options."""


@dataclass(frozen=True, slots=True)
class Done:
    remarks: tuple[str, ...] = ("well done",)


class Here:
    """An engine without Spark."""

    def runner(
        self, work: Work, *, rows: int | None = None, quiet: bool = False
    ) -> AbstractContextManager[Runner]:
        return nullcontext(InProcess(1, work.cancellation.require_not_asked))

    def session(self, work: Work) -> AbstractContextManager[Any]:
        raise AssertionError("no Spark here")

    def task_slots(self, work: Work) -> int:
        return 1


@dataclass
class Recorder:
    events: list[object] = field(default_factory=list)
    progress_seconds: float | None = None

    def on_event(self, event: object) -> None:
        self.events.append(event)


def operation_of(run: Callable[[Work, Nothing], Any]) -> Operation:
    return Operation(
        name="try",
        options=Nothing,
        result=Done,
        run=run,
        help="Tries.",
        render=lambda done, asked: [Line(str(done))],
    )


def work_for(recorder: Recorder) -> Work:
    return Work("try", Config(), Here(), observer=recorder)


def test_what_happens_is_told_in_order() -> None:
    def run(work: Work, options: Nothing) -> Done:
        work.notice("going well")
        return Done()

    recorder = Recorder()
    assert perform(operation_of(run), work_for(recorder), Nothing()) == Done()
    assert recorder.events == [Notice("going well"), Remark("try", "well done"), Finished("try")]


def test_a_fault_is_told_and_raised() -> None:
    def run(work: Work, options: Nothing) -> Done:
        raise UsageError("cannot be meant")

    recorder = Recorder()
    running = Running(operation_of(run), work_for(recorder), Nothing())
    with pytest.raises(UsageError, match="cannot be meant"):
        running.result(60)
    (finished,) = recorder.events
    assert isinstance(finished, Finished) and isinstance(finished.fault, UsageError)


def test_all_that_is_said_is_in_the_words_of_the_caller() -> None:
    def run(work: Work, options: Nothing) -> Done:
        work.notice("--a goes well")
        work.remark("--a went well")
        return Done(("--a is done",))

    def fail(work: Work, options: Nothing) -> Done:
        raise UsageError("--a cannot be meant")

    recorder = Recorder()
    work = replace(work_for(recorder), words=lambda text: text.replace("--a", "A"))
    perform(operation_of(run), work, Nothing())
    said = [getattr(event, "text", None) for event in recorder.events]
    assert said == ["A goes well", "A went well", "A is done", None]
    with pytest.raises(UsageError, match="^A cannot be meant$"):
        perform(operation_of(fail), work, Nothing())


def test_a_cancelled_operation_begins_no_further_task() -> None:
    begun: list[int] = []
    first, go_on = threading.Event(), threading.Event()

    def task(number: int) -> int:
        begun.append(number)
        first.set()
        assert go_on.wait(60)
        return number

    def run(work: Work, options: Nothing) -> Done:
        with work.runner() as runner:
            runner.run(task, range(100), "try: tasks")
        return Done()

    running = Running(operation_of(run), work_for(Recorder()), Nothing())
    assert first.wait(60) and not running.is_done
    with pytest.raises(TimeoutError, match="try is still running"):
        running.result(0.01)
    work = running._work
    running.cancel()
    while not work.cancellation.is_asked:
        first.wait(0.01)
    go_on.set()
    with pytest.raises(Cancelled, match="cancelled"):
        running.result(60)
    assert begun == [0] and running.is_done


def test_only_the_operation_that_is_held_is_cancelled() -> None:
    go_on = threading.Event()

    def run(work: Work, options: Nothing) -> Done:
        assert go_on.wait(60)
        work.cancellation.require_not_asked()
        return Done()

    one, other = (Running(operation_of(run), work_for(Recorder()), Nothing()) for _ in range(2))
    one.cancel()
    while not one._work.cancellation.is_asked:
        pass
    go_on.set()
    assert other.result(60) == Done()
    with pytest.raises(Cancelled):
        one.result(60)


def test_what_it_dies_of_when_it_was_cancelled_is_the_cancellation() -> None:
    asked = threading.Event()

    def run(work: Work, options: Nothing) -> Done:
        with work.cancellation.calling(asked.set):
            assert asked.wait(60)
        raise OSError("a connection that was cut")

    running = Running(operation_of(run), work_for(Recorder()), Nothing())
    running.cancel()
    with pytest.raises(Cancelled) as cancelled:
        running.result(60)
    assert isinstance(cancelled.value.__cause__, OSError)


def test_a_cancellation_that_came_before_is_heard_at_once() -> None:
    heard: list[str] = []
    work = work_for(Recorder())
    work.cancellation.cancel()
    with work.cancellation.calling(lambda: heard.append("now")):
        assert heard == ["now"]
    with pytest.raises(Cancelled):
        work.runner()


def test_answers_come_one_by_one() -> None:
    def run(work: Work, options: Nothing) -> Iterator[Done]:
        yield Done(())
        yield Done(())

    answers = perform(operation_of(run), work_for(Recorder()), Nothing())
    assert list(answers) == [Done(()), Done(())]
