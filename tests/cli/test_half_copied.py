"""Commands that were killed between a sealed file and its copy: run again they say that all is
done, what they left is no damage, and the next writer or `check --repair` mends it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import LOCK_NAME
from crawl.tables.runner import InProcess
from tests.cli.calling import Answer, Caller
from tests.parsing.small_parsers import content
from tests.phases.fetched import NAME, fetched_segment
from tests.phases.kill_jobs import generate_marked, inject_seeds, rebucket_db
from tests.phases.killed import Moment, run_killed
from tests.phases.made import datum, make_crawldb
from tests.phases.parse_jobs import parse_again, parse_once

pytestmark = pytest.mark.slow(seconds=30)  # a process that is killed each


def killed(job: Callable[..., object], *arguments: Any, after: str) -> None:
    assert run_killed(job, *arguments, at=Moment(f"write {after}", 1))


@pytest.fixture
def crawldb(tmp_path: Path) -> Path:
    urls = {f"http://h{number}.org/": datum() for number in range(9)}
    make_crawldb(str(tmp_path / "c"), urls, buckets=2)
    return tmp_path / "c"


def assert_clean(crawl: Caller, place: Path) -> None:
    report = crawl("check", place, "--deep", "--json")
    assert (report.code, report.err) == (0, "")
    assert report.json["faults"] == report.json["leftovers"] == []
    assert not list(place.rglob(LOCK_NAME))


def assert_left(answer: Answer, *names: str) -> None:
    assert answer.code == 0, answer.err
    assert [each["path"] for each in answer.json["leftovers"]] == list(names)
    assert answer.json["faults"] == []
    assert "somebody is writing" not in answer.err


def test_a_rebucket_that_was_killed_says_that_it_is_done(crawl: Caller, crawldb: Path) -> None:
    killed(rebucket_db, str(crawldb), 4, after="c/crawldb/CURRENT")
    assert_left(crawl("check", crawldb, "--deep", "--json"), "crawldb/CURRENT.copy", "crawldb/LOCK")
    told = crawl("check", crawldb)
    assert told.code == 0
    assert "a command was killed before it had copied the file" in told.out
    assert "no longer runs on this machine" in told.out
    assert "that is no damage" in told.err and "no damage in" in told.err
    again = crawl("rebucket", crawldb, "--buckets", 4)
    assert again.code == 0
    assert again.err.splitlines()[-1] == (
        f"rebucket: {crawldb}/crawldb has 4 buckets already: nothing to do"
    )
    assert_clean(crawl, crawldb)
    assert crawl("rebucket", crawldb, "--buckets", 6).code == 2


def test_a_repair_mends_copy_and_lock(crawl: Caller, crawldb: Path) -> None:
    killed(rebucket_db, str(crawldb), 4, after="c/crawldb/CURRENT")
    answer = crawl("check", crawldb, "--repair")
    assert answer.code == 0
    assert "mended what killed commands left" in answer.err
    assert CrawlDir(str(crawldb)).require_crawldb().buckets == 4
    assert_clean(crawl, crawldb)


def test_a_lock_alone_is_removed_by_a_repair(crawl: Caller, crawldb: Path) -> None:
    killed(rebucket_db, str(crawldb), 4, after="c/crawldb/CURRENT.copy")
    assert_left(crawl("check", crawldb, "--json"), "crawldb/LOCK")
    assert crawl("check", crawldb, "--repair", "-q").code == 0
    assert_clean(crawl, crawldb)


def test_a_first_inject_and_a_generate_run_again(crawl: Caller, tmp_path: Path) -> None:
    place, seeds = tmp_path / "c", tmp_path / "seeds.txt"
    seeds.write_text("".join(f"http://h{number}.org/\n" for number in range(5)))
    killed(inject_seeds, str(place), str(seeds), after="c/crawldb/CURRENT.copy")
    inject_seeds(str(place), str(seeds))
    assert_clean(crawl, place)
    killed(generate_marked, str(place), 2, after="#/crawl_generate/manifest.json.copy")
    generate_marked(str(place), 2)
    assert_clean(crawl, place)


def test_a_parse_and_what_comes_after_it(crawl: Caller, tmp_path: Path) -> None:
    """The first parse writes the copy first, and the second the file."""
    place = tmp_path / "c"
    directory = make_crawldb(str(place), {"http://a.org/": datum()})
    fetched_segment(directory, [[content("http://a.org/", "text a", "links 5 http://a.org/q")]])
    killed(parse_once, str(place), 5, after="segments/#/PARSED.copy")
    assert "is parsed already" in crawl("parse", place, NAME).err
    updatedb.run(InProcess(), directory, Config(), UpdateDbOptions((NAME,)), SystemClock())
    assert_clean(crawl, place)
    killed(parse_again, str(place), 4, after="segments/#/PARSED")
    assert_left(
        crawl("check", place, "--json"), f"segments/{NAME}/PARSED.copy", f"segments/{NAME}/LOCK"
    )
    assert crawl("check", place, "--repair", "-q").code == 0
    assert_clean(crawl, place)
