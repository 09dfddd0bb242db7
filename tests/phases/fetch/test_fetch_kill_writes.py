"""kill -9 at every kind of write of a fetch."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from crawl.model.arrow import strings
from crawl.storage.chunks import ChunkLog
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import LOCK_NAME
from crawl.storage.parquet import open_table
from crawl.storage.segments import FETCH, PARSE_DATA, Segment
from crawl.synthetic.web import Settings, Web, duplicates, running
from tests.phases.fetch_commands import assert_one_record_each, pages_asked, repeated
from tests.phases.fetch_jobs import LaterClock, fetch_at_full_speed, fetch_by, fetch_in_chunks
from tests.phases.killed import Moment, moments, run_killed, writes_of
from tests.phases.webs import listed

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

SITES = 4
AT_STAKE = 2 * SITES
"""A request a host is under way, and an answer of each may be on its way into the journal:
this death comes in the middle of that, too."""


@pytest.mark.slow(seconds=35)
def test_a_fetch_killed_at_every_kind_of_write(tmp_path: Path) -> None:
    """At the first, the last and one more of each kind, in the middle of it and after it."""
    web = Web(Settings.plain(SITES, 44, port=0, size=500, latency=0.004))
    with running(web) as server:
        settings = server.web.settings
        urls = sorted(set(server.web.urls()))
        base, name = listed(str(tmp_path / "base"), urls, parts=2)

        def copied(number: int) -> CrawlDir:
            wreck = CrawlDir(str(tmp_path / f"killed-{number}"))
            shutil.copytree(base.address, wreck.address)
            return wreck

        kinds = writes_of(fetch_in_chunks, copied(0).address, settings)
        assert len(kinds) > 20
        died: set[str] = set()
        most_repeated = 0
        for number, moment in enumerate(moments(kinds, seed=20261115), 1):
            wreck = copied(number)
            before = len(server.requests())
            if run_killed(fetch_in_chunks, wreck.address, settings, at=moment):
                died.add(moment.kind)
            # else there were fewer of the kind: chunks are cut as answers come
            manifest = wreck.segments.segment(name).manifest("crawl_fetch")
            if manifest is None or not manifest.complete:
                done = fetch_by(LaterClock(), wreck.address, settings)
                assert done.complete
                assert done.report.counters["records"] == len(urls)
                assert done.report.counters["fetch_success"] == len(urls)
            assert_one_record_each(wreck, name, urls)
            asked = duplicates(server.requests()[before:])
            repeated = sum(count - 1 for count in asked.values())
            assert repeated <= AT_STAKE
            most_repeated = max(most_repeated, repeated)
            if manifest is None:
                assert not wreck.segments.segment(name).folder.exists(LOCK_NAME)
            shutil.rmtree(wreck.address)
        # a pause that is over when its part ends is not written
        certain = {kind for kind in kinds if "/servers/" not in kind}
        assert certain <= died <= set(kinds)
        assert most_repeated > 0


def test_a_parsing_fetch_killed_at_some_writes(tmp_path: Path) -> None:
    """Every page of the segment is parsed once: what the journal holds is not parsed yet."""
    web = Web(Settings.plain(SITES, 44, port=0, size=500, latency=0.004))
    with running(web) as server:
        settings = server.web.settings
        urls = sorted(set(server.web.urls()))
        base, name = listed(str(tmp_path / "base"), urls, parts=2)
        kills = 0
        for at in itertools.count(4, 37):
            wreck = CrawlDir(str(tmp_path / f"killed-{at}"))
            shutil.copytree(base.address, wreck.address)
            if not run_killed(fetch_in_chunks, wreck.address, settings, True, at=at):
                break
            kills += 1
            segment = wreck.segments.segment(name)
            manifest = segment.manifest("crawl_fetch")
            if manifest is None or not manifest.complete:
                done = fetch_by(LaterClock(), wreck.address, settings, parse=True)
                assert done.complete
                assert done.report.counters["parse.success"] == len(urls)
            assert_one_record_each(wreck, name, urls)
            assert sorted(parsed_urls(segment)) == urls
        assert kills >= 3


@pytest.mark.parametrize(
    "moment",
    [
        Moment("file #/content/part-#-#.parquet, torn", 2),
        Moment("file #/crawl_fetch/part-#-#.parquet", 2),
        Moment("create chunks/part-#/#.json, torn", 2),
    ],
    ids=str,
)
def test_a_fetch_at_full_speed_killed_in_its_second_chunk(tmp_path: Path, moment: Moment) -> None:
    """What was committed is not asked for again, what was not need not have been noted."""
    with running(Web(Settings.plain(50, 12_000, port=0, size=500))) as server:
        urls = sorted(set(server.web.urls()))
        directory, name = listed(str(tmp_path / "c"), urls, parts=1)
        assert run_killed(fetch_at_full_speed, directory.address, server.web.settings, at=moment)
        asked = pages_asked(server)
        log = ChunkLog(directory.segments.segment(name).folder, 0)
        (first,) = log.committed()
        committed = first.pieces[FETCH].rows
        assert committed >= 1000
        fetch_at_full_speed(directory.address, server.web.settings)
        assert_one_record_each(directory, name, urls)
        assert repeated(server) <= asked - committed


def parsed_urls(segment: Segment) -> list[str]:
    found: list[str] = []
    for file in segment.require(PARSE_DATA).files:
        with open_table(segment.part_folder(PARSE_DATA), file.path) as source:
            found += strings(source.read(["url"])["url"])
    return found
