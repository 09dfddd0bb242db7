"""The graphs of hosts and domains: against networkx, kernels in memory and Common Crawl's form."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import ConfigError, NoSnapshot, StorageError, UsageError
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.operations.options import Face, read_options
from crawl.phases.hostgraph import dump as graph_dump
from crawl.phases.hostgraph import ranking as host_ranking
from crawl.phases.hostgraph import run as hostgraph
from crawl.phases.hostgraph.options import Centrality, HostGraphOptions
from crawl.phases.hostgraph.tasks import common_crawl
from crawl.phases.webgraph.tasks import edges, listing, names, ranking
from crawl.phases.webgraph.values import NodeGroup
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.host_ranks import load_host_ranks
from crawl.tables.runner import InProcess
from crawl.urls.backwards import backwards
from crawl.urls.domains import registered_domain
from tests.examples import scaled
from tests.graph.reference.array_edges import ArrayEdges
from tests.graph.reference.harmonic import CentralityOptions, harmonic_centrality
from tests.phases.host_graphs import crawl_of_links, make_host_graph, rows_of
from tests.phases.linked_pages import edges_into

HOSTS = ["a.org", "www.a.org", "b.a.org", "b.org", "c.co.uk", "x.c.co.uk", "1.net", "10.1.2.3"]
URLS = st.builds("http://{}/{}".format, st.sampled_from(HOSTS), st.sampled_from("xy"))
LINKS = st.lists(st.tuples(URLS, URLS), max_size=40)
SETTINGS = settings(max_examples=scaled(40), deadline=None)


@contextmanager
def small_tasks() -> Iterator[None]:
    """Ranges, tasks and blocks of a few rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names, "_NAMES_PER_RANGE", 2)
        patch.setattr(names, "_MAX_SAMPLE", 3)
        patch.setattr(hostgraph, "EDGE_GROUP_ROWS", 2)
        patch.setattr(edges, "_MAX_ROWS", 2)
        patch.setattr(ranking, "_EDGES_PER_TASK", 1)
        patch.setattr(listing, "_ROWS_PER_RANGE", 2)
        patch.setattr(common_crawl, "RANKS_AT_ONCE", 2)
        yield


def truth(pairs: list[tuple[str, str]], group: NodeGroup) -> tuple[nx.DiGraph, Counter[Any]]:
    """The graph, and how many links of pages each edge stands for, by plain Python."""

    def name(url: str) -> str:
        host = url.split("/")[2]
        return registered_domain(host) if group is NodeGroup.DOMAIN else host

    graph = nx.DiGraph()
    graph.add_nodes_from(name(url) for pair in pairs for url in pair)
    weights = Counter((name(of), name(to)) for of, to in set(pairs) if name(of) != name(to))
    graph.add_edges_from(weights)
    return graph, weights


@SETTINGS
@given(
    pairs=LINKS,
    buckets=st.sampled_from([1, 2, 4]),
    file_rows=st.sampled_from([2, 1000]),
    group=st.sampled_from(NodeGroup),
)
def test_ranks_are_those_of_networkx(
    tmp_path_factory: pytest.TempPathFactory,
    pairs: list[tuple[str, str]],
    buckets: int,
    file_rows: int,
    group: NodeGroup,
) -> None:
    with small_tasks():
        directory = crawl_of_links(tmp_path_factory.mktemp("crawl"), pairs, buckets, file_rows)
        done = make_host_graph(directory, group, centrality=Centrality.EXACT)
    graph, weights = truth(pairs, group)
    rows = rows_of(directory, group)
    assert [row["host_rev"] for row in rows] == sorted(map(backwards, graph))
    found = {row["host"]: row for row in rows}
    harmonic = nx.harmonic_centrality(graph)
    pagerank = nx.pagerank(graph, tol=1e-13, max_iter=1000) if graph else {}
    pages = Counter(
        registered_domain(url.split("/")[2]) if group is NodeGroup.DOMAIN else url.split("/")[2]
        for url in {url for pair in pairs for url in pair}
    )
    hosts = {url.split("/")[2] for pair in pairs for url in pair}
    for name in graph:
        row = found[name]
        assert row["harmonic"] == pytest.approx(harmonic[name], abs=1e-9)
        assert row["pagerank"] == pytest.approx(pagerank[name], abs=1e-6)
        assert (row["inlinks"], row["outlinks"]) == (graph.in_degree(name), graph.out_degree(name))
        assert row["pages"] == pages[name]
        own = sum(registered_domain(host) == name for host in hosts)
        assert row["hosts"] == (own if group is NodeGroup.DOMAIN else 1)
    for value in ("harmonic", "pagerank"):
        order = sorted(rows, key=lambda row: (-row[value], row["host_rev"]))
        assert [row[f"{value}_pos"] for row in order] == list(range(1, len(rows) + 1))
    assert list(done.top) == sorted(rows, key=lambda row: row["harmonic_pos"])[:20]
    counters = done.report.counters
    assert counters["page_links_between"] == sum(weights.values())
    assert counters["edges"] == graph.number_of_edges()
    snapshot = hostgraph.require_hostgraph(directory, group)
    stored = hostgraph.stored_hostgraph(directory, group, snapshot)
    turned = {
        (rows[of]["host"], rows[to]["host"])
        for part in range(len(stored.nodes))
        for of, to in edges_into(stored, part)
    }
    assert turned == set(weights)
    assert not check(directory, deep=True).faults


