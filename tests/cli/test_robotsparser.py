from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from crawl.synthetic.web import RobotsKind, Settings, Web, WebServer, running
from tests.cli.calling import Caller
from tests.cli.typing_in import type_in
from tests.phases.fetch_commands import write_conf

ROBOTS = """\
User-agent: mybot
Disallow: /private/
Crawl-delay: 2.5

User-agent: *
Disallow: /

Sitemap: http://a.org/map.xml
"""


@pytest.fixture
def robots(tmp_path: Path) -> Path:
    path = tmp_path / "robots.txt"
    path.write_text(ROBOTS)
    return path


def test_verdicts_on_urls_and_on_files_of_urls(crawl: Caller, robots: Path) -> None:
    urls = robots.with_name("urls.txt")
    urls.write_text("http://a.org/private/1\n\nhttp://own.org/private/2\n")
    answer = crawl(
        *("robotsparser", robots, "http://a.org/", urls, "--agent", "MyBot/1.0"),
        *("-D", "http.robot.rules.allowlist=own.org"),
    )
    assert (answer.code, answer.err) == (1, "")
    assert answer.out == (
        "allowed:\thttp://a.org/\n"
        "not allowed:\thttp://a.org/private/1\n"
        "allowlisted:\thttp://own.org/private/2\n"
    )
    assert crawl("robotsparser", robots, "http://a.org/", "--agent", "mybot").code == 0


def test_the_names_are_those_of_the_configuration_unless_given(crawl: Caller, robots: Path) -> None:
    ask = ("robotsparser", robots, "http://a.org/")
    assert crawl(*ask).out == "not allowed:\thttp://a.org/\n"
    assert crawl(*ask, "-D", "http.agent.name=mybot").code == 0
    assert crawl(*ask, "--agent", "x,mybot").code == 0
    assert crawl(*ask, "-D", "http.agent.name=mybot", "--agent", "other").code == 1


def test_details(crawl: Caller, robots: Path) -> None:
    alone = crawl("robotsparser", robots, "--agent", "mybot")
    assert alone.code == 0
    assert alone.out.splitlines() == [
        "# basis: robots_file",
        "# Crawl-delay: 2.5",
        "# Disallow: /private/",
        "# Sitemap: http://a.org/map.xml",
    ]
    both = crawl("robotsparser", robots, "--details", "http://a.org/")
    assert both.out.splitlines() == [
        "# basis: robots_file",
        "# Crawl-delay: none",
        "# Disallow: /",
        "# Sitemap: http://a.org/map.xml",
        "not allowed:\thttp://a.org/",
    ]


def test_stdin_and_for_programs(
    crawl: Caller, robots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    type_in(monkeypatch, b"http://a.org/\nno url\n")
    answer = crawl("robotsparser", robots, "--stdin", "--agent", "mybot", "--json", "--details")
    about, first, second = map(json.loads, answer.out.splitlines())
    assert answer.code == 1
    assert (about["basis"], about["crawlDelay"]) == ("robots_file", 2.5)
    assert (about["rules"], about["sitemaps"]) == (
        ["Disallow: /private/"],
        ["http://a.org/map.xml"],
    )
    assert first == {"url": "http://a.org/", "verdict": "allowed", "allowed": True}
    assert second == {"url": "no url", "verdict": "not allowed", "allowed": False}


def test_a_hostile_file_is_read_within_limits(crawl: Caller, tmp_path: Path) -> None:
    path = tmp_path / "robots.txt"
    path.write_bytes(b"\xff\xfe\0User-agent: *\r\rDisallow: /" + b"*a" * 600_000)
    answer = crawl("robotsparser", path, "http://a.org/")
    assert answer.code in (0, 1)
    assert answer.out.endswith("allowed:\thttp://a.org/\n")


def test_wrong_input_is_one_line(crawl: Caller, robots: Path, tmp_path: Path) -> None:
    wrong: list[tuple[list[object], str]] = [
        ([tmp_path / "none"], "No such file"),
        ([tmp_path], "Is a directory"),
        ([robots, tmp_path / "none"], "No such file"),
        ([robots, "--stdin", "http://a.org/"], "give either URLs or --stdin"),
        (["ftp://a.org/robots.txt"], "neither a file nor an http(s) URL"),
        (["http://a.org/other.txt"], "at /robots.txt and nowhere else"),
        (["http://a.org/robots.txt"], "http.agent.name"),
    ]
    for arguments, expected in wrong:
        answer = crawl("robotsparser", *arguments)
        assert (answer.code, answer.out) == (2, ""), arguments
        assert expected in answer.err
        assert answer.err.count("\n") == 1


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    kinds = (RobotsKind.PRIVATE, RobotsKind.MOVED, RobotsKind.UNAVAILABLE, RobotsKind.MISSING)
    with running(Web(Settings(4, 8, port=0, size=500, robots=kinds))) as server:
        yield server


def test_a_hosts_own_robots_txt_is_asked_for_once(
    crawl: Caller, tmp_path: Path, server: WebServer
) -> None:
    conf = write_conf(tmp_path / "conf", server)
    private, moved, unavailable, missing = server.web.seeds()
    before = len(server.requests())
    answer = crawl(
        *("robotsparser", f"{private}robots.txt", private, f"{private}private/1"),
        *("--conf", conf),
    )
    assert answer.code == 1, answer.err
    assert answer.out == f"allowed:\t{private}\nnot allowed:\t{private}private/1\n"
    assert [entry.path for entry in server.requests()[before:]] == ["/robots.txt"]

    redirected = crawl("robotsparser", moved, f"{moved}private/1", "--conf", conf)
    assert redirected.out == f"not allowed:\t{moved}private/1\n"

    deferred = crawl("robotsparser", unavailable, unavailable, "--details", "--conf", conf)
    assert deferred.code == 1
    assert "left alone for now: robots_server_error (robots.txt: 503)" in deferred.err
    assert deferred.out.splitlines() == [
        "# basis: robots_server_error (robots.txt: 503)",
        f"not allowed:\t{unavailable}",
    ]
    absent = crawl("robotsparser", missing, missing, "--json", "--details", "--conf", conf)
    assert json.loads(absent.out.splitlines()[0])["basis"] == "robots_absent"
    assert absent.code == 0


def test_addresses_that_must_not_be_asked_are_not(
    crawl: Caller, tmp_path: Path, server: WebServer
) -> None:
    conf = write_conf(tmp_path / "conf", server)
    before = len(server.requests())
    seed = server.web.seeds()[0]
    answer = crawl(
        *("robotsparser", seed, seed, "--conf", conf),
        *("-D", "http.filter.ipaddress.allow.private=false"),
    )
    assert answer.code == 1
    assert answer.out == f"not allowed:\t{seed}\n"
    assert "robots_unreachable" in answer.err
    assert len(server.requests()) == before
