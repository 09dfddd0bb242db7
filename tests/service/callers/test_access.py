from __future__ import annotations

from itertools import count

import pytest

from crawl.config import Config
from crawl.errors import UsageError
from crawl.service.callers.access import (
    AccessPolicy,
    Caller,
    Refusal,
    RefusalReason,
    RequestHead,
    admit,
    authorize,
    check_bind,
    is_loopback_bind,
    quota_refusal,
)
from crawl.service.callers.keys import KeyRing
from crawl.service.callers.quota import Quota, QuotaAnswer, QuotaReason
from crawl.service.callers.scope import Scope
from crawl.service.stores.memory import MemoryStore
from crawl.testing.clock import ManualClock
from crawl.testing.store_contract import NOW_MS

_NUMBERS = count(1)
_CLOCK = ManualClock(NOW_MS)
KEYS = KeyRing(
    # the same in every process, as they are parameters of tests
    MemoryStore(_CLOCK),
    _CLOCK,
    random=lambda size: f"{next(_NUMBERS):0{2 * size}x}",
)
MADE = KEYS.make("reader", [Scope.LOOKUP])
OFF = KEYS.make("off", [Scope.LOOKUP])
KEYS.disable(OFF.key.id)

LOOPBACK = AccessPolicy(is_loopback=True, needs_key=False)
OPEN = AccessPolicy(is_loopback=False, needs_key=True)


def reason(policy: AccessPolicy, head: RequestHead) -> RefusalReason | None:
    answer = admit(policy, head, KEYS.check)
    return answer.reason if isinstance(answer, Refusal) else None


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8080",
        "LOCALHOST.",
        "127.0.0.1",
        "127.8.9.1:80",
        "[::1]:80",
        "api.localhost:1",
        "[::ffff:127.0.0.1]",
    ],
)
def test_names_of_loopback_are_answered(host: str) -> None:
    assert admit(LOOPBACK, RequestHead(host), KEYS.check) == Caller()


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "127.0.0.1.evil.ex",
        "0.0.0.0",
        "[::]",
        "10.0.0.1",
        "localhost:99999",
        "localhost:",
        "localhost evil.example",
        "user@localhost",
        "localhost/x",
        "[::1",
        "127.1",
        "2130706433",
        "x" * 2000,
        "löcalhost",
        "localhost\r\nX: y",
        "localhost,localhost",
        "169.254.169.254",
        "notlocalhost",
    ],
)
def test_dns_rebinding_is_refused(host: str | None) -> None:
    assert reason(LOOPBACK, RequestHead(host)) is RefusalReason.HOST
    # a key changes nothing about it
    bearer = f"Bearer {MADE.text}"
    assert reason(LOOPBACK, RequestHead(host, authorization=bearer)) is RefusalReason.HOST


def test_hosts_may_be_added_where_it_listens_on_loopback_and_narrow_it_elsewhere() -> None:
    config = Config.of({"service.access.hosts": ["Crawler.example"]})
    here = AccessPolicy.of(config, "127.0.0.1")
    assert reason(here, RequestHead("crawler.example:80")) is None
    assert reason(here, RequestHead("localhost")) is None
    assert reason(here, RequestHead("evil.example")) is RefusalReason.HOST
    there = AccessPolicy.of(config, "0.0.0.0")
    assert reason(there, RequestHead("crawler.example")) is RefusalReason.KEY_MISSING
    assert reason(there, RequestHead("localhost")) is RefusalReason.HOST
    assert reason(OPEN, RequestHead("any.example")) is RefusalReason.KEY_MISSING


@pytest.mark.parametrize(
    ("origin", "site", "refused"),
    [
        (None, None, False),
        ("http://localhost:8080", "same-origin", False),
        ("http://localhost:8080", None, False),
        (None, "none", False),
        (None, "same-origin", False),
        ("http://evil.example", None, True),
        ("null", None, True),
        ("http://localhost:8081", None, True),
        ("https://localhost:8080", None, True),
        ("http://127.0.0.1:8080", None, True),
        ("", None, True),
        ("http://localhost:8080.evil.example", None, True),
        (None, "cross-site", True),
        (None, "same-site", True),
        (None, "Cross-Site ", True),
        ("http://localhost:8080", "cross-site", True),
    ],
)
def test_pages_of_other_sites_are_refused_on_loopback(
    origin: str | None, site: str | None, refused: bool
) -> None:
    head = RequestHead("localhost:8080", origin=origin, fetch_site=site)
    assert reason(LOOPBACK, head) is (RefusalReason.ORIGIN if refused else None)


def test_the_key_by_either_header() -> None:
    for head in (
        RequestHead("a.example", authorization=f"Bearer {MADE.text}"),
        RequestHead("a.example", authorization=f"bearer  {MADE.text} "),
        RequestHead("a.example", api_key=MADE.text),
        RequestHead("a.example", authorization=f"Bearer {MADE.text}", api_key=MADE.text),
    ):
        assert admit(OPEN, head, KEYS.check) == Caller(MADE.key)


