"""A recrawl of files that did not change, from real servers as they come: each page is asked for by
what its server said of its version, and the server answers 304."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.model.answer_keys import CODE_KEY
from crawl.rounds.steps import LoopOptions
from crawl.storage.crawl_dir import CrawlDir
from tests.phases.made import NOW, records_of
from tests.phases.round_loops import SetClock, run_rounds
from tests.phases.round_model import DAY
from tests.phases.web_servers import apache, lighttpd, nginx, open_folder

# starts three kinds of servers, which a bare machine has to install
pytestmark = pytest.mark.cluster

PAGES = 60
CHANGED = "page-7.html"
_GZIP = "gzip on; gzip_min_length 1; gzip_types text/html;"
_SEES_CHANGES = 'server.stat-cache-engine = "disable"'  # or it looks at a file every other second
_DEFLATE = "AddOutputFilterByType DEFLATE text/html"
SERVERS: dict[str, tuple[Callable[..., AbstractContextManager[int]], str]] = {
    "nginx": (nginx, ""),
    "nginx, date only": (nginx, "etag off;"),
    "nginx, ETag only": (nginx, 'add_header Last-Modified "";'),
    "nginx, weak ETag": (nginx, _GZIP),
    "nginx, nothing": (nginx, 'etag off; add_header Last-Modified "";'),
    "Apache": (apache, ""),
    "Apache, date only": (apache, "FileETag None"),
    "Apache, ETag only": (apache, "Header unset Last-Modified"),
    "Apache, compressed": (apache, _DEFLATE),
    "lighttpd": (lighttpd, _SEES_CHANGES),
    "lighttpd, date only": (lighttpd, f'{_SEES_CHANGES}\nstatic-file.etags = "disable"'),
}


@pytest.fixture
def files() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.mark.parametrize("name", SERVERS)
def test_what_did_not_change_is_not_sent_again(name: str, tmp_path: Path, files: Path) -> None:
    start, more = SERVERS[name]
    for number in range(PAGES):
        file = files / f"page-{number}.html"
        file.write_text(page(number))
        set_age(file, hours=number + 2)
    (files / "index.html").write_text(
        "".join(f'<a href="page-{number}.html">{number}</a>' for number in range(PAGES))
    )
    directory = CrawlDir(str(tmp_path / "crawl"))
    config = Config.of(
        {
            "http.agent.name": "testbot",
            "http.filter.ipaddress.allow.private": True,
            "http.filter.ipaddress.include": ["127.0.0.0/8"],
            "db.ignore.external.links": True,
            "fetcher.server.delay": 0,
            "db.fetch.interval.default": DAY // 1000,
        }
    )
    clock = SetClock(NOW)
    seeds = tmp_path / "seeds.txt"
    with start(files, tmp_path / "server", more) as port:
        seeds.write_text(f"http://127.0.0.1:{port}/\n")
        run_rounds(directory, config, clock, LoopOptions(rounds=2), seeds=(str(seeds),))
        assert codes(directory) == {"200": PAGES + 1}
        (files / CHANGED).write_text(page(7) + "<p>New.</p>")
        set_age(files / CHANGED, hours=1)
        clock.set(NOW + 2 * DAY)
        run_rounds(directory, config, clock, LoopOptions(rounds=1))
        if "nothing" in name:
            assert codes(directory) == {"200": PAGES + 1}
        else:
            assert codes(directory) == {"304": PAGES, "200": 1}
        clock.set(NOW + 4 * DAY)  # a 304 leaves the next visit what it needs
        run_rounds(directory, config, clock, LoopOptions(rounds=1))
        expected = {"200": PAGES + 1} if "nothing" in name else {"304": PAGES + 1}
        assert codes(directory) == expected


def set_age(file: Path, hours: int) -> None:
    """By the machine's clock, which is the servers': Apache believes no date to come."""
    now = SystemClock().now_ms() // 1000
    os.utime(file, (now - 3600 * hours,) * 2)


def page(number: int) -> str:
    return f"<html><title>{number}</title><body><p>Page {number}.</p>{'word ' * 200}</body></html>"


def codes(directory: CrawlDir) -> Counter[str]:
    """How the last request of each URL was answered."""
    return Counter(datum.metadata[CODE_KEY] for datum in records_of(directory).values())
