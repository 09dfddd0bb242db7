"""crawl parsechecker, on files and over webs on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawl.synthetic.web import (
    PageKind,
    RobotsKind,
    Settings,
    Web,
    WebServer,
    before_robots,
    concurrency,
    disallowed,
    gaps,
    running,
)
from crawl.synthetic.wicked import WickedServer
from tests.cli.calling import Answer, Caller
from tests.cli.typing_in import type_in
from tests.phases.fetch_commands import DELAY_S, write_conf
from tests.phases.webs import AGENT

pytestmark = pytest.mark.slow

PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><title>A &#27;[2J page</title>
<meta name="robots" content="noarchive"><link rel="canonical" href="/canon"></head>
<body>Some text <a href="/a">first</a> <a href="/a#x">again</a> <a href="/x.gif">image</a>
<a rel="nofollow" href="/no">no</a></body></html>
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(PAGE)
    return path


def _lines(answer: Answer, name: str) -> list[str]:
    """What the lines of that name say."""
    return [
        line[2:].removeprefix(name).strip()
        for line in answer.out.splitlines()
        if line.startswith(f"  {name} ")
    ]


def test_a_file_is_parsed_and_nothing_is_sent(crawl: Caller, page: Path) -> None:
    answer = crawl("parsechecker", "--file", page, "--url", "http://a.org/x", "--dump-text")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines()[0] == "http://a.org/x"
    assert _lines(answer, "parse") == ["success"]
    assert _lines(answer, "type") == ["text/html"]
    assert _lines(answer, "charset") == ["utf-8"]
    assert _lines(answer, "title") == ["A \\x1b[2J page"]
    assert _lines(answer, "language") == ["en"]
    assert _lines(answer, "canonical") == ["http://a.org/canon"]
    assert _lines(answer, "directives") == ["noarchive"]
    assert len(_lines(answer, "signature")[0]) == 32
    assert "http://a.org/a anchor: first" in _lines(answer, "link")
    duplicate, filtered, nofollow = _lines(answer, "dropped")
    assert duplicate == "duplicate: http://a.org/a#x anchor: again"
    assert filtered.startswith("filtered: http://a.org/x.gif anchor: image (regex: regex-url")
    assert nofollow.startswith("rel_nofollow: http://a.org/no")
    assert "Some text first again image no" in " ".join(answer.out.split())
    assert "\x1b" not in answer.out


def test_a_file_for_programs(crawl: Caller, page: Path) -> None:
    result = crawl("parsechecker", "--file", page, "--json").json
    assert result["url"] == page.as_uri()
    assert (result["parsed"], result["fetch"]) == (True, None)
    (document,) = result["documents"]
    assert (document["title"], document["type"]) == ("A \x1b[2J page", "text/html")
    assert document["directives"] == ["noarchive"]
    assert document["textLength"] > 0
    assert "text" not in document
    with_text = crawl("parsechecker", "--file", page, "--json", "--dump-text").json
    assert "Some text" in with_text["documents"][0]["text"]


def test_a_file_is_taken_for_what_one_says(crawl: Caller, page: Path) -> None:
    answer = crawl("parsechecker", "--file", page, "--force-as", "text/plain", "--json")
    assert answer.json["documents"][0]["type"] == "text/plain"
    assert answer.json["parsers"] == ["text"]
    broken = crawl("parsechecker", "--file", page, "--force-as", "application/pdf")
    assert _lines(broken, "parser") == ["metadata"]


def test_metadata_reaches_the_parse(crawl: Caller, page: Path) -> None:
    answer = crawl(
        *("parsechecker", "--file", page, "--url", "http://a.org/", "--md", "topic=a=b"),
        *("-D", "scoring.filter.order=metadata", "-D", "scoring.db.md=topic"),
        *("-D", "scoring.content.md=topic"),
    )
    assert answer.code == 0, answer.err
    assert "topic = a=b" in _lines(answer, "metadata")


def test_wrong_input_is_one_line(crawl: Caller, page: Path, tmp_path: Path) -> None:
    wrong: list[tuple[list[object], str]] = [
        ([], "give either URLs or --stdin"),
        (["--stdin", "http://a.org/"], "give either URLs or --stdin"),
        (["--file", page, "http://a.org/"], "--file goes without URLs"),
        (["--url", "http://a.org/", "http://a.org/"], "--url goes with --file"),
        (["--file", tmp_path / "none"], "No such file"),
        (["--file", tmp_path], "Is a directory"),
        (["--file", page, "--md", "topic"], "expected KEY=VALUE"),
        (["--file", page, "--force-as", "html"], "no MIME type"),
        (["--file", page, "-D", "scoring.filter.order=opicc"], "did you mean 'opic'"),
        (["http://a.org/"], "http.agent.name"),
    ]
    for arguments, expected in wrong:
        answer = crawl("parsechecker", *arguments)
        assert (answer.code, answer.out) == (2, ""), arguments
        assert expected in answer.err
        assert answer.err.count("\n") == 1


# over the network


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    kinds = (PageKind.MOVED, PageKind.ERROR)
    robots = (RobotsKind.PRIVATE, RobotsKind.UNAVAILABLE)
    settings = Settings(2, 60, port=0, size=1500, odd=0.5, kinds=kinds, private=0.2, robots=robots)
    with running(Web(settings)) as server:
        yield server


@pytest.fixture
def conf(tmp_path: Path, server: WebServer) -> Path:
    return write_conf(tmp_path / "conf", server)


def _first(server: WebServer, kind: PageKind, **wanted: Any) -> str:
    """A URL of the first site, of that kind."""
    for url in server.web.urls():
        found = server.web.expected(url)
        if "site0" in url and found.kind is kind:
            target = found.target
            if not wanted or (server.web.allowed(target, AGENT) and "site0" in target):
                return url
    raise AssertionError(f"no {kind} in this web")


def test_a_page_is_fetched_as_a_crawl_would(crawl: Caller, server: WebServer, conf: Path) -> None:
    url = _first(server, PageKind.PAGE)
    before = len(server.requests())
    answer = crawl("parsechecker", url, "--conf", conf, "--json")
    assert answer.code == 0, answer.err
    result = answer.json
    expected = server.web.expected(url)
    (document,) = result["documents"]
    assert document["title"] == expected.title
    assert document["signature"] == expected.digest
    assert {link["url"] for link in document["links"]} == set(expected.links) - {url}
    (record,) = result["fetch"]["records"]
    assert (record["status"], record["code"]) == ("fetch_success", "200")
    assert result["fetch"]["robots"] == {"basis": "robots_file", "crawlDelay": None}
    assert result["headers"]["content-type"] == result["contentType"]
    asked = server.requests()[before:]
    assert asked[0].path == "/robots.txt"
    assert len(asked) == 2
    assert not before_robots(asked)


def test_several_pages_keep_their_distance(
    crawl: Caller, server: WebServer, conf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [url for url in server.web.urls() if server.web.expected(url).kind is PageKind.PAGE]
    mine = [url for url in pages if "site0" in url][:4]
    before = len(server.requests())
    type_in(monkeypatch, "\n\n".join(mine).encode())
    answer = crawl("parsechecker", "--stdin", "--conf", conf, "--json")
    assert answer.code == 0, answer.err
    assert [json.loads(line)["url"] for line in answer.out.splitlines()] == mine
    asked = server.requests()[before:]
    assert len(asked) == 5
    assert max(concurrency(asked).values()) == 1
    assert gaps(asked)[0].seconds >= DELAY_S
    assert not disallowed(asked, server.web, AGENT)


def test_what_robots_forbid_is_not_asked_for(crawl: Caller, server: WebServer, conf: Path) -> None:
    url = _first(server, PageKind.PRIVATE)
    before = len(server.requests())
    answer = crawl("parsechecker", url, "--conf", conf)
    assert answer.code == 1
    assert _lines(answer, "fetch") == [f"fetch_gone, robots_denied(), {url}"]
    assert [entry.path for entry in server.requests()[before:]] == ["/robots.txt"]


def test_a_host_whose_robots_cannot_be_had_is_left_alone(
    crawl: Caller, server: WebServer, conf: Path
) -> None:
    url = server.web.seeds()[1]
    answer = crawl("parsechecker", url, "--conf", conf, "--json")
    assert answer.code == 1
    assert answer.json["fetch"]["notFetched"] == ["handed_back.robots_deferred"]
    shown = crawl("parsechecker", url, "--conf", conf)
    assert _lines(shown, "not fetched") == ["handed_back.robots_deferred"]
    assert _lines(shown, "robots.txt") == ["cannot be had: robots_server_error robots.txt: 503"]


def test_redirects_are_followed_only_if_asked_for(
    crawl: Caller, server: WebServer, conf: Path
) -> None:
    url = _first(server, PageKind.MOVED, allowed=True)
    target = server.web.expected(url).target
    left = crawl("parsechecker", url, "--conf", conf)
    assert left.code == 1
    assert _lines(left, "fetch")[-1] == f"redirected to {target}"
    followed = crawl("parsechecker", url, "--follow-redirects", "--conf", conf, "--json")
    assert followed.code == 0, followed.out
    result = followed.json
    assert [record["url"] for record in result["fetch"]["records"]] == [url, target]
    assert result["documents"][0]["title"] == server.web.expected(target).title


def test_errors_and_urls_that_are_none(crawl: Caller, server: WebServer, conf: Path) -> None:
    url = f"{server.web.seeds()[0]}no/such/page"
    answer = crawl("parsechecker", url, "--conf", conf)
    assert answer.code == 1
    assert _lines(answer, "fetch")[0].startswith("fetch_gone, notfound(http_404), ")
    none = crawl("parsechecker", "mailto:a@b.org", "--conf", conf)
    assert none.code == 1
    assert _lines(none, "not fetched") == ["no_host"]
    normal = crawl("parsechecker", "--normalize", "mailto:a@b.org", "--conf", conf)
    assert (normal.code, normal.out) == (1, "")
    assert normal.err == "parsechecker: mailto:a@b.org is no URL\n"
    upper = crawl("parsechecker", "--normalize", url.replace("http", "HTTP"), "--conf", conf)
    assert upper.out.startswith(url)


def test_a_url_that_the_filters_reject_is_reported_as_such(
    crawl: Caller, server: WebServer, conf: Path
) -> None:
    url = _first(server, PageKind.PAGE)
    answer = crawl("parsechecker", url, "--conf", conf, "-D", "urlfilter.length.max=10")
    assert answer.code == 0
    assert _lines(answer, "filter")[0].startswith("rejected by length: ")


def test_wicked_servers_are_survived(crawl: Caller, wicked: WickedServer, tmp_path: Path) -> None:
    hosts = "".join(f"{wicked.resolve(host)} {host}\n" for host in wicked.hosts())
    (tmp_path / "hosts.txt").write_text(hosts)
    (tmp_path / "crawl-site.toml").write_text(
        f'"http.agent.name" = "{AGENT}"\n'
        '"http.filter.ipaddress.allow.private" = true\n'
        '"http.resolver.hosts.file" = "hosts.txt"\n'
        '"fetcher.server.delay" = 0\n'
    )
    names = ["fine", "lie-charset", "bomb-gzip", "close", "status-garbage", "redirect-loop"]
    urls = [wicked.url(name) for name in names]
    answer = crawl("parsechecker", *urls, "--conf", tmp_path, "--json", "--follow-redirects")
    assert answer.code == 1, answer.err
    results = dict(zip(names, map(json.loads, answer.out.splitlines()), strict=True))
    assert [results[name]["url"] for name in names] == urls
    assert results["fine"]["documents"][0]["title"] == "Fine"
    assert results["lie-charset"]["parsed"] is True
    assert results["bomb-gzip"]["parsed"] is False
    assert results["close"]["fetch"]["records"][0]["status"] == "fetch_retry"
    assert not results["status-garbage"]["parsed"]
    assert not results["redirect-loop"]["parsed"]


def test_rules_of_fields_are_tried_on_a_file(crawl: Caller, page: Path, tmp_path: Path) -> None:
    rules = '[[rule]]\nhosts = ["a.org"]\n[rule.fields.first]\ncss = "a"\n'
    rules += '[rule.fields.count]\nxpath = "string(//a[3])"\nkind = "integer"\n'
    (tmp_path / "fields.toml").write_text(rules)
    line = ("parsechecker", "--file", page, "--conf", tmp_path, "--url")
    answer = crawl(*line, "http://a.org/x")
    assert _lines(answer, "field") == [
        "first = first (rule a.org, text)",
        "count: none (rule a.org, integer); 'image' is no integer",
    ]
    (document,) = json.loads(crawl(*line, "http://a.org/x", "--json").out)["documents"]
    assert [field["values"] for field in document["fields"]] == [["first"], []]
    assert "fields.explained" not in document["metadata"]
    none = _lines(crawl(*line, "http://b.org/x"), "field")
    assert none == ["none; no rule of parsefilter.fields.file is for this URL"]
    (tmp_path / "fields.toml").write_text(rules.replace("css", "ccs"))
    wrong = crawl(*line, "http://a.org/x")
    assert (
        wrong.code == 2 and "fields.toml:3: rule 1 (a.org), field first: unknown key" in wrong.err
    )
