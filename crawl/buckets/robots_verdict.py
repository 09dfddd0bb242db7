"""What robots.txt says of one URL: remembered by segments, or asked for now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from crawl.buckets.segment_lookup import SegmentEntry
from crawl.config import Config
from crawl.fetcher.drivers.single import FetchEnvironment, robots_rules_for
from crawl.model.answer_keys import PROTOCOL_STATUS_KEY
from crawl.model.protocol_status import ProtocolStatus
from crawl.robots.answer import Deferred
from crawl.storage.segments import FETCH

_DENIED = ProtocolStatus.ROBOTS_DENIED.label
_ASKED = frozenset(
    status.label
    for status in (
        ProtocolStatus.SUCCESS,
        ProtocolStatus.NOTMODIFIED,
        ProtocolStatus.MOVED,
        ProtocolStatus.TEMP_MOVED,
        ProtocolStatus.NOTFOUND,
        ProtocolStatus.GONE,
    )
)
"""What only a page that was asked for can come to."""


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """A verdict, as far as known."""

    allowed: bool | None
    """None where nobody has asked."""
    detail: str
    """One line for people."""
    crawl_delay_s: float | None = None


def last_verdict(mentions: Iterable[SegmentEntry]) -> RobotsVerdict:
    """The newest fetch's word."""
    known = RobotsVerdict(None, "not known")
    for mention in mentions:
        for record in mention.records if mention.part == FETCH else ():
            status = record.metadata.get(PROTOCOL_STATUS_KEY, "").partition("(")[0]
            when = f"when segment {mention.segment} was fetched"
            if status == _DENIED:
                known = RobotsVerdict(False, f"not allowed {when}")
            elif status in _ASKED:
                known = RobotsVerdict(True, f"allowed {when}")
    return known


def ask_verdict(url: str, config: Config, environment: FetchEnvironment) -> RobotsVerdict:
    """The host's own word; one polite request, or a few where it redirects."""
    rules = robots_rules_for(url, config, environment)
    if isinstance(rules, Deferred):
        why = f" ({rules.detail})" if rules.detail else ""
        return RobotsVerdict(False, f"cannot be had for now: {rules.reason}{why}")
    allowed = rules.allows(url)
    detail = f"{'allowed' if allowed else 'not allowed'} ({rules.basis})"
    return RobotsVerdict(allowed, detail, rules.crawl_delay_s)
