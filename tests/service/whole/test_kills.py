"""kill -9 of the whole service at every kind of durable step, under load: what was acknowledged
ends, once; what was stored is there; nobody is asked twice for it, nor out of turn."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.counters import Counters
from crawl.model.status import Status
from crawl.service.pages import Pages
from crawl.service.place import open_store_of
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import CONTENT, FETCH
from tests.service.webhooks.receiver import Receiver, running_receiver
from tests.service.whole.hosts import Hosts, hosts
from tests.service.whole.processes import LONG_S, Serving, serving

HOSTS = 6
SITE_PAGES = 7
DELAY_S = 0.2
TOLERANCE_S = 0.02
"""The server takes the time of a request after it was sent, and of an answer before it came."""

# One of each kind of durable step, in chains: whoever begins again dies again, with what was left
# and what came since.
OFTEN = ("queue finish before 4", "folder append *.notes before 4", "queue put after 6")
ALL = [
    ("folder write */crawl_generate/* after 1", "store jobs after 3", "search commit before 2"),
    ("store state after 1", "queue replace before 1", "store webhooks before 3"),
    ("store robots after 1", "store crawls after 4", "folder file */crawl_parse/* after 1"),
    ("store pages after 3", "folder write */SERVICE after 1", "folder file */content/* before 1"),
]


@pytest.mark.slow(seconds=60)
def test_what_was_acknowledged_ends_once(tmp_path: Path) -> None:
    _killed_and_started_again(tmp_path / "crawl", OFTEN)


@pytest.mark.exhaustive
@pytest.mark.slow(seconds=60)
@pytest.mark.parametrize("moments", ALL, ids=" then ".join)
def test_so_it_does_at_every_other_step(tmp_path: Path, moments: tuple[str, ...]) -> None:
    _killed_and_started_again(tmp_path / "crawl", moments)


@dataclass(slots=True)
class Taken:
    """What was acknowledged."""

    jobs: dict[str, str] = field(default_factory=dict)
    crawls: list[str] = field(default_factory=list)
    is_hooked: bool = False


@dataclass(frozen=True, slots=True)
class Death:
    """What there was at a kill."""

    asked: int
    stored: set[tuple[str, str]]


def _killed_and_started_again(directory: Path, moments: Sequence[str]) -> None:
    with hosts(HOSTS) as web, running_receiver() as receiver:
        taken, deaths = Taken(), list[Death]()
        for life, moment in enumerate(moments):
            before = len(taken.jobs)
            with serving(directory, dies=moment, wait=False) as service:
                # what the one before left may be made whole up to the moment, and nobody be served
                is_ready = service.gets_ready()
                assert is_ready or life
                with suppress(OSError):  # it dies under way
                    if is_ready:
                        _submit(service, web, receiver, taken, life)
                assert service.wait_for_death() == -signal.SIGKILL, service.said()
            assert len(taken.jobs) > before or not is_ready
            deaths.append(Death(len(web.asked()), _pages_in_store(directory)))
        with serving(directory) as service:
            ended = service.wait_for_ends(list(taken.jobs))
            sites = [_ended_crawl(service, crawl) for crawl in taken.crawls]
            _look_up(service, ended)
            _check_webhooks(receiver, ended)
            assert service.stop() == 0, service.said()
        _check_ends(taken.jobs, ended)
        assert [each["pages"] for each in sites] == [SITE_PAGES] * len(sites)
        _check_asked(web, deaths)
        _check_folder(directory)


def _submit(service: Serving, web: Hosts, receiver: Receiver, taken: Taken, life: int) -> None:
    if not taken.is_hooked:
        hook = service.ask("/v1/webhooks", {"url": receiver.url("/hook")})
        assert hook.status == 201, hook
        taken.is_hooked = True
    for turn in range(6):
        urls = [web.url(host, f"/p/{life}-{turn}") for host in range(HOSTS)]
        taken.jobs |= service.submit(urls)
        if turn == 1:
            paths = [f"/r/2/moved-{life}", f"/gone/{life}", f"/no/{life}", f"/later/{life}"]
            taken.jobs |= service.submit([web.url(at, path) for at, path in enumerate(paths)])
            seed = {"seeds": [web.url(0, f"/p/site-{life}")], "limits": {"pages": SITE_PAGES}}
            taken.crawls.append(service.ask("/v1/crawls", seed).value["id"])
    # one whose URL is under way already
    taken.jobs |= service.submit([web.url(0, f"/p/{life}-5")], priority="high")


def _pages_in_store(directory: Path) -> set[tuple[str, str]]:
    """The hosts and paths that the store knows to the end."""
    config, clock = Config.of({}), SystemClock()
    store = open_store_of(CrawlDir(str(directory)), config, clock)
    try:
        pages = Pages(store, Counters())
        found = set()
        for row in store.scan("pages", limit=100_000):  # type: ignore[arg-type]
            (page,) = pages.get([row.key.decode()])
            if page is not None and page.status != Status.FETCH_RETRY:
                _, _, rest = page.url.partition("//")
                server, _, path = rest.partition("/")
                found.add((server.partition(":")[0], f"/{path}"))
        return found
    finally:
        store.close()


def _ended_crawl(service: Serving, crawl: str) -> dict[str, Any]:
    with suppress(ValueError):
        service.ask(f"/v1/crawls/{crawl}/pages")  # until the last has come
    view: dict[str, Any] = service.ask(f"/v1/crawls/{crawl}").value
    assert view["state"] == "finished", view
    return view


def _look_up(service: Serving, ended: dict[str, dict[str, Any]]) -> None:
    for each in ended.values():
        assert service.page(each["url"]) is not None, each


def _check_ends(jobs: dict[str, str], ended: dict[str, dict[str, Any]]) -> None:
    for job, url in jobs.items():
        code = ended[job]["page"].get("code")
        assert ended[job]["state"] == "finished", ended[job]
        assert code == (404 if "/gone/" in url else 0 if "/no/" in url else 200), ended[job]


def _check_asked(web: Hosts, deaths: Sequence[Death]) -> None:
    assert web.shortest_pause() >= DELAY_S - TOLERANCE_S
    asked = web.asked()
    for death in deaths:
        after = {(each.host, each.path) for each in asked[death.asked :]}
        assert not after & death.stored, "what was stored is not asked for again"
    times = Counter(
        (each.host, each.path) for each in web.pages() if not each.path.startswith("/later/")
    )
    # what was under way at a kill: no more than one answer of each host was not stored yet
    assert all(count <= 1 + len(deaths) for count in times.values()), times
    under_way = {
        (each.host, each.path)
        for death in deaths
        for each in asked[max(0, death.asked - 64) : death.asked]
    }
    assert {page for page, count in times.items() if count > 1} <= under_way
    assert not [each for each in web.pages() if each.path.startswith("/no/")]


def _check_folder(directory: Path) -> None:
    queue = sqlite3.connect(directory / "service" / "queue.sqlite")
    assert queue.execute("SELECT count(*) FROM entries").fetchone() == (0,)
    queue.close()
    checked = subprocess.run(
        [sys.executable, "-m", "crawl", "check", str(directory)],
        capture_output=True,
        timeout=LONG_S,
        check=False,
    )
    said = checked.stdout.decode() + checked.stderr.decode()
    # who died owes pauses to a fetch that comes (serving/); no segment has anything left of it
    assert checked.returncode == 0 and "segments/" not in said, said
    segments = CrawlDir(str(directory)).segments
    names = segments.folder.names()
    assert names
    for name in names:
        assert segments.segment(name).is_done(FETCH) and segments.segment(name).is_done(CONTENT)


def _check_webhooks(receiver: Receiver, ended: dict[str, dict[str, Any]]) -> None:
    """Each is told of, and once more for a death at most."""
    told: Counter[str] = Counter()
    while not set(ended) <= set(told):
        came = receiver.wait_for("/hook", told.total() + 1)
        told = Counter(json.loads(each.body)["job"] for each in came)
    assert all(count <= 5 for count in told.values())
