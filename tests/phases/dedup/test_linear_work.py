"""The work of dedup's clusters grows with the rows, whatever their shape: counted, not timed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from crawl.phases.dedup.rules import Grouping, Nearness
from crawl.phases.dedup.tasks import components, pairs
from crawl.phases.dedup.tasks.components import EDGES, ComponentsJob, GatheredEdges, large_star
from crawl.phases.dedup.tasks.groups import find_groups
from crawl.phases.dedup.tasks.keys import GroupKeys
from crawl.phases.dedup.tasks.near import bands_of, link_near
from crawl.phases.dedup.tasks.records import DedupJob
from crawl.phases.dedup.tasks.stars import NearJob
from crawl.storage.folder import Folder
from crawl.storage.row_files import read_rows
from crawl.tables.exchange import Outbox, Received

Numbers = npt.NDArray[np.int64]
AT_ONCE = 1 << 10


@pytest.fixture
def contracted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The edges of each contraction."""
    sizes: list[int] = []
    whole = components.contract

    def counted(ones: Numbers, others: Numbers) -> tuple[Numbers, Numbers]:
        sizes.append(len(ones))
        return whole(ones, others)

    monkeypatch.setattr(components, "contract", counted)
    monkeypatch.setattr(components, "FEW_EDGES", AT_ONCE)
    monkeypatch.setattr(pairs, "PAIRS_AT_ONCE", AT_ONCE)
    return sizes


def _shapes(rows: int) -> Iterator[tuple[str, Numbers]]:
    """Which group each row is of."""
    yield "pairs", np.arange(rows) // 2
    yield "groups that are compared each with each", np.arange(rows) // 24
    yield "groups of 26", np.arange(rows) // 26
    yield "one giant", np.zeros(rows, np.int64)
    yield "a giant and pairs", np.where(np.arange(rows) < rows // 2, 0, np.arange(rows) // 2)


@pytest.mark.parametrize("shape", range(5))
def test_edges_are_contracted_as_often_as_they_double(
    shape: int, contracted: list[int], tmp_path: Path
) -> None:
    nearness = Nearness.parse("hamming=3")
    dedup = DedupJob(Folder(str(tmp_path)), Grouping.NONE, (), 1)
    job = NearJob(dedup, nearness, 1, Folder(str(tmp_path)), 0)
    work = {}
    for rows in (12_000, 48_000):
        _, group = list(_shapes(rows))[shape]
        contracted.clear()
        found = link_near(job, 0, _received(nearness, group))
        compared = found.counters["pairs_compared"]
        assert found.file is not None
        edges = read_rows(job.scratch, found.file)
        assert edges.num_rows == rows - len(np.unique(group))
        assert max(contracted) <= 2 * max(2 * AT_ONCE, edges.num_rows) + AT_ONCE
        work[rows] = sum(contracted) / compared
    assert work[48_000] <= 4, "an edge takes part in a few contractions"
    assert work[48_000] <= 1.5 * work[12_000] + 0.5


def _received(nearness: Nearness, group: Numbers) -> Received:
    kind = bands_of(nearness)
    outbox = Outbox(0)
    sketches = pa.array([number.to_bytes(8, "little") for number in (group + 1).tolist()])
    table = pa.table(
        [group.astype(np.uint64), np.arange(len(group)), sketches.cast(pa.binary(8))],
        schema=kind.schema,
    )
    order = np.random.default_rng(1).permutation(len(group))
    outbox.send_all(kind, table.take(order), 0)
    return Received(block for _, block in outbox.blocks)


def test_many_crowded_keys_are_compared_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "PAIRS_AT_ONCE", AT_ONCE)
    group = (np.arange(26_000) // 26).astype(np.uint64)
    groups = find_groups(GroupKeys(group, np.zeros(len(group), np.uint64)))
    sketches = np.random.default_rng(2).integers(0, 255, (len(group), 8), np.uint8)
    found = [(one, other, len(one)) for one, other in pairs.pairs_to_compare(groups, sketches)]
    assert max(count for _, _, count in found) <= AT_ONCE
    assert len(found) <= 4 * 2 * 25_000 // AT_ONCE, "steps are as many as their pairs fill"
    ones, others = (np.concatenate([each[side] for each in found]) for side in (0, 1))
    assert (group[ones] == group[others]).all() and (ones != others).all()
    assert len(ones) == 2 * 25_000
    assert len(contracted_of(ones, others)[0]) == 25_000, "all of a group are connected"


def contracted_of(ones: Numbers, others: Numbers) -> tuple[Numbers, Numbers]:
    return components.contract(ones, others)


@pytest.mark.parametrize("shape", ["chain", "star", "pairs", "random", "same edge"])
def test_gathered_edges_are_bounded_by_the_records(shape: str, contracted: list[int]) -> None:
    chance = np.random.default_rng(3)
    count = 40_000
    at = np.arange(count)
    ones, others = {
        "chain": (at, at + 1),
        "star": (at + 1, np.zeros(count, np.int64)),
        "pairs": (2 * at, 2 * at + 1),
        "random": (chance.integers(0, 2_000, count), chance.integers(0, 2_000, count)),
        "same edge": (np.full(count, 7), np.full(count, 9)),
    }[shape]
    most = 2 * max(AT_ONCE, len(np.unique([ones, others]))) + 100
    edges = GatheredEdges()
    for begin in range(0, count, 100):
        edges.add(ones[begin : begin + 100], others[begin : begin + 100])
        assert len(edges) <= most
    found = edges.contracted()
    wanted = contracted_of(ones, others)
    assert [each.tolist() for each in found] == [each.tolist() for each in wanted]
    assert sum(contracted[:-1]) <= 4 * count


def test_small_blocks_are_not_multiplied_from_round_to_round() -> None:
    """Each block that came in was once sent on as a block to every destination: with as many
    senders as destinations they grew by that factor in every round."""
    destinations = 8
    job = ComponentsJob(Folder("/nowhere"), destinations)
    boxes = []
    for sender in range(200):
        outbox = Outbox(sender)
        nodes = np.arange(sender, 20_000, 200)
        outbox.send_all(EDGES, pa.table([nodes, nodes + 1], schema=EDGES.schema), 0)
        boxes.append(outbox)
    received = Received(block for box in boxes for _, block in box.blocks)
    sent = Outbox(0)
    large_star(job, 0, received, sent)
    assert sum(1 for _ in sent.blocks) <= destinations
    sent = Outbox(0)
    components.small_star(job, 0, received, sent)
    assert sum(1 for _ in sent.blocks) <= 4 * destinations


def test_the_least_known_is_found_in_passes_that_double(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(components, "FEW_EDGES", AT_ONCE)
    sorted_rows: list[int] = []
    whole = np.argsort

    def counted(values: Any, **options: Any) -> Any:
        sorted_rows.append(len(values))
        return whole(values, **options)

    monkeypatch.setattr(np, "argsort", counted)
    nodes = np.random.default_rng(4).permutation(60_000)

    class Blocks:
        def batches(self, kind: Any) -> Iterator[pa.Table]:
            for begin in range(0, len(nodes), 200):
                some = nodes[begin : begin + 200]
                yield pa.table([some, some // 2], schema=EDGES.schema)

    found, least = components._least_known(Blocks())  # type: ignore[arg-type]
    assert found.tolist() == list(range(60_000)) and (least == found // 2).all()
    assert sum(sorted_rows) <= 4 * 60_000
