from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from crawl.synthetic.web import PageKind, RobotsKind, Settings, Web, running
from tests.cli.calling import Caller
from tests.phases.fetch_commands import write_conf
from tests.plugins.indexwriter.fake_servers import FakeBulkServer, FakeServer, FakeSolr, Said

Server = TypeVar("Server", bound=FakeServer)


def test_the_document_by_each_writers_names(tmp_path: Path, crawl: Caller) -> None:
    page = tmp_path / "page.html"
    page.write_text("<html lang=en><title>A title</title><body>Some words")
    rules = tmp_path / "writers.toml"
    rules.write_text(
        "[[writer]]\nid='a'\nplugin='jsonl'\nfields={rename={content='text'}}\n"
        "[[writer]]\nid='b'\nplugin='jsonl'\nwhen=\"lang='fr'\"\n"
    )
    settings = ["-D", "index.writers=a,b", "-D", f"index.writers.file={rules}"]
    arguments = ["indexchecker", "--file", str(page), "--url", "http://a.com/", *settings]
    answer = crawl(*arguments, "--json").json
    assert answer["indexed"] and answer["writers"]["b"] is None
    assert answer["writers"]["a"]["text"] == "Some words"
    page.write_text("<html><head><meta name=robots content=noindex></head><body>x")
    refused = crawl(*arguments)
    assert refused.code == 1 and "not indexed: noindex" in refused.out


def test_what_is_wrong_with_each_writer_is_one_line(tmp_path: Path, crawl: Caller) -> None:
    page = tmp_path / "page.html"
    page.write_text("<title>A title</title><body>Some words")
    rules = tmp_path / "writers.toml"
    rules.write_text(
        "[[writer]]\nid='a'\nplugin='jsonl'\nparameters={gzpi=true}\n"
        "[[writer]]\nid='b'\nplugin='tantivy'\nparameters={heap_mb='inf'}\n"
        "[[writer]]\nid='c'\nplugin='opensearch'\nparameters={password='${NOT_SET_HERE}'}\n"
        "[[writer]]\nid='d'\nplugin='csv'\n"
    )
    settings = ["-D", "index.writers=a,b,c,d", "-D", f"index.writers.file={rules}"]
    wrong = crawl("indexchecker", "--file", page, *settings)
    assert (wrong.code, wrong.out) == (2, "")
    assert [line.split(": ")[1] for line in wrong.err.splitlines()] == [
        *("index writer a", "index writer b", "index writer c")
    ]
    assert "no parameter is called 'gzpi' (did you mean 'gzip'" in wrong.err
    assert "heap_mb: expected a whole number, got inf" in wrong.err
    assert "the environment has no variable NOT_SET_HERE" in wrong.err


def test_servers_are_asked_where_it_is_wanted_and_nothing_is_made(
    tmp_path: Path, crawl: Caller
) -> None:
    page = tmp_path / "page.html"
    page.write_text("<title>A title</title><body>Some words")
    with closing_server(FakeBulkServer()) as server, closing_server(FakeBulkServer()) as away:
        settings = _two_servers(tmp_path, server.address, away.address)
        away.stop()
        assert crawl("indexchecker", "--file", page, *settings).code == 0
        assert not server.asked
        wrong = crawl("indexchecker", "--file", page, "--connect", *settings)
        assert (wrong.code, wrong.out, wrong.err.count("\n")) == (2, "", 1)
        assert "index writer b: " in wrong.err and "cannot be written to" in wrong.err
        alone = crawl("indexchecker", "--connect", *settings, "-D", "index.writers=a")
        assert (alone.code, alone.out) == (0, "")
        assert [asked.method for asked in server.asked] == ["HEAD", "HEAD"]


def test_an_echo_of_the_password_is_not_printed(tmp_path: Path, crawl: Caller) -> None:
    rules = tmp_path / "writers.toml"
    login = "Basic bWU6Y29ycmVjdC1ob3JzZQ=="
    with closing_server(FakeSolr()) as server:
        server.answer = lambda asked: Said(  # type: ignore[method-assign]
            401, f"bad {asked.headers['authorization']} \x1b[31m correct-horse".encode()
        )
        rules.write_text(
            f"[[writer]]\nid='a'\nplugin='solr'\nparameters={{url='{server.address}/solr/x',"
            "username='me',password='correct-horse',retry_seconds=0}\n"
        )
        settings = ["-D", "index.writers=a", "-D", f"index.writers.file={rules}"]
        wrong = crawl("indexchecker", "--connect", *settings)
        assert server.asked[0].headers["authorization"] == login
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err.endswith("does not let us in: 401 bad Basic *** \\x1b[31m ***\n")


def _two_servers(tmp_path: Path, *addresses: str) -> list[str]:
    rules = tmp_path / "writers.toml"
    rules.write_text(
        "".join(
            f"[[writer]]\nid='{name}'\nplugin='opensearch'\n"
            f"parameters={{url='{address}',retry_seconds=0}}\n"
            for name, address in zip("ab", addresses, strict=True)
        )
    )
    return ["-D", "index.writers=a,b", "-D", f"index.writers.file={rules}"]


@contextmanager
def closing_server(server: Server) -> Iterator[Server]:
    try:
        yield server
    finally:
        server.stop()


@pytest.mark.slow
def test_why_a_page_was_not_fetched(tmp_path: Path, crawl: Caller) -> None:
    kinds = (PageKind.MOVED, PageKind.ERROR)
    settings = Settings(
        1, 60, port=0, size=1500, odd=0.5, kinds=kinds, private=0.2, robots=(RobotsKind.PRIVATE,)
    )
    with running(Web(settings)) as server:
        conf = write_conf(tmp_path / "conf", server)
        pages = {url: server.web.expected(url) for url in server.web.urls()}
        moved, target = next(
            (url, page.target)
            for url, page in pages.items()
            if page.kind is PageKind.MOVED and pages[page.target].kind is PageKind.PAGE
        )
        private = next(url for url, page in pages.items() if page.kind is PageKind.PRIVATE)
        shown = crawl("indexchecker", moved, private, "http://127.0.0.1:1/", "--conf", conf)
        followed = crawl("indexchecker", moved, "--follow-redirects", "--conf", conf, "--json")
    assert shown.code == 1
    reasons = [line for line in shown.out.splitlines() if "not indexed" in line]
    assert f", to {target}" in reasons[0] and "moved(http_30" in reasons[0]
    assert reasons[1].endswith("fetch_gone, robots_denied()")
    assert "robots_deferred, robots_unreachable " in reasons[2]
    assert followed.json["indexed"] and followed.json["url"] == target


def test_what_cannot_be_asked_for_is_one_line(crawl: Caller) -> None:
    for arguments, line in ((["  "], "the URL is empty"), (["--url", "x"], "goes with --file")):
        wrong = crawl("indexchecker", *arguments)
        assert (wrong.code, wrong.err.count("\n"), wrong.out) == (2, 1, "")
        assert line in wrong.err
