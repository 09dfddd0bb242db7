"""The mean rank of every domain's pages, and what the pages get of it: where the surfer of
`linkrank --by-domain` begins anew.

Plain PageRank begins anew at all pages alike, also at those that nobody has fetched, and a farm has
as many beginnings as it made up pages. Here a page is begun at in proportion to the mean rank of
its domain's known pages, by the plain one: a page more makes that mean lower, unless others link
to it. The rule has one parameter, the damping (`link.analyze.domain.damping.factor`): with less of
it a rank that was caught by one link is handed on less far. A farm whose graph is closed and known
as a whole is not held back by it. What it does for a crawl is in scripts/bench/README.md, `order`.

A task adds up the ranks of its pages by domain. The sums of a domain meet at one destination, and
the mean goes back to all who sent one; a name travels once for each file that has it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from crawl.graph.kernels.page_rank import Floats
from crawl.model.arrow import optional_schema
from crawl.phases.webgraph.tasks.graph import StoredGraph
from crawl.phases.webgraph.tasks.names import LocalHosts
from crawl.phases.webgraph.tasks.ranking import RankTask
from crawl.phases.webgraph.tasks.vectors import read_piece, write_piece
from crawl.phases.webgraph.values import NodeGroup
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of, distinct
from crawl.tables.exchange import Outbox, Received, RowKind
from crawl.tables.ranges import NewRows

_SUM_COLUMNS: dict[str, pa.DataType] = {
    "name": pa.string(),
    "rank": pa.float64(),
    "pages": pa.int64(),
    **dict.fromkeys(("task", "part", "id"), pa.int32()),
}
SUMS = RowKind("domain_sums", optional_schema(_SUM_COLUMNS))
"""The ranks of a host's pages in a file; and who asks for its domain's mean."""

MEANS = RowKind(
    "domain_means", optional_schema({"part": pa.int32(), "id": pa.int32(), "mean": pa.float64()})
)
"""The mean rank of the pages of a host's domain; the host by its number in a file."""


@dataclass(frozen=True)
class DomainMeansJob:
    """The computation of the mean rank of every domain: the graph, where the means lie meanwhile,
    and how many tasks add up."""

    graph: StoredGraph
    scratch: Folder
    destinations: int
    """How many tasks add up the sums of domains."""


@dataclass(frozen=True, slots=True)
class BeginningsTaskResult:
    """The task with how much more likely than at others a surfer begins at each of its nodes, and
    the sum of that."""

    task: RankTask
    total: float


def send_sums(job: DomainMeansJob, numbered: tuple[int, RankTask], outbox: Outbox) -> None:
    """Sends the sums of a task's hosts to the destinations of their domains."""
    number, task = numbered
    ranks = _ranks_of(job, task)
    for part in task.parts:
        local = LocalHosts.of(job.graph, part)
        count = len(local.hosts)
        if not count:
            continue
        has_host = local.of_nodes >= 0
        of_nodes = local.of_nodes[has_host]
        names = pa.array(local.groups(NodeGroup.DOMAIN), pa.string())
        columns = [
            names,
            np.bincount(of_nodes, weights=_part_of(job, task, part, ranks)[has_host]),
            np.bincount(of_nodes),
            *(np.full(count, each, dtype=np.int32) for each in (number, part)),
            np.arange(count, dtype=np.int32),
        ]
        rows = pa.table(columns, schema=SUMS.schema)
        outbox.send(SUMS, rows, buckets_of(names, job.destinations))


def send_means(number: int, received: Received, outbox: Outbox) -> None:
    """Tells all who sent a sum the mean of the domain."""
    for new in NewRows.received(received, SUMS, "name").ranges():
        rows = new.rows
        if rows.num_rows == 0:
            continue
        _, domains = distinct(rows["name"])
        ranks = np.bincount(domains, weights=rows["rank"].to_numpy())
        pages = np.bincount(domains, weights=rows["pages"].to_numpy())
        means = (ranks / pages)[domains]
        answers = pa.table([rows["part"], rows["id"], means], schema=MEANS.schema)
        outbox.send(MEANS, answers, rows["task"].to_numpy())


def write_beginnings(
    job: DomainMeansJob, task: RankTask, received: Received
) -> BeginningsTaskResult:
    """Where a surfer begins: at a page by its domain's mean, and by what was asked for before.
    A page without a host has only itself."""
    ranks = _ranks_of(job, task)
    of_part, ids, means = (column.to_numpy() for column in received.rows(MEANS).columns)
    pieces: list[Floats] = [np.zeros(0)]
    for part in task.parts:
        local = LocalHosts.of(job.graph, part)
        by_host = np.full(len(local.hosts) + 1, np.nan)
        by_host[ids[of_part == part]] = means[of_part == part]
        own = _part_of(job, task, part, ranks)
        pieces.append(np.where(local.of_nodes >= 0, by_host[local.of_nodes], own))
    teleport = np.concatenate(pieces)
    assert not np.isnan(teleport).any()
    if task.teleport is not None:
        teleport = teleport * read_piece(job.scratch, task.teleport)
    first, _ = job.graph.nodes_of(task.parts)
    piece = write_piece(job.scratch, f"teleport-{first}", first, teleport)
    return BeginningsTaskResult(replace(task, scores=None, teleport=piece), float(teleport.sum()))


def _ranks_of(job: DomainMeansJob, task: RankTask) -> Floats:
    assert task.scores is not None
    return read_piece(job.scratch, task.scores)


def _part_of(job: DomainMeansJob, task: RankTask, part: int, values: Floats) -> Floats:
    """Those of one file, of values of all files of a task."""
    begin, _ = job.graph.nodes_of(task.parts)
    first, end = job.graph.range_of(part)
    return values[first - begin : end - begin]
