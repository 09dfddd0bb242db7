from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl.model.content import Content
from crawl.model.status import Status
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import RobotsKind, Settings, Web, WebServer, running
from tests.cli.calling import Caller
from tests.phases.fetch_commands import write_conf
from tests.phases.hosts import update_hosts
from tests.phases.made import NOW, datum, make_crawldb
from tests.phases.made_segments import link, make_segment

URL = "http://h1.org/p4"
SEGMENT = "20270101000000"


@pytest.fixture
def crawled(made: str) -> str:
    """The crawl of ten URLs, one of them fetched and parsed."""
    done = {"_pst_": "success(http_200)"}
    make_segment(
        CrawlDir(made),
        SEGMENT,
        generate=[(URL, datum())],
        fetch=[(URL, datum(status=Status.FETCH_SUCCESS, fetch_time=NOW, metadata=done))],
        contents=[Content(URL, b"x", "text/html", 200, NOW, truncated="length")],
        parse=[(URL, datum(status=Status.LINKED))] * 3,
        pages=[
            {
                "url": URL,
                "title": "a \x1b[2Jtitle\n",
                "language": "en",
                "signature": b"\x01",
                "outlinks": [link(URL, "see\tthere")],
            }
        ],
    )
    return made


def test_for_people(crawl: Caller, crawled: str) -> None:
    answer = crawl("explain", crawled, "HTTP://h1.org/p4#top")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == URL
    assert "  status          1 (db_unfetched)" in lines
    assert (
        f"  next            taken into the CrawlDb with segment {SEGMENT} (`crawl updatedb`)"
        in (lines)
    )
    assert f"  robots.txt      allowed when segment {SEGMENT} was fetched" in lines
    details = {
        line.split()[1]: line.split(maxsplit=2)[2] for line in lines if line.startswith(SEGMENT)
    }
    assert details["crawl_generate"] == "db_unfetched, score 1"
    assert details["crawl_fetch"].endswith(", 2027-01-15 08:00:00 UTC, success(http_200)")
    assert details["content"] == "200 text/html, 2027-01-15 08:00:00 UTC, truncated (length)"
    assert details["parse_data"].startswith("success, text/html, en, 1 links, ")
    assert details["crawl_parse"] == "linked from 3 pages, best score 1"
    assert details[URL] == "see\\tthere"
    assert "\x1b" not in answer.out
    assert any(line.split()[:2] == ["schedule_rejected", "NO"] for line in lines)
    assert any(line.split() == ["1", "basic", URL] for line in lines)


def test_for_programs(crawl: Caller, crawled: str) -> None:
    explanation = crawl("explain", crawled, URL, "--json").json
    assert (explanation["url"], explanation["known"]) == (URL, True)
    assert explanation["record"]["statusName"] == "db_unfetched"
    assert explanation["record"]["metadata"] == {"lang": "en"}
    assert [past["snapshot"] for past in explanation["history"]] == [1]
    assert [part["part"] for part in explanation["segments"]] == [
        "crawl_generate",
        "crawl_fetch",
        "content",
        "parse_data",
        "crawl_parse",
    ]
    assert explanation["segments"][3]["facts"]["signature"] == "01"
    assert explanation["segments"][4]["links"] == 3
    assert explanation["inlinks"] == [{"segment": SEGMENT, "url": URL, "anchor": "see\tthere"}]
    assert explanation["robots"]["allowed"] is True
    steps = {step["reason"]: step["passes"] for step in explanation["generate"]}
    assert steps["url_filters_rejected"] is True
    assert steps["below_top_n"] is None
    assert [step["plugin"] for step in explanation["filters"]] == ["length", "regex", "trap"]


def test_a_stranger(crawl: Caller, made: str) -> None:
    answer = crawl("explain", made, "http://h1.org/none")
    assert answer.code == 1
    assert answer.err == "explain: nothing is known about http://h1.org/none\n"
    assert "  not in the CrawlDb" in answer.out.splitlines()
    assert "  robots.txt      not known; --robots asks" in answer.out.splitlines()
    assert "snapshot" not in answer.out
    no_url = crawl("explain", made, "\udcff nonsense", "--json")
    assert (no_url.code, no_url.json["known"], no_url.json["record"]) == (1, False, None)


def test_wrong_input_is_one_line(crawl: Caller, made: str, tmp_path: Path) -> None:
    wrong: list[tuple[list[object], str]] = [
        ([tmp_path / "none", URL], "has no CrawlDb yet"),
        ([made, URL, "-D", "generate.min.score=much"], "generate.min.score"),
        ([made, URL, "--robots"], "http.agent.name"),
        ([made], "URL"),
        ([made, URL, "--inlinks", -1], "--inlinks"),
    ]
    for arguments, expected in wrong:
        answer = crawl("explain", *arguments)
        assert (answer.code, answer.out) == (2, ""), arguments
        assert expected in answer.err


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with running(Web(Settings(1, 4, port=0, size=500, robots=(RobotsKind.DELAY,)))) as server:
        yield server


def test_robots_are_asked_only_if_wanted(crawl: Caller, tmp_path: Path, server: WebServer) -> None:
    conf = write_conf(tmp_path / "conf", server)
    (seed,) = server.web.seeds()
    private = f"{seed}private/1"
    made = make_crawldb(str(tmp_path / "c"), {seed: datum(), private: datum()}).address
    assert crawl("explain", made, seed, "--conf", conf).code == 0
    assert server.requests() == []
    asked = crawl("explain", made, private, "--conf", conf, "--robots")
    assert asked.code == 0
    assert "  robots.txt      not allowed (robots_file), Crawl-delay 1 s" in asked.out.splitlines()
    assert [entry.path for entry in server.requests()] == ["/robots.txt"]


def test_what_the_hostdb_knows_of_the_host(crawl: Caller, crawled: str) -> None:
    before = crawl("explain", crawled, URL)
    assert (
        "  host            nothing is known of h1.org; `crawl updatehostdb` makes the HostDb"
        in (before.out.splitlines())
    )
    update_hosts(CrawlDir(crawled))
    auto = ("-D", "generate.max.count=auto", "-D", "generate.max.count.auto=3")
    lines = crawl("explain", crawled, URL, *auto).out.splitlines()
    told = {line[2:18].strip(): line[18:] for line in lines if line.startswith("  ")}
    assert told["host"] == "h1.org: 3 URLs: 1 unfetched, 2 fetched (HostDb, snapshot 1)"
    assert told["requests"] == "1: 1 succeeded"
    assert told["bound"] == (
        "3 URLs a segment (generate.max.count=auto: it answers and does not repeat itself)"
    )
    known = crawl("explain", crawled, URL, "--json", *auto).json
    assert known["host"]["hostdb"] == 1
    assert (known["host"]["values"]["host"], known["host"]["max_count"]) == ("h1.org", 3)
    assert known["host"]["fetch_delay_ms"] is None


def test_a_damaged_hostdb_is_no_reason_to_tell_nothing(
    crawl: Caller, crawled: str, caplog: pytest.LogCaptureFixture
) -> None:
    update_hosts(CrawlDir(crawled))
    for file in (Path(crawled) / "hostdb" / "snapshots").rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-9])
    answer = crawl("explain", crawled, URL, "-D", "generate.max.count=auto")
    assert answer.code == 0
    assert "  bound           not known: the HostDb cannot be read" in answer.out.splitlines()
    assert any("hostdb" in record.message for record in caplog.records)
