"""kill -9 at every single write of updatedb."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from crawl.model.status import Status
from crawl.phases.updatedb import run as updatedb
from crawl.storage.crawl_dir import CrawlDir
from tests.cli.calling import Caller
from tests.phases.kill_jobs import update_db, update_small_files
from tests.phases.killed import run_killed
from tests.phases.made import NOW, datum, make_crawldb, make_segment, records_of
from tests.phases.small_files import small_files
from tests.phases.test_kill import assert_clean
from tests.phases.test_kill_spark import finish, kill_at_work, moments, start

pytestmark = [pytest.mark.slow(seconds=15), pytest.mark.exhaustive]

SEGMENT = "20260101000000"
KNOWN = {f"http://h{n % 5}.org/p{n}": datum(metadata={"n": str(n)}) for n in range(40)}
FETCHED = [url for n, url in enumerate(KNOWN) if n % 3 == 0]
LINKED = [f"http://h{n % 7}.org/new{n}" for n in range(20)]


@pytest.mark.parametrize("again", [False, True])
def test_killed_at_every_write(tmp_path: Path, again: bool) -> None:
    _kill_at_every_write(tmp_path, update_db, again=again)


@pytest.mark.slow(seconds=40)
def test_killed_at_every_write_of_several_files_a_bucket(tmp_path: Path) -> None:
    with small_files(3):
        wrecks = _kill_at_every_write(tmp_path, update_small_files, again=False)
    assert wrecks > 40


def _kill_at_every_write(tmp_path: Path, update_db: Callable[..., None], again: bool) -> int:
    """Returns how many writes there were."""
    base = tmp_path / "base"
    directory = make_crawldb(str(base), KNOWN, buckets=3)
    make_segment(
        directory,
        SEGMENT,
        [(url, datum(status=Status.FETCH_SUCCESS, fetch_time=NOW)) for url in FETCHED],
        [(url, datum(status=Status.LINKED, score=0.5)) for url in [*LINKED, *KNOWN]],
    )
    at, applied_before = 1, 0
    while True:
        wreck = CrawlDir(str(tmp_path / f"killed-{at}"))
        shutil.copytree(base, wreck.address)
        killed = run_killed(update_db, wreck.address, again, at=at)
        # wholly applied or not at all, and the snapshot says which
        if SEGMENT in updatedb.applied(wreck):
            applied_before += killed
        else:
            assert records_of(wreck) == KNOWN
            update_db(wreck.address, again)
        records = records_of(wreck)
        assert records.keys() == KNOWN.keys() | set(LINKED)
        assert {url for url in records if records[url].status is Status.DB_FETCHED} == set(FETCHED)
        assert sum(record.score for record in records.values()) == 40 + 0.5 * 60
        update_db(wreck.address, again, repeat=True)
        assert_clean(wreck)
        shutil.rmtree(wreck.address)
        if not killed:
            break
        at += 1
    assert at > 15
    assert applied_before > 0
    return at - 1


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_killed_on_spark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = {f"http://h{n % 50}.org/p{n}": datum() for n in range(2000)}
    directory = make_crawldb(str(tmp_path / "c"), known, buckets=16)
    links = [(f"http://h{n % 70}.org/new{n}", datum(status=Status.LINKED)) for n in range(3000)]
    make_segment(directory, SEGMENT, [], links, buckets=16)
    command = ["updatedb", directory.address]
    killed = 0
    for moment in moments(1.5):
        if SEGMENT in updatedb.applied(directory):
            break
        killed += kill_at_work(start(*command), directory, moment)
        assert len(records_of(directory)) in (2000, 5000)
    if SEGMENT not in updatedb.applied(directory):
        finish(Caller(capsys), *command)
    assert len(records_of(directory)) == 5000
    assert {record.score for record in records_of(directory).values()} == {1.0}
    update_db(directory.address, again=False, repeat=True)  # the next writer tidies up
    assert not directory.crawldb.folder.exists("scratch")
    assert killed > 0
