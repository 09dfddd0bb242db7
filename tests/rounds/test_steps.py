from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.errors import UsageError
from crawl.operations.registry import OURS
from crawl.rounds.steps import (
    AFTER_ROUNDS,
    UNBOUNDED,
    CrawlParams,
    LoopOptions,
    NextStep,
    Round,
    RoundOptions,
    SegmentState,
    Stage,
    StopReason,
    build_round,
    inject_step,
    next_step,
    next_steps,
    open_segments,
    parse_wait,
    task_graph,
)

stages = st.lists(st.sampled_from(Stage), max_size=7)
options = st.builds(
    RoundOptions,
    top_n=st.integers(1, 10**9),
    num_fetchers=st.none() | st.integers(1, 1000),
    threads=st.integers(1, 1000),
    time_limit_min=st.floats(-1, 10_000),
    parses_in_fetch=st.booleans(),
)


def found(some: list[Stage]) -> list[SegmentState]:
    return [SegmentState(f"2026111509{number:04d}", stage) for number, stage in enumerate(some)]


def done(due: NextStep, segments: list[SegmentState]) -> list[SegmentState]:
    """The state that a step which ran to its end leaves behind."""
    assert due.step.leads_to is not None
    if not due.segments:
        return [*segments, SegmentState(f"2026111510{len(segments):04d}", due.step.leads_to)]
    return [
        replace(segment, stage=due.step.leads_to) if segment.name in due.segments else segment
        for segment in segments
    ]


@given(stages, options)
def test_from_every_state_the_round_closes(some: list[Stage], wanted: RoundOptions) -> None:
    """Every step takes what it is for and goes forward; each segment is updated once."""
    a_round, segments = build_round(wanted), found(some)
    updates: list[str] = []
    steps = 0
    while (due := next_step(segments, a_round)).step is not a_round.generate:
        taken = [segment for segment in segments if segment.name in due.segments]
        assert taken
        assert len(taken) == len(due.segments)
        for segment in taken:
            assert segment.stage in due.step.takes
            assert due.step.leads_to is not None
            assert due.step.leads_to > segment.stage
        if due.step is a_round.updatedb:
            updates += due.segments
        segments = done(due, segments)
        steps += 1
    assert steps <= 2 * len(some) + 1
    assert not due.segments
    assert not open_segments(segments)
    assert sorted(updates) == [segment.name for segment in open_segments(found(some))]


@given(stages, options)
def test_a_new_round_is_its_steps_in_order(some: list[Stage], wanted: RoundOptions) -> None:
    a_round = build_round(wanted)
    segments = [replace(segment, stage=Stage.UPDATED) for segment in found(some)]
    steps = []
    for _ in a_round.steps:
        due = next_step(segments, a_round)
        steps.append(due.step)
        segments = done(due, segments)
    assert tuple(steps) == a_round.steps
    assert not open_segments(segments)
    assert (a_round.parse in a_round.steps) is not wanted.parses_in_fetch


@given(stages, st.data())
def test_a_death_in_any_step_is_gone_on_from(some: list[Stage], data: st.DataObject) -> None:
    """A step that dies leaves things as they were, or a fetch begun; it comes again then."""
    a_round, segments = build_round(RoundOptions()), found(some)
    for _ in range(4 * len(some) + 4):
        due = next_step(segments, a_round)
        if not due.segments or not data.draw(st.booleans(), "dies"):
            break
        if due.step is a_round.fetch:
            segments = [
                replace(segment, stage=Stage.FETCHING) if segment.name in due.segments else segment
                for segment in segments
            ]
        assert next_step(segments, a_round) == due


def test_what_was_begun_comes_first_the_oldest_before_the_others() -> None:
    a_round = build_round(RoundOptions())

    def after(*some: Stage) -> tuple[str, tuple[str, ...]]:
        due = next_step(found(list(some)), a_round)
        return due.step.name, tuple(name[-1] for name in due.segments)

    assert after() == ("generate", ())
    assert after(Stage.UPDATED) == ("generate", ())
    assert after(Stage.UPDATED, Stage.GENERATED) == ("fetch", ("1",))
    assert after(Stage.FETCHING, Stage.GENERATED) == ("fetch", ("0",))
    assert after(Stage.FETCHED, Stage.FETCHING) == ("fetch", ("1",))
    assert after(Stage.FETCHED, Stage.FETCHED) == ("parse", ("0",))
    assert after(Stage.PARSED, Stage.FETCHED) == ("parse", ("1",))
    assert after(Stage.PARSED, Stage.UPDATED, Stage.PARSED) == ("updatedb", ("0", "2"))


