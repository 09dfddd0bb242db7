"""How many rows of a bucket dust looks at, whatever its hosts are like."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from crawl.phases.dust.tasks import evidence
from crawl.phases.dust.tasks.rows import PLAIN

HOST_ROWS, ALL_ROWS = 500, 2_000


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_HOST_ROWS", HOST_ROWS)
    monkeypatch.setattr(evidence, "_ALL_ROWS", ALL_ROWS)


def _rows(hosts: int, rows: int) -> Iterator[pa.Table]:
    chance = np.random.default_rng(hosts)
    count = hosts * rows
    for start in range(0, count, 700):
        size = min(700, count - start)
        columns = {
            name: np.arange(start, start + size, dtype=np.uint64) % np.uint64(hosts)
            if name == "host"
            else chance.integers(0, 1 << 63, size).astype(np.uint64)
            for name in PLAIN.schema.names
        }
        yield pa.table(columns, schema=PLAIN.schema)


@pytest.mark.parametrize(
    ("hosts", "rows"), [(1, 30_000), (3, 10_000), (20, 1_500), (30, 450), (100, 400)]
)
def test_many_hosts_of_a_middle_size_are_thinned_too(
    hosts: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them has too many rows, but all of them together have."""
    held: list[int] = []
    whole = evidence._thinned

    def counted(table: pa.Table, halvings: dict[int, int]) -> pa.Table:
        held.append(table.num_rows)
        return whole(table, halvings)

    monkeypatch.setattr(evidence, "_thinned", counted)
    halvings: dict[int, int] = {}
    found = evidence._gather(PLAIN, _rows(hosts, rows), halvings)
    most = max(ALL_ROWS, 2 * hosts * evidence._MIN_ROWS)
    assert max(held) <= 2 * most + 700
    assert found.num_rows <= most
    left, counts = np.unique(found["host"].to_numpy(), return_counts=True)
    assert len(left) == hosts and counts.max() <= 1.5 * HOST_ROWS
    for host, times in halvings.items():
        keys = found.filter(pa.array(found["host"].to_numpy() == host))["key"].to_numpy()
        assert (keys & np.uint64((1 << times) - 1) == 0).all(), "groups are left out whole"


def test_few_rows_are_all_looked_at() -> None:
    assert evidence._gather(PLAIN, _rows(4, 400), {}).num_rows == 1_600
