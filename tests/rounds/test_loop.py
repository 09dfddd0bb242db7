"""The loop over rounds, in this process, over a web without a network."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.errors import EnvironmentFault, NothingToDo, StorageError
from crawl.fetcher.task import STOP
from crawl.phases.fetch import run as fetch
from crawl.phases.fetch.options import FetchOptions
from crawl.phases.parse import run as parse
from crawl.phases.parse.options import ParseOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.rounds.loop import RoundLoop
from crawl.rounds.results import LoopResult
from crawl.rounds.state import segment_states
from crawl.rounds.steps import (
    STOP_FILE,
    UNBOUNDED,
    LoopOptions,
    RoundOptions,
    Stage,
    StopReason,
)
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import FETCH, Segment
from crawl.tables.runner import InProcess
from tests.phases.made import DAY, NOW, records_of
from tests.phases.round_loops import Diary, SetClock, work_in_process
from tests.phases.scripted_web import PLAYED, Scene, Script

pytestmark = pytest.mark.slow

FRONT = "http://a.test/"
BELOW = tuple(f"http://a.test/p{number}" for number in range(3))
ROUND = ["generate", "fetch", "parse", "updatedb"]


class Played:
    """A crawl of a front page with three below it."""

    def __init__(self, folder: Path) -> None:
        self.clock = SetClock(NOW)
        self.waited: list[float] = []
        PLAYED[str(folder)] = Script(
            {
                FRONT: lambda now: Scene(text="front", links=BELOW),
                **dict.fromkeys(BELOW, lambda now: Scene(text="below", links=(FRONT,))),
            },
            self.clock.now_ms,
        )
        self.directory = CrawlDir(str(folder / "crawl"))
        self.seeds = folder / "seeds.txt"
        self.seeds.write_text(FRONT)
        self.config = Config.of(
            {
                "http.agent.name": "testbot",
                "plugin.protocol": ["tests.phases.scripted_web:ScriptedProtocol"],
                "test.script": str(folder),
                "fetcher.server.delay": 0,
                "urlfilter.order": ["length"],
                "crawldb.buckets": 2,
            }
        )

    def run_rounds(
        self, loop: LoopOptions, *, seeded: bool = False, diary: Diary | None = None, **more: Any
    ) -> LoopResult:
        usual: dict[str, Any] = {
            "options": RoundOptions(num_fetchers=1, threads=2),
            "resolver": lambda host: None,
            "sleep": self._sleep,
        }
        round_loop = RoundLoop(
            work_in_process(self.directory, self.config, self.clock, diary or Diary()),
            InProcess(),
            loop=loop,
            **{**usual, **more},
        )
        return round_loop.run((str(self.seeds),) if seeded else ())

    def _sleep(self, seconds: float) -> None:
        self.waited.append(seconds)

    @property
    def stages(self) -> list[Stage]:
        return [segment.stage for segment in segment_states(self.directory)]


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    yield Played(tmp_path)
    del PLAYED[str(tmp_path)]


def test_rounds_until_nothing_is_due(played: Played) -> None:
    diary = Diary()
    result = played.run_rounds(LoopOptions(UNBOUNDED), seeded=True, diary=diary)
    assert result.ending is StopReason.NOTHING_DUE
    assert diary.names == ["inject", *ROUND, *ROUND, "generate"]
    assert played.stages == [Stage.UPDATED, Stage.UPDATED]
    assert result.rounds == tuple(diary.rounds)
    first, second = result.rounds
    assert (first.number, first.fetched, first.new, first.db_urls) == (1, 1, 3, 4)
    assert (second.number, second.fetched, second.new, second.db_urls) == (2, 3, 0, 4)
    assert (second.gone, second.retried, second.redirects, second.not_modified) == (0, 0, 0, 0)
    assert second.db_bytes == played.directory.require_crawldb().bytes
    assert list(first.seconds) == ["inject", *ROUND]
    assert list(second.seconds) == ROUND
    assert second.records == 3
    assert set(records_of(played.directory)) == {FRONT, *BELOW}


def test_a_fetch_that_parses_needs_no_parse(played: Played) -> None:
    played.config = played.config.with_values({"fetcher.parse": True})
    diary = Diary()
    options = RoundOptions(num_fetchers=1, threads=2, parses_in_fetch=True)
    result = played.run_rounds(LoopOptions(1), seeded=True, diary=diary, options=options)
    assert diary.names == ["inject", "generate", "fetch", "updatedb"]
    assert result.rounds[0].new == 3


def test_seeds_of_no_use_matter_only_to_a_crawl_that_has_nothing_else(played: Played) -> None:
    played.seeds.write_text("javascript:x\n")
    with pytest.raises(NothingToDo, match="none of the 1 seed lines is usable"):
        played.run_rounds(LoopOptions(1), seeded=True)
    assert played.directory.crawldb.current() is None
    played.seeds.write_text(FRONT)
    played.run_rounds(LoopOptions(1), seeded=True)
    played.seeds.write_text("javascript:x\n")
    diary = Diary()
    assert len(played.run_rounds(LoopOptions(1), seeded=True, diary=diary).rounds) == 1
    assert "none of the 1 seed lines is usable" in diary.remarked[0]


def test_rounds_that_bring_nothing_say_why(played: Played) -> None:
    played.config = played.config.with_values({"db.ignore.internal.links": True})
    diary = Diary()
    played.run_rounds(LoopOptions(1), seeded=True, diary=diary)
    (line,) = diary.remarked
    assert "none of 3 links are left: 3 were left out by db.ignore.internal.links" in line
    idle = Diary()
    played.run_rounds(LoopOptions(UNBOUNDED), diary=idle)
    (line,) = idle.remarked
    assert "none of 1 URLs are left: 1 were left out by the schedule" in line


def test_a_fetch_that_brings_nothing_says_why(played: Played) -> None:
    played.seeds.write_text("http://a.test/nowhere\n")
    diary = Diary()
    played.run_rounds(LoopOptions(1), seeded=True, diary=diary)
    assert "none of 1 URLs are fetched: 1 were left out by their servers" in diary.remarked[0]


def test_as_many_rounds_as_asked_for(played: Played) -> None:
    assert played.run_rounds(LoopOptions(1), seeded=True).ending is StopReason.ROUNDS_DONE
    assert played.stages == [Stage.UPDATED]
    result = played.run_rounds(LoopOptions(5))
    assert result.ending is StopReason.NOTHING_DUE
    assert len(result.rounds) == 1
    assert played.run_rounds(LoopOptions(5)) == LoopResult(StopReason.NOTHING_DUE, ())


class _Dies(Exception):
    pass


@pytest.mark.parametrize("step", ROUND)
def test_a_death_before_any_step_is_gone_on_from(
    played: Played, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*arguments: Any, **more: Any) -> None:
        raise _Dies

    with monkeypatch.context() as patched:
        patched.setattr(f"crawl.phases.{step}.run.run", dies)
        with pytest.raises(_Dies):
            played.run_rounds(LoopOptions(1), seeded=True)
    diary = Diary()
    result = played.run_rounds(LoopOptions(1), diary=diary)
    assert result.ending is StopReason.ROUNDS_DONE
    assert diary.names == ROUND[ROUND.index(step) :]
    assert result.rounds[0].fetched == 1


def test_a_fault_of_a_phase_is_raised_as_it_is(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any) -> None:
        raise StorageError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(parse, "run", full)
        with pytest.raises(StorageError, match="^the disk is full$"):
            played.run_rounds(LoopOptions(1), seeded=True)
    assert played.stages == [Stage.FETCHED]
    assert len(played.run_rounds(LoopOptions(1)).rounds) == 1


def test_a_step_that_changes_nothing_is_not_done_for_ever(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        parse, "run", lambda *arguments: type("", (), {"took_over": None, "remarks": ()})
    )
    with pytest.raises(EnvironmentFault, match=r"parse of \d{14} left it as it was"):
        played.run_rounds(LoopOptions(1), seeded=True)


def test_a_stop_file_ends_it_after_the_step_under_way(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = fetch.run

    def stopped(*arguments: Any) -> Any:
        played.directory.folder.write(STOP_FILE, b"")
        return run(*arguments)

    with monkeypatch.context() as patched:
        patched.setattr(fetch, "run", stopped)
        assert played.run_rounds(LoopOptions(3), seeded=True) == LoopResult(
            StopReason.STOP_FILE, ()
        )
    assert played.stages == [Stage.FETCHED]
    diary = Diary()
    assert (
        played.run_rounds(LoopOptions(3), seeded=True, diary=diary).ending is StopReason.STOP_FILE
    )
    assert diary.names == []
    played.directory.folder.delete(STOP_FILE)
    assert played.run_rounds(LoopOptions(1), diary=diary).ending is StopReason.ROUNDS_DONE
    assert diary.names == ["parse", "updatedb"]


def test_a_fetch_that_is_asked_to_end_ends_it(played: Played) -> None:
    signalled = False

    @contextmanager
    def fetching(segment: Segment) -> Iterator[None]:
        nonlocal signalled
        signalled = True
        yield
        assert not segment.folder.exists(STOP)

    result = played.run_rounds(
        LoopOptions(2), seeded=True, fetching=fetching, interrupted=lambda: signalled
    )
    assert result == LoopResult(StopReason.INTERRUPTED, ())
    (segment,) = played.directory.segments.generated()
    manifest = segment.manifest(FETCH)
    assert manifest is not None
    assert played.stages == [Stage.FETCHED if manifest.complete else Stage.FETCHING]
    assert len(played.run_rounds(LoopOptions(1)).rounds) == 1
    assert records_of(played.directory)[FRONT].signature is not None


def test_waiting_for_something_to_be_due(played: Played) -> None:
    played.run_rounds(LoopOptions(2), seeded=True)
    diary = Diary()
    assert played.run_rounds(LoopOptions(3, wait_s=0.0), diary=diary) == LoopResult(
        StopReason.ROUNDS_DONE, ()
    )
    assert diary.names == ["generate"] * 3
    assert diary.waited == [0.0, 0.0], "after the last one nothing is to be waited for"

    class Later(Diary):
        def on_wait(self, seconds: float) -> None:
            super().on_wait(seconds)
            played.clock.set(played.clock.now_ms() + 31 * DAY)

    later = Later()
    result = played.run_rounds(LoopOptions(2, wait_s=0.0), diary=later)
    assert result.ending is StopReason.ROUNDS_DONE
    assert later.names == ["generate", *ROUND]
    assert result.rounds[0].not_modified + result.rounds[0].fetched == 4


def test_a_stop_file_ends_the_waiting(played: Played) -> None:
    played.run_rounds(LoopOptions(2), seeded=True)

    def stop(seconds: float) -> None:
        assert 0 < seconds <= 5
        played.directory.folder.write(STOP_FILE, b"")

    result = played.run_rounds(LoopOptions(UNBOUNDED, wait_s=3600.0), sleep=stop)
    assert result.ending is StopReason.STOP_FILE


def test_servers_have_their_pause_between_two_rounds_too(
    played: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page that was asked last may link to its server, which is asked first then."""
    run, clock = fetch.run, played.clock
    begun: list[float] = []
    ended: list[float] = []

    def timed(*arguments: Any) -> Any:
        begun.append(clock.monotonic())
        try:
            return run(*arguments)
        finally:
            ended.append(clock.monotonic())

    monkeypatch.setattr(fetch, "run", timed)
    played.config = played.config.with_values({"fetcher.server.delay": 3})
    played.config = played.config.with_values({"http.robot.rules.allowlist": ["a.test"]})
    PLAYED[str(played.seeds.parent)].pages[FRONT] = lambda now: Scene(links=BELOW[:1])
    assert len(played.run_rounds(LoopOptions(2), seeded=True, sleep=time.sleep).rounds) == 2
    assert begun[1] - ended[0] >= 3


