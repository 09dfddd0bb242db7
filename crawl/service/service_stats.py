"""How the service is, for a look."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.fetcher.frontier.queue_stats import IdleQueues


@dataclass(frozen=True, slots=True)
class ServiceStats:
    """How the service is, for a look."""

    waiting: dict[str, int]
    claimed: int
    in_lane: int
    per_second: float
    counters: dict[str, int]
    is_ready: bool
    """Whether it could do what it is there for, when that was last looked at."""
    hosts: IdleQueues
    """Those of the engine, when they were last looked at."""
    segment_age_s: float
    """Of the segment that is written to; 0 where none is open."""
    published_ms: int
    """When the last segment was published; 0 where none was by this process."""
    search_behind_s: float
    """For how long pages wait to be found by the search."""
    store_failing_s: float
    """For how long the store has kept the pipeline waiting."""
