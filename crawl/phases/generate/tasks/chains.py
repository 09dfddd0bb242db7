"""Where the chains of some sites meet: how long they are, and which part each goes to.

The driver deals chains to parts, and there may be fifty million of them. So it hears of the
longest one by one, and of the rest as sums: a shard throws its short chains into slots by a
hash of their site, and the driver deals slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.model.datum import FETCH_DELAY_KEY
from crawl.model.metadata import has_any, lookup
from crawl.model.tables import CRAWL_GENERATE
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

    segment: npt.NDArray[np.int16]
    chain: npt.NDArray[np.uint64]
    site: npt.NDArray[np.uint64]
    urls: npt.NDArray[np.int64]
    seconds: npt.NDArray[np.float64]
    slots: SlotSums


@dataclass(frozen=True, slots=True)
class SlotSums:
    """The chains in each slot of a segment, added up; slots without any are left out."""

    segment: npt.NDArray[np.int16]
    slot: npt.NDArray[np.int32]
    urls: npt.NDArray[np.int64]
    chains: npt.NDArray[np.int64]
    seconds: npt.NDArray[np.float64]
    longest_s: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DealTask:
    """The part of each chain that the shard listed, sorted by segment and chain, and of each
    slot; parts are numbered through all segments: segment · parts + part."""

    segment: npt.NDArray[np.int16]
    chain: npt.NDArray[np.uint64]
    part: npt.NDArray[np.int32]
    slot_segment: npt.NDArray[np.int16]
    slot: npt.NDArray[np.int32]
    slot_part: npt.NDArray[np.int32]


def count_chains(job: ChainsJob, shard: int, received: Received) -> ChainShard:
    """How long the chains are that meet in a shard."""
    counted = _Counted.of(SELECTED.schema.empty_table(), job.delay_s)
    waiting: list[_Counted] = []
    waiting_chains = 0
    for selected in received.batches(SELECTED):
        waiting.append(_Counted.of(selected, job.delay_s))
        waiting_chains += len(waiting[-1].chain)
        # not each time: where chains are short, they are nearly as many as the records
        if waiting_chains > len(counted.chain):
            counted = _Counted.together([counted, *waiting])
            waiting, waiting_chains = [], 0
    counted = _Counted.together([counted, *waiting])
    mean_delay = counted.delays_s / counted.urls
    seconds = chain_seconds(counted.urls, mean_delay, job.latency_s)
    return shorten(job, counted.segment, counted.chain, counted.site, counted.urls, seconds)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Chains by segment and number."""

    segment: npt.NDArray[np.int16]
    chain: npt.NDArray[np.uint64]
    site: npt.NDArray[np.uint64]
    urls: npt.NDArray[np.int64]
    delays_s: npt.NDArray[np.float64]
    """Of all its URLs together."""

    @classmethod
    def of(cls, selected: pa.Table, delay_s: float) -> _Counted:
        one_by_one = cls(
            selected["segment"].to_numpy(),
            selected["chain"].to_numpy(),
            selected["site"].to_numpy(),
            np.ones(selected.num_rows, dtype=np.int64),
            _delays(selected, delay_s),
        )
        return cls.together([one_by_one])

    @classmethod
    def together(cls, some: Sequence[_Counted]) -> _Counted:
        """Those of one number as one chain."""
        segment = np.concatenate([each.segment for each in some])
        chain = np.concatenate([each.chain for each in some])
        order = np.lexsort((chain, segment))
        segment, chain = segment[order], chain[order]
        is_first = (segment[1:] != segment[:-1]) | (chain[1:] != chain[:-1])
        starts = np.flatnonzero(np.append(True, is_first)) if len(order) else order
        site = np.concatenate([each.site for each in some])[order]
        urls = np.concatenate([each.urls for each in some])[order]
        delays = np.concatenate([each.delays_s for each in some])[order]
        if len(starts):
            urls, delays = np.add.reduceat(urls, starts), np.add.reduceat(delays, starts)
        return cls(segment[starts], chain[starts], site[starts], urls, delays)


def shorten(
    job: ChainsJob,
    segments: npt.NDArray[np.int16],
    chain: npt.NDArray[np.uint64],
    site: npt.NDArray[np.uint64],
    urls: npt.NDArray[np.int64],
    seconds: npt.NDArray[np.float64],
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
    job: ChainsJob,
    segments: npt.NDArray[np.int16],
    site: npt.NDArray[np.uint64],
    urls: npt.NDArray[np.int64],
    seconds: npt.NDArray[np.float64],
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


def _slots(job: ChainsJob, site: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
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


def _looked_up(
    chains: npt.NDArray[np.uint64],
    parts: npt.NDArray[np.int32],
    wanted: npt.NDArray[np.uint64],
    otherwise: npt.NDArray[np.int32],
) -> npt.NDArray[np.int32]:
    """The part of each wanted chain among those sorted; else the other."""
    if len(chains) == 0:
        return otherwise
    places = np.minimum(np.searchsorted(chains, wanted), len(chains) - 1)
    return np.where(chains[places] == wanted, parts[places], otherwise)


def _delays(selected: pa.Table, usual_s: float) -> npt.NDArray[np.float64]:
    """Seconds between requests, for each row; a record may bear its host's own."""
    usual = np.full(selected.num_rows, usual_s)
    metadata = selected["metadata"].combine_chunks()
    if selected.num_rows == 0 or not has_any(metadata):
        return usual
    own = lookup(metadata, FETCH_DELAY_KEY)
    valid = pc.match_substring_regex(own, r"^[0-9]{1,12}$")
    milliseconds = pc.if_else(valid, own, None).cast(pa.float64())
    given = milliseconds.to_numpy(zero_copy_only=False)
    return np.where(np.isnan(given), usual, given / 1000)
