"""generate's second and third steps, shard by shard: the cut, and who is above it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.counters import Counters
from crawl.model.report import BELOW_TOP_N, PER_HOST_OVERFLOW
from crawl.phases.generate.tasks.cutoff import Bracket, KeySummary, summarize
from crawl.phases.generate.tasks.host_bounds import forward_delays, received_caps
from crawl.phases.generate.tasks.ranking import (
    NOT_TAKEN,
    Cut,
    Keys,
    assign,
    eligible_keys,
    within_cap,
)
from crawl.phases.generate.tasks.scan import CANDIDATES, TRIED, WAITING_HOSTS, best_tried
from crawl.tables.exchange import Outbox, Received, RowKind

ASSIGNED = RowKind(
    "assigned",
    pa.schema([pa.field("row", pa.int32(), False), pa.field("segment", pa.int16(), False)]),
)


@dataclass(frozen=True, slots=True)
class Shard:
    """Where all candidates of some hosts or domains meet, and its cuts for the segments settled
    so far."""

    number: int
    cuts: list[Cut]


@dataclass(frozen=True, slots=True)
class RankJob:
    """The ranking of candidates shard by shard, with the bound for each group."""

    cap: int
    """Most URLs of a group in one segment; 0 or less: no bound."""


def summarize_shard(
    job: RankJob, limits: Bracket, step: int, shard: Shard, received: Received
) -> KeySummary:
    return summarize(_eligible(job, shard, received), limits, step)


def assign_shard(job: RankJob, shard: Shard, received: Received, outbox: Outbox) -> Counters:
    """Sends the rows that are taken, with their segments, to their slices; returns why the
    others are left."""
    counters = Counters()
    waiting = received.rows(WAITING_HOSTS)["host"]
    counters["hosts_waiting"] += len(waiting.unique())
    forward_delays(received, shard.number, outbox)
    candidates = _candidates(received, counters)
    if candidates.num_rows == 0:
        return +counters
    keys, groups = _arrays(candidates)
    own = received_caps(received)
    taken = assign(keys, groups, job.cap, shard.cuts, own)
    chosen = taken != NOT_TAKEN
    counters["urls_generated"] += int(np.count_nonzero(chosen))
    segments = len(shard.cuts)
    possible = within_cap(keys, groups, job.cap * segments, own and own.scaled(segments))
    over = ~possible & ~chosen
    counters[PER_HOST_OVERFLOW] += int(np.count_nonzero(over))
    counters["hosts_affected_per_host_overflow"] += len(np.unique(groups[over]))
    counters[BELOW_TOP_N] += int(np.count_nonzero(possible & ~chosen))
    table = pa.table([candidates["row"].to_numpy()[chosen], taken[chosen]], schema=ASSIGNED.schema)
    outbox.send(ASSIGNED, table, candidates["slice"].to_numpy()[chosen])
    return counters


def _eligible(job: RankJob, shard: Shard, received: Received) -> Keys:
    keys, groups = _arrays(_candidates(received, Counters()))
    return eligible_keys(keys, groups, job.cap, shard.cuts, received_caps(received))


def _candidates(received: Received, counters: Counters) -> pa.Table:
    """All candidates; of hosts of which only some are tried, the best of all slices."""
    candidates = received.rows(CANDIDATES)
    if not received.has(TRIED):
        return candidates
    tried, _ = best_tried(received.rows(TRIED), counters)
    counters["candidates"] += tried.num_rows
    return pa.concat_tables([candidates, tried.select(CANDIDATES.schema.names)])


def _arrays(candidates: pa.Table) -> tuple[Keys, npt.NDArray[np.uint64]]:
    return candidates["key"].to_numpy(), candidates["group"].to_numpy()
