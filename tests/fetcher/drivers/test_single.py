"""One URL after the other, in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest

from crawl.config import Config
from crawl.fetcher.drivers import single
from crawl.fetcher.drivers.single import (
    FetchEnvironment,
    PageFetcher,
    PageVisit,
    is_allowlisted,
    robots_rules_for,
)
from crawl.fetcher.drivers.virtual import VirtualClock
from crawl.fetcher.engine.engine import ReadyRequest
from crawl.fetcher.values.item import FetchItem
from crawl.interfaces.protocol import Failure, FailureKind, Request, Response
from crawl.model.status import Status
from crawl.robots.answer import DeferReason, Deferred
from crawl.robots.rules import Basis, RobotRules
from tests.fetcher.small_web import DUE, REFUSED, Page, SmallWeb

NOBODY = FetchItem("", "", "", "", DUE)


def fetch_each(
    urls: Iterable[str],
    config: Config,
    environment: FetchEnvironment,
    done: Callable[[PageVisit], None],
    *,
    redirects: int = 0,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Fetches each URL, and calls `done` with it before the next is looked at."""
    fetcher = PageFetcher(config, environment, redirects)
    for url in urls:
        done(fetcher.visit(url, metadata))


@dataclass
class Visitor:
    """Fetches single pages of a small web, in virtual time, and notes requests and pauses."""

    pages: dict[str, Page]
    settings: dict[str, object] = field(default_factory=dict)
    clock: VirtualClock = field(default_factory=VirtualClock)
    asked: list[tuple[float, str]] = field(default_factory=list)
    pauses: list[tuple[str, float]] = field(default_factory=list)

    def config(self) -> Config:
        return Config.of(
            {
                "http.agent.name": "curious",
                "fetcher.server.delay": 5,
                "urlfilter.order": ["length"],
                **self.settings,
            }
        )

    def environment(self) -> FetchEnvironment:
        web = SmallWeb(self.pages)

        def fetch(request: Request) -> Response | Failure:
            self.asked.append((round(self.clock.now, 3), request.url))
            answer, seconds = web.answer(ReadyRequest(NOBODY, request), self.clock.now)
            self.clock.now += seconds
            return answer

        def sleep(seconds: float) -> None:
            assert seconds > 0
            self.clock.now += seconds

        def on_pause(url: str, seconds: float) -> None:
            self.pauses.append((url, round(seconds, 3)))

        return FetchEnvironment(fetch, self.clock, sleep, on_pause)

    def visit(self, *urls: str, redirects: int = 0) -> list[PageVisit]:
        visits: list[PageVisit] = []
        environment = self.environment()
        fetch_each(urls, self.config(), environment, visits.append, redirects=redirects)
        return visits

    def rules(self, url: str) -> RobotRules | Deferred:
        return robots_rules_for(url, self.config(), self.environment())


def test_robots_come_first_and_every_pause_is_kept() -> None:
    visitor = Visitor({"http://a.org/robots.txt": "", "http://a.org/x": "x", "http://a.org/y": "y"})
    x, y = visitor.visit("http://a.org/x", "http://a.org/y")
    assert visitor.asked == [
        (0.0, "http://a.org/robots.txt"),
        (5.1, "http://a.org/x"),
        (10.2, "http://a.org/y"),
    ]
    assert visitor.pauses == [("http://a.org/x", 5.0), ("http://a.org/y", 5.0)]
    (record,) = x.records
    assert record.datum.status is Status.FETCH_SUCCESS
    assert record.content is not None
    assert record.content.body == b"x"
    assert isinstance(y.rules, RobotRules)
    assert y.reasons == ()


def test_what_robots_forbid_is_not_asked_for() -> None:
    text = "User-agent: *\nDisallow: /x\nCrawl-delay: 7"
    visitor = Visitor({"http://a.org/robots.txt": text, "http://a.org/y": "y"})
    x, y = visitor.visit("http://a.org/x", "http://a.org/y")
    assert [url for _, url in visitor.asked] == ["http://a.org/robots.txt", "http://a.org/y"]
    assert visitor.pauses == [("http://a.org/y", 7.0)]
    assert x.records[0].datum.metadata["_pst_"] == "robots_denied()"
    assert x.records[0].content is None
    assert y.records[0].datum.status is Status.FETCH_SUCCESS


