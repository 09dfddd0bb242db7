from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import StorageError
from crawl.fetcher.engine.engine import FetchEngine
from crawl.fetcher.part import PROGRESS, STOP, PartFetched, PartFetching, fetch_part
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response
from crawl.interfaces.registry import ResolvedPlugin
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.records import to_records
from crawl.model.status import Status
from crawl.parsing.plan import Parsing
from crawl.storage.chunks import ChunkLog
from crawl.storage.parquet import open_table
from crawl.storage.segments import FETCH, GENERATE, PartFile
from tests.phases.webs import listed

Answer = Response | Failure
PLUGIN = ResolvedPlugin("protocol", "scripted", "tests.fetcher.test_part:ScriptedProtocol")


class Death(BaseException):
    """No fault of a protocol: nobody survives it."""


class ScriptedProtocol:
    """Answers as the test says, and remembers what it was asked."""

    schemes = ("http",)
    asked: ClassVar[Counter[str]] = Counter()
    script: ClassVar[dict[str, Callable[[Request], Answer]]] = {}
    lock = threading.Lock()

    def __init__(self, config: Config) -> None:
        pass

    def fetch(self, request: Request) -> Answer:
        with self.lock:
            self.asked[request.url] += 1
        if request.url.endswith("/robots.txt"):
            return Response(request.url, 404, sent=1.0)
        return self.script.get(request.url, page)(request)

    def close(self) -> None:
        pass


def page(request: Request) -> Answer:
    return Response(request.url, 200, body=b"x", sent=1.0)


def refuse(request: Request) -> Answer:
    return Failure(request.url, FailureKind.CONNECT_REFUSED, sent=1.0)


def die(request: Request) -> Answer:
    raise Death


def redirect(target: str) -> Callable[[Request], Answer]:
    return lambda request: Response(request.url, 302, (("location", target),), b"", sent=1.0)


@pytest.fixture(autouse=True)
def script() -> Iterator[dict[str, Callable[[Request], Answer]]]:
    ScriptedProtocol.asked.clear()
    ScriptedProtocol.script.clear()
    yield ScriptedProtocol.script
    ScriptedProtocol.script.clear()


class Part:
    """One part of a fetch list, to be fetched as often as the test likes."""

    def __init__(self, folder: Path, urls: list[str], **settings: object) -> None:
        directory, name = listed(str(folder / "c"), urls, parts=1)
        segment = directory.segments.segment(name)
        (self.file,) = segment.require(GENERATE).files
        config = Config.of(
            {
                "urlfilter.order": ["length"],
                "fetcher.server.delay": 0,
                "fetcher.threads.fetch": 1,
                "fetcher.checkpoint.records": 1,
                "fetcher.progress.interval": 0,
                "http.agent.name": "bot",
                **{name.replace("__", "."): value for name, value in settings.items()},
            }
        )
        self.fetching = PartFetching(
            segment=segment.folder,
            config=config,
            protocols=(PLUGIN,),
            normalizers=NormalizerChain.from_config(config, Scope.FETCHER),
            filters=FilterChain.from_config(config),
            scoring=ScoringChain.from_config(config),
            buckets=4,
            lists=(self.file,),
            deadline_ms=None,
        )

    def fetch(self) -> PartFetched:
        return fetch_part(self.fetching, self.file)

    def go_on(self) -> PartFetched:
        """As somebody does who comes an hour later."""
        return fetch_part(replace(self.fetching, clock=_Later()), self.file)

    def chunks(self) -> list[list[tuple[str, Status]]]:
        found = []
        for chunk in ChunkLog(self.fetching.segment, self.file.part).committed():
            with open_table(self.fetching.segment.child(FETCH), chunk.pieces[FETCH].path) as source:
                found.append([(url, datum.status) for url, datum in to_records(source.read())])
        return found

    def records(self) -> Counter[str]:
        """Of pages: how often each URL has one."""
        rows = [row for chunk in self.chunks() for row in chunk]
        return Counter(url for url, status in rows if status is not Status.LINKED)


class _Later(SystemClock):
    def now_ms(self) -> int:
        return super().now_ms() + 3_600_000


URLS = [f"http://h{n % 3}.org/{n}" for n in range(9)]


def pages_asked() -> Counter[str]:
    asked = ScriptedProtocol.asked
    return Counter({url: count for url, count in asked.items() if "robots" not in url})