def test_two_lanes_one_list_ahead() -> None:
    a_round = build_round(RoundOptions())

    def after(*some: Stage, fetching: int | None = None) -> tuple[str, str]:
        segments = found(list(some))
        name = None if fetching is None else segments[fetching].name
        due = next_steps(segments, a_round, name)

        def shown(step: NextStep | None) -> str:
            if step is None:
                return ""
            return " ".join([step.step.name, *(name[-1] for name in step.segments)])

        return shown(due.fetch), shown(due.beside)

    made, going, got, read = Stage.GENERATED, Stage.FETCHING, Stage.FETCHED, Stage.PARSED
    assert after() == ("", "generate")
    assert after(made) == ("fetch 0", ""), "one list ahead is enough"
    assert after(made, fetching=0) == ("fetch 0", "generate")
    assert after(got, going, fetching=1) == ("fetch 1", "parse 0")
    assert after(read, going, fetching=1) == ("fetch 1", "updatedb 0")
    assert after(Stage.UPDATED, going, fetching=1) == ("fetch 1", "generate")
    assert after(Stage.UPDATED, going, made, fetching=1) == ("fetch 1", "")
    assert after(got, got, fetching=1) == ("", "parse 0"), "the other lane has not ended yet"
    assert after(read, read, got, fetching=2) == ("", "updatedb 0 1")


@given(stages, options, st.data())
def test_two_lanes_close_every_round_and_never_meet(
    some: list[Stage], wanted: RoundOptions, data: st.DataObject
) -> None:
    """In whatever order the lanes end: no segment is worked on by both, every one is updated once,
    and there is never more than one list ahead of what was there."""
    a_round, segments = build_round(wanted), found(some)
    lists = sum(segment.stage in a_round.fetch.takes for segment in segments)
    updates: list[str] = []
    fetching: NextStep | None = None
    generated = 0
    for _ in range(6 * len(some) + 30):
        if fetching is None:
            fetching = next_steps(segments, a_round).fetch
        name = None if fetching is None else fetching.segments[0]
        beside = next_steps(segments, a_round, name).beside
        assert beside is None or name not in beside.segments
        if beside is not None and beside.step is a_round.generate and generated == 3:
            beside = None
        if fetching is None and beside is None:
            break
        if fetching is not None and (beside is None or data.draw(st.booleans(), "the fetch ends")):
            segments, fetching = done(fetching, segments), None
            continue
        assert beside is not None
        generated += beside.step is a_round.generate
        updates += beside.segments if beside.step is a_round.updatedb else ()
        segments = done(beside, segments)
        waiting = sum(segment.stage in a_round.fetch.takes for segment in segments)
        assert waiting <= max(2, lists)
    assert not open_segments(segments)
    assert generated == 3
    assert len(updates) == len(set(updates)) == len(open_segments(found(some))) + 3


def test_a_segment_fetched_without_parsing_is_parsed_also_where_the_fetch_would_now() -> None:
    a_round = build_round(RoundOptions(parses_in_fetch=True))
    assert [step.name for step in a_round.steps] == ["generate", "fetch", "updatedb"]
    assert next_step(found([Stage.FETCHED]), a_round).step.name == "parse"


@given(options)
def test_every_step_is_a_command(wanted: RoundOptions) -> None:
    a_round = build_round(wanted)
    for step in (inject_step(["seeds.txt"]), *a_round.steps):
        assert step.name in OURS
        command = step.command_line("here", ["20261115093000"])
        assert command[:3] == [step.name, "here", "20261115093000"]
        assert all(isinstance(argument, str) and argument for argument in command)


def test_the_command_lines_of_a_round() -> None:
    a_round = build_round(RoundOptions(top_n=100, num_fetchers=4, threads=7, time_limit_min=1.5))
    assert inject_step(["a.txt", "b"]).command_line("c") == ["inject", "c", "a.txt", "b"]
    assert a_round.generate.command_line("c") == [
        *("generate", "c", "--top-n", "100", "--num-fetchers", "4"),
    ]
    assert a_round.fetch.command_line("c", ["s"]) == [
        *("fetch", "c", "s", "-D", "fetcher.threads.fetch=7", "-D", "fetcher.timelimit.mins=1.5"),
    ]
    assert a_round.parse.command_line("c", ["s"]) == ["parse", "c", "s"]
    assert a_round.updatedb.command_line("c", ["s", "t"]) == ["updatedb", "c", "s", "t"]


