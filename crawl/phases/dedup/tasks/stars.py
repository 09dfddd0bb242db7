"""Near duplicates around the page that survives.

Sketches only tell which texts may be near. Here each page is compared with one other by the
samples of their texts, their lengths and their headings: of all that sketches connect the best page
is taken, and those that are near it are its duplicates; of the others again the best, and so on. So
no page is a duplicate of one that it is not near, however long the chain of similar pages between
the two is (ten versions of a page, each near the next).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.counters import Counters
from crawl.phases.dedup.rules import Nearness
from crawl.phases.dedup.tasks.components import CLUSTERS, LinkTaskResult, write_edges
from crawl.phases.dedup.tasks.keys import Keys, Mask, Numbers, rank_type, schema_of
from crawl.phases.dedup.tasks.pairs import DoubtfulPairs
from crawl.phases.dedup.tasks.records import DedupJob, SliceRecords, read_records
from crawl.phases.dedup.tasks.shingles import SAMPLE, Samples
from crawl.storage.folder import Folder
from crawl.storage.row_files import read_rows
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.slices import Slice
from crawl.urls.columns import column_bytes

_SKETCHED: dict[str, pa.DataType] = {
    "node": pa.int64(),
    "size": pa.int64(),
    "own_size": pa.int64(),
    "error": pa.int64(),
    "bound": pa.uint32(),
    "heading": pa.uint64(),
    "sample": pa.binary(),
}
_NO_BOUND = np.uint32(0xFFFFFFFF)
_MAX_CENTRES = 50
"""Of what sketches connect: whoever is near none of them stays what it is."""
_PAIRS_AT_ONCE = 4096
_MOSTLY_OWN = 0.8
"""Of a text: what the pages of a host have in common besides (a footer) makes no difference."""


def sketched_texts(nodes: Numbers, whole: Samples, own: Samples, headings: Keys) -> pa.Table:
    """What texts are compared by in the end. Of pages by their nodes: their samples, and those
    without what hosts repeat."""
    bounds = np.full(len(nodes), _NO_BOUND)
    is_cut = whole.sizes > SAMPLE
    bounds[is_cut] = whole.values[whole.offsets[1:][is_cut] - 1]
    offsets = pa.array((4 * own.offsets).astype(np.int32)).buffers()[1]
    values = pa.py_buffer(np.ascontiguousarray(own.values).tobytes())
    packed = pa.BinaryArray.from_buffers(pa.binary(), len(nodes), [None, offsets, values])
    columns = [nodes, whole.sizes, own.sizes, _errors(whole, own), bounds, headings, packed]
    return pa.table(columns, schema=schema_of(**_SKETCHED))


def _errors(whole: Samples, own: Samples) -> Numbers:
    """By how much the sizes of what is a page's own are wrong at most, about: they are estimated by
    the part of the sample that is left. 0 where little was left out: there the whole counts."""
    share = np.diff(own.offsets) / np.maximum(1, np.diff(whole.offsets))
    deviation = np.sqrt(share * (1 - share) / SAMPLE)
    errors = 1 + np.where(whole.sizes > SAMPLE, np.ceil(3 * whole.sizes * deviation), 0)
    return np.where(share >= _MOSTLY_OWN, 0, errors).astype(np.int64)


def members_of(order: tuple[str, ...]) -> RowKind:
    """A page among all that sketches connect, as it travels."""
    columns: list[tuple[str, pa.DataType]] = [("cluster", pa.int64())]
    columns += [(f"rank{place}", rank_type(name)) for place, name in enumerate(order)]
    columns += [("host", pa.uint64()), ("best", pa.int64()), *_SKETCHED.items()]
    return RowKind("star_members", pa.schema(columns))


@dataclass(frozen=True)
class NearJob:
    """A search for near duplicates: when texts are alike, how many records there are about, and
    where their keys meet."""

    dedup: DedupJob
    """Among stars its order is without evidence, of which nothing is known yet."""
    nearness: Nearness
    destinations: int
    scratch: Folder
    expected: int
    """Records that are compared, about: the more there are, the more bits have keys."""
    doubtful: int = 0
    """How many of the pairs that are the least alike the report lists."""


@dataclass(frozen=True, slots=True)
class StarTask:
    """A slice, and the files with what its texts are compared by."""

    base: Slice
    files: tuple[str, ...]


def send_star_members(job: NearJob, task: StarTask, received: Received, outbox: Outbox) -> None:
    """Sends the pages of a slice that sketches connect with others, each with the ranks of the
    best of those that it stands for."""
    if not received.has(CLUSTERS):
        return
    records = read_records(job.dedup, task.base, Counters())
    rows = received.rows(CLUSTERS)
    nodes, clusters = rows["node"].to_numpy(), rows["cluster"].to_numpy()
    by_node = np.argsort(nodes)
    nodes, clusters = nodes[by_node], clusters[by_node]
    best = _best_of_nodes(records, nodes)
    kind = members_of(job.dedup.order)
    for file in task.files:
        table = read_rows(job.scratch, file)
        node = table["node"].to_numpy()
        at = np.minimum(np.searchsorted(nodes, node), len(nodes) - 1)
        members = np.flatnonzero(nodes[at] == node)
        place, at = best[at[members]], at[members]
        columns = [
            clusters[at],
            *(rank[place] for rank in records.ranks),
            records.hosts[place],
            records.ids[place],
            *table.take(members).columns,
        ]
        numbers = (clusters[at] % job.destinations).astype(np.int32)
        outbox.send(kind, pa.table(columns, schema=kind.schema), numbers)


def _best_of_nodes(records: SliceRecords, nodes: Numbers) -> Numbers:
    """Of rising nodes the places of the best records that they stand for."""
    mine = records.nodes()
    order = np.lexsort((records.ids, records.hosts, *reversed(records.ranks), mine))
    firsts = np.searchsorted(mine[order], nodes)
    return order[firsts]


def find_stars(job: NearJob, destination: int, received: Received) -> LinkTaskResult:
    """Parts what sketches connect into stars. Samples are read batch by batch: only those of
    centres are held."""
    counters = Counters()
    kind = members_of(job.dedup.order)
    cluster, node, order = _in_order(job, received)
    centre = np.full(len(node), -1, np.int64)
    doubtful = DoubtfulPairs(job.doubtful)
    for _ in range(_MAX_CENTRES):
        rest = order[centre[order] < 0]
        first = np.flatnonzero(np.diff(cluster[rest], prepend=-1))
        several = np.diff(first, append=len(rest)) > 1
        centre[rest[first]] = rest[first]
        centres = np.sort(rest[first][several])
        if not len(centres):
            break
        samples = _texts_at(received, kind, centres)
        of_cluster = np.argsort(cluster[centres])
        begin = 0
        for table in received.batches(kind):
            end = begin + table.num_rows
            mine = begin + np.flatnonzero(centre[begin:end] < 0)
            places = np.searchsorted(cluster[centres], cluster[mine], sorter=of_cluster)
            places = of_cluster[np.minimum(places, len(centres) - 1)]
            fits = cluster[centres[places]] == cluster[mine]
            mine, places = mine[fits], places[fits]
            others = table.select(list(_SKETCHED)).take(mine - begin)
            likeness = likenesses(job.nearness, samples.take(places), others)
            near = likeness >= job.nearness.threshold
            counters["pairs_verified"] += len(near)
            counters["pairs_refused"] += int((~near).sum())
            centre[mine[near]] = centres[places[near]]
            doubtful.add(likeness[near], node[centres[places[near]]], node[mine[near]])
            begin = end
    held = np.flatnonzero(centre >= 0)
    file = write_edges(job.scratch, node[held], node[centre[held]])
    return LinkTaskResult(file, +counters, doubtful=doubtful.pairs())


def _in_order(job: NearJob, received: Received) -> tuple[Numbers, Numbers, Numbers]:
    """Clusters and nodes of all members, and their places: clusters together, the best first."""
    kind = members_of(job.dedup.order)
    names = ["cluster", *(name for name in kind.schema.names if name.startswith("rank"))]
    names += ["host", "best", "node"]
    tables = [table.select(names) for table in received.batches(kind)]
    light = pa.concat_tables([kind.schema.empty_table().select(names), *tables])
    columns = {name: light[name].to_numpy() for name in names}
    keys = [columns[name] for name in reversed(names[:-1])]
    return columns["cluster"], columns["node"], np.lexsort(keys)


def _texts_at(received: Received, kind: RowKind, places: Numbers) -> pa.Table:
    """The texts at rising places among all rows."""
    tables: list[pa.Table] = []
    begin = 0
    for table in received.batches(kind):
        low, high = np.searchsorted(places, [begin, begin + table.num_rows])
        tables.append(table.select(list(_SKETCHED)).take(places[low:high] - begin))
        begin += table.num_rows
    return pa.concat_tables(tables).combine_chunks()


def likenesses(nearness: Nearness, ones: pa.Table, others: pa.Table) -> npt.NDArray[np.float64]:
    """How much each two texts are alike: the share of their shingles in common; 0 where headings
    differ, or one is longer than may be."""
    shares = np.zeros(ones.num_rows, np.float64)
    headings = [each["heading"].to_numpy() for each in (ones, others)]
    may = _are_as_long(nearness, ones, others)
    may &= (headings[0] == headings[1]) | (headings[0] == 0) | (headings[1] == 0)
    places = np.flatnonzero(may)
    for begin in range(0, len(places), _PAIRS_AT_ONCE):
        some = places[begin : begin + _PAIRS_AT_ONCE]
        shares[some] = _shares(ones.take(some), others.take(some))
    return shares


def _are_as_long(nearness: Nearness, ones: pa.Table, others: pa.Table) -> Mask:
    """Whether each two texts are about as long: as a whole, or without what their hosts repeat,
    where that is much of one of them."""
    errors = ones["error"].to_numpy() + others["error"].to_numpy()
    fits = np.ones(len(errors), np.bool_)
    for name, applies, error in (("size", errors == 0, 0), ("own_size", errors > 0, errors)):
        one, other = ones[name].to_numpy(), others[name].to_numpy()
        fits &= ~applies | (np.abs(one - other) <= nearness.longer_by + error)
    return fits


def _shares(ones: pa.Table, others: pa.Table) -> npt.NDArray[np.float64]:
    """The share of shingles in common, by samples as far as both reach. Where they do not reach to
    the end of the texts it is the least that the share may be, by two standard deviations of a
    whole sample: doubt speaks against."""
    tables = (ones, others)
    bounds = np.minimum(*(table["bound"].to_numpy() for table in tables)).astype(np.uint64)
    mine, theirs = (_numbered(table["sample"].combine_chunks(), bounds) for table in tables)
    common = np.intersect1d(mine, theirs, assume_unique=True)
    counts = [
        np.bincount((each >> np.uint64(32)).astype(np.int64), minlength=len(bounds))
        for each in (mine, theirs, common)
    ]
    union = np.maximum(1, counts[0] + counts[1] - counts[2])
    shares: npt.NDArray[np.float64] = counts[2] / union
    doubt = 2 * np.sqrt(shares * (1 - shares) / np.maximum(union, SAMPLE))
    return np.where(bounds < _NO_BOUND, np.maximum(0, shares - doubt), shares)


def _numbered(samples: Any, bounds: Keys) -> Keys:
    """The values of samples up to the bound of their pair, each with the number of the pair."""
    whole = column_bytes(samples)
    values = np.frombuffer(whole.data.tobytes(), np.uint32).astype(np.uint64)
    pair = np.repeat(np.arange(len(bounds), dtype=np.uint64), np.diff(whole.offsets) // 4)
    in_bounds = values <= bounds[pair.astype(np.int64)]
    return (pair[in_bounds] << np.uint64(32)) | values[in_bounds]