def test_a_part_is_fetched_once(tmp_path: Path) -> None:
    part = Part(tmp_path, URLS)
    done = part.fetch()
    assert done.finished
    assert done.counters["records"] == done.counters["fetch_success"] == 9
    assert part.records() == pages_asked() == Counter(URLS)
    again = part.fetch()
    assert again.finished
    assert (again.chunks, again.counters) == (done.chunks, done.counters)
    assert pages_asked() == Counter(URLS)


def test_after_a_death_only_what_has_no_record_is_asked_for(
    tmp_path: Path, script: dict[str, Callable[[Request], Answer]]
) -> None:
    part = Part(tmp_path, URLS)
    script[URLS[4]] = die
    with pytest.raises(Death):
        part.fetch()
    before = part.records()
    assert len(before) < 9
    script.clear()
    done = part.go_on()
    assert done.finished
    assert part.records() == Counter(URLS)
    assert done.counters["records"] == done.counters["fetch_success"] == 9
    twice = {url for url, count in pages_asked().items() if count > 1}
    # how many answers were not yet committed is up to the moment, but never one that was
    assert twice.isdisjoint(before)
    assert URLS[4] in twice


def test_a_stop_hands_the_rest_back_and_it_is_gone_on_with(
    tmp_path: Path,
    script: dict[str, Callable[[Request], Answer]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    urls = [f"http://h{n % 3}.org/{n}" for n in range(3_000)]
    part = Part(tmp_path, urls, fetcher__checkpoint__records=100)
    part.fetching.segment.write(STOP, b"")
    stopped, stop = threading.Event(), FetchEngine.stop

    def stopping(engine: FetchEngine, reason: str) -> None:
        stop(engine, reason)
        stopped.set()

    def slow(request: Request) -> Answer:
        assert stopped.wait(60)
        return page(request)

    monkeypatch.setattr(FetchEngine, "stop", stopping)
    script.update(dict.fromkeys(urls[900:903], slow))  # one of each host
    first = part.fetch()
    assert not first.finished
    got = first.counters["records"]
    assert 3 <= got < 3_000
    assert first.counters["handed_back.interrupted"] == 3_000 - got
    assert sum(part.records().values()) == got
    part.fetching.segment.delete(STOP)
    second = part.go_on()
    assert second.finished
    assert second.counters["records"] == 3_000
    assert not any(name.startswith("handed_back") for name in second.counters)
    assert set(part.records().values()) == set(pages_asked().values()) == {1}


def test_a_stop_that_comes_when_all_is_done_interrupts_nothing(
    tmp_path: Path, script: dict[str, Callable[[Request], Answer]]
) -> None:
    part = Part(tmp_path, ["http://a.org/"])

    def slow(request: Request) -> Answer:
        part.fetching.segment.write(STOP, b"")
        threading.Event().wait(1.5)
        return page(request)

    script["http://a.org/"] = slow
    assert part.fetch().finished


def test_what_was_handed_back_before_a_death_is_counted_once(
    tmp_path: Path, script: dict[str, Callable[[Request], Answer]]
) -> None:
    bad = [f"http://bad.org/{n}" for n in range(5)]
    good = [f"http://good.org/{n}" for n in range(5)]
    limit = {"fetcher__max__exceptions__per__queue": 1}
    part = Part(tmp_path, [*bad, *good], **limit)
    script |= dict.fromkeys(bad, refuse)
    script["http://good.org/3"] = die
    with pytest.raises(Death):
        part.fetch()
    assert sum(part.records().values()) > 1
    del script["http://good.org/3"]
    done = part.go_on()
    assert done.finished
    left = done.counters["handed_back.too_many_failures"]
    assert done.counters["records"] + left == 10
    assert sum(part.records().values()) == done.counters["records"]


def test_a_redirect_is_never_committed_without_the_target_it_leaves(
    tmp_path: Path, script: dict[str, Callable[[Request], Answer]]
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
    tmp_path: Path, script: dict[str, Callable[[Request], Answer]]
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
    done = part.go_on()
    assert done.finished
    assert part.records() == Counter([target, source])
    assert pages_asked()[target] == 1
    assert done.counters["redirects_dropped.already_fetched"] == 1


def test_a_link_to_a_page_that_was_fetched_before_a_death_is_not_followed(
    tmp_path: Path, script: dict[str, Callable[[Request], Answer]]
) -> None:
    source, target = "http://b.org/source", "http://a.org/target"
    follows = {"fetcher.parse": True, "fetcher.follow.outlinks.depth": 1}
    same_host = {"fetcher.follow.outlinks.ignore.external": False}
    part = Part(tmp_path, [target, source], fetcher__threads__fetch=2, **follows, **same_host)
    part.fetching = replace(part.fetching, parsing=Parsing.from_config(part.fetching.config))

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
    done = part.go_on()
    assert done.finished
    assert part.records() == Counter([target, source, "http://b.org/new"])
    assert done.counters["outlinks_not_followed.already_fetched"] == 1


def test_a_task_given_up_for_dead_commits_nothing_more(
    tmp_path: Path, script: dict[str, Callable[[Request], Answer]]
) -> None:
    part = Part(tmp_path, URLS)
    segment, number = part.fetching.segment, part.file.part
    seen: list[Counter[str]] = []

    def superseded(request: Request) -> Answer:
        ChunkLog(segment, number).claim(0)
        seen.append(part.records())
        return page(request)

    script[URLS[4]] = superseded
    with pytest.raises(StorageError, match="another task is fetching the same part"):
        part.fetch()
    # the chunk that was being written at that moment may still have come through
    assert sum((part.records() - seen[0]).values()) <= 1
    script.clear()
    assert part.go_on().finished
    assert part.records() == Counter(URLS)


def test_a_task_that_is_superseded_while_it_waits_notices(
    tmp_path: Path, script: dict[str, Callable[[Request], Answer]]
) -> None:
    """Nothing to commit, and yet it must not go on asking."""
    part = Part(tmp_path, ["http://a.org/1", "http://a.org/2"], fetcher__server__delay=3600)

    def superseded(request: Request) -> Answer:
        ChunkLog(part.fetching.segment, part.file.part).claim(0)
        return page(request)

    script["http://a.org/1"] = superseded
    part.fetching = replace(
        part.fetching,
        config=part.fetching.config.with_values({"http.robot.rules.allowlist": "a.org"}, "test"),
    )
    with pytest.raises(StorageError, match="another task is fetching the same part"):
        part.fetch()
    assert pages_asked() == Counter(["http://a.org/1"])


def test_a_broken_file_of_a_mark_is_told(
    tmp_path: Path, script: dict[str, Callable[[Request], Answer]]
) -> None:
    part = Part(tmp_path, URLS)
    script[URLS[4]] = die
    with pytest.raises(Death):
        part.fetch()
    segment = part.fetching.segment
    chunk = ChunkLog(segment, part.file.part).committed()[0]
    segment.child(FETCH).write(chunk.pieces[FETCH].path, b"PAR1 and no more")
    with pytest.raises(StorageError, match="is no whole Parquet file"):
        part.go_on()


def test_a_file_is_all_a_task_is_told(tmp_path: Path) -> None:
    part = Part(tmp_path, URLS)
    wrong = PartFile(part.file.part, "none.parquet", 9, 0)
    with pytest.raises(StorageError, match="no such file"):
        fetch_part(part.fetching, wrong)


def test_a_redirect_is_gone_on_with_after_a_death(
    tmp_path: Path, script: dict[str, Callable[[Request], Answer]]
) -> None:
    """Also where the answers were committed, and what is followed counts its redirects on."""
    part = Part(tmp_path, ["http://a.org/1"], http__redirect__max=2)
    script["http://a.org/1"] = redirect("http://b.org/2")
    script["http://b.org/2"] = die
    with pytest.raises(Death):
        part.fetch()
    script["http://b.org/2"] = redirect("http://c.org/3")
    script["http://c.org/3"] = die
    with pytest.raises(Death):
        part.go_on()
    script["http://c.org/3"] = redirect("http://d.org/4")
    done = part.go_on()
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


def test_a_target_whose_request_hangs_is_left_for_later(
    tmp_path: Path, script: dict[str, Callable[[Request], Answer]]
) -> None:
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


def test_who_goes_on_tells_no_more_done_than_there_is(
    tmp_path: Path, script: dict[str, Callable[[Request], Answer]]
) -> None:
    """Targets that a task before has followed are records, and on no list."""
    part = Part(tmp_path, URLS, http__redirect__max=3)
    for url in URLS[:8]:
        script[url] = redirect(f"{url}/target")
    script[URLS[8]] = die
    with pytest.raises(Death):
        part.fetch()
    before = sum(part.records().values())
    script[URLS[8]] = page
    part.go_on()
    raw = part.fetching.segment.read(f"{PROGRESS}/part-{part.file.part:05d}.json")
    told = json.loads(raw or b"{}")
    assert before and told["urls"] == len(URLS)
    assert told["done"] == sum(part.records().values()) == told["urls"] + told["followed"]
