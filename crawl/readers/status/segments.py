"""How far the segments of a crawl are, and which hosts it leaves alone, as plain values."""

from __future__ import annotations

from typing import Any

from crawl.clock import Clock, moment
from crawl.config import Config
from crawl.config.properties import DB_HOST_WAIT_MAX, LOCK_STALE_AFTER
from crawl.model.hosts import HostState
from crawl.phases.fetch import progress as fetch_progress
from crawl.phases.generate.tasks.host_gate import SAME_PAGES
from crawl.phases.parse import progress as parse_progress
from crawl.phases.updatedb import run as updatedb
from crawl.rounds.state import stage_of
from crawl.rounds.steps import Stage
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.lock import lock_owner
from crawl.storage.segments import FETCH, GENERATE, Segment
from crawl.tables.hosts import left_out_until, waiting_hosts

_STATES = {
    Stage.GENERATED: "generated",
    Stage.FETCHING: "interrupted",
    Stage.FETCHED: "fetched",
    Stage.PARSED: "parsed",
    Stage.UPDATED: "updated",
}

LEFT_OPEN = "left open: published when the service starts again"
"""A segment of a service that died."""


def segments_status(directory: CrawlDir, config: Config, clock: Clock) -> list[dict[str, Any]]:
    """Of every segment, oldest first: its size, its state, and how far whoever works on it is."""
    applied = updatedb.applied(directory)
    stale_after_ms = config[LOCK_STALE_AFTER] * 60_000
    rows = []
    generated, opened = directory.segments.generated(), directory.segments.open_of_service()
    for segment in sorted((*generated, *opened), key=lambda each: each.name):
        fetched = segment.manifest(FETCH)
        holder = lock_owner(segment.folder)
        if holder is not None and holder.is_dead(clock.now_ms(), stale_after_ms):
            holder = None
        listed = segment.manifest(GENERATE)
        state, progress = _STATES[stage_of(segment, applied)] if listed else LEFT_OPEN, ""
        waits: list[dict[str, Any]] = []
        if holder is not None:
            state = f"{holder.command} on {holder.host}"
            progress, waits = _progress(segment, holder.command)
        rows.append(
            {
                "segment": segment.name,
                "urls": listed.rows if listed else 0,
                "records": fetched.rows if fetched else 0,
                "state": state,
                "progress": progress,
                "waits": waits,
            }
        )
    return rows


def _progress(segment: Segment, command: str) -> tuple[str, list[dict[str, Any]]]:
    """How far a running command is, in a line, and which servers it waits for."""
    if command == "serve":
        return "", []  # it is counted when it is closed
    if command == "parse":
        return str(parse_progress.progress_of(segment)), []
    progress = fetch_progress.progress_of(segment)
    return str(progress), list(progress.waits)


def hosts_left_alone(directory: CrawlDir, config: Config, clock: Clock) -> list[dict[str, Any]]:
    """The hosts whose URLs are not selected for now, the first to be asked again first."""
    longest_ms = round(config[DB_HOST_WAIT_MAX] * 1000)
    folder, snapshot = directory.crawldb.folder, directory.require_crawldb()
    hosts = waiting_hosts(folder, snapshot, clock.now_ms(), longest_ms)
    return [_host(state, longest_ms) for state in hosts]


def _host(state: HostState, longest_ms: int) -> dict[str, Any]:
    is_slowed = state.slow_until > state.wait_until
    return {
        "host": state.host,
        "reason": SAME_PAGES if is_slowed else state.reason,
        "failures": state.slowed if is_slowed else state.failures,
        "until": moment(left_out_until(state, longest_ms)),
    }
