"""All that is known of one URL, as plain values."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from crawl.clock import moment
from crawl.model.datum import CrawlDatum
from crawl.readers.explain.bounds import KnownHost
from crawl.readers.explain.robots_verdict import RobotsVerdict
from crawl.readers.explain.url import Explanation
from crawl.tables.dump import as_record


def explanation_values(found: Explanation, robots: RobotsVerdict) -> dict[str, Any]:
    """Under the keys of `crawl explain --json`."""
    return {
        "asked": found.asked,
        "url": found.url,
        "known": found.is_known,
        "record": _record(found.url, found.record),
        "next": found.prospect,
        "robots": {
            "allowed": robots.allowed,
            "told": robots.detail,
            "crawl_delay_s": robots.crawl_delay_s,
            "asked": None if robots.asked_ms is None else moment(robots.asked_ms),
        },
        "host": _host(found.host),
        "history": [
            {
                "snapshot": past.snapshot,
                "created": moment(past.created_ms),
                "phase": past.phase,
                "record": _record(found.url, past.record),
            }
            for past in found.history
        ],
        "segments": [
            {
                "segment": mention.segment,
                "part": mention.part,
                "records": [as_record(found.url, datum) for datum in mention.records],
                "links": mention.links,
                "facts": {name: _plain(value) for name, value in mention.facts.items()},
            }
            for mention in found.segments
        ],
        "inlinks": [asdict(link) for link in found.inlinks],
        "normalizers": [asdict(step) for step in found.normalizing],
        "filters": [asdict(step) for step in found.filtering],
        "generate": [asdict(step) for step in found.generating],
    }


def _host(known: KnownHost) -> dict[str, Any]:
    return {
        "host": known.host,
        "hostdb": known.snapshot,
        "values": known.values,
        "max_count": known.max_count.value,
        "max_count_because": known.max_count.why,
        "fetch_delay_ms": known.delay_ms.value,
        "fetch_delay_because": known.delay_ms.why,
    }


def _record(url: str, datum: CrawlDatum | None) -> dict[str, Any] | None:
    return None if datum is None else as_record(url, datum)


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
