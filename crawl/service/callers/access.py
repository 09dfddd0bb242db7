"""Who may ask the service for what: a pure decision about one request.

On loopback no key is needed, and two other things take its place, for any web page that is
open in a browser on the machine can send requests there. The Host header must be a name of
loopback: a page whose own name was made to resolve to 127.0.0.1 (DNS rebinding) is told by it.
And a request that says that another site made it is refused. Anywhere else a key is needed,
which a page that somebody merely visits does not have.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from crawl.config import Config
from crawl.errors import UsageError
from crawl.hints import command
from crawl.net.address_ranges import LOOPBACK_NAMES, AddressRange, embedded_ipv4, range_of
from crawl.printable import printable
from crawl.service.callers.keys import APIKey, KeyCheck, KeyStatus
from crawl.service.callers.quota import UNLIMITED, Quota, QuotaAnswer, QuotaReason
from crawl.service.callers.scope import Scope
from crawl.service.callers.settings_access import ACCESS_HOSTS, ACCESS_KEYS, KeyUse
from crawl.urls.parse import parse

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?", re.ASCII | re.IGNORECASE)
_BEARER = re.compile(r"bearer +(\S+) *", re.ASCII | re.IGNORECASE)
_MAX_HEADER = 1_000
_OTHER_SITES: Final = frozenset(("cross-site", "same-site"))
"""What browsers say of requests that a page of another origin made; of one to a GET without
CORS they name no origin."""


class RefusalReason(StrEnum):
    """Why a request is refused: the code that its answer bears and that is counted."""

    HOST = "host_refused"
    ORIGIN = "origin_refused"
    KEY_MISSING = "key_missing"
    KEY_MALFORMED = "key_malformed"
    KEY_UNKNOWN = "key_unknown"
    KEY_DISABLED = "key_disabled"
    KEYS_DIFFER = "keys_differ"
    SCOPE = "scope_missing"
    RATE = "rate_exceeded"
    DAY = "daily_quota_exceeded"
    TOO_MANY_AT_ONCE = "more_than_quota"


_STATUS: Final = {
    RefusalReason.HOST: 403,
    RefusalReason.ORIGIN: 403,
    RefusalReason.KEY_MISSING: 401,
    RefusalReason.KEY_MALFORMED: 401,
    RefusalReason.KEY_UNKNOWN: 401,
    RefusalReason.KEY_DISABLED: 401,
    RefusalReason.KEYS_DIFFER: 401,
    RefusalReason.SCOPE: 403,
    RefusalReason.RATE: 429,
    RefusalReason.DAY: 429,
    RefusalReason.TOO_MANY_AT_ONCE: 403,
}
_MESSAGES: Final = {
    RefusalReason.HOST: "the Host header is none of this service's",
    RefusalReason.ORIGIN: "requests of other sites' pages are not taken",
    RefusalReason.KEY_MISSING: "a key is needed: Authorization: Bearer nut_… or X-API-Key: nut_…",
    RefusalReason.KEY_MALFORMED: "this is no key: a key is nut_, an id, _ and a secret",
    RefusalReason.KEY_UNKNOWN: "this key is not known here",
    RefusalReason.KEY_DISABLED: "this key is disabled",
    RefusalReason.KEYS_DIFFER: "Authorization and X-API-Key name different keys",
    RefusalReason.SCOPE: "this key may not do this; it would need the scope",
    RefusalReason.RATE: "too many URLs in this time",
    RefusalReason.DAY: "the quota of this day is used up",
    RefusalReason.TOO_MANY_AT_ONCE: "more URLs in one request than the quota ever grants",
}


@dataclass(frozen=True, slots=True)
class RequestHead:
    """What a request says of its sender; None for a header that it has not."""

    host: str | None = None
    authorization: str | None = None
    api_key: str | None = None
    """The header X-API-Key."""
    origin: str | None = None
    fetch_site: str | None = None
    """The header Sec-Fetch-Site."""
    is_tls: bool = False


LOCAL: Final = "local"
"""Whoever asks on loopback without a key, where a key would be named."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks."""

    key: APIKey | None = None
    """None on loopback without a key."""

    @property
    def id(self) -> str:
        """What quotas, crawls and webhooks belong to; `local` for whoever needs no key."""
        return self.key.id if self.key else LOCAL

    def may(self, scope: Scope) -> bool:
        """Whether requests of the class are allowed."""
        return self.key is None or self.key.may(scope)

    @property
    def sees_all(self) -> bool:
        """Whether jobs, events, crawls and webhooks of others are its own to see."""
        return self.may(Scope.ADMIN)

    def sees(self, owner: str) -> bool:
        """Whether what belongs to this owner may be seen."""
        return self.sees_all or owner == self.id

    def quota(self, scope: Scope, default: Quota) -> Quota:
        """What is granted: on loopback without a key anything."""
        return self.key.quota(scope, default) if self.key else UNLIMITED


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused, as its answer says it."""

    reason: RefusalReason
    message: str
    retry_after_seconds: float | None = None

    @property
    def status(self) -> int:
        """The answer's code."""
        return _STATUS[self.reason]

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """Those that the answer's code asks for."""
        if self.status == 401:
            return (("WWW-Authenticate", 'Bearer realm="nutria"'),)
        if self.retry_after_seconds is None:
            return ()
        # rounded up: whoever comes back then must not be refused again
        return (("Retry-After", str(max(1, -int(-self.retry_after_seconds // 1)))),)


@dataclass(frozen=True, slots=True)
class AccessPolicy:
    """What is asked of every request."""

    is_loopback: bool
    """Whether nobody but programs on this machine can ask."""
    needs_key: bool
    hosts: frozenset[str] = frozenset()
    """Names under which the service is asked, beside those of loopback where it is bound there;
    empty elsewhere: any."""

    @classmethod
    def of(cls, config: Config, bind: str) -> AccessPolicy:
        """The policy for the address that is listened on."""
        is_loopback = is_loopback_bind(bind)
        needs_key = not is_loopback or config[ACCESS_KEYS] == KeyUse.ALWAYS
        return cls(is_loopback, needs_key, frozenset(map(str.lower, config[ACCESS_HOSTS])))


def admit(
    policy: AccessPolicy, head: RequestHead, check: Callable[[str], KeyCheck]
) -> Caller | Refusal:
    """Who asks, or why nobody is to be answered."""
    if not _is_our_host(policy, head.host):
        return _refusal(RefusalReason.HOST)
    if not policy.needs_key and _is_of_another_site(head):
        return _refusal(RefusalReason.ORIGIN)
    found = _key_of(head)
    if isinstance(found, RefusalReason):
        return _refusal(found)
    if found is None:
        return _refusal(RefusalReason.KEY_MISSING) if policy.needs_key else Caller()
    checked = check(found)
    if checked.status is KeyStatus.VALID and checked.key is not None:
        return Caller(checked.key)
    return _refusal(_REASONS_OF_KEYS.get(checked.status, RefusalReason.KEY_UNKNOWN))


def admit_unknown(policy: AccessPolicy, head: RequestHead) -> Refusal | None:
    """Why a request is not answered for which nobody needs a key: a page of another site that
    somebody visits must not read it."""
    if not _is_our_host(policy, head.host):
        return _refusal(RefusalReason.HOST)
    if policy.is_loopback and _is_of_another_site(head):
        return _refusal(RefusalReason.ORIGIN)
    return None


def authorize(caller: Caller, scope: Scope) -> Refusal | None:
    """Why the caller may not make requests of this class; None where it may."""
    if caller.may(scope):
        return None
    reason = RefusalReason.SCOPE
    return Refusal(reason, f"{_MESSAGES[reason]} {scope}")


def quota_refusal(answer: QuotaAnswer) -> Refusal | None:
    """The refusal that a quota's answer calls for; None where it grants."""
    if answer.is_granted:
        return None
    reason = _REASONS_OF_QUOTAS[answer.reason]
    wait = answer.retry_after_seconds if _STATUS[reason] == 429 else None
    return Refusal(reason, _MESSAGES[reason], wait)


def is_loopback_bind(address: str) -> bool:
    """Whether only this machine can ask a server that listens on the address."""
    name = address.strip().lower().removeprefix("[").removesuffix("]").removesuffix(".")
    return name == "localhost" or _is_loopback_address(name)


def check_bind(address: str, *, has_keys: bool) -> None:
    """UsageError where the service would be open to the world."""
    if is_loopback_bind(address) or has_keys:
        return
    make = command("keys", "make", "CRAWL_DIR", "NAME", "--scope", "submit", "--scope", "fetch")
    raise UsageError(
        f"{printable(address, 100) or 'an empty address'} can be reached from other machines, and"
        " there is no key: whoever reaches it could have anything fetched. Make a key first"
        f" (`{make}`), or listen on 127.0.0.1"
    )


_REASONS_OF_KEYS: Final = {
    KeyStatus.MALFORMED: RefusalReason.KEY_MALFORMED,
    KeyStatus.DISABLED: RefusalReason.KEY_DISABLED,
}
_REASONS_OF_QUOTAS: Final = {
    QuotaReason.RATE: RefusalReason.RATE,
    QuotaReason.DAY: RefusalReason.DAY,
    QuotaReason.TOO_MANY_AT_ONCE: RefusalReason.TOO_MANY_AT_ONCE,
}


def _refusal(reason: RefusalReason) -> Refusal:
    return Refusal(reason, _MESSAGES[reason])


def _is_our_host(policy: AccessPolicy, header: str | None) -> bool:
    match = _HOST.fullmatch(header) if header and len(header) <= _MAX_HEADER else None
    if match is None or int(match[2] or 0) > 65_535:
        return False
    name = match[1].lower().removesuffix(".")
    if name in policy.hosts:
        return True
    if policy.is_loopback:
        return _is_loopback_name(name)
    return not policy.hosts


def _is_loopback_name(name: str) -> bool:
    if name.startswith("["):
        return _is_loopback_address(name[1:-1])
    return _is_loopback_address(name) or any(
        name == top or name.endswith(f".{top}") for top in LOOPBACK_NAMES
    )


@lru_cache(maxsize=256)
def _is_loopback_address(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return any(
        range_of(each) is AddressRange.LOOPBACK for each in (address, *embedded_ipv4(address))
    )


def _is_of_another_site(head: RequestHead) -> bool:
    if head.fetch_site is not None and head.fetch_site.strip().lower() in _OTHER_SITES:
        return True
    if head.origin is None:
        return False
    origin = parse(head.origin) if len(head.origin) <= _MAX_HEADER else None
    ours = parse(f"{'https' if head.is_tls else 'http'}://{head.host}")
    if origin is None or ours is None:
        return True  # `null`, which pages in a sandbox send, among them
    return (origin.scheme, origin.host, origin.port) != (ours.scheme, ours.host, ours.port)


def _key_of(head: RequestHead) -> str | RefusalReason | None:
    """The key that a request bears; None where it bears none."""
    given: list[str] = []
    if head.authorization is not None:
        if len(head.authorization) > _MAX_HEADER:
            return RefusalReason.KEY_MALFORMED
        match = _BEARER.fullmatch(head.authorization.strip())
        if match is None:
            return RefusalReason.KEY_MALFORMED
        given.append(match[1])
    if head.api_key is not None:
        if len(head.api_key) > _MAX_HEADER:
            return RefusalReason.KEY_MALFORMED
        given.append(head.api_key.strip())
    if len(set(given)) > 1:
        return RefusalReason.KEYS_DIFFER
    return given[0] if given else None
