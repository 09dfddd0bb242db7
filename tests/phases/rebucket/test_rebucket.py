from __future__ import annotations

from pathlib import Path

import pytest

from crawl.config import Config
from crawl.errors import UsageError
from crawl.model.hosts import HostState
from crawl.phases.rebucket import run as rebucket
from crawl.phases.rebucket.options import RebucketOptions
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.phases.counting_runner import CountingRunner
from tests.phases.host_states import host_states_of, put_host_states
from tests.phases.made import NOW, datum, make_crawldb, records_of

RECORDS = {f"http://h{n % 23}.org/p{n}": datum(score=n) for n in range(200)}
HOSTS = [HostState(f"h{n}.org", "timeout", failures=n + 1, last=NOW) for n in range(23)]


def test_the_same_records_in_more_buckets(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), RECORDS, buckets=2)
    snapshot = rebucket.run(InProcess(), directory, Config(), RebucketOptions(8), ManualClock(NOW))
    assert (snapshot.buckets, snapshot.rows) == (8, 200)
    assert len({file.bucket for file in snapshot.files}) > 4
    assert records_of(directory) == RECORDS


def test_tasks_split_the_hosts_too(tmp_path: Path) -> None:
    """A task a file: the driver neither reads nor writes rows."""
    directory = make_crawldb(str(tmp_path), RECORDS, buckets=2)
    put_host_states(directory, HOSTS)
    files = directory.require_crawldb().files
    runner = CountingRunner()
    snapshot = rebucket.run(runner, directory, Config(), RebucketOptions(8), ManualClock(NOW))
    assert runner.steps["rebucket: split"].tasks == len(files)
    assert runner.steps["rebucket: hosts"].tasks == 2
    assert host_states_of(directory) == {state.host: state for state in HOSTS}
    assert [file.bucket for file in snapshot.hosts] == sorted(
        {file.bucket for file in snapshot.hosts}
    )
    assert len(snapshot.hosts) > 4


def test_as_many_as_there_are_is_done_already(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum()}, buckets=2)
    done = rebucket.run(InProcess(), directory, Config(), RebucketOptions(2), ManualClock(NOW))
    assert (done.number, done.buckets) == (1, 2)
    assert directory.require_crawldb() == done


@pytest.mark.parametrize("buckets", [1, 5, 3])
def test_only_multiples_can_be_made(tmp_path: Path, buckets: int) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum()}, buckets=2)
    with pytest.raises(UsageError, match="give a multiple, such as 4 or 8"):
        rebucket.run(InProcess(), directory, Config(), RebucketOptions(buckets), ManualClock(NOW))
    assert directory.require_crawldb().number == 1
