from __future__ import annotations

import pytest

from crawl.synthetic.wicked import WickedServer
from crawl.synthetic.wicked.redirect_routes import FORBIDDEN_TARGETS
from tests.synthetic.wicked.client import ask


def location(wicked: WickedServer, url: str) -> str:
    got = ask(wicked, url)
    assert got.head.startswith(b"HTTP/1.1 302 ")
    return got.header("Location").decode("latin-1")


@pytest.mark.parametrize("name", FORBIDDEN_TARGETS)
def test_targets_that_must_not_be_asked(wicked: WickedServer, name: str) -> None:
    assert location(wicked, wicked.url(f"redirect-{name}")) == FORBIDDEN_TARGETS[name]


def test_a_loop(wicked: WickedServer) -> None:
    start = wicked.url("redirect-loop")
    assert location(wicked, start) == "/redirect/loop/b"
    assert location(wicked, f"{start}/b") == "/redirect/loop"
    itself = wicked.url("redirect-self")
    assert location(wicked, itself) == f"{itself}#again"


@pytest.mark.parametrize("name", ["redirect-maze", "redirect-hosts", "redirect-growing"])
def test_mazes_lead_ever_further(wicked: WickedServer, name: str) -> None:
    url = wicked.url(name)
    seen = [url]
    for _ in range(12):
        url = location(wicked, url)
        assert url not in seen
        seen.append(url)
    hosts = {url.split("/")[2] for url in seen}
    assert (len(hosts) == 13) == (name == "redirect-hosts")
    assert (len(seen[-1]) > 12_000) == (name == "redirect-growing")


def test_locations_that_are_none(wicked: WickedServer) -> None:
    assert location(wicked, wicked.url("redirect-garbage")).startswith("http://[::garbage\\")
    assert b"Location" not in ask(wicked, wicked.url("redirect-nowhere")).head
    assert ask(wicked, wicked.url("redirect-twice")).head.count(b"Location: http://10.0.0.") == 2
    assert "%0d%0a" in location(wicked, wicked.url("redirect-split"))
