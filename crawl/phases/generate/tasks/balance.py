"""Which part every chain goes to, and how long each part will take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from crawl.phases.generate.tasks.arrays import Integers
from crawl.phases.generate.tasks.chains import ChainShard, DealTask
from crawl.phases.generate.tasks.deal import Chains, deal_sites, makespan, part_loads


@dataclass(frozen=True, slots=True)
class Balance:
    """Where the chains of each shard go, and what the report says of each segment."""

    tasks: list[DealTask]
    predictions: list[dict[str, Any]]


def balance_parts(
    shards: Sequence[ChainShard],
    names: Mapping[int, str],
    segments: Sequence[str],
    parts: int,
    *,
    threads: int,
    latency_s: float,
) -> Balance:
    """Deals the chains of each segment to parts, and the slots of short chains as if each slot
    were one."""
    chain_parts = [np.empty(len(shard.chain), dtype=np.int32) for shard in shards]
    slot_parts = [np.empty(len(shard.slots.slot), dtype=np.int32) for shard in shards]
    predictions = []
    for number, segment_name in enumerate(segments):
        chain_places = [np.flatnonzero(shard.segment == number) for shard in shards]
        slots = [np.flatnonzero(shard.slots.segment == number) for shard in shards]
        chains = _chains(shards, chain_places, slots)
        dealt = deal_sites(chains.seconds, chains.site, parts)
        at = 0
        for parts_of, places_by_shard in ((chain_parts, chain_places), (slot_parts, slots)):
            for mine, places in zip(parts_of, places_by_shard, strict=True):
                mine[places] = number * parts + dealt[at : at + len(places)]
                at += len(places)
        loads = part_loads(dealt, chains, parts, threads=threads, latency_s=latency_s)
        longest = int(np.argmax(chains.longest_s))
        number_of_longest = chains.number[longest]
        predictions.append(
            {
                "segment": segment_name,
                "urls": int(chains.urls.sum()),
                "chains": int(chains.count.sum()),
                "predicted_makespan_s": round(makespan(loads), 1),
                "longest_chain": names.get(int(number_of_longest), "?"),
                "longest_chain_s": round(float(chains.longest_s[longest]), 1),
                "parts": [asdict(load) for load in loads],
            }
        )
    tasks = [
        DealTask(
            shard.segment, shard.chain, chain_part, shard.slots.segment, shard.slots.slot, slot_part
        )
        for shard, chain_part, slot_part in zip(shards, chain_parts, slot_parts, strict=True)
    ]
    return Balance(tasks, predictions)


def _chains(
    shards: Sequence[ChainShard], chain_places: Sequence[Integers], slots: Sequence[Integers]
) -> Chains:
    """What is dealt: the chains that the shards tell of, then their slots."""
    rows = []
    for shard, mine in zip(shards, chain_places, strict=True):
        ones, seconds = np.ones_like(mine), shard.seconds[mine]
        rows.append((shard.chain[mine], shard.site[mine], shard.urls[mine], ones, seconds, seconds))
    count = 0
    for shard, mine in zip(shards, slots, strict=True):
        # a slot stays together as it is, and with nothing else
        alone, sums = np.arange(count, count + len(mine), dtype=np.uint64), shard.slots
        times = sums.seconds[mine], sums.longest_s[mine]
        rows.append((alone, alone, sums.urls[mine], sums.chains[mine], *times))
        count += len(mine)
    return Chains(*(np.concatenate(column) for column in zip(*rows, strict=True)))
