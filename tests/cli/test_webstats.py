"""Statistics on the command line: names, completeness, answers, links, pictures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crawl.model.status import DB_STATUSES, Status
from crawl.storage.crawl_dir import CrawlDir
from tests.cli.calling import Caller
from tests.phases.made import datum, make_crawldb, make_segment
from tests.readers.webstats.test_linkstats import write_links


@pytest.fixture
def counted(tmp_path: Path) -> str:
    """Hosts of 1 to 6 URLs under two suffixes, every second fetched."""
    records = {
        f"http://h{host}.example.{'co.uk' if host % 2 else 'org'}/p{n}": datum(
            status=Status.DB_FETCHED if n % 2 else Status.DB_UNFETCHED,
            metadata={"_rs_": "9", "nutch.protocol.code": "200"} if n % 2 else {"a": "b"},
        )
        for host in range(1, 7)
        for n in range(host)
    }
    records["http://10.0.0.1/x"] = datum(
        status=Status.DB_GONE, metadata={"nutch.protocol.code": "404"}
    )
    return make_crawldb(str(tmp_path / "crawl"), records).address


def test_domainstats(crawl: Caller, counted: str) -> None:
    hosts = crawl("domainstats", counted, "--top", 2, "--json").json
    assert hosts["names"] == 7 and hosts["names_fetched"] == 5
    assert hosts["fetched"] == 9 and hosts["not_fetched"] == 13
    assert hosts["top"] == [
        {"name": "h6.example.org", "fetched": 3, "urls": 6},
        {"name": "h5.example.co.uk", "fetched": 2, "urls": 5},
    ]
    by = {
        kind: {
            each["name"]: each["urls"]
            for each in crawl("domainstats", counted, "--by", kind, "--json").json["top"]
        }
        for kind in ("domain", "suffix", "tld")
    }
    assert by["domain"] == {"example.org": 12, "example.co.uk": 9, "10.0.0.1": 1}
    assert by["suffix"] == {"org": 12, "co.uk": 9, "(none)": 1}
    assert by["tld"] == {"org": 12, "uk": 9, "(none)": 1}
    assert ["NOT_FETCHED", "13"] in [
        line.split() for line in crawl("domainstats", counted).out.splitlines()
    ]


def test_crawlcomplete(crawl: Caller, counted: str) -> None:
    found = crawl("crawlcomplete", counted, "--by", "domain", "--json").json
    assert found["fetched"] == 9 and found["not_fetched"] == 13, "as Nutch counts"
    assert found["unfetched"] == 12 and found["gone"] == 1
    assert found["complete"] == 1, "what is gone waits for nobody"
    assert found["top"][0]["name"] == "example.org"
    assert found["top"][0]["share"] == 0.5
    out = crawl("crawlcomplete", counted, "--by", "domain").out
    assert "50.0%" in out and "100.0%" in out


def test_a_whole_mirror_is_complete(crawl: Caller, tmp_path: Path) -> None:
    statuses = [status for status in DB_STATUSES if status is not Status.DB_UNFETCHED]
    records = {f"http://a.org/{n}": datum(status=status) for n, status in enumerate(statuses)}
    records["http://b.org/"] = datum()
    address = make_crawldb(str(tmp_path / "crawl"), records).address
    found = crawl("crawlcomplete", address, "--json").json
    assert found["top"][0] == {
        "name": "a.org",
        "fetched": 2,
        "unfetched": 0,
        "redirected": 2,
        "duplicates": 1,
        "gone": 1,
        "parse_failed": 1,
        "orphans": 1,
        "not_fetched": 6,
        "share": 1.0,
    }
    assert found["complete"] == 1 and found["names"] == 2
    rows = [line.split() for line in crawl("crawlcomplete", address).out.splitlines()]
    assert ["UNFETCHED", "1"] in rows and ["NOT_FETCHED", "7"] in rows
    assert ["a.org", "2", "0", "2", "1", "1", "1", "1", "100.0%"] in rows


def test_protocolstats(crawl: Caller, counted: str) -> None:
    found = crawl("protocolstats", counted, "--json").json
    assert found["codes"] == {"200": 9, "404": 1, "UNFETCHED": 12}
    assert found["statuses"]["404"] == {"db_gone": 1}


FIRST, SECOND, NOT_PARSED = "20260101000000", "20260102000000", "20260103000000"


@pytest.fixture
def linked(counted: str) -> str:
    """The same with two parses, and a segment without one."""
    directory = CrawlDir(counted)
    a, b, c = (f"http://{name}.org/" for name in "abc")
    write_links(make_segment(directory, FIRST), {a: [b, c], b: [c]})
    write_links(make_segment(directory, SECOND), {a: [b], c: [a, b]})
    make_segment(directory, NOT_PARSED)
    return counted


def test_linkstats(crawl: Caller, linked: str) -> None:
    found = crawl("linkstats", linked, "--json").json
    assert (found["segments"], found["pages"], found["links"]) == (2, 3, 4)
    assert found["indegrees"] == {"1": 2, "2": 1}
    assert found["outdegrees"] == {"1": 2, "2": 1}
    assert found["top"][0] == {"url": "http://b.org/", "inlinks": 2}
    alone = crawl("linkstats", linked, FIRST, "--top", 1, "--json").json
    assert (alone["segments"], alone["links"]) == (1, 3)
    assert alone["top"] == [{"url": "http://c.org/", "inlinks": 2}]
    rows = [line.split() for line in crawl("linkstats", linked, FIRST).out.splitlines()]
    assert ["linked", "urls", "2"] in rows and ["2", "http://c.org/"] in rows


@pytest.mark.parametrize("names", [[NOT_PARSED], [FIRST, NOT_PARSED]])
def test_a_named_segment_without_a_parse_is_one_line(
    crawl: Caller, linked: str, names: list[str]
) -> None:
    answer = crawl("linkstats", linked, *names)
    assert (answer.code, answer.out) == (2, "")
    place = CrawlDir(linked).segments.segment(NOT_PARSED).folder.address
    hint = f"`crawl parse {linked} {NOT_PARSED}` finds its links and its text"
    assert answer.err == f"crawl: {place} is not parsed: {hint}\n"


def test_the_picture_of_links(crawl: Caller, linked: str, tmp_path: Path) -> None:
    pictures = {}
    for segments in ((), (FIRST,)):
        picture = tmp_path / f"links{len(segments)}.svg"
        answer = crawl("linkstats", linked, *segments, "--plot", picture)
        assert (answer.code, answer.err) == (0, f"linkstats: picture in {picture}\n")
        pictures[segments] = picture.read_text()
    assert len(set(pictures.values())) == 2, "they are pictures of what was counted"
    quiet = crawl("linkstats", linked, "--plot", tmp_path / "again.svg", "--json")
    assert quiet.json["links"] == 4 and quiet.err == ""
    assert (tmp_path / "again.svg").read_text() == pictures[()]


@pytest.mark.parametrize("command", ["domainstats", "crawlcomplete", "protocolstats"])
def test_pictures(crawl: Caller, counted: str, tmp_path: Path, command: str) -> None:
    picture = tmp_path / "picture.svg"
    answer = crawl(command, counted, "--plot", picture)
    assert answer.code == 0
    assert answer.err == f"{command}: picture in {picture}\n"
    drawn = picture.read_bytes()
    assert b"<svg" in drawn
    crawl(command, counted, "--plot", picture)
    assert picture.read_bytes() == drawn


def test_what_cannot_be_drawn(crawl: Caller, counted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = crawl("domainstats", counted, "--plot", "x.gif")
    assert (answer.code, answer.err) == (2, "crawl: x.gif: a picture is a file .svg, .png, .pdf\n")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    answer = crawl("domainstats", counted, "--plot", "x.svg")
    assert answer.code == 2
    assert answer.err == "crawl: pictures need matplotlib: pip install '.[plot]'\n"


def test_wrong_input_is_one_line(crawl: Caller, counted: str) -> None:
    assert crawl("domainstats", counted, "--by", "planet").err.count("\n") == 1
    answer = crawl("linkstats", counted)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert crawl("dust", counted).code == 1
    assert crawl("mirrors", counted).code == 1
    answer = crawl("dust", counted, "--min-support", 1)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
