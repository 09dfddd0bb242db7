"""Where the chains of some sites meet: how long they are, and which part each goes to.

The driver deals chains to parts, and there may be fifty million of them. So it hears of the
longest one by one, and of the rest as sums: a shard throws its short chains into slots by a
hash of their site, and the driver deals slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.datum import FETCH_DELAY_KEY
from crawl.model.metadata import has_any, lookup
from crawl.model.tables import CRAWL_GENERATE
from crawl.phases.generate.tasks.arrays import Floats, Integers, Keys, Segments, Shards
from crawl.phases.generate.tasks.collect import SELECTED
from crawl.phases.generate.tasks.deal import chain_seconds
from crawl.tables.exchange import Outbox, Received, RowKind

LISTS = RowKind("list", CRAWL_GENERATE.schema)
"""Records on their way to the part that fetches them."""


@dataclass(frozen=True)
class ChainsJob:
    """The counting and dealing of chains: in how many shards and slots, and the seconds between two
    requests and of one."""

    shards: int
    slots: int
    """Of each shard."""
    most_chains: int
    """That one shard tells one by one."""
    delay_s: float
    latency_s: float


@dataclass(frozen=True, slots=True)
class ChainShard:
    """The chains of a shard by segment, longest first of all; and the sums of the others."""

    segment: Segments
    chain: Keys
    site: Keys
    urls: Integers
    seconds: Floats
    slots: SlotSums


@dataclass(frozen=True, slots=True)
class SlotSums:
    """The chains in each slot of a segment, added up; slots without any are left out."""

    segment: Segments
    slot: Shards
    urls: Integers
    chains: Integers
    seconds: Floats
    longest_s: Floats


@dataclass(frozen=True, slots=True)
class DealTask:
    """The part of each chain that the shard listed, sorted by segment and chain, and of each
    slot; parts are numbered through all segments: segment · parts + part."""

    segment: Segments
    chain: Keys
    part: Shards
    slot_segment: Segments
    slot: Shards
    slot_part: Shards


def count_chains(job: ChainsJob, shard: int, received: Received) -> ChainShard:
    """How long the chains are that meet in a shard."""
    counted = _counted(SELECTED.schema.empty_table(), job.delay_s)
    waiting: list[pa.Table] = []
    waiting_chains = 0
    for selected in received.batches(SELECTED):
        waiting.append(_counted(selected, job.delay_s))
        waiting_chains += waiting[-1].num_rows
        # not each time: where chains are short, they are nearly as many as the records
        if waiting_chains > counted.num_rows:
            counted = _together([counted, *waiting])
            waiting, waiting_chains = [], 0
    counted = _together([counted, *waiting]).sort_by([(name, "ascending") for name in _NUMBERS])
    segment, chain, site, urls, delays_s = (column.to_numpy() for column in counted.columns)
    seconds = chain_seconds(urls, delays_s / urls, job.latency_s)
    return shorten(job, segment, chain, site, urls, seconds)


_NUMBERS = ["segment", "chain"]
_SUMS: dict[str, Literal["max", "sum"]] = {"site": "max", "urls": "sum", "delays_s": "sum"}
"""Of a chain, which is of one site: its URLs, and the delays of all of them together."""


def _counted(selected: pa.Table, delay_s: float) -> pa.Table:
    """The chains of some records, by segment and number."""
    ones = np.ones(selected.num_rows, dtype=np.int64)
    columns = [*selected.select([*_NUMBERS, "site"]).columns, ones, _delays(selected, delay_s)]
    return _together([pa.table(columns, names=[*_NUMBERS, *_SUMS])])


def _together(tables: list[pa.Table]) -> pa.Table:
    """Those of one number as one chain."""
    groups = pa.concat_tables(tables).group_by(_NUMBERS, use_threads=False)
    sums = groups.aggregate([*_SUMS.items()])
    names = [*_NUMBERS, *(f"{name}_{sum_of}" for name, sum_of in _SUMS.items())]
    return sums.select(names).rename_columns([*_NUMBERS, *_SUMS])


def shorten(
    job: ChainsJob, segments: Segments, chain: Keys, site: Keys, urls: Integers, seconds: Floats
) -> ChainShard:
    """The longest chains of a shard one by one, and the sums of the others, for the driver. The
    chains are sorted by segment and number."""
    is_told = np.zeros(len(chain), dtype=np.bool_)
    is_told[np.argsort(-seconds, kind="stable")[: job.most_chains]] = True
    return ChainShard(
        segments[is_told],
        chain[is_told],
        site[is_told],
        urls[is_told],
        seconds[is_told],
        _slot_sums(job, segments[~is_told], site[~is_told], urls[~is_told], seconds[~is_told]),
    )


def _slot_sums(
    job: ChainsJob, segments: Segments, site: Keys, urls: Integers, seconds: Floats
) -> SlotSums:
    numbers = segments.astype(np.int64) * job.slots + _slots(job, site)
    used, place = np.unique(numbers, return_inverse=True)
    longest = np.zeros(len(used))
    np.maximum.at(longest, place, seconds)
    return SlotSums(
        (used // job.slots).astype(np.int16),
        (used % job.slots).astype(np.int32),
        np.bincount(place, weights=urls, minlength=len(used)).astype(np.int64),
        np.bincount(place, minlength=len(used)),
        np.bincount(place, weights=seconds, minlength=len(used)).astype(np.float64),
        longest,
    )


def _slots(job: ChainsJob, site: Keys) -> Shards:
    # all sites of a shard are equal modulo the number of shards
    return (site // np.uint64(job.shards) % np.uint64(job.slots)).astype(np.int32)


def deal_shard(job: ChainsJob, task: DealTask, received: Received, outbox: Outbox) -> None:
    """Sends every record of the shard to its part."""
    for selected in received.batches(SELECTED):
        segments, chain = selected["segment"].to_numpy(), selected["chain"].to_numpy()
        slot = _slots(job, selected["site"].to_numpy())
        destinations = np.empty(selected.num_rows, dtype=np.int32)
        for number in np.unique(segments).tolist():
            mine = segments == number
            by_slot = np.full(job.slots, -1, dtype=np.int32)
            of_segment = task.slot_segment == number
            by_slot[task.slot[of_segment]] = task.slot_part[of_segment]
            chain_mask = task.segment == number
            destinations[mine] = _looked_up(
                task.chain[chain_mask], task.part[chain_mask], chain[mine], by_slot[slot[mine]]
            )
        rows = selected.drop_columns(["segment", "chain", "site"])
        outbox.send(LISTS, rows, destinations)


def _looked_up(chains: Keys, parts: Shards, numbers: Keys, otherwise: Shards) -> Shards:
    """The part of each wanted chain among those sorted; else the other."""
    if len(chains) == 0:
        return otherwise
    places = np.minimum(np.searchsorted(chains, numbers), len(chains) - 1)
    return np.where(chains[places] == numbers, parts[places], otherwise)


def _delays(selected: pa.Table, usual_s: float) -> Floats:
    """Seconds between requests, for each row; a record may bear its host's own."""
    usual = np.full(selected.num_rows, usual_s)
    metadata = selected["metadata"].combine_chunks()
    if selected.num_rows == 0 or not has_any(metadata):
        return usual
    own = lookup(metadata, FETCH_DELAY_KEY)
    valid = pc.match_substring_regex(own, r"^[0-9]{1,12}$")
    milliseconds = pc.if_else(valid, own, None).cast(pa.float64())
    own_ms = milliseconds.to_numpy(zero_copy_only=False)
    return np.where(np.isnan(own_ms), usual, own_ms / 1000)
