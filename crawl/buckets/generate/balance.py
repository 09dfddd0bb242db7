"""Which part every chain of every bucket goes to, and how long each part will take."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crawl.buckets.generate.lists import Chains
from crawl.rules.balance import chain_seconds, deal_sites, makespan, part_loads


@dataclass(frozen=True, slots=True)
class Balance:
    """Where the chains of each bucket go, and what the report says of each segment."""

    part_of: list[npt.NDArray[np.int32]]
    """The destination (segment · parts + part) of each chain, a list for each bucket."""
    predictions: list[dict[str, Any]]


def balance_parts(
    buckets: list[Chains], segments: list[str], parts: int, *, threads: int, latency_s: float
) -> Balance:
    """Deals the chains of each segment to parts. Hosts of one domain or address are one
    chain, whichever bucket they are in."""
    owner = np.repeat(np.arange(len(buckets)), [len(chains.chain) for chains in buckets])
    segment = np.concatenate([chains.segment for chains in buckets])
    chain = np.concatenate([chains.chain for chains in buckets])
    site = np.concatenate([chains.site for chains in buckets])
    urls = np.concatenate([chains.urls for chains in buckets])
    delay = np.concatenate([chains.delay_s for chains in buckets])
    names = {number: name for chains in buckets for number, name in chains.names.items()}

    part_of = np.empty(len(chain), dtype=np.int32)
    predictions = []
    for number, segment_name in enumerate(segments):
        mine = np.flatnonzero(segment == number)
        whole, first, place = np.unique(chain[mine], return_index=True, return_inverse=True)
        total = np.bincount(place, weights=urls[mine]).astype(np.int64)
        mean_delay = np.bincount(place, weights=urls[mine] * delay[mine]) / total
        seconds = chain_seconds(total, mean_delay, latency_s)
        dealt = deal_sites(seconds, site[mine][first], parts)
        part_of[mine] = number * parts + dealt[place]
        described = part_loads(dealt, total, seconds, parts, threads=threads, latency_s=latency_s)
        longest = int(np.argmax(seconds))
        predictions.append(
            {
                "segment": segment_name,
                "urls": int(total.sum()),
                "chains": len(whole),
                "predicted_makespan_s": round(makespan(described), 1),
                "longest_chain": names.get(int(whole[longest]), "?"),
                "longest_chain_s": round(float(seconds[longest]), 1),
                "parts": [asdict(load) for load in described],
            }
        )
    return Balance(np.split(part_of, np.flatnonzero(np.diff(owner)) + 1), predictions)
