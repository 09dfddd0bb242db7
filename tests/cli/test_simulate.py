from __future__ import annotations

import pytest

from crawl.model.records import to_table
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import open_writer
from crawl.storage.segments import GENERATE, PartFile, PartManifest
from tests.cli.calling import Caller
from tests.phases.hosts import update_hosts
from tests.phases.made import datum, make_crawldb, make_segment


@pytest.fixture
def listed(tmp_path: object) -> str:
    """A crawl with one segment of two parts: 30 URLs of one host, 5 of another."""
    directory = CrawlDir(str(tmp_path))
    segment = directory.segments.segment("20260101000000")
    files = []
    for part, (host, urls) in enumerate([("a.org", 30), ("b.org", 5)]):
        path = f"part-{part}.parquet"
        rows = [(f"http://{host}/{n}", host, datum()) for n in range(urls)]
        with open_writer(segment.part_folder(GENERATE), path, CRAWLDB.schema, 8) as writer:
            writer.write(to_table(rows))
        files.append(PartFile(part, path, urls, 0))
    segment.publish(GENERATE, PartManifest(tuple(files), 0))
    return str(tmp_path)


STEADY = ("--latency", 0.5, "--spread", 0, "-D", "fetcher.server.delay=2")


@pytest.mark.parametrize("segment", [[], ["20260101000000"]])
def test_a_fetch_list_is_predicted_part_by_part(
    crawl: Caller, listed: str, segment: list[str]
) -> None:
    prediction = crawl("simulate", listed, *segment, *STEADY, "--json").json
    assert prediction["seconds"] == 31 * 0.5 + 30 * 2
    assert prediction["ideal_s"] == prediction["seconds"]
    assert prediction["urls"] == 35
    assert [part["urls"] for part in prediction["parts"]] == [30, 5]
    assert [part["seconds"] for part in prediction["parts"]] == [75.5, 13.0]
    assert prediction["parts"][0]["longest"][0]["host"] == "a.org"
    one_by_one = crawl("simulate", listed, *STEADY, "--tasks", 1, "--json").json
    assert one_by_one["seconds"] == 75.5 + 13.0


def test_a_distribution_is_predicted_for_people(crawl: Caller) -> None:
    answer = crawl("simulate", "--hosts", 3, "--urls", 9, "--parts", 2, "--threads", 2, *STEADY)
    assert answer.code == 0
    assert answer.out.splitlines()[0].split()[:3] == ["part", "urls", "hosts"]
    assert "host2.test" in answer.out
    assert "9 URLs on 3 hosts: 9 pages in 8 s (0:00:08)" in answer.err


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "what to simulate?"),
        (["--hosts", "3"], "what to simulate?"),
        (["x", "--hosts", "3", "--urls", "9"], "not both"),
        (["nowhere"], "nowhere has no CrawlDb yet"),
        (["nowhere", "20260101000000"], "nowhere has no segment 20260101000000"),
        (["--hosts", "1", "--urls", "1", "-D", "fetcher.server.dalay=2"], "did you mean"),
    ],
)
def test_what_cannot_be_meant_is_one_line(
    crawl: Caller, arguments: list[str], complaint: str
) -> None:
    answer = crawl("simulate", *arguments)
    assert answer.code == 2
    assert complaint in answer.err
    assert answer.err.count("\n") == 1


def test_hosts_answer_as_they_did_before(crawl: Caller, listed: str) -> None:
    """a.org took 100 ms each time; of b.org nothing is known."""
    directory = CrawlDir(listed)
    answered = {"_rs_": "100", "nutch.protocol.code": "200"}
    fetched = [
        (f"http://a.org/{n}", datum(status=Status.FETCH_SUCCESS, metadata=answered))
        for n in range(5)
    ]
    make_crawldb(listed, {url: datum() for url, _ in fetched})
    make_segment(directory, "20250101000000", fetched, [])
    update_hosts(directory)
    prediction = crawl("simulate", listed, "20260101000000", *STEADY, "--json").json
    assert prediction["latencies"] == {"hosts": 2, "measured": 1, "hostdb": 1}
    first, second = prediction["parts"]
    assert first["seconds"] == pytest.approx(31 * 0.1 + 30 * 2, rel=0.001)
    assert second["seconds"] == 13.0
    answer = crawl("simulate", listed, "20260101000000", *STEADY)
    assert "response times of 1 of 2 hosts are measured (HostDb, snapshot 1)" in answer.err
    assumed = crawl("simulate", listed, "20260101000000", *STEADY, "--assume", "--json").json
    assert assumed["seconds"] == 75.5
    assert assumed["latencies"] == {"hosts": 0, "measured": 0, "hostdb": None}