@pytest.mark.parametrize(
    ("authorization", "api_key", "expected"),
    [
        (None, None, RefusalReason.KEY_MISSING),
        ("", None, RefusalReason.KEY_MALFORMED),
        ("Bearer", None, RefusalReason.KEY_MALFORMED),
        ("Basic dXNlcjpwYXNz", None, RefusalReason.KEY_MALFORMED),
        (MADE.text, None, RefusalReason.KEY_MALFORMED),
        ("Bearer " + "x" * 10_000, None, RefusalReason.KEY_MALFORMED),
        (None, "x" * 10_000, RefusalReason.KEY_MALFORMED),
        ("Bearer nut_x", None, RefusalReason.KEY_MALFORMED),
        (None, "", RefusalReason.KEY_MALFORMED),
        (None, f"nut_{'0' * 12}_{'0' * 64}", RefusalReason.KEY_UNKNOWN),
        (None, f"nut_{MADE.key.id}_{'0' * 64}", RefusalReason.KEY_UNKNOWN),
        (None, OFF.text, RefusalReason.KEY_DISABLED),
        (f"Bearer {MADE.text}", OFF.text, RefusalReason.KEYS_DIFFER),
    ],
)
def test_requests_without_a_good_key(
    authorization: str | None, api_key: str | None, expected: RefusalReason
) -> None:
    head = RequestHead("localhost", authorization=authorization, api_key=api_key)
    answer = admit(OPEN, head, KEYS.check)
    assert isinstance(answer, Refusal)
    assert (answer.reason, answer.status) == (expected, 401)
    assert answer.headers == (("WWW-Authenticate", 'Bearer realm="nutria"'),)
    # a wrong key is wrong on loopback too: nobody is let in as somebody else
    if expected is not RefusalReason.KEY_MISSING:
        assert reason(LOOPBACK, head) is expected


def test_a_key_on_loopback_counts() -> None:
    caller = admit(LOOPBACK, RequestHead("localhost", api_key=MADE.text), KEYS.check)
    assert caller == Caller(MADE.key)
    assert caller.id == MADE.key.id
    assert Caller().id == "local"


def test_scopes() -> None:
    caller = Caller(MADE.key)
    assert authorize(caller, Scope.LOOKUP) is None
    refusal = authorize(caller, Scope.ADMIN)
    assert refusal is not None
    assert (refusal.status, refusal.reason) == (403, RefusalReason.SCOPE)
    assert refusal.message.endswith("admin")
    assert authorize(Caller(), Scope.ADMIN) is None
    assert caller.quota(Scope.LOOKUP, Quota(per_day=1)) == Quota(per_day=1)
    assert Caller().quota(Scope.LOOKUP, Quota(per_day=1)).is_unlimited


def test_quotas_are_refused_with_how_long_to_wait() -> None:
    assert quota_refusal(QuotaAnswer()) is None
    refusal = quota_refusal(QuotaAnswer(QuotaReason.RATE, 0.2))
    assert refusal is not None
    assert (refusal.status, refusal.headers) == (429, (("Retry-After", "1"),))
    refusal = quota_refusal(QuotaAnswer(QuotaReason.DAY, 60.5))
    assert refusal is not None
    assert refusal.headers == (("Retry-After", "61"),)
    refusal = quota_refusal(QuotaAnswer(QuotaReason.TOO_MANY_AT_ONCE))
    assert refusal is not None
    assert (refusal.status, refusal.headers) == (403, ())


def test_every_reason_has_a_status_and_a_message() -> None:
    for each in RefusalReason:
        assert Refusal(each, "").status in (401, 403, 429)


@pytest.mark.parametrize(
    ("address", "is_loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("::ffff:127.0.0.1", True),
        ("0.0.0.0", False),
        ("::", False),
        ("", False),
        ("10.0.0.1", False),
        ("192.0.2.1", False),
        ("crawler.example", False),
        ("localhost.example", False),
    ],
)
def test_it_does_not_start_open_to_the_world(address: str, is_loopback: bool) -> None:
    assert is_loopback_bind(address) == is_loopback
    assert AccessPolicy.of(Config.of({}), address).needs_key is not is_loopback
    check_bind(address, has_keys=True)
    if is_loopback:
        check_bind(address, has_keys=False)
        return
    with pytest.raises(UsageError, match="Make a key first"):
        check_bind(address, has_keys=False)


def test_keys_may_be_asked_for_on_loopback_too() -> None:
    policy = AccessPolicy.of(Config.of({"service.access.keys": "always"}), "127.0.0.1")
    assert reason(policy, RequestHead("localhost")) is RefusalReason.KEY_MISSING
    # a page that somebody visits has no key, so its origin says nothing
    head = RequestHead("localhost", origin="http://app.example", api_key=MADE.text)
    assert reason(policy, head) is None
