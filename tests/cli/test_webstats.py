"""Statistics on the command line: names, completeness, answers, links, pictures."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from crawl.model.status import Status
from tests.cli.calling import Caller
from tests.phases.made import datum, make_crawldb


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
    assert found["fetched"] == 9 and found["unfetched"] == 13 and found["complete"] == 0
    assert found["top"][0]["name"] == "example.org"
    assert found["top"][0]["share"] == 0.5
    assert "50.0%" in crawl("crawlcomplete", counted, "--by", "domain").out


def test_protocolstats(crawl: Caller, counted: str) -> None:
    found = crawl("protocolstats", counted, "--json").json
    assert found["codes"] == {"200": 9, "404": 1, "UNFETCHED": 12}
    assert found["statuses"]["404"] == {"db_gone": 1}


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
