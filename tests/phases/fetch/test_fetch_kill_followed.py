"""kill -9 while URLs wait that no list names: targets of redirects, and followed links."""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from crawl.model.status import Status
from crawl.storage.chunks import FOLLOWED
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import FETCH
from crawl.synthetic.web import PageKind, Settings, Web, WebServer, duplicates, running
from tests.phases.fetch_commands import Command, gone, pages_asked, repeated, write_conf
from tests.phases.fetch_jobs import LaterClock, fetch_following, follow_by
from tests.phases.killed import Moment, run_killed, writes_of
from tests.phases.webs import fetched, listed

SITES = 5
AT_STAKE = 2 * SITES
"""A request a host is under way, and an answer of each may be on its way into the journal."""

pytestmark = pytest.mark.exhaustive

REDIRECTS = Settings.plain(
    SITES,
    40,
    odd=1.0,
    kinds=(PageKind.TOUR, PageKind.CHAIN, PageKind.AWAY),
    size=300,
    latency=0.003,
)
LINKS = Settings.plain(SITES, 40, odd=0.3, kinds=(PageKind.MOVED,), fanout=3, links=1.0, size=300)


def outcome(directory: CrawlDir, name: str) -> dict[Status, set[str]]:
    """What the segment says of which URLs: a page once, whatever it led to at all."""
    rows = fetched(directory, name)
    pages = Counter(url for url, datum in rows if datum.status is not Status.LINKED)
    assert set(pages.values()) == {1}
    found: dict[Status, set[str]] = {}
    for url, datum in rows:
        if datum.status is not Status.LINKED or url not in pages:
            found.setdefault(datum.status, set()).add(url)
    return found


def killed_everywhere(
    tmp_path: Path, server: WebServer, urls: list[str], parts: int, links: int = 0, kills: int = 99
) -> set[str]:
    """Kills a fetch of these URLs once at every kind of write, or at some of them, goes on, and
    has the end compared with that of a fetch that nobody killed; the kinds that it died at."""
    settings = server.web.settings
    base, name = listed(str(tmp_path / "base"), urls, parts=parts)

    def copied(number: int) -> CrawlDir:
        wreck = CrawlDir(str(tmp_path / f"killed-{number}"))
        shutil.copytree(base.address, wreck.address)
        return wreck

    whole = copied(0)
    kinds = writes_of(fetch_following, whole.address, settings, links)
    expected = outcome(whole, name)
    assert any("followed" in kind for kind in kinds)
    assert not whole.segments.segment(name).folder.exists(FOLLOWED)
    died: set[str] = set()
    chance = random.Random(20261116)
    for number, kind in enumerate(chance.sample(sorted(kinds), min(kills, len(kinds))), 1):
        moment = Moment(kind, chance.randint(1, kinds[kind]))
        wreck = copied(number)
        before = len(server.requests())
        if run_killed(fetch_following, wreck.address, settings, links, at=moment):
            died.add(moment.kind)
        manifest = wreck.segments.segment(name).manifest(FETCH)
        if manifest is None or not manifest.complete:
            assert follow_by(LaterClock(), wreck.address, settings, links).complete
        assert outcome(wreck, name) == expected, moment
        assert not wreck.segments.segment(name).folder.exists(FOLLOWED), moment
        asked = duplicates(server.requests()[before:])
        assert sum(count - 1 for count in asked.values()) <= AT_STAKE, moment
        shutil.rmtree(wreck.address)
    return died


@pytest.mark.slow(seconds=40)
def test_redirects_over_several_hosts_killed_at_every_kind_of_write(tmp_path: Path) -> None:
    with running(Web(REDIRECTS)) as server:
        web = server.web
        urls = sorted(url for url in set(web.urls()) if web.expected(url).location)
        first = [url for url in urls if "//site0.test" in url or "//site1.test" in url]
        assert any(len(set(tour(web, url))) > 3 for url in first)
        died = killed_everywhere(tmp_path, server, first, parts=1)
        assert len(died) > 20


@pytest.mark.slow(seconds=20)
def test_redirects_from_part_to_part_killed_at_some_writes(tmp_path: Path) -> None:
    with running(Web(REDIRECTS)) as server:
        web = server.web
        urls = sorted(url for url in set(web.urls()) if web.expected(url).location)
        assert killed_everywhere(tmp_path, server, urls[::3], parts=2, kills=10)


@pytest.mark.slow(seconds=30)
def test_followed_links_killed_at_some_writes(tmp_path: Path) -> None:
    with running(Web(LINKS)) as server:
        assert killed_everywhere(tmp_path, server, server.web.seeds(), 2, links=1, kills=8)


@pytest.mark.spark
@pytest.mark.slow(seconds=45)
def test_redirects_killed_with_driver_jvm_and_workers(tmp_path: Path) -> None:
    """Every seed answers with a redirect: all targets are known in the end."""
    settings = Settings.plain(12, 300, odd=1.0, kinds=(PageKind.MOVED,), size=300, latency=0.05)
    with running(Web(settings)) as server:
        web = server.web
        urls = sorted(url for url in set(web.urls()) if web.expected(url).location)[:200]
        targets = {web.expected(url).target for url in urls}
        directory, name = listed(str(tmp_path / "c"), urls, parts=2)
        conf = write_conf(tmp_path / "conf", server)
        with (conf / "crawl-site.toml").open("a") as opened:
            opened.write('"http.redirect.max" = 3\n')
        line = ("fetch", directory.address, "--conf", conf, "--master", "local[2]")

        def under_way(pages: int) -> Command:
            asked = pages_asked(server)
            command = Command(*line)
            command.wait_for(lambda: pages_asked(server) >= asked + pages)
            return command

        for victim in ("driver", "jvm"):
            command = under_way(12)
            workers = command.workers
            command.kill(command.pid if victim == "driver" else command.jvm)
            # They ask on until they notice; on a busy machine that would be to the end.
            asked, limit = pages_asked(server), time.monotonic() + 60
            while not gone(workers) and pages_asked(server) < asked + 5:
                assert time.monotonic() < limit
                time.sleep(0.05)
            for worker in workers:
                with suppress(ProcessLookupError):
                    command.kill(worker)
            assert command.end() != 0
        command = under_way(8)
        for worker in command.workers:
            command.kill(worker)
        assert command.end() == 0, command.err
        records = fetched(directory, name)
        assert {url for url, _ in records} == {*urls, *targets}
        assert set(Counter(url for url, _ in records).values()) == {1}
        assert repeated(server) <= 3 * 2 * 12


def tour(web: Web, url: str) -> list[str]:
    """The hosts that a redirect leads over."""
    hosts = [url.split("/")[2]]
    while target := web.expected(url).target:
        url = target
        hosts.append(url.split("/")[2])
    return hosts
