"""Redirects and links that a task follows, also after a death."""

from __future__ import annotations

import json
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from crawl.fetcher.task import PROGRESS
from crawl.interfaces.protocol import Request, Response
from crawl.model.status import Status
from crawl.parsing.plan import ParsePlan
from tests.fetcher.scripted_task import (
    URLS,
    Answer,
    Death,
    Part,
    Script,
    ScriptedProtocol,
    die,
    page,
    pages_asked,
    redirect,
)

pytestmark = pytest.mark.usefixtures("script")


def test_a_redirect_is_never_committed_without_the_target_it_leaves(
    tmp_path: Path, script: Script
) -> None:
    part = Part(tmp_path, URLS)
    script |= {url: redirect(f"{url}/there") for url in URLS}
    assert part.fetch().finished
    for chunk in part.chunks():
        moved = {url for url, status in chunk if status is Status.FETCH_REDIR_TEMP}
        linked = {url for url, status in chunk if status is Status.LINKED}
        assert linked == {f"{url}/there" for url in moved}
    assert len(part.chunks()) == 9


def test_a_target_that_was_fetched_before_a_death_is_not_followed_again(
    tmp_path: Path, script: Script
) -> None:
    source, target = "http://b.org/source", "http://a.org/target"
    part = Part(tmp_path, [target, source], http__redirect__max=3, fetcher__threads__fetch=2)

    def die_after_the_target(request: Request) -> Answer:
        while not part.records():
            threading.Event().wait(0.01)
        raise Death

    script[source] = die_after_the_target
    with pytest.raises(Death):
        part.fetch()
    assert part.records() == Counter([target])
    script[source] = redirect(target)
    done = part.resume()
    assert done.finished
    assert part.records() == Counter([target, source])
    assert pages_asked()[target] == 1
    assert done.counters["redirects_dropped.already_fetched"] == 1


def test_a_link_to_a_page_that_was_fetched_before_a_death_is_not_followed(
    tmp_path: Path, script: Script
) -> None:
    source, target = "http://b.org/source", "http://a.org/target"
    follows = {"fetcher.parse": True, "fetcher.follow.outlinks.depth": 1}
    same_host = {"fetcher.follow.outlinks.ignore.external": False}
    part = Part(tmp_path, [target, source], fetcher__threads__fetch=2, **follows, **same_host)
    part.spec = replace(part.spec, parsing=ParsePlan.from_config(part.spec.config))

    def die_after_the_target(request: Request) -> Answer:
        while not part.records():
            threading.Event().wait(0.01)
        raise Death

    script[source] = die_after_the_target
    with pytest.raises(Death):
        part.fetch()
    assert part.records() == Counter([target])
    links = f'<a href="{target}">t</a><a href="/new">n</a>'.encode()
    html = (("content-type", "text/html"),)
    script[source] = lambda request: Response(request.url, 200, html, links, sent=1.0)
    done = part.resume()
    assert done.finished
    assert part.records() == Counter([target, source, "http://b.org/new"])
    assert done.counters["outlinks_not_followed.already_fetched"] == 1


def test_a_redirect_is_resumed_after_a_death(tmp_path: Path, script: Script) -> None:
    """Also where the answers were committed, and what is followed counts its redirects on."""
    part = Part(tmp_path, ["http://a.org/1"], http__redirect__max=2)
    script["http://a.org/1"] = redirect("http://b.org/2")
    script["http://b.org/2"] = die
    with pytest.raises(Death):
        part.fetch()
    script["http://b.org/2"] = redirect("http://c.org/3")
    script["http://c.org/3"] = die
    with pytest.raises(Death):
        part.resume()
    script["http://c.org/3"] = redirect("http://d.org/4")
    done = part.resume()
    assert done.finished
    assert done.counters["followed_again"] == 2
    rows = [row for chunk in part.chunks() for row in chunk]
    assert Counter(rows) == Counter(
        [
            *((f"http://{host}.org/{number}", Status.FETCH_REDIR_TEMP) for host, number in PLACES),
            ("http://d.org/4", Status.LINKED),
        ]
    )
    asked = ScriptedProtocol.asked
    assert (asked["http://a.org/1"], asked["http://d.org/4"]) == (1, 0)


PLACES = (("a", 1), ("b", 2), ("c", 3))


@pytest.mark.parametrize("may_leave", [False, True])
def test_a_task_that_may_not_leave_its_lists_leaves_what_one_before_it_followed(
    tmp_path: Path, script: Script, may_leave: bool
) -> None:
    """That one followed redirects; then the settings were changed, and a service began."""
    part = Part(tmp_path, ["http://a.org/1"], http__redirect__max=2)
    script["http://a.org/1"] = redirect("http://b.org/2")
    script["http://b.org/2"] = die
    with pytest.raises(Death):
        part.fetch()
    script["http://b.org/2"] = page
    asked = ScriptedProtocol.asked["http://b.org/2"]
    part.spec = replace(part.spec, may_leave_lists=lambda: may_leave)
    assert part.resume().finished
    end = Status.FETCH_SUCCESS if may_leave else Status.LINKED
    assert ("http://b.org/2", end) in [row for chunk in part.chunks() for row in chunk]
    assert ScriptedProtocol.asked["http://b.org/2"] == asked + may_leave


def test_a_target_whose_request_hangs_is_left_for_later(tmp_path: Path, script: Script) -> None:
    may_end = threading.Event()

    def hang(request: Request) -> Answer:
        may_end.wait(60)
        return page(request)

    part = Part(tmp_path, ["http://a.org/1"], http__redirect__max=2, fetcher__threads__timeout=1)
    script["http://a.org/1"] = redirect("http://b.org/2")
    script["http://b.org/2"] = hang
    try:
        done = part.fetch()
    finally:
        may_end.set()
    assert done.finished and done.counters["hung_threads"] == 1
    rows = {url: status for chunk in part.chunks() for url, status in chunk}
    assert rows == {
        "http://a.org/1": Status.FETCH_REDIR_TEMP,
        "http://b.org/2": Status.LINKED,
    }


def test_a_resumed_task_reports_no_more_done_than_there_is(tmp_path: Path, script: Script) -> None:
    """Targets that a task before has followed are records, and on no list."""
    part = Part(tmp_path, URLS, http__redirect__max=3)
    for url in URLS[:8]:
        script[url] = redirect(f"{url}/target")
    script[URLS[8]] = die
    with pytest.raises(Death):
        part.fetch()
    before = sum(part.records().values())
    script[URLS[8]] = page
    part.resume()
    raw = part.spec.segment.read(f"{PROGRESS}/part-{part.file.part:05d}.json")
    progress = json.loads(raw or b"{}")
    assert before and progress["urls"] == len(URLS)
    assert (
        progress["done"] == sum(part.records().values()) == progress["urls"] + progress["followed"]
    )
