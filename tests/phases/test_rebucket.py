from __future__ import annotations

from pathlib import Path

import pytest

from crawl.buckets.runner import InProcess
from crawl.config import Config
from crawl.errors import UsageError
from crawl.phases import rebucket
from crawl.testing.clock import ManualClock
from tests.phases.made import NOW, datum, make_crawldb, records_of


def test_the_same_records_in_more_buckets(tmp_path: Path) -> None:
    records = {f"http://h{n % 23}.org/p{n}": datum(score=n) for n in range(200)}
    directory = make_crawldb(str(tmp_path), records, buckets=2)
    snapshot = rebucket.run(InProcess(), directory, Config(), 8, ManualClock(NOW))
    assert (snapshot.buckets, snapshot.rows) == (8, 200)
    assert len({file.bucket for file in snapshot.files}) > 4
    assert records_of(directory) == records


@pytest.mark.parametrize("buckets", [1, 2, 5, 3])
def test_only_multiples_can_be_made(tmp_path: Path, buckets: int) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": datum()}, buckets=2)
    with pytest.raises(UsageError, match="give a multiple, such as 4 or 8"):
        rebucket.run(InProcess(), directory, Config(), buckets, ManualClock(NOW))
    assert directory.require_crawldb().number == 1
