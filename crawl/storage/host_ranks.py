"""A table of hosts and their ranks, small enough for every process: a hash and a rank each.

    Parquet                  columns `host` and `rank` (or `host_rev`, or `score`)
    text, .gz or not         `host TAB rank`
    Common Crawl's ranks     #harmonicc_pos #harmonicc_val #pr_pos #pr_val #host_rev …
    a crawl's hostgraph/     what `crawl hostgraph` published last: 1 + harmonic centrality, so that
                             a host which is only found counts for something; a domaingraph/ tells
                             of all hosts of its domains

A host that is named backwards (`org.example.www`) is turned round. Only the highest ranks are
kept; two hosts of one hash are as rare as one in trillions, and would share the higher rank.
"""

from __future__ import annotations

import logging
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from gzip import GzipFile
from io import TextIOWrapper
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from crawl.errors import NoSnapshot, StorageError
from crawl.model.arrow import strings
from crawl.model.derived_tables import DOMAINGRAPH
from crawl.storage.folder import Folder, absolute, split_address
from crawl.storage.layout import encoded, number_of
from crawl.storage.manifest import Snapshot
from crawl.storage.parquet import each_group, open_table
from crawl.storage.snapshot import SNAPSHOTS, Dataset
from crawl.urls.backwards import backwards
from crawl.urls.domains import registered_domain

_LINES_AT_ONCE = 65_536
_MAX_LINE_LENGTH = 4_096
_RANK_COLUMNS = ("rank", "score", "harmonicc_val")

Rows = tuple[Sequence[str], Sequence[float]]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class HostRanks:
    """Ranks by host, relative to their mean; ascending hashes, and a rank for each."""

    hashes: npt.NDArray[np.uint64]
    ranks: npt.NDArray[np.float32]
    are_domains: bool = False
    """Whether they are ranks of registered domains, which all of their hosts have."""

    @classmethod
    def of(cls, hosts: Sequence[str], ranks: Sequence[float], most: int | None = None) -> HostRanks:
        """A table of some hosts, or of the `most` of highest rank."""
        return _gathered([(hosts, ranks)], most)

    def __len__(self) -> int:
        return len(self.hashes)

    def of_host(self, host: str, unknown: float) -> float:
        """The rank of a host; `unknown` where the table does not have it."""
        number = np.uint64(number_of(registered_domain(host) if self.are_domains else host))
        place = int(np.searchsorted(self.hashes, number))
        if place < len(self.hashes) and self.hashes[place] == number:
            return float(self.ranks[place])
        return unknown

    def of_hosts(
        self, hosts: pa.Array[Any] | pa.ChunkedArray[Any], unknown: float
    ) -> npt.NDArray[np.float64]:
        """`of_host` of a column; each distinct host is looked up once."""
        codes = encoded(hosts)
        names: list[Any] = codes.dictionary.to_pylist()
        by_code = np.array([self.of_host(name, unknown) for name in names], dtype=np.float64)
        indices: npt.NDArray[np.int32] = codes.indices.to_numpy(zero_copy_only=False)
        return by_code[indices]


def pinned_address(address: str) -> str:
    """An address that means the same on every machine that sees the same files, and of a graph
    the state that is current now: HOSTGRAPH/snapshots/000003."""
    dataset = Dataset(Folder(absolute(address)))
    if not dataset.is_begun():
        return absolute(address)
    return f"{absolute(address).rstrip('/')}/{SNAPSHOTS}/{dataset.require_current().number:06d}"


@lru_cache(maxsize=2)
def load_host_ranks(address: str, most: int) -> HostRanks:
    """The table of a `pinned_address`, read once a process; StorageError says what is wrong with
    it. Where a graph's state was forgotten since it was pinned, that of the current one: ranks of
    other hosts are no reason to end a phase that may have run for days."""
    above, place, number = address.rpartition(f"/{SNAPSHOTS}/")
    if not place or not number.isdecimal():
        return _of_file(address, most)
    dataset = Dataset(Folder(above))
    ranks = dataset.reading(
        lambda: _pinned_or_current(dataset, int(number)),
        lambda snapshot: _gathered(_graph_rows(dataset.folder, snapshot), most),
    )
    return replace(ranks, are_domains=dataset.name == DOMAINGRAPH.name)


def _pinned_or_current(dataset: Dataset, number: int) -> Snapshot:
    if number in dataset.timeline().numbers:
        try:
            return dataset.snapshot(number)
        except NoSnapshot:
            if number in dataset.timeline().numbers:
                raise
    current = dataset.require_current()
    _log.warning(
        "%s: snapshot %d is forgotten; the ranks of snapshot %d are used",
        dataset.folder.address,
        number,
        current.number,
    )
    return current


