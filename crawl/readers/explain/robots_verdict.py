"""What robots.txt says of one URL: by the answer that the crawl keeps, as segments remember it,
or asked for now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from crawl.clock import moment
from crawl.config import Config
from crawl.fetcher.drivers.single import FetchEnvironment, robots_rules_for
from crawl.fetcher.values.settings import FetchSettings, is_at_or_below
from crawl.model.answer_keys import PROTOCOL_STATUS_KEY
from crawl.model.protocol_status import ProtocolStatus
from crawl.model.tables import ROBOTS
from crawl.readers.explain.segment_lookup import SegmentEntry
from crawl.robots.answer import Deferred, rules_from_answer
from crawl.robots.rules import RobotRules
from crawl.robots.stored import StoredAnswer, seconds_left
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.keyed_rows import KeyedRows
from crawl.storage.robots_store import to_answers
from crawl.storage.segments import FETCH
from crawl.urls.parse import authority_of, host_of

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
"""The outcomes that only a page has that was asked for."""


@dataclass(frozen=True, slots=True)
class RobotsVerdict:
    """A verdict, as far as known."""

    allowed: bool | None
    """None where nobody has asked."""
    detail: str
    """One line for people."""
    crawl_delay_s: float | None = None
    asked_ms: int | None = None
    """When the host was asked; None where it was not, or where nobody knows when."""


def last_verdict(mentions: Iterable[SegmentEntry]) -> RobotsVerdict:
    """The newest fetch's word."""
    verdict = RobotsVerdict(None, "not known")
    for mention in mentions:
        for record in mention.records if mention.part == FETCH else ():
            status = record.metadata.get(PROTOCOL_STATUS_KEY, "").partition("(")[0]
            when = f"when segment {mention.segment} was fetched"
            if status == _DENIED:
                verdict = RobotsVerdict(False, f"not allowed {when}")
            elif status in _ASKED:
                verdict = RobotsVerdict(True, f"allowed {when}")
    return verdict


def known_verdict(
    directory: CrawlDir, url: str, config: Config, now_ms: int, mentions: Iterable[SegmentEntry]
) -> RobotsVerdict:
    """What the crawl knows without asking: by the answer that it keeps of the URL's host; else the
    newest fetch's word."""
    stored = stored_robots(directory, url)
    settings = FetchSettings.of(config)
    if stored is None or is_at_or_below(host_of(url) or "", settings.robots_exempt):
        return last_verdict(mentions)
    verdict = _verdict(url, rules_from_answer(stored.as_answer(), settings.robots, now_ms))
    left_s = seconds_left(stored, now_ms, settings.robots_keep_s)
    counts = f"counts until {moment(now_ms + round(left_s * 1000))}" if left_s else "expired"
    detail = f"{verdict.detail}, asked {moment(stored.asked_ms)}, {counts}"
    return replace(verdict, detail=detail, asked_ms=stored.asked_ms)


def stored_robots(directory: CrawlDir, url: str) -> StoredAnswer | None:
    """The answer of the URL's authority that the crawl keeps, also one that has expired."""
    authority = authority_of(url)
    rows = KeyedRows.current(directory.dataset(ROBOTS))
    if authority is None or rows is None:
        return None
    row = rows.row(authority, host_of(url) or "")
    return None if row is None else next(to_answers(row), None)


def ask_verdict(url: str, config: Config, environment: FetchEnvironment) -> RobotsVerdict:
    """The host's own word; one polite request, or a few where it redirects."""
    verdict = _verdict(url, robots_rules_for(url, config, environment))
    return replace(verdict, asked_ms=environment.clock.now_ms())


def _verdict(url: str, rules: RobotRules | Deferred) -> RobotsVerdict:
    if isinstance(rules, Deferred):
        why = f" ({rules.detail})" if rules.detail else ""
        return RobotsVerdict(False, f"cannot be had for now: {rules.reason}{why}")
    allowed = rules.allows(url)
    detail = f"{'allowed' if allowed else 'not allowed'} ({rules.basis})"
    return RobotsVerdict(allowed, detail, rules.crawl_delay_s)