def test_what_nobody_lets_us_fetch_does_not_keep_us_busy(played: Played) -> None:
    """Its host is left alone for a while: without that the next round would be the same."""
    script = PLAYED[str(played.seeds.parent)]
    script.robots_code = 503
    played.config = played.config.with_values({"http.robots.503.defer.visits.retries": 0})
    result = played.run_rounds(LoopOptions(UNBOUNDED), seeded=True)
    assert (result.ending, result.hosts_waiting) == (StopReason.NOTHING_DUE, 1)
    assert result.rounds[0].left_for_later == 1
    (only,) = result.rounds
    assert (only.fetched, only.records, only.db_urls) == (0, 0, 1)
    diary = Diary()
    assert played.run_rounds(LoopOptions(2, wait_s=0.0), diary=diary).rounds == ()
    assert diary.waited == [0.0]
    script.robots_code = 404
    played.clock.set(NOW + DAY)
    assert played.run_rounds(LoopOptions(UNBOUNDED)).ending is StopReason.NOTHING_DUE
    assert len(records_of(played.directory)) == 4


def test_where_no_host_is_left_alone_a_round_in_vain_is_the_last(played: Played) -> None:
    script = PLAYED[str(played.seeds.parent)]
    script.robots_code = 503
    settings = {"http.robots.503.defer.visits.retries": 0, "db.host.wait.max": 0}
    played.config = played.config.with_values(settings)
    result = played.run_rounds(LoopOptions(UNBOUNDED), seeded=True)
    assert (result.ending, len(result.rounds)) == (StopReason.NOTHING_FETCHED, 1)


def test_segments_by_their_stage(played: Played) -> None:
    directory, clock, config = played.directory, played.clock, played.config
    assert segment_states(directory) == []
    with pytest.raises(_Dies):
        played.run_rounds(LoopOptions(1), seeded=True, fetching=_never)
    assert played.stages == [Stage.GENERATED]
    (segment,) = directory.segments.generated()
    fetch.run(InProcess(), directory, config, FetchOptions(), clock, lambda: True)
    manifest = segment.manifest(FETCH)
    assert manifest is not None
    if not manifest.complete:
        assert played.stages == [Stage.FETCHING]
        fetch.run(InProcess(), directory, config, FetchOptions(), clock)
    assert played.stages == [Stage.FETCHED]
    options = ParseOptions(segment=segment.name)
    parse.run(InProcess(), directory, config, options, clock)
    assert played.stages == [Stage.PARSED]
    update = UpdateDbOptions(segments=(segment.name,))
    updatedb.run(InProcess(), directory, config, update, clock)
    assert played.stages == [Stage.UPDATED]


def _never(segment: Segment) -> Any:
    raise _Dies
