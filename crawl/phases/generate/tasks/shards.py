"""generate's second and third steps, shard by shard: the cut, and who is above it. What a shard has
assigned is read where the slices are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.counters import Counters
from crawl.model.arrow import required_schema
from crawl.model.datum import GENERATE_TIME_KEY
from crawl.model.metadata import with_entry
from crawl.model.report import BELOW_TOP_N, PER_HOST_OVERFLOW
from crawl.phases.generate.tasks import ranking
from crawl.phases.generate.tasks.arrays import Integers, Keys, Segments
from crawl.phases.generate.tasks.cutoff import Bracket, KeySummary, summarize
from crawl.phases.generate.tasks.host_bounds import forward_delays, received_caps
from crawl.phases.generate.tasks.ranking import Cut
from crawl.phases.generate.tasks.scan import CANDIDATES, TRIED, WAITING_HOSTS, best_tried
from crawl.tables.exchange import Outbox, Received, RowKind

ASSIGNED = RowKind("assigned", required_schema({"row": pa.int32(), "segment": pa.int16()}))


@dataclass(frozen=True, slots=True)
class Shard:
    """Where all candidates of some hosts or domains meet, and its cuts for the segments settled
    so far."""

    number: int
    cuts: list[Cut]


def summarize_shard(
    cap: int, limits: Bracket, step: int, shard: Shard, received: Received
) -> KeySummary:
    """How the keys lie to the bracket that the next segment may choose from; `cap`: most URLs of
    a group in one segment, where 0 or less is no bound."""
    keys, groups = _arrays(_candidates(received, Counters()))
    eligible = ranking.eligible_keys(keys, groups, cap, shard.cuts, received_caps(received))
    return summarize(eligible, limits, step)


def assign_shard(cap: int, shard: Shard, received: Received, outbox: Outbox) -> Counters:
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
    taken = ranking.assign(keys, groups, cap, shard.cuts, own)
    mask = taken != ranking.NOT_TAKEN
    counters["urls_generated"] += int(np.count_nonzero(mask))
    segments = len(shard.cuts)
    possible = ranking.within_cap(keys, groups, cap * segments, own and own.scaled(segments))
    over = ~possible & ~mask
    counters[PER_HOST_OVERFLOW] += int(np.count_nonzero(over))
    counters["hosts_affected_per_host_overflow"] += len(np.unique(groups[over]))
    counters[BELOW_TOP_N] += int(np.count_nonzero(possible & ~mask))
    table = pa.table([candidates["row"].to_numpy()[mask], taken[mask]], schema=ASSIGNED.schema)
    outbox.send(ASSIGNED, table, candidates["slice"].to_numpy()[mask])
    return counters


def _candidates(received: Received, counters: Counters) -> pa.Table:
    """All candidates; of hosts of which only some are tried, the best of all slices."""
    candidates = received.rows(CANDIDATES)
    if not received.has(TRIED):
        return candidates
    tried, _ = best_tried(received.rows(TRIED), counters)
    counters["candidates"] += tried.num_rows
    return pa.concat_tables([candidates, tried.select(CANDIDATES.schema.names)])


def _arrays(candidates: pa.Table) -> tuple[Keys, Keys]:
    return candidates["key"].to_numpy(), candidates["group"].to_numpy()


def assigned_rows(received: Received) -> tuple[Integers, Segments]:
    """The selected rows of a slice in order, with their segments."""
    table = received.rows(ASSIGNED)
    rows = table["row"].to_numpy().astype(np.int64)
    order = np.argsort(rows)
    return rows[order], table["segment"].to_numpy()[order]


def with_generate_time(
    metadata: pa.Array[Any], now_ms: int, rows: Integers, segments: Segments
) -> pa.Array[Any]:
    """The generate time in these rows, a millisecond on for each segment: by it updatedb
    tells whose reservation a record bears."""
    for segment in np.unique(segments).tolist():
        mask = np.zeros(len(metadata), dtype=np.bool_)
        mask[rows[segments == segment]] = True
        metadata = with_entry(metadata, GENERATE_TIME_KEY, str(now_ms + segment), mask)
    return metadata