def test_each_page_is_reported_before_the_next_is_looked_at() -> None:
    visitor = Visitor({"http://a.org/x": "x"})
    urls: list[str] = []

    def typed() -> Iterator[str]:
        yield "http://a.org/x"
        assert urls == ["http://a.org/x"]
        yield "http://a.org/none"
        assert urls == ["http://a.org/x", "http://a.org/none"]

    fetch_each(
        typed(), visitor.config(), visitor.environment(), lambda visit: urls.append(visit.url)
    )
    assert len(urls) == 2


def test_redirects_are_followed_if_asked_for_and_shown_if_not() -> None:
    pages: dict[str, Page] = {
        "http://a.org/x": (301, {"location": "http://b.org/y"}),
        "http://b.org/y": (302, {"location": "/z"}),
        "http://b.org/z": "z",
        "http://b.org/robots.txt": "User-agent: *\nCrawl-delay: 2",
    }
    (visit,) = Visitor(pages).visit("http://a.org/x", redirects=5)
    assert [(record.url, record.datum.status) for record in visit.records] == [
        ("http://a.org/x", Status.FETCH_REDIR_PERM),
        ("http://b.org/y", Status.FETCH_REDIR_TEMP),
        ("http://b.org/z", Status.FETCH_SUCCESS),
    ]
    assert isinstance(visit.rules, RobotRules)
    assert visit.rules.crawl_delay_s == 2
    (left,) = Visitor(pages).visit("http://a.org/x")
    assert [record.datum.status for record in left.records] == [
        Status.FETCH_REDIR_PERM,
        Status.LINKED,
    ]
    too_long: dict[str, object] = {"urlfilter.length.max": 14}
    (dropped,) = Visitor({"http://a.org/x": (301, {"location": "/longer"})}, too_long).visit(
        "http://a.org/x", redirects=5
    )
    assert dropped.reasons == ("redirects_dropped.filtered.length",)


def test_why_a_url_was_not_fetched() -> None:
    visitor = Visitor({"http://a.org/robots.txt": REFUSED})
    refused, again, nowhere, fine = visitor.visit(
        "http://a.org/x", "http://a.org/y", "nonsense", "http://b.org/"
    )
    assert refused.reasons == again.reasons == ("handed_back.robots_deferred",)
    assert isinstance(refused.rules, Deferred)
    assert refused.rules.reason is DeferReason.UNREACHABLE
    assert (nowhere.reasons, nowhere.records, nowhere.rules) == (("no_host",), (), None)
    assert fine.records[0].datum.status is Status.FETCH_GONE
    assert [url for _, url in visitor.asked] == [
        "http://a.org/robots.txt",
        "http://b.org/robots.txt",
        "http://b.org/",
    ]


def test_a_host_without_rules_is_asked_again_after_a_while() -> None:
    visitor = Visitor({"http://a.org/robots.txt": (503, {}), "http://a.org/x": "x"})
    reasons: list[tuple[str, ...]] = []

    def typed() -> Iterator[str]:
        yield "http://a.org/x"
        visitor.clock.now = 299
        yield "http://a.org/x"  # a fetch would not ask yet either
        visitor.clock.now = 301
        yield "http://a.org/x"
        visitor.clock.now = 602
        visitor.pages["http://a.org/robots.txt"] = ""
        yield "http://a.org/x"

    environment = visitor.environment()
    fetch_each(typed(), visitor.config(), environment, lambda visit: reasons.append(visit.reasons))
    assert reasons == [("handed_back.robots_deferred",)] * 3 + [()]
    assert visitor.asked == [
        (0.0, "http://a.org/robots.txt"),
        (301, "http://a.org/robots.txt"),
        (602, "http://a.org/robots.txt"),
        (607.1, "http://a.org/x"),
    ]
    assert visitor.pauses == [("http://a.org/x", 5.0)]


