"""What a graph of hosts says of each of them, as it is read from it and orders a crawl."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from crawl.config import Config
from crawl.counters import Counters
from crawl.errors import StorageError
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.status import Status
from crawl.phases.hostgraph import run as hostgraph
from crawl.phases.webgraph.values import NodeGroup
from crawl.storage.host_ranks import HostRanks, load_host_ranks, pinned_address
from crawl.storage.manifest import Snapshot
from crawl.storage.snapshot import Dataset
from tests.phases import generating
from tests.phases.host_graphs import SEGMENT, crawl_of_links, make_host_graph
from tests.phases.linked_pages import ALL_LINKS, add_parse, build
from tests.phases.made import datum, urls_of
from tests.phases.replacing import publish_again
from tests.phases.updating import S2, A, Crawl, fetched, link


def ranks_of(address: str) -> HostRanks:
    return load_host_ranks(pinned_address(address), 10)


def test_ranks_are_read_from_the_graph_as_it_is_now(tmp_path: Path) -> None:
    directory = crawl_of_links(tmp_path, [("http://a.org/", "http://www.b.org/")])
    address = f"{directory.address}/hostgraph"
    make_host_graph(directory)
    ranks = ranks_of(address)
    assert ranks.of_host("www.b.org", 0.0) == pytest.approx(2 / 1.5)
    assert ranks.of_host("a.org", 0.0) == pytest.approx(1 / 1.5)
    assert ranks.of_host("c.www.b.org", 9.0) == 9.0
    before = pinned_address(address)
    assert pinned_address(before) == before
    add_parse(directory, "20260102000000", {"http://www.b.org/": ["http://a.org/"]})
    build(directory, **ALL_LINKS)
    make_host_graph(directory)
    assert ranks_of(address).of_host("a.org", 0.0) == 1.0
    load_host_ranks.cache_clear()
    assert ranks_of(before).of_host("a.org", 0.0) == pytest.approx(1 / 1.5)
    make_host_graph(directory, NodeGroup.DOMAIN)
    domains = ranks_of(f"{directory.address}/domaingraph")
    assert domains.of_host("c.www.b.org", 9.0) == 1.0
    with pytest.raises(StorageError, match="is no graph of hosts"):
        ranks_of(f"{directory.address}/webgraph")


def test_tasks_have_the_ranks_of_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their working folder, and what is published meanwhile."""
    directory = crawl_of_links(tmp_path, [("http://a.org/", "http://b.org/")])
    make_host_graph(directory)
    monkeypatch.chdir(tmp_path)
    settings = {
        "scoring.filter.order": "host-centrality",
        "scoring.host.ranks.file": "crawl/hostgraph",
    }
    chain = pickle.dumps(ScoringChain.from_config(Config.of(settings)))
    monkeypatch.chdir("/")
    add_parse(directory, "20260102000000", {"http://b.org/": ["http://a.org/"]})
    build(directory, **ALL_LINKS)
    make_host_graph(directory)
    score = pickle.loads(chain).initial_score("http://b.org/", datum(), Counters()).score
    assert score == pytest.approx(0.15 * 2 / 1.5)


def test_ranks_of_a_graph_that_was_forgotten_are_those_of_the_current_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The tasks of a long phase begin when the graph that it began with is gone, or go as they
    read it."""
    directory = crawl_of_links(tmp_path, [("http://a.org/", "http://b.org/")])
    make_host_graph(directory)
    dataset = directory.dataset(hostgraph.table_of(NodeGroup.HOST))
    before = pinned_address(dataset.folder.address)
    publish_again(dataset)
    load_host_ranks.cache_clear()
    assert ranks_of(before).of_host("b.org", 0.0) == pytest.approx(2 / 1.5)
    assert "snapshot 1 is forgotten; the ranks of snapshot 2 are used" in caplog.text
    pinned = pinned_address(dataset.folder.address)
    for path in (tmp_path / "crawl/hostgraph/snapshots/000002").glob("hosts-*"):
        path.unlink()
    load_host_ranks.cache_clear()
    with pytest.raises(StorageError, match="hosts-"):
        ranks_of(pinned)


def test_ranks_of_a_graph_that_is_replaced_as_it_is_read(tmp_path: Path) -> None:
    directory = crawl_of_links(tmp_path, [("http://a.org/", "http://b.org/")])
    make_host_graph(directory)
    dataset = directory.dataset(hostgraph.table_of(NodeGroup.HOST))
    address = pinned_address(dataset.folder.address)
    load_host_ranks.cache_clear()
    snapshot = Dataset.snapshot

    def found_and_gone(self: Dataset, number: int) -> Snapshot:
        found = snapshot(self, number)
        if number == 1 and self.folder == dataset.folder:
            patch.undo()
            publish_again(dataset)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dataset, "snapshot", found_and_gone)
        assert ranks_of(address).of_host("b.org", 0.0) == pytest.approx(2 / 1.5)
    assert dataset.timeline().numbers == (2,)


def test_a_crawl_is_ordered_by_the_graph_of_its_hosts(tmp_path: Path) -> None:
    """New URLs get a part of what their host is worth, and generate takes them by it."""
    crawl = Crawl(tmp_path, {A: datum(status=Status.DB_FETCHED)})
    add_parse(
        crawl.directory,
        SEGMENT,
        {f"http://{n}.net/": ["http://good.org/", f"http://{n}.com/"] for n in range(4)},
    )
    build(crawl.directory, **ALL_LINKS)
    make_host_graph(crawl.directory)
    by_hosts = {
        "scoring.filter.order": "host-centrality",
        "scoring.host.ranks.file": f"{crawl.directory.address}/hostgraph",
    }
    new = ["http://good.org/new", "http://0.com/new", "http://unknown.org/new"]
    crawl.segment(S2, [(A, fetched())], [(url, link(0.25)) for url in new])
    crawl.update(S2, settings=by_hosts)
    # nine hosts, of 1 + harmonic centrality 5, 2 (four of them) and 1 (four): 17 / 9 in the mean
    worth = {new[0]: 5 * 9 / 17, new[1]: 2 * 9 / 17, new[2]: 0.5}
    records = crawl.records
    for url in new:
        assert records[url].score == pytest.approx(0.15 * worth[url] + 0.25, rel=1e-6)
    chosen = generating.run(crawl.directory, by_hosts, top_n=1, num_fetchers=1)
    assert urls_of(crawl.directory, chosen.segments) == [new[0]]
