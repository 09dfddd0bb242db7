"""updatedb through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from crawl.model.status import Status
from tests.cli.calling import Caller
from tests.phases.made import NOW, datum, make_crawldb, make_segment, records_of

KNOWN = {f"http://h{n % 3}.org/p{n}": datum() for n in range(9)}
FIRST, SECOND = "20260101000000", "20260102000000"


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_segments_become_a_snapshot(crawl: Caller, tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), KNOWN)
    fetched = [(url, datum(status=Status.FETCH_SUCCESS, fetch_time=NOW)) for url in KNOWN]
    links = [(f"http://new.org/{n}", datum(status=Status.LINKED)) for n in range(4)]
    make_segment(directory, FIRST, fetched, links)
    make_segment(directory, SECOND, fetched[:1])
    answer = crawl("updatedb", tmp_path / "c", "-q")
    assert answer.code == 0, answer.err
    rows = [line.split() for line in answer.out.splitlines()]
    assert ["fetched", "9"] in rows and ["found", "4"] in rows
    assert ["db_fetched", "9"] in rows and ["db_unfetched", "4"] in rows
    assert f"snapshot 2 with 13 URLs, 4 of them new, from 1 segment: {FIRST}" in answer.err
    assert f"passed over: {SECOND} is not parsed yet" in answer.err
    assert len(records_of(directory)) == 13

    result = crawl("updatedb", tmp_path / "c", SECOND, "--no-additions", "--json").json
    assert (result["snapshot"], result["segments"]) == (3, [SECOND])
    assert result["report"]["details"]["contains"] == [FIRST, SECOND]

    again = crawl("updatedb", tmp_path / "c", FIRST)
    assert again.code == 2
    assert f"{FIRST} is in the CrawlDb already, since snapshot 2; --again applies" in again.err
    assert again.err.count("\n") == 1


def test_what_cannot_be_applied_is_reported_at_once(crawl: Caller, tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), KNOWN)
    nothing = crawl("updatedb", tmp_path / "c")
    assert nothing.code == 2 and "has no segment: make one with" in nothing.err
    make_segment(directory, FIRST, [], complete=False)
    cut = crawl("updatedb", tmp_path / "c", FIRST)
    assert cut.code == 2 and f"the fetch of {FIRST} was interrupted" in cut.err
    wrong = crawl("updatedb", tmp_path / "c", "-D", "scoring.filter.order=opik")
    assert wrong.code == 2 and "opic" in wrong.err