def test_a_pause_that_a_host_asks_for_is_kept_and_delays_no_other() -> None:
    visitor = Visitor({"http://a.org/robots.txt": (503, {"retry-after": "7200"})})

    def typed() -> Iterator[str]:
        yield "http://a.org/x"
        yield "http://a.org/y"
        yield "http://b.org/"
        visitor.clock.now = 7199
        yield "http://a.org/x"
        visitor.clock.now = 7201
        yield "http://a.org/x"

    visits: list[PageVisit] = []
    fetch_each(typed(), visitor.config(), visitor.environment(), visits.append)
    assert [len(visit.records) for visit in visits] == [0, 0, 1, 0, 0]
    assert visitor.asked == [
        (0.0, "http://a.org/robots.txt"),
        (0.1, "http://b.org/robots.txt"),
        (5.2, "http://b.org/"),
        (7201, "http://a.org/robots.txt"),
    ]


def test_a_host_that_failed_too_often_is_asked_again_after_a_while() -> None:
    broken: dict[str, object] = {"fetcher.max.exceptions.per.queue": 2}
    visitor = Visitor({"http://a.org/x": (503, {})}, broken)

    def typed() -> Iterator[str]:
        yield from ["http://a.org/x"] * 3
        visitor.clock.now += 300
        visitor.pages["http://a.org/x"] = "x"
        yield "http://a.org/x"

    visits: list[PageVisit] = []
    fetch_each(typed(), visitor.config(), visitor.environment(), visits.append)
    assert [visit.reasons for visit in visits[2:]] == [("handed_back.too_many_failures",), ()]
    assert [url[-1] for _, url in visitor.asked] == [*"txxx"]
    assert visits[3].records[0].datum.status is Status.FETCH_SUCCESS


def test_and_not_before_the_pause_is_over_that_it_asked_for_at_last() -> None:
    settings: dict[str, object] = {"fetcher.max.exceptions.per.queue": 1}
    visitor = Visitor({"http://a.org/x": (503, {"retry-after": "7200"})}, settings)

    def typed() -> Iterator[str]:
        yield "http://a.org/x"
        visitor.clock.now = 7000
        yield "http://a.org/x"
        visitor.clock.now = 7300
        yield "http://a.org/x"

    visits: list[PageVisit] = []
    fetch_each(typed(), visitor.config(), visitor.environment(), visits.append)
    assert [len(visit.records) for visit in visits] == [1, 0, 1]
    assert [url[-1] for _, url in visitor.asked] == [*"txx"]
    assert visitor.pauses == [("http://a.org/x", 5.0)]


def test_rules_grow_old_while_nobody_asks() -> None:
    visitor = Visitor({"http://a.org/robots.txt": "", "http://a.org/x": "x"})

    def typed() -> Iterator[str]:
        yield "http://a.org/x"
        visitor.pages["http://a.org/robots.txt"] = "User-agent: *\nDisallow: /"
        visitor.clock.now = 23 * 3600
        yield "http://a.org/x"
        visitor.clock.now = 25 * 3600
        yield "http://a.org/x"

    statuses: list[str] = []
    fetch_each(
        typed(),
        visitor.config(),
        visitor.environment(),
        lambda visit: statuses.append(visit.records[0].datum.metadata["_pst_"].partition("(")[0]),
    )
    assert statuses == ["success", "success", "robots_denied"]
    assert [url[-1] for _, url in visitor.asked] == [*"txxt"]


def test_a_page_may_be_wanted_again_after_its_servers_pause() -> None:
    visitor = Visitor({"http://a.org/x": (301, {"location": "/y"}), "http://a.org/y": "y"})
    visits = visitor.visit("http://a.org/x", "http://a.org/x", "http://a.org/y", redirects=2)
    assert [visit.reasons for visit in visits] == [(), (), ()]
    assert [len(visit.records) for visit in visits] == [2, 2, 1]
    times = [at for at, _ in visitor.asked]
    assert [url[-1] for _, url in visitor.asked] == [*"txyxyy"]
    assert all(later - sooner >= 5 for sooner, later in pairwise(times))