def _graph_rows(folder: Folder, snapshot: Snapshot) -> Iterator[Rows]:
    for file in snapshot.files:
        with open_table(folder, file.path, size=file.bytes) as source:
            if not {"host", "harmonic"} <= set(source.schema_arrow.names):
                raise StorageError(f"{folder.address} is no graph of hosts")
            for rows in each_group(source, ["host", "harmonic"]):
                yield strings(rows["host"]), (1.0 + rows["harmonic"].to_numpy()).tolist()


def _of_file(address: str, most: int) -> HostRanks:
    folder, name = split_address(address)
    try:
        with folder.open_read(name) as stream:
            is_parquet = stream.read(4) == b"PAR1"
            stream.seek(0)
            rows = _parquet_rows(stream) if is_parquet else _text_rows(stream)
            return _gathered(rows, most)
    except (pa.ArrowException, OSError, EOFError, ValueError, zlib.error) as error:
        line = " ".join(str(error).split())
        raise StorageError(f"{address} is no file of host ranks: {line}") from None


def _gathered(rows: Iterable[Rows], most: int | None) -> HostRanks:
    hashes, ranks = np.zeros(0, np.uint64), np.zeros(0, np.float64)
    for names, values in rows:
        new = np.asarray(values, dtype=np.float64)
        is_rank = np.isfinite(new) & (new >= 0)
        numbers = np.fromiter(map(number_of, names), np.uint64, len(names))
        hashes = np.concatenate([hashes, numbers[is_rank]])
        ranks = np.concatenate([ranks, new[is_rank]])
        if most is not None and len(ranks) > 2 * most:
            best = np.argpartition(-ranks, most)[:most]
            hashes, ranks = hashes[best], ranks[best]
    if most is not None and len(ranks) > most:
        best = np.argpartition(-ranks, most)[:most]
        hashes, ranks = hashes[best], ranks[best]
    order = np.lexsort((-ranks, hashes))
    hashes, ranks = hashes[order], ranks[order]
    is_first = np.ones(len(hashes), dtype=np.bool_)
    is_first[1:] = hashes[1:] != hashes[:-1]
    hashes, ranks = hashes[is_first], ranks[is_first]
    highest = float(ranks.max(initial=0.0))
    if highest > 0:
        ranks = ranks / highest  # or a sum may be beyond all numbers
        ranks = ranks / ranks.mean()
    return HostRanks(hashes, ranks.astype(np.float32))


def _parquet_rows(stream: IO[bytes]) -> Iterator[Rows]:
    table = pq.ParquetFile(stream)
    names = table.schema_arrow.names
    host = next((name for name in ("host", "host_rev") if name in names), None)
    rank = next((name for name in _RANK_COLUMNS if name in names), None)
    if host is None or rank is None:
        raise ValueError(f"it has no columns host and rank, but {', '.join(names[:9])}")
    for batch in table.iter_batches(columns=[host, rank]):
        hosts = strings(batch.column(host).cast(pa.string()).fill_null(""))
        if host == "host_rev":
            hosts = list(map(backwards, hosts))
        ranks = batch.column(rank).cast(pa.float64()).fill_null(math.nan)
        yield hosts, cast("list[float]", ranks.to_pylist())


def _text_rows(stream: IO[bytes]) -> Iterator[Rows]:
    is_packed = stream.read(2) == b"\x1f\x8b"
    stream.seek(0)
    source = GzipFile(fileobj=stream) if is_packed else stream
    lines = TextIOWrapper(cast("IO[bytes]", source), "utf-8", errors="replace")
    columns, is_reversed = (0, 1), False
    hosts: list[str] = []
    ranks: list[float] = []
    number = 0
    while line := lines.readline(_MAX_LINE_LENGTH):
        number += 1
        cells = line.rstrip("\r\n").split("\t")
        if line.startswith("#"):
            header = [cell.lstrip("#") for cell in cells]
            if "host_rev" in header and "harmonicc_val" in header:
                columns = header.index("host_rev"), header.index("harmonicc_val")
                is_reversed = True
            continue
        if not line.strip():
            continue
        try:
            host, rank = cells[columns[0]].strip().lower(), float(cells[columns[1]])
        except (IndexError, ValueError):
            raise ValueError(f"line {number} is not `host TAB rank`") from None
        hosts.append(backwards(host) if is_reversed else host)
        ranks.append(rank)
        if len(hosts) == _LINES_AT_ONCE:
            yield hosts, ranks
            hosts, ranks = [], []
    lines.detach()
    yield hosts, ranks
