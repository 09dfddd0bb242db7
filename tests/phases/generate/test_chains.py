from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.model.arrow import strings
from crawl.model.records import to_table
from crawl.phases.generate.tasks.balance import Balance, balance_parts
from crawl.phases.generate.tasks.chains import (
    LISTS,
    ChainShard,
    ChainsJob,
    count_chains,
    deal_shard,
    shorten,
)
from crawl.phases.generate.tasks.collect import SELECTED
from crawl.phases.generate.tasks.deal import chain_seconds, deal_sites
from crawl.storage.layout import number_of
from crawl.tables.exchange import Outbox, Received
from tests.phases.made import datum

DELAY_S, LATENCY_S = 1.0, 0.25


@dataclass(frozen=True)
class Web:
    """Chains by number: the URLs, the site and the segment of each."""

    urls: npt.NDArray[np.int64]
    site: npt.NDArray[np.uint64]
    segment: npt.NDArray[np.int16]

    @property
    def seconds(self) -> npt.NDArray[np.float64]:
        return chain_seconds(self.urls, np.full(len(self.urls), DELAY_S), LATENCY_S)

    @property
    def chain(self) -> npt.NDArray[np.uint64]:
        return np.arange(len(self.urls), dtype=np.uint64)


def job_of(shards: int, *, most: int, slots: int = 8) -> ChainsJob:
    return ChainsJob(shards, slots, most, DELAY_S, LATENCY_S)


def balanced(web: Web, job: ChainsJob, parts: int) -> tuple[Balance, list[ChainShard]]:
    """The balance, and what the driver was told for it."""
    shards = []
    for shard in range(job.shards):
        mine = np.flatnonzero(web.site % np.uint64(job.shards) == shard)
        mine = mine[np.lexsort((web.chain[mine], web.segment[mine]))]
        shards.append(
            shorten(
                job,
                web.segment[mine],
                web.chain[mine],
                web.site[mine],
                web.urls[mine],
                web.seconds[mine],
            )
        )
    count = int(web.segment.max()) + 1
    names = [f"segment-{number}" for number in range(count)]
    found = balance_parts(shards, {}, names, parts, threads=10, latency_s=LATENCY_S)
    return found, shards


@given(
    chains=st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9)), min_size=1, max_size=40),
    shards=st.integers(1, 5),
    parts=st.integers(1, 4),
)
def test_few_chains_are_dealt_as_if_the_driver_knew_them_all(
    chains: list[tuple[int, int]], shards: int, parts: int
) -> None:
    web = Web(
        np.array([urls for urls, _ in chains]),
        np.array([site for _, site in chains], dtype=np.uint64),
        np.zeros(len(chains), dtype=np.int16),
    )
    found, _ = balanced(web, job_of(shards, most=100), parts)
    whole = deal_sites(web.seconds, web.site, parts)
    loads = np.bincount(whole, weights=web.urls, minlength=parts)
    told = [part["urls"] for part in found.predictions[0]["parts"]]
    assert sum(told) == loads.sum()
    # equal chains may change places, no more
    seconds = np.bincount(whole, weights=web.seconds, minlength=parts)
    mine = np.zeros(parts)
    for task in found.tasks:
        np.add.at(mine, task.part, web.seconds[task.chain.astype(np.int64)])
    assert sorted(mine) == pytest.approx(sorted(seconds))


@given(
    hosts=st.dictionaries(st.integers(0, 30), st.integers(1, 5), min_size=1, max_size=25),
    shards=st.integers(1, 4),
    parts=st.integers(1, 5),
    most=st.integers(0, 6),
    segments=st.integers(1, 2),
)
def test_every_record_goes_to_one_part_and_a_chain_stays_together(
    hosts: dict[int, int], shards: int, parts: int, most: int, segments: int
) -> None:
    job = job_of(shards, most=most, slots=3)
    received = _received(hosts, shards, segments)
    counted = [count_chains(job, shard, each) for shard, each in enumerate(received)]
    present = sorted({n % segments for n in hosts})
    names = [f"s{number}" for number in range(present[-1] + 1)]
    if present != list(range(len(names))):
        return  # generate fills segments in their order
    found = balance_parts(counted, {}, names, parts, threads=2, latency_s=LATENCY_S)
    parts_of: dict[str, set[int]] = {}
    rows_of: dict[int, int] = {}
    for task, each in zip(found.tasks, received, strict=True):
        outbox = Outbox(0)
        deal_shard(job, task, each, outbox)
        for destination, block in outbox.blocks:
            assert 0 <= destination < len(names) * parts
            for host in strings(Received([block]).rows(LISTS)["host"]):
                parts_of.setdefault(host, set()).add(destination)
                rows_of[destination] = rows_of.get(destination, 0) + 1
    assert all(len(found) == 1 for found in parts_of.values())
    assert len(parts_of) == len(hosts)
    told = {
        number * parts + part: load["urls"]
        for number, described in enumerate(found.predictions)
        for part, load in enumerate(described["parts"])
        if load["urls"]
    }
    assert told == rows_of  # whoever writes lists goes by what was predicted


def _received(hosts: dict[int, int], shards: int, segments: int) -> list[Received]:
    outbox = Outbox(0)
    for number, urls in hosts.items():
        host = f"h{number}.org"
        rows = to_table((f"http://{host}/{n}", host, datum()) for n in range(urls))
        for name, value in (
            ("segment", number % segments),
            ("chain", number_of(host)),
            ("site", number_of(host)),
        ):
            kind = SELECTED.schema.field(name)
            rows = rows.append_column(kind, pa.array([value] * urls, kind.type))
        outbox.send_all(SELECTED, rows, number_of(host) % shards)
    return [
        Received([block for destination, block in outbox.blocks if destination == shard])
        for shard in range(shards)
    ]


@pytest.mark.exhaustive
@pytest.mark.slow(seconds=10)
def test_five_million_hosts_pass_the_driver_in_a_few_megabytes() -> None:
    """And 200 parts get an even share of them."""
    rng = np.random.default_rng(1)
    hosts, parts = 5_000_000, 200
    web = Web(
        np.minimum(1 + rng.pareto(1.2, hosts), 1000).astype(np.int64),
        rng.integers(0, 2**63, hosts, dtype=np.uint64),
        np.zeros(hosts, dtype=np.int16),
    )
    shards = 64
    job = job_of(shards, most=200_000 // shards, slots=64 * parts // shards)
    found, told = balanced(web, job, parts)
    assert sum(len(pickle.dumps(each)) for each in (*told, *found.tasks)) < 12_000_000
    urls = [part["urls"] for part in found.predictions[0]["parts"]]
    assert sum(urls) == web.urls.sum()
    assert found.predictions[0]["chains"] == hosts
    seconds = np.zeros(parts)
    for task, shard in zip(found.tasks, told, strict=True):
        np.add.at(seconds, task.part, shard.seconds)
        np.add.at(seconds, task.slot_part, shard.slots.seconds)
    assert seconds.sum() == pytest.approx(web.seconds.sum())
    assert seconds.max() < 1.01 * seconds.mean()
