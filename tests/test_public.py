"""What is public: the names, and what they promise."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import crawl
from crawl.api.crawl import Crawl
from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import ConfigError, Locked, NoSnapshot, UsageError
from crawl.operations.operation import Place
from crawl.operations.registry import OURS, operations_of
from tests.phases.made import datum, make_crawldb


def test_the_public_names() -> None:
    assert sorted(crawl.__all__) == [
        *("Crawl", "CrawlError", "__version__", "check_url", "connect", "connect_async"),
        *("fetch_page", "is_allowed"),
        *("list_plugins", "list_properties", "open", "parse_page", "plan"),
    ]
    assert all(getattr(crawl, name) is not None for name in crawl.__all__)
    assert set(crawl.__all__) <= set(dir(crawl))
    with pytest.raises(AttributeError):
        _ = crawl.nothing


def public_methods() -> dict[str, Callable[..., object]]:
    return {
        name: method
        for name, method in inspect.getmembers(Crawl, inspect.isfunction)
        if not name.startswith("_")
    }


def test_the_methods_of_a_crawl_have_types_and_an_example() -> None:
    public = public_methods()
    assert sorted(public) == [
        *("behind", "check", "clean", "close", "crawlcomplete", "crawldb", "dataframe", "dedup"),
        *(
            "domainstats",
            "dump_crawldb",
            "dump_hostgraph",
            "dump_hosts",
            "dump_linkdb",
            "dust",
            "explain",
            "export",
        ),
        *(
            "fetch",
            "gc",
            "generate",
            "host",
            "host_ranks",
            "hostdb",
            "hostgraph",
            "hosts_left_alone",
        ),
        *("index", "inject", "inlinks", "invertlinks"),
        *("linkdb", "linkrank", "linkstats", "lookup", "mergelinkdb", "mirrors"),
        *("nodedumper", "nodereader", "pages"),
        *("parse", "phase_costs", "plan_rounds", "protocolstats", "rebucket", "refresh", "repair"),
        *("rollback", "run"),
        *("scoreupdater", "search", "segment", "segments", "simulate", "sitemap", "snapshot_files"),
        *("snapshots", "start"),
        *("stats", "status", "top", "top_hosts", "updatedb", "updatehostdb"),
        "webgraph",
    ]
    for name, method in public.items():
        assert inspect.signature(method).return_annotation is not inspect.Signature.empty, name
        assert method.__doc__, name
        if name not in ("close", "segments"):
            assert ">>> " in method.__doc__ and "web." in method.__doc__, name


def test_a_command_is_its_method_or_the_fault_names_them(tmp_path: Path) -> None:
    web = crawl.open(tmp_path)
    several = [
        name
        for name in OURS
        if len(operations_of(name)) > 1
        and operations_of(name)[0].place is Place.CRAWL
        and not hasattr(Crawl, name)
        and name not in WITHOUT_METHOD
    ]
    assert set(several) == {"readdb", "readhostdb", "readlinkdb"}
    for name in several:
        with pytest.raises(AttributeError) as fault:
            getattr(web, name)
        methods = [each.method_name for each in operations_of(name)]
        assert str(fault.value).endswith(f": the command's are {', '.join(methods)}")
    with pytest.raises(AttributeError, match="a crawl has no method 'nothing'"):
        getattr(web, "nothing")  # noqa: B009


WITHOUT_METHOD = {
    "mcp",  # tools for agents, who call no Python
    *("demo", "testweb"),  # a tour for people, and a server to try settings against
    "indexchecker",  # for people; the document is what `index` makes
    *("filterchecker", "normalizerchecker"),  # crawl.check_url
    "parsechecker",  # crawl.fetch_page, crawl.parse_page
    "robotsparser",  # crawl.is_allowed
    *("serve", "keys"),  # a server, and what belongs to whoever runs it
    "submit",  # crawl.connect
}


def test_every_command_has_its_method() -> None:
    lacking = {name for name in OURS if not any(o.method_name for o in operations_of(name))}
    assert lacking == WITHOUT_METHOD
    for name in OURS:
        for operation in operations_of(name):
            if operation.method_name:
                home = Crawl if operation.place is Place.CRAWL else crawl
                assert hasattr(home, operation.method_name), name


LOADED = """
import sys, json
before = set(sys.modules)
import crawl
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def test_importing_the_package_loads_next_to_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    loaded = set(json.loads(done.stdout))
    assert loaded.isdisjoint({"pyspark", "pyarrow", "numpy", "click", "fsspec", "pandas"})


def test_the_package_is_typed() -> None:
    assert Path(crawl.__file__).with_name("py.typed").exists()


# misuse


@pytest.mark.parametrize("address", [None, 3, "", b"bytes"])
def test_a_crawl_is_named_by_a_path(address: object) -> None:
    with pytest.raises(UsageError, match="named by a path or an address"):
        crawl.open(address)  # type: ignore[arg-type]