def test_by_default_a_round_is_that_of_the_reference() -> None:
    a_round: Round = build_round(RoundOptions())
    assert dict(a_round.generate.options) == {"--top-n": "50000"}
    assert dict(a_round.fetch.settings) == {
        "fetcher.threads.fetch": "50",
        "fetcher.timelimit.mins": "180",
    }


def test_what_ends_the_loop() -> None:
    assert LoopOptions(2).ends(1) is None
    assert LoopOptions(2).ends(2) is StopReason.ROUNDS_DONE
    assert LoopOptions(0).ends(0) is StopReason.ROUNDS_DONE
    assert LoopOptions(UNBOUNDED).ends(10**9) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("10m", 600), ("2h", 7200), ("1d", 86_400), (" 5m ", 300)],
)
def test_a_time_to_wait(text: str, seconds: int) -> None:
    assert parse_wait(text) == seconds


@pytest.mark.parametrize("text", ["", "m", "-1", "1.5h", "10 m", "10min", "٣s", "1w"])
def test_no_time_to_wait(text: str) -> None:
    with pytest.raises(UsageError, match="no time to wait"):
        parse_wait(text)


def params(**values: Any) -> CrawlParams:
    found: CrawlParams = {
        "crawl_dir": "c",
        "seeds": ["a.txt", "b"],
        "rounds": 2,
        "top_n": 100,
        "num_fetchers": None,
        "threads": 7,
        "time_limit_min": 1.5,
        "master": None,
        "conf": None,
        "settings": [],
        "after": [step.name for step in AFTER_ROUNDS],
    }
    return cast("CrawlParams", {**found, **values})


def test_the_graph_of_a_crawl() -> None:
    names = [task.name for task in task_graph(2)]
    assert names == [
        "inject",
        *(f"round_1.{step}" for step in ("generate", "fetch", "parse", "updatedb")),
        *(f"round_2.{step}" for step in ("generate", "fetch", "parse", "updatedb")),
        *(f"after_rounds.{step.name}" for step in AFTER_ROUNDS),
    ]
    assert {step.name for step in AFTER_ROUNDS} <= set(OURS)
    assert [task.name for task in task_graph(2) if task.follows_skipped] == [
        "round_1.generate",
        *(f"after_rounds.{step.name}" for step in AFTER_ROUNDS),
    ]


def test_what_the_tasks_of_a_graph_run() -> None:
    inject, *a_round = task_graph(1)
    given = {"master": "yarn", "conf": "my conf", "settings": ["a=b", "c=d e"]}
    crawl_params = params(**given)
    last = params(rounds=1, **given)
    shared = ["--master", "yarn", "--conf", "my conf", "-D", "a=b", "-D", "c=d e"]
    fetching = ["-D", "fetcher.threads.fetch=7", "-D", "fetcher.timelimit.mins=1.5"]
    assert inject.command_line(crawl_params) == ["inject", "c", "a.txt", "b", *shared]
    assert [task.command_line(last) for task in a_round] == [
        ["generate", "c", "--top-n", "100", "--if-due", *shared],
        ["fetch", "c", *fetching, "--if-due", *shared],
        ["parse", "c", "--if-due", *shared],
        ["updatedb", "c", "--if-due", *shared],
        *([step.name, "c", "--if-due", *shared] for step in AFTER_ROUNDS),
    ]
    # its tail may be left for the round after it
    fetch = task_graph(2)[2].command_line(crawl_params)
    assert fetch == ["fetch", "c", *fetching, "--if-due", "--more-rounds", *shared]
    generate = a_round[0].command_line(params(num_fetchers=3))
    assert generate == ["generate", "c", "--top-n", "100", "--num-fetchers", "3", "--if-due"]


def test_tasks_that_nobody_asked_for() -> None:
    graph = task_graph(3)
    assert not any(task.skipped(params(rounds=3)) for task in graph)
    assert {task.name for task in graph if task.skipped(params(seeds=[], rounds=3))} == {"inject"}
    skipped = {task.group for task in graph if task.skipped(params(rounds=1))}
    assert skipped == {"round_2", "round_3"}
    last_of_rounds = graph[-1 - len(AFTER_ROUNDS)]
    assert last_of_rounds.skipped(params()) == "2 rounds were asked for"
    some = {
        task.step for task in graph if task.is_after and not task.skipped(params(after=["index"]))
    }
    assert some == {"index"}


def test_it_needs_next_to_nothing() -> None:
    """A scheduler imports it where neither Spark nor Arrow is."""
    script = (
        "import crawl.rounds.steps, sys;"
        "assert not {'pyspark', 'pyarrow', 'numpy', 'fsspec', 'click'} & set(sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert ended.returncode == 0, ended.stderr.decode()