def test_ranks_that_take_long_to_settle(tmp_path: Path) -> None:
    """Two hosts that hand all they have to each other, and one that has fewer friends."""
    pairs = [("http://a.org/", "http://b.org/"), ("http://b.org/", "http://a.org/")]
    pairs += [(f"http://{name}.org/", "http://a.org/") for name in "cdefgh"]
    directory = crawl_of_links(tmp_path, pairs)
    done = make_host_graph(directory)
    assert done.report.counters["iterations"] > 100
    expected = nx.pagerank(truth(pairs, NodeGroup.HOST)[0], tol=1e-14, max_iter=1000)
    found = {row["host"]: row["pagerank"] for row in rows_of(directory, NodeGroup.HOST)}
    assert found == pytest.approx(expected, abs=5e-8)


@pytest.mark.parametrize("precision", [6, 8])
def test_hyperball_is_that_of_the_kernel(tmp_path: Path, precision: int) -> None:
    chance = np.random.default_rng(5)
    ends = chance.integers(0, 60, (300, 2))
    pairs = [(f"http://h{of}.org/", f"http://h{to}.org/") for of, to in ends.tolist()]
    with small_tasks():
        directory = crawl_of_links(tmp_path, pairs)
        wanted = HostGraphOptions(centrality=Centrality.HYPERBALL)
        config = Config.of({"hostgraph.hyperball.precision": precision})
        hostgraph.run(InProcess(), directory, config, wanted, SystemClock())
    rows = rows_of(directory, NodeGroup.HOST)
    number = {row["host"]: place for place, row in enumerate(rows)}
    graph, weights = truth(pairs, NodeGroup.HOST)
    of, to = zip(*((number[of], number[to]) for of, to in weights), strict=True)
    kernel = harmonic_centrality(
        ArrayEdges.of(of, to, len(rows)), CentralityOptions(precision, exact_below=0)
    )
    np.testing.assert_allclose([row["harmonic"] for row in rows], kernel.centralities)
    exactly = nx.harmonic_centrality(graph)
    assert sum(row["harmonic"] for row in rows) == pytest.approx(
        sum(exactly.values()), rel={6: 0.1, 8: 0.05}[precision]
    )