def test_settings_are_checked_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'fetcher.server.delay'"):
        crawl.open(tmp_path, settings={"fetcher.server.delai": 1})
    with pytest.raises(ConfigError):
        crawl.open(tmp_path, settings={"fetcher.server.delay": "soon"})
    with pytest.raises(UsageError, match="expected a mapping"):
        crawl.open(tmp_path, settings=["fetcher.server.delay=1"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "ask",
    [
        lambda web: web.stats(),
        lambda web: web.crawldb(),
        lambda web: web.pages(),
        lambda web: web.status(),
        lambda web: web.run(),
        lambda web: web.generate(),
        lambda web: web.lookup("http://a.test/"),
        lambda web: web.explain("http://a.test/"),
        lambda web: web.rollback(),
        lambda web: web.gc(),
        lambda web: web.rebucket(32),
    ],
)
def test_a_folder_that_is_no_crawl_says_how_to_begin(
    ask: Callable[[crawl.Crawl], object], tmp_path: Path
) -> None:
    with pytest.raises(NoSnapshot, match="has no CrawlDb yet: start it with"):
        ask(crawl.open(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("urls", "message"),
    [
        (["seeds.txt"], "is no URL; seed files go by `files=`"),
        ([3], "urls: expected a list of texts, got"),
        (["http://a.test/\nhttp://b.test/"], "no line break"),
    ],
)
def test_seeds_are_urls(urls: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        crawl.open(tmp_path).inject(urls)


def test_a_closed_crawl_says_so(tmp_path: Path) -> None:
    make_crawldb(str(tmp_path), {"http://a.test/": datum()})
    with crawl.open(tmp_path) as web:
        assert web.stats()["urls"] == 1
    with pytest.raises(UsageError, match="closed>: open it again"):
        web.stats()


def test_another_writer_is_named(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.test/": datum()})
    with (
        directory.writing_crawldb("inject", Config(), SystemClock()),
        pytest.raises(Locked, match="inject"),
    ):
        crawl.open(tmp_path).gc()


# what needs neither Spark nor a network


def test_readers_answer_as_the_command_line_does(tmp_path: Path) -> None:
    records = {f"http://a.test/{number}": datum(score=number) for number in range(5)}
    make_crawldb(str(tmp_path), records)
    web = crawl.open(tmp_path)
    assert web.stats(hosts=1)["hosts"] == {"a.test": {"db_unfetched": 5}}
    assert web.top(2) == [
        {"score": 4.0, "url": "http://a.test/4"},
        {"score": 3.0, "url": "http://a.test/3"},
    ]
    found = web.lookup("HTTP://A.test:80/3")
    assert found is not None and found["url"] == "http://a.test/3"
    assert web.lookup("http://a.test/99") is None
    assert web.explain("http://a.test/1")["known"]
    assert [state["current"] for state in web.snapshots()] == [True]
    assert web.status() == web.hosts_left_alone() == []
    assert web.segments() == []
    assert web.check() == []
    assert web.pages().count() == 0
    assert web.repair() == []
    with pytest.raises(UsageError, match="has no segment"):
        web.segment("20261115093000")


def test_one_page_is_parsed() -> None:
    page = b"<html lang=en><title>A &amp; B</title><p>Text <a href='/x' rel=nofollow>link</a>"
    found = crawl.parse_page(page, "https://example.org/a", content_type="text/html")
    assert (found.title, found.language, found.mime_type) == ("A & B", "en", "text/html")
    assert found.is_parsed and "Text" in found.text
    assert [link.url for link in found.links] == ["https://example.org/x"]
    assert "A &amp; B" in found._repr_html_()
    with pytest.raises(UsageError, match="a page is bytes, not str"):
        crawl.parse_page("<p>", "https://example.org/")  # type: ignore[arg-type]


def test_urls_robots_plans_and_plugins_are_shown() -> None:
    checked = crawl.check_url("HTTP://Example.org:80/a/../logo.gif")
    assert checked.normal == "http://example.org/logo.gif"
    assert (checked.accepted, checked.rejected_by) == (False, "regex")
    rules = "User-agent: *\nDisallow: /private/"
    assert not crawl.is_allowed(rules, "https://example.org/private/x", "mybot")
    assert crawl.is_allowed(rules, "https://example.org/public", ["mybot"])
    assert crawl.plan(urls=1e9, hosts=5e6, pages_per_day=1e8)["fits"]
    assert not crawl.plan(urls=1e9, hosts=100, skew=0, pages_per_day=1e7)["fits"]
    with pytest.raises(UsageError, match="hosts: expected a number above 0, got 0"):
        crawl.plan(urls=1e9, hosts=0)
    with pytest.raises(TypeError, match="'linkz'"):
        crawl.plan(urls=1e9, hosts=5e6, linkz=3)  # type: ignore[call-arg]
    active = [each["plugin"] for each in crawl.list_plugins() if each["active"] == "1"]
    assert "opic" in active
    values = {each["key"]: each["value"] for each in crawl.list_properties()}
    assert values["fetcher.server.delay"] == 5.0