def test_who_asks_for_weeks_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single, "MAX_ROBOTS_ANSWERS", 2)
    visitor = Visitor({})
    hosts = ("a", "b", "c", "b", "a")
    visits = visitor.visit(*(f"http://{host}.org/{at}" for at, host in enumerate(hosts)))
    assert all(len(visit.records) == 1 for visit in visits)
    assert [visit.rules is not None for visit in visits] == [True, True, True, True, False]


def test_a_host_that_is_nowhere_is_a_record() -> None:
    unknown = Failure("", FailureKind.UNKNOWN_HOST, "a.org: no such host")
    (visit,) = Visitor({"http://a.org/robots.txt": unknown}).visit("http://a.org/x")
    assert "no such host" in visit.records[0].datum.metadata["_pst_"]


def test_rules_alone() -> None:
    text = "User-agent: *\nDisallow: /x\nCrawl-delay: 9"
    visitor = Visitor({"http://a.org/robots.txt": text})
    rules = visitor.rules("http://a.org/any")
    assert isinstance(rules, RobotRules)
    assert (rules.basis, rules.crawl_delay_s) == (Basis.FILE, 9)
    assert (rules.allows("http://a.org/x"), rules.allows("http://a.org/y")) == (False, True)
    assert visitor.asked == [(0.0, "http://a.org/robots.txt")]
    assert visitor.pauses == []


def test_redirected_rules_wait_for_their_servers_pause() -> None:
    pages: dict[str, Page] = {
        "http://a.org/robots.txt": (301, {"location": "/other.txt"}),
        "http://a.org/other.txt": "User-agent: curious\nDisallow: /",
    }
    visitor = Visitor(pages)
    rules = visitor.rules("http://a.org/x")
    assert isinstance(rules, RobotRules)
    assert not rules.allows("http://a.org/x")
    assert visitor.pauses == [("http://a.org/other.txt", 5.0)]


def test_rules_that_are_not_asked_for_or_not_to_be_had() -> None:
    exempt = Visitor({}, {"http.robot.rules.allowlist": ["a.org"]})
    found = exempt.rules("http://www.a.org/x")
    assert isinstance(found, RobotRules)
    assert found.basis is Basis.EXEMPT
    assert exempt.asked == []
    broken = Visitor({"http://a.org/robots.txt": (503, {})})
    assert broken.rules("http://a.org/x") == Deferred(
        DeferReason.SERVER_ERROR, "robots.txt: 503", None
    )
    assert len(broken.asked) == 1


def test_rules_for_somebody_else() -> None:
    text = "User-agent: other\nDisallow: /x\n\nUser-agent: *\nDisallow: /y"
    visitor = Visitor({"http://a.org/robots.txt": text})
    rules = robots_rules_for("http://a.org/", visitor.config(), visitor.environment(), ("other",))
    assert isinstance(rules, RobotRules)
    assert (rules.allows("http://a.org/x"), rules.allows("http://a.org/y")) == (False, True)


def test_a_protocol_that_raises_costs_one_url() -> None:
    def fetch(request: Request) -> Response | Failure:
        if request.url.endswith("robots.txt"):
            return Response(request.url, 404, sent=1.0)
        raise RuntimeError("lost")

    visitor = Visitor({})
    visits: list[PageVisit] = []
    environment = replace(visitor.environment(), fetch=fetch)
    fetch_each(["http://a.org/x", "http://b.org/y"], visitor.config(), environment, visits.append)
    assert len(visits) == 2
    for visit in visits:
        assert "RuntimeError: lost" in visit.records[0].datum.metadata["_pst_"]


def test_who_is_allowlisted() -> None:
    exempt = frozenset(["a.org"])
    assert is_allowlisted("http://a.org/", exempt)
    assert is_allowlisted("http://www.a.org:8080/x", exempt)
    for other in ("http://xa.org/", "http://org/", "a.org", ""):
        assert not is_allowlisted(other, exempt)
