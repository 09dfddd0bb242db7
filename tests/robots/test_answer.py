from __future__ import annotations

import pytest

from crawl.interfaces.protocol import Failure, FailureKind, Response, Truncation
from crawl.robots.answer import DeferReason, Deferred, RobotsPolicy, rules_from_answer
from crawl.robots.rules import Basis, RobotRules

PAGE = "http://site.example/page"
FILE = b"User-agent: nutria\nDisallow: /page\n"
POLICY = RobotsPolicy(agents=("nutria",))


def response(code: int, body: bytes = FILE, **further: object) -> Response:
    return Response("http://site.example/robots.txt", code, body=body, **further)  # type: ignore[arg-type]


def rules(answer: Response, policy: RobotsPolicy = POLICY) -> RobotRules:
    found = rules_from_answer(answer, policy, now_ms=0)
    assert isinstance(found, RobotRules)
    return found


def deferred(answer: Response | Failure, policy: RobotsPolicy = POLICY) -> Deferred:
    found = rules_from_answer(answer, policy, now_ms=0)
    assert isinstance(found, Deferred)
    return found


@pytest.mark.parametrize("code", [200, 203, 206])
def test_a_file_is_read(code: int) -> None:
    found = rules(response(code))
    assert found.basis is Basis.FILE
    assert not found.allows(PAGE)


def test_an_empty_file_allows_everything() -> None:
    assert rules(response(204, b"")).allows(PAGE)


@pytest.mark.parametrize(
    ("code", "basis"),
    [
        (400, Basis.ABSENT),
        (401, Basis.ABSENT),
        (403, Basis.FORBIDDEN),
        (404, Basis.ABSENT),
        (410, Basis.ABSENT),
        (451, Basis.ABSENT),
        (301, Basis.REDIRECTS),
        (304, Basis.REDIRECTS),
        (308, Basis.REDIRECTS),
    ],
)
def test_no_file_to_be_had_allows_everything(code: int, basis: Basis) -> None:
    found = rules(response(code))
    assert found.basis is basis
    assert found.allows(PAGE)


def test_403_may_forbid_everything() -> None:
    found = rules(response(403), RobotsPolicy(("nutria",), allow_on_403=False))
    assert found.basis is Basis.FORBIDDEN
    assert not found.allows(PAGE)
    assert not found.allows("http://site.example/")
    assert found.allows("http://site.example/robots.txt")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (429, DeferReason.TOO_MANY_REQUESTS),
        (500, DeferReason.SERVER_ERROR),
        (503, DeferReason.SERVER_ERROR),
        (599, DeferReason.SERVER_ERROR),
        (999, DeferReason.SERVER_ERROR),
        (0, DeferReason.SERVER_ERROR),
        (101, DeferReason.SERVER_ERROR),
    ],
)
def test_a_server_in_trouble_is_left_alone_unless_configured(
    code: int, reason: DeferReason
) -> None:
    found = deferred(response(code))
    assert (found.reason, found.retry_after_s) == (reason, None)
    assert str(code) in found.detail
    heedless = rules(response(code), RobotsPolicy(("nutria",), defer_on_5xx=False))
    assert heedless.basis is Basis.SERVER_ERROR
    assert heedless.allows(PAGE)


@pytest.mark.parametrize("code", [429, 503])
def test_the_server_says_for_how_long(code: int) -> None:
    seconds = response(code, headers=(("retry-after", "120"),))
    assert deferred(seconds).retry_after_s == 120
    moment = response(code, headers=(("Retry-After", "Thu, 01 Jan 1970 00:01:00 GMT"),))
    assert deferred(moment).retry_after_s == 60


@pytest.mark.parametrize("kind", FailureKind)
def test_no_answer_leaves_the_host_alone_whatever_is_configured(kind: FailureKind) -> None:
    for policy in (POLICY, RobotsPolicy(("nutria",), defer_on_5xx=False)):
        found = deferred(Failure("http://site.example/robots.txt", kind), policy)
        assert found.reason is DeferReason.UNREACHABLE
        assert found.detail == kind.value


@pytest.mark.parametrize("cut", [Truncation.TIME, Truncation.DISCONNECT])
def test_half_a_file_is_no_permission(cut: Truncation) -> None:
    found = deferred(response(200, truncated=cut))
    assert found.reason is DeferReason.INCOMPLETE


def test_a_file_that_is_too_long_is_read_up_to_the_last_whole_line() -> None:
    body = b"User-agent: *\nDisallow: /page\nDisallow: /"
    found = rules(response(200, body, truncated=Truncation.LENGTH))
    assert not found.allows(PAGE)
    assert found.allows("http://site.example/")


def test_relative_sitemaps_count_from_where_the_answer_came_from() -> None:
    answer = Response("http://www.site.example/robots.txt", 200, body=b"Sitemap: /map.xml\n")
    rules = rules_from_answer(answer, RobotsPolicy(("nutria",)), 0)
    assert isinstance(rules, RobotRules)
    assert rules.sitemaps == ("http://www.site.example/map.xml",)


def test_a_proxy_that_refuses_us_says_nothing_of_the_host() -> None:
    found = rules_from_answer(response(407), RobotsPolicy(("nutria",)), 0)
    assert isinstance(found, Deferred) and found.reason is DeferReason.UNREACHABLE
