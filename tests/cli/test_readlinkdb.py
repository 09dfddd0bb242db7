"""crawl readlinkdb, and what invertlinks and mergelinkdb refuse before Spark starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import crawl as crawl_api
from crawl.errors import UsageError
from tests.cli.calling import Caller
from tests.phases.linking import LinkingPage, invert, make_parsed
from tests.phases.made import datum, make_crawldb

NAME = "20260101000000"
PAGES = [
    LinkingPage("http://a.org/", (("http://b.org/", "to \x1b[31mb"), ("http://c.org/x", "c")), 2.0),
    LinkingPage("http://c.org/", (("http://b.org/", "best"),), 5.0),
]


@pytest.fixture
def linked(tmp_path: Path) -> str:
    address = str(tmp_path / "linked")
    directory = make_crawldb(address, {"http://a.org/": datum()})
    make_parsed(directory, NAME, PAGES)
    invert(directory)
    return address


def test_the_pages_that_link_to_a_url(crawl: Caller, linked: str) -> None:
    answer = crawl("readlinkdb", linked, "--url", "HTTP://b.org")
    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[:2] == ["http://b.org/\tInlinks:", " fromUrl: http://c.org/ anchor: best"]
    assert "\x1b" not in answer.out and len(lines) == 3
    found = json.loads(crawl("readlinkdb", linked, "--url", "http://b.org/", "--json").out)
    assert [link["fromUrl"] for link in found["inlinks"]] == ["http://c.org/", "http://a.org/"]
    assert found["inlinks"][0] == {
        "fromUrl": "http://c.org/",
        "anchor": "best",
        "score": 5.0,
        "segment": NAME,
    }


def test_a_url_that_nothing_links_to(crawl: Caller, linked: str) -> None:
    answer = crawl("readlinkdb", linked, "--url", "http://b.org/none")
    assert answer.code == 1
    assert answer.err == "readlinkdb: the LinkDb knows no link to http://b.org/none\n"


@pytest.mark.parametrize("form", ["parquet", "csv", "json", "text"])
def test_dumps(crawl: Caller, linked: str, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    options = ("--dump", str(out), "--format", form, "--regex", r"http://b\..*")
    answer = crawl("readlinkdb", linked, *options)
    assert answer.code == 0 and "2 links in" in answer.err
    (path,) = out.glob("part-*")
    assert (out / "_SUCCESS").exists()
    if form == "json":
        assert len(json.loads(path.read_text())["inlinks"]) == 2
    if form in ("csv", "text"):
        assert "\x1b" not in path.read_text() and "best" in path.read_text()
    assert crawl("readlinkdb", linked, *options).code == 2
    assert crawl("readlinkdb", linked, *options, "--overwrite").code == 0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("readlinkdb {}", "give one of --url and --dump FOLDER"),
        ("readlinkdb {} --url http://a/ --regex x", "--regex goes with --dump"),
        ("readlinkdb {} --dump out --regex (", "--regex '('"),
        (
            "readlinkdb nowhere --url http://a/",
            "nowhere has no LinkDb yet: make it with `crawl inv",
        ),
        ("invertlinks {} --segments 20260101000000", "is in the LinkDb already, since snapshot 1"),
        ("invertlinks {} 20270101000000", "has no segment 20270101000000"),
        (
            "invertlinks {} -D linkdb.ignore.internal.links=true"
            " -D linkdb.ignore.external.links=true",
            "no link would be left",
        ),
        ("mergelinkdb {} nowhere", "nowhere has no LinkDb yet"),
    ],
)
def test_wrong_input_is_one_line(crawl: Caller, linked: str, line: str, expected: str) -> None:
    answer = crawl(*line.format(linked).split())
    assert answer.code == 2
    assert expected in answer.err
    assert answer.err.count("\n") == 1


def test_nothing_to_invert(crawl: Caller, linked: str) -> None:
    answer = crawl("invertlinks", linked)
    assert answer.code == 1 and "nothing to invert" in answer.err


def test_the_same_from_python(linked: str, tmp_path: Path) -> None:
    web = crawl_api.open(linked, progress=False)
    assert [link["fromUrl"] for link in web.inlinks("HTTP://b.org")] == [
        "http://c.org/",
        "http://a.org/",
    ]
    assert web.inlinks("http://b.org/none") == []
    out = tmp_path / "out"
    assert web.dump_linkdb(out, format="json", regex=r"http://b\..*") == {
        "links": 2,
        "folder": str(out),
    }
    with pytest.raises(UsageError, match="format: expected one of parquet, csv, json, text, got"):
        web.dump_linkdb(out, format="xml")
