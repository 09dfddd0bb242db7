"""The figures of a run and of an updatedb are parts of one whole, whatever was crawled."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawl.cli.terminal import print_view
from crawl.config import Config
from crawl.model.status import Status
from crawl.operations.operation import Asked
from crawl.operations.results import PhaseResult
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.operation import render
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.rounds.results import RoundResult
from crawl.rounds.shown import limit_lines, round_rows, total_rows
from crawl.rounds.steps import LoopOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import FETCH, GENERATE
from crawl.tables.runner import InProcess
from tests.examples import scaled
from tests.phases.made import NOW, datum, make_crawldb, make_segment
from tests.phases.round_loops import SetClock, run_rounds
from tests.phases.scripted_web import PLAYED, Scene, Script
from tests.phases.webs import fetched

pytestmark = pytest.mark.slow

_URLS = [f"http://{host}.test/{number}" for host in "abc" for number in range(5)]
_scenes = st.one_of(
    st.builds(
        Scene, text=st.text("xyz", max_size=3), links=st.lists(st.sampled_from(_URLS)).map(tuple)
    ),
    st.just(Scene(404)),
    st.just(Scene(500)),
    st.sampled_from(_URLS).map(lambda target: Scene(302, target=target)),
)


def _always(scene: Scene, now: int) -> Scene:
    return scene


def crawled(
    folder: Path, pages: dict[str, Scene], rounds: int, **more: Any
) -> tuple[CrawlDir, tuple[RoundResult, ...]]:
    folder.mkdir(exist_ok=True)
    clock = SetClock(NOW)
    played: dict[str, Callable[[int], Scene]] = {
        url: partial(_always, scene) for url, scene in pages.items()
    }
    PLAYED[str(folder)] = Script(played, clock.now_ms)
    config = Config.of(
        {
            "http.agent.name": "testbot",
            "plugin.protocol": ["tests.phases.scripted_web:ScriptedProtocol"],
            "test.script": str(folder),
            "fetcher.server.delay": 0,
            "fetcher.max.exceptions.per.queue": 2,
            "urlfilter.order": ["length"],
            "crawldb.buckets": 2,
            **more,
        }
    )
    seeds = folder / "seeds.txt"
    seeds.write_text("\n".join(_URLS[::5]))
    directory = CrawlDir(str(folder / "crawl"))
    try:
        result = run_rounds(
            directory, config, clock, LoopOptions(rounds), seeds=(str(seeds),), parts=1, threads=1
        )
    finally:
        del PLAYED[str(folder)]
    return directory, result.rounds


@settings(max_examples=scaled(8), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    pages=st.dictionaries(st.sampled_from(_URLS), _scenes, min_size=6),
    redirect_max=st.integers(0, 2),
)
def test_the_rounds_of_many_crawls_add_up(pages: dict[str, Scene], redirect_max: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        directory, rounds = crawled(Path(folder), pages, 3, **{"http.redirect.max": redirect_max})
        db = len(_URLS[::5])
        for done in rounds:
            db += done.new
            assert done.db_urls == db
            segments = [directory.segments.segment(name) for name in done.segments]
            records = [row for name in done.segments for row in fetched(directory, name)]
            visited = {url for url, datum in records if datum.status is not Status.LINKED}
            became = done.fetched + done.not_modified + done.redirects + done.gone + done.retried
            assert became == len(visited)
            followed = sum(
                s.report(FETCH)["counters"].get("redirects_followed", 0) for s in segments
            )
            listed = sum(segment.require(GENERATE).rows for segment in segments)
            assert became + done.left_for_later == listed + followed
        if len(rounds) > 1:
            totals = {str(what): figure for what, figure in total_rows(rounds)}
            for name in ("fetched", "new", "gone", "retried", "redirects"):
                assert totals[name] == sum(getattr(done, name) for done in rounds)
            left = rounds[-1].left_for_later
            assert totals["left for later by the last round"] == left
            assert totals["URLs in the db"] == db


def test_what_limits_took_away_is_shown_with_their_settings(tmp_path: Path) -> None:
    pages = {_URLS[0]: Scene(links=tuple(_URLS))}
    _, (done,) = crawled(tmp_path, pages, 1, **{"db.max.outlinks.per.page": 10})
    assert done.links_over_limit == 4, "15 links, one of them to the page itself"
    assert ["links over db.max.outlinks.per.page", 4] in round_rows(done)
    config = Config.of({"db.max.outlinks.per.page": 10})
    (line,) = limit_lines([done, done], config)
    assert line.startswith("8 links beyond db.max.outlinks.per.page=10 were dropped")
    _, (whole,) = crawled(tmp_path / "whole", pages, 1)
    assert limit_lines([whole], config) == []
    assert not any("over" in str(what) for what, _ in round_rows(whole))
    (cut,) = limit_lines([replace(whole, pages_truncated=2)], config)
    assert (
        cut == "2 pages were cut at http.content.limit and not parsed (parser.skip.truncated=true)"
    )


def test_updatedb_accounts_for_every_url(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = {f"http://h{n % 3}.org/p{n}": datum() for n in range(20)}
    directory = make_crawldb(str(tmp_path / "c"), known)
    urls = list(known)
    visits = [(url, datum(status=Status.FETCH_SUCCESS, fetch_time=NOW)) for url in urls[:9]]
    visits += [(urls[9], datum(status=Status.FETCH_GONE, fetch_time=NOW))]
    links = [(url, datum(status=Status.LINKED)) for url in [*urls[8:12], "http://new.org/"]]
    make_segment(directory, "20260101000000", visits, links)
    done = updatedb.run(InProcess(), directory, Config(), UpdateDbOptions(), SetClock(NOW))
    result = PhaseResult.of(
        done.report, snapshot=2, db_urls=done.snapshot.rows, segments=done.segments
    )
    print_view("updatedb", render(result, Asked(UpdateDbOptions(), Config(), "c")))
    happened, now = capsys.readouterr().out.split("\n\n")
    rows = [line.rsplit(maxsplit=1) for line in now.splitlines()[1:]]
    figures = {what.strip(): int(figure) for what, figure in rows}
    assert figures["total"] == 21 == done.snapshot.rows
    assert sum(figures.values()) == 2 * figures["total"]
    assert figures["unchanged"] == 8
    events = [int(line.rsplit(maxsplit=1)[1]) for line in happened.splitlines()[1:]]
    assert sum(events) == figures["total"] - figures["unchanged"]