@pytest.mark.parametrize("group", NodeGroup)
def test_the_form_of_common_crawl(tmp_path: Path, group: NodeGroup) -> None:
    pairs = [
        *(("http://a.org/", f"http://{host}/") for host in HOSTS),
        *((f"http://{host}/", "http://b.org/") for host in HOSTS),
    ]
    output = tmp_path / "out"
    with small_tasks():
        directory = crawl_of_links(tmp_path, pairs)
        make_host_graph(directory, group)
        done = graph_dump.run(InProcess(), directory, group, Folder(str(output)))
    assert sorted(path.name for path in output.iterdir()) == [
        *("_SUCCESS", "edges.parquet", "edges.txt.gz"),
        *("ranks.parquet", "ranks.txt.gz", "vertices.parquet", "vertices.txt.gz"),
    ]
    rows = rows_of(directory, group)

    def lines(name: str) -> list[list[str]]:
        text = gzip.decompress((output / f"{name}.txt.gz").read_bytes()).decode()
        assert text.endswith("\n")
        return [line.split("\t") for line in text.splitlines()]

    is_domain = group is NodeGroup.DOMAIN
    vertices = lines("vertices")
    assert [int(line[0]) for line in vertices] == list(range(done[0]))
    assert [line[1] for line in vertices] == [row["host_rev"] for row in rows]
    assert [line[1] for line in vertices] == sorted(line[1] for line in vertices)
    assert [line[2:] for line in vertices] == [
        [str(row["hosts"])] if is_domain else [] for row in rows
    ]
    of_edges = [(int(of), int(to)) for of, to in lines("edges")]
    assert of_edges == sorted(of_edges) and len(of_edges) == done[1]
    _, weights = truth(pairs, group)
    assert {(rows[of]["host"], rows[to]["host"]) for of, to in of_edges} == set(weights)
    head, *ranks = lines("ranks")
    assert "\t".join(head).startswith("#harmonicc_pos\t#harmonicc_val\t#pr_pos\t#pr_val\t#host_rev")
    assert head[5:] == (["#n_hosts"] if is_domain else [])
    by_name = {row["host_rev"]: row for row in rows}
    assert [int(line[0]) for line in ranks] == list(range(1, len(rows) + 1))
    for line in ranks:
        row = by_name[line[4]]
        assert float(line[1]) == row["harmonic"] and float(line[3]) == row["pagerank"]
        assert (int(line[0]), int(line[2])) == (row["harmonic_pos"], row["pagerank_pos"])
    for name, text in (("vertices", vertices), ("edges", lines("edges")), ("ranks", ranks)):
        table = pq.read_table(output / f"{name}.parquet")
        assert table.num_rows == len(text)
        assert table.column_names == {
            "vertices": ["id", "host_rev"],
            "edges": ["from_id", "to_id"],
            "ranks": [cell.lstrip("#") for cell in head],
        }[name] + (["n_hosts"] if is_domain and name == "vertices" else [])
    found = load_host_ranks(str(output / "ranks.txt.gz"), 100)
    best = max(rows, key=lambda row: row["harmonic"])["host"]
    assert found.of_host(best, 0.0) == max(found.ranks)
    assert found.of_host("10.1.2.3", -1.0) > 0


def test_wrong_input_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoSnapshot, match="has no link graph yet"):
        make_host_graph(CrawlDir(str(tmp_path / "empty")))
    directory = crawl_of_links(tmp_path, [("http://a.org/", "http://b.org/")])
    with pytest.raises(NoSnapshot, match=r"crawl hostgraph .* --group domain"):
        hostgraph.require_hostgraph(directory, NodeGroup.DOMAIN)
    with pytest.raises(UsageError, match="top: expected a whole number from 0 to 100,000"):
        read_options(HostGraphOptions, {"top": 10**9}, Face.API)
    monkeypatch.setattr(host_ranking, "MAX_EXACT", 1)
    with pytest.raises(UsageError, match="use --centrality hyperball"):
        make_host_graph(directory, centrality=Centrality.EXACT)


def test_a_damaged_graph_is_one_line(tmp_path: Path) -> None:
    directory = crawl_of_links(tmp_path, [("http://a.org/", "http://b.org/")])
    make_host_graph(directory)
    (path,) = (tmp_path / "crawl/hostgraph/snapshots/000001").glob("hosts-*")
    whole = path.read_bytes()
    path.write_bytes(whole[:-40] + bytes(40))
    settings = {
        "scoring.filter.order": "host-centrality",
        "scoring.host.ranks.file": f"{directory.address}/hostgraph",
    }
    with pytest.raises(ConfigError, match=r"scoring\.host\.ranks\.file: .*hosts-") as raised:
        ScoringChain.from_config(Config.of(settings))
    assert "\n" not in str(raised.value)
    output = Folder(str(tmp_path / "out"))
    with pytest.raises(StorageError, match="hosts-"):
        graph_dump.run(InProcess(), directory, NodeGroup.HOST, output)
    assert not output.exists("_SUCCESS")
    assert check(directory).faults
    make_host_graph(directory)  # anew, out of the link graph
    assert len(rows_of(directory, NodeGroup.HOST)) == 2
    ScoringChain.from_config(Config.of(settings))


def test_names_backwards() -> None:
    for name, turned in (
        ("www.example.co.uk", "uk.co.example.www"),
        ("1.example.org", "org.example.1"),
        ("10.1.2.3", "10.1.2.3"),
        ("[2001:db8::1]", "[2001:db8::1]"),
        ("localhost", "localhost"),
    ):
        assert backwards(name) == turned
        assert backwards(turned) == name
