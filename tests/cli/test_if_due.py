"""--if-due: what a scheduler calls by its plan, and again when in doubt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.errors import NOTHING_MORE
from crawl.rounds.due import due_work
from crawl.rounds.steps import (
    STOP_FILE,
    RoundOptions,
    SegmentState,
    Stage,
    build_round,
    open_segments,
)
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import Settings, Web, WebServer, duplicates, running
from tests.cli.calling import Caller
from tests.phases.fetch_commands import write_conf
from tests.phases.made import records_of
from tests.phases.webs import listed

ROUND = build_round(RoundOptions())
PHASES = tuple(step.name for step in ROUND.steps)
stages = st.lists(st.sampled_from(Stage), max_size=6)


def found(some: list[Stage]) -> list[SegmentState]:
    return [SegmentState(f"2026111509{number:04d}", stage) for number, stage in enumerate(some)]


@given(stages)
def test_rounds_of_a_plan_finish_whatever_was_begun(some: list[Stage]) -> None:
    """Each phase once a round: every segment goes on, and only then is there a new one."""
    segments = found(some)
    for _ in some:
        assert due_work("generate", segments, stopped=False).code == (
            0 if open_segments(segments) else None
        )
        for step in ROUND.steps[1:]:
            work = due_work(step.name, segments, stopped=False)
            taken = [segment for segment in segments if segment.name in work.segments]
            assert len(taken) == len(work.segments)
            assert (work.code is None) is bool(taken)
            assert all(segment.stage in step.takes for segment in taken)
            assert step.leads_to is not None
            segments = [
                replace(segment, stage=step.leads_to) if segment in taken else segment
                for segment in segments
            ]
    assert not open_segments(segments)
    assert due_work("generate", segments, stopped=False).code is None


@given(stages, st.sampled_from(PHASES))
def test_nothing_is_begun_where_a_stop_file_is(some: list[Stage], phase: str) -> None:
    work = due_work(phase, found(some), stopped=True)
    assert (work.code, work.segments) == (NOTHING_MORE, ())
    assert STOP_FILE in work.reason


def test_an_update_takes_all_and_the_others_the_oldest() -> None:
    segments = found([Stage.UPDATED, Stage.PARSED, Stage.FETCHED, Stage.FETCHED, Stage.PARSED])
    assert due_work("updatedb", segments, stopped=False).segments == (
        segments[1].name,
        segments[4].name,
    )
    assert due_work("parse", segments, stopped=False).segments == (segments[2].name,)
    assert due_work("fetch", segments, stopped=False).code == 0


@pytest.fixture
def server() -> Iterator[WebServer]:
    with running(Web(Settings.plain(2, 2, port=0, size=300))) as server:
        yield server


@pytest.fixture
def conf(tmp_path: Path, server: WebServer) -> Path:
    return write_conf(tmp_path / "conf", server)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_every_phase_twice_is_a_round_once(
    crawl: Caller, tmp_path: Path, server: WebServer, conf: Path
) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("\n".join(server.web.seeds()))
    directory = tmp_path / "c"
    assert crawl("inject", directory, seeds, "--conf", conf).code == 0
    for phase in PHASES:
        first = crawl(phase, directory, "--if-due", "--conf", conf)
        assert (first.code, bool(first.out)) == (0, True), first.err
        again = crawl(phase, directory, "--if-due", "--conf", conf)
        assert (again.code, again.out) == (0, ""), again.err
    assert len(CrawlDir(str(directory)).segments.generated()) == 1
    assert not duplicates(server.requests())
    ended = crawl("generate", directory, "--if-due", "--conf", conf)
    assert ended.code == NOTHING_MORE
    assert "nothing is due" in ended.err
    assert set(records_of(CrawlDir(str(directory)))) == set(server.web.seeds())


def test_without_spark_what_is_not_due_is_one_line(
    crawl: Caller, tmp_path: Path, server: WebServer, conf: Path
) -> None:
    directory, name = listed(str(tmp_path / "c"), server.web.seeds())
    answers = {
        phase: crawl(phase, directory.address, "--if-due", "--conf", conf)
        for phase in ("generate", "parse", "updatedb")
    }
    assert {(answer.code, answer.out) for answer in answers.values()} == {(0, "")}
    assert answers["generate"].err == f"generate: {name} must be finished first\n"
    assert answers["parse"].err == "parse: already done\n"
    Path(directory.address, STOP_FILE).touch()
    for phase in PHASES:
        answer = crawl(phase, directory.address, "--if-due", "--conf", conf)
        assert (answer.code, answer.out) == (NOTHING_MORE, "")
        assert answer.err == f"{phase}: {STOP_FILE} exists\n"


@pytest.mark.parametrize("phase", ["fetch", "parse", "updatedb"])
def test_what_cannot_be_meant(crawl: Caller, made: str, conf: Path, phase: str) -> None:
    answer = crawl(phase, made, "20261115093000", "--if-due", "--conf", conf)
    assert (answer.code, answer.out) == (2, "")
    assert "name none" in answer.err
    nowhere = crawl(phase, Path(made).parent / "none", "--if-due", "--conf", conf)
    assert nowhere.code == 2
    assert "has no CrawlDb yet" in nowhere.err
