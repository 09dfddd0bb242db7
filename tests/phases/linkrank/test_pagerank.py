"""`linkrank --pagerank` through the phase: against networkx, and against the kernels that have the
whole graph in memory."""

from __future__ import annotations

import gzip
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.driver.phase_run import Published
from crawl.errors import StorageError, UsageError
from crawl.model.derived_tables import WEBGRAPH
from crawl.phases.linkrank import name_lists
from crawl.phases.linkrank import run as linkrank
from crawl.phases.linkrank.options import LinkRankOptions
from crawl.phases.scoreupdater import run as scoreupdater
from crawl.phases.scoreupdater.options import ScoreUpdaterOptions
from crawl.phases.webgraph.tasks import edges, ranking
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.urls.domains import registered_domain
from tests.examples import scaled
from tests.graph.reference.array_edges import ArrayEdges
from tests.graph.reference.domain_rank import domain_rank
from tests.graph.reference.page_rank import RankOptions
from tests.graph.reference.trust_rank import trust_rank
from tests.phases.linked_pages import ALL_LINKS, add_parse, build, graph_of, links_of, nodes_of
from tests.phases.linkrank.test_linkrank import scores_of
from tests.phases.made import datum, make_crawldb, records_of

SEGMENT = "20260101000000"
EXACTLY = {"tolerance": 1e-12, "iterations": 1000}
HOSTS = ["a.org", "www.a.org", "b.org", "c.net", "d.net"]
URLS = st.builds("http://{}/{}".format, st.sampled_from(HOSTS), st.sampled_from("xyz"))
LINKS = st.lists(st.tuples(URLS, URLS), max_size=30)
SETTINGS = settings(max_examples=scaled(40), deadline=None)


def rank(directory: CrawlDir, **options: object) -> Published:
    wanted = LinkRankOptions(pagerank=True, **options)  # type: ignore[arg-type]
    return linkrank.run(InProcess(), directory, Config(), wanted, SystemClock())


def made(
    folder: Path, links: list[tuple[str, str]], buckets: int = 2, file_rows: int = 1000
) -> CrawlDir:
    directory = CrawlDir(str(folder / "crawl"))
    pages: dict[str, list[str]] = {}
    for of, to in links:
        pages.setdefault(of, []).append(to)
    add_parse(directory, SEGMENT, pages)
    build(directory, crawldb__file__rows=file_rows, crawldb__buckets=buckets, **ALL_LINKS)
    return directory


def by_networkx(links: list[tuple[str, str]], seeds: set[str] | None) -> dict[str, float]:
    wanted = None if seeds is None else dict.fromkeys(seeds, 1)
    ranks: dict[str, float] = nx.pagerank(
        nx.DiGraph(links), tol=1e-13, max_iter=1000, personalization=wanted
    )
    return ranks


def list_file(folder: Path, *lines: str) -> str:
    path = folder / f"list-{len(list(folder.iterdir()))}.txt"
    path.write_text("\n".join(lines))
    return str(path)


@SETTINGS
@given(
    links=LINKS,
    buckets=st.sampled_from([1, 2, 4]),
    file_rows=st.sampled_from([2, 1000]),
    data=st.data(),
)
def test_ranks_are_those_of_networkx(
    tmp_path_factory: pytest.TempPathFactory,
    links: list[tuple[str, str]],
    buckets: int,
    file_rows: int,
    data: st.DataObject,
) -> None:
    """Dangling pages, loops, links that come twice and the empty graph, whatever the files."""
    folder = tmp_path_factory.mktemp("crawl")
    urls = sorted({url for link in links for url in link})
    seeds = data.draw(st.none() | st.sets(st.sampled_from(urls), min_size=1)) if urls else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "_EDGES_PER_TASK", 1)
        directory = made(folder, links, buckets, file_rows)
        listed = None if seeds is None else list_file(folder, *seeds)
        done = rank(directory, seeds=listed, **EXACTLY)
    assert scores_of(directory) == pytest.approx(by_networkx(links, seeds), abs=1e-6)
    assert not links or done.report.details["sums"]["score"] == pytest.approx(1.0)
    assert bool(done.remarks) is not bool(links)  # a graph without links says so
    assert not check(directory, deep=True).faults


@SETTINGS
@given(links=LINKS.filter(bool), buckets=st.sampled_from([1, 2, 4]), data=st.data())
def test_denied_pages_have_no_say(
    tmp_path_factory: pytest.TempPathFactory,
    links: list[tuple[str, str]],
    buckets: int,
    data: st.DataObject,
) -> None:
    """As by the kernel that has the graph and the distrust of all nodes in memory."""
    folder = tmp_path_factory.mktemp("crawl")
    urls = sorted({url for link in links for url in link})
    denied = data.draw(st.sets(st.sampled_from(urls), min_size=1))
    seeds = data.draw(st.none() | st.sets(st.sampled_from(urls), min_size=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "_EDGES_PER_TASK", 1)
        patch.setattr(edges, "_MAX_ROWS", 2)
        directory = made(folder, links, buckets, 3)
        options = {
            "deny": list_file(folder, *denied),
            "seeds": None if seeds is None else list_file(folder, *seeds),
            **EXACTLY,
        }
        if (seeds or set(urls)) <= denied:
            with pytest.raises(UsageError, match="there is none to begin with"):
                rank(directory, **options)
            return
        rank(directory, **options)
    numbers = {url: number for number, url in enumerate(urls)}
    graph = ArrayEdges.of(
        [numbers[of] for of, _ in links], [numbers[to] for _, to in links], len(urls)
    )
    expected = trust_rank(
        graph,
        [numbers[url] for url in denied],
        RankOptions(tolerance=1e-13, max_iterations=2000),
        seeds=None if seeds is None else [numbers[url] for url in seeds],
    ).rank.ranks
    found = scores_of(directory)
    np.testing.assert_allclose([found[url] for url in urls], expected, atol=1e-6)


@SETTINGS
@given(
    links=LINKS,
    buckets=st.sampled_from([1, 2, 4]),
    file_rows=st.sampled_from([2, 1000]),
    data=st.data(),
)
def test_by_domain_as_by_the_kernel(
    tmp_path_factory: pytest.TempPathFactory,
    links: list[tuple[str, str]],
    buckets: int,
    file_rows: int,
    data: st.DataObject,
) -> None:
    """Hosts of one domain in several buckets, and files of few pages."""
    folder = tmp_path_factory.mktemp("crawl")
    urls = sorted({url for link in links for url in link})
    seeds = data.draw(st.none() | st.sets(st.sampled_from(urls), min_size=1)) if urls else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "_EDGES_PER_TASK", data.draw(st.sampled_from([1, 100])))
        directory = made(folder, links, buckets, file_rows)
        listed = None if seeds is None else list_file(folder, *seeds)
        done = rank(directory, by_domain=True, seeds=listed, **EXACTLY)
    assert bool(done.remarks) is not bool(links)
    assert not check(directory, deep=True).faults
    numbers = {url: number for number, url in enumerate(urls)}
    names = [registered_domain(url.split("/")[2]) for url in urls]
    domains = sorted(set(names))
    expected = domain_rank(
        ArrayEdges.of(
            [numbers[of] for of, _ in links], [numbers[to] for _, to in links], len(urls)
        ),
        np.array([domains.index(name) for name in names], np.int64),
        len(domains),
        RankOptions(damping=0.7, tolerance=1e-13, max_iterations=2000),
        teleport=None
        if seeds is None
        else np.array([url in seeds for url in urls], dtype=np.float64),
    ).ranks
    found = scores_of(directory)
    np.testing.assert_allclose([found[url] for url in urls], expected, atol=1e-6)


def test_by_domain_a_page_without_a_host_has_only_itself(tmp_path: Path) -> None:
    links = [("http://a.org/", "http:///x"), ("http://a.org/", "http://b.org/")]
    directory = made(tmp_path, links)
    done = rank(directory, by_domain=True, **EXACTLY)
    assert done.report.details["sums"]["score"] == pytest.approx(1.0)
    assert done.report.counters["plain_iterations"] > 1
    scores = scores_of(directory)
    assert scores["http://b.org/"] == pytest.approx(scores["http:///x"])


def test_by_domain_denied_pages_have_no_say_either(tmp_path: Path) -> None:
    links = [("http://spam.net/", "http://a.org/"), ("http://b.org/", "http://c.net/")]
    directory = made(tmp_path, links)
    rank(directory, by_domain=True, deny=list_file(tmp_path, "spam.net"))
    scores = scores_of(directory)
    assert scores["http://spam.net/"] == 0.0
    assert scores["http://a.org/"] < scores["http://c.net/"]


def test_a_farm_that_is_denied_lifts_nobody(tmp_path: Path) -> None:
    farm = [f"http://f{n}.spam.net/" for n in range(30)]
    links = [(url, "http://target.org/") for url in farm]
    links += [(url, farm[(n + 1) % 30]) for n, url in enumerate(farm)]
    links += [
        ("http://good.org/", "http://better.org/"),
        ("http://better.org/", "http://good.org/"),
    ]
    directory = made(tmp_path, links)
    rank(directory)
    before = scores_of(directory)
    assert before["http://target.org/"] > before["http://better.org/"]
    done = rank(directory, deny=list_file(tmp_path, "spam.net"))
    after = scores_of(directory)
    assert after["http://target.org/"] < after["http://better.org/"]
    assert after[farm[0]] == 0.0
    assert done.report.counters["denied_pages"] == 30


def test_names_are_urls_hosts_or_domains(tmp_path: Path) -> None:
    links = [(f"http://{host}/x", "http://e.org/") for host in HOSTS]
    directory = made(tmp_path, links)
    for names, pages in (
        (["a.org"], 2),
        (["www.A.org"], 1),
        (["http://b.org:80/x", "# comment", "", "c.net\tnutch.score=3"], 2),
        (["http://unknown.org/", "d.net"], 1),
    ):
        done = rank(directory, seeds=list_file(tmp_path, *names), iterations=1)
        assert done.report.counters["seed_pages"] == pages, names
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(b"b.org\n"))
    done = rank(directory, seeds=str(packed), iterations=1)
    assert done.report.counters["seed_pages"] == 1
    done = rank(directory, deny=list_file(tmp_path, "unknown.org"), iterations=1)
    assert "nothing is denied" in done.remarks[0]


def test_wrong_input_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = made(tmp_path, [("http://a.org/", "http://b.org/")])
    before = directory.dataset(WEBGRAPH).require_current().number
    with pytest.raises(StorageError, match="no such file"):
        rank(directory, seeds=str(tmp_path / "missing.txt"))
    with pytest.raises(UsageError, match=r"no page of .* is in the link graph"):
        rank(directory, seeds=list_file(tmp_path, "unknown.org", "http://a.org/other"))
    for line in ("http://", "a.org/path", "a b", "\x00", "user@a.org"):
        with pytest.raises(UsageError, match="line 2 is no URL, host or domain"):
            rank(directory, deny=list_file(tmp_path, "a.org", line))
    with pytest.raises(UsageError, match="has no URL, host or domain in it"):
        rank(directory, deny=list_file(tmp_path, "# nothing"))
    for tolerance in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="above 0"):
            rank(directory, tolerance=tolerance)
    with pytest.raises(UsageError, match="go with --pagerank"):
        linkrank.kernel_of(Config(), LinkRankOptions(seeds="x"))
    with pytest.raises(UsageError, match="go with --pagerank"):
        linkrank.kernel_of(Config(), LinkRankOptions(by_domain=True))
    monkeypatch.setattr(name_lists, "MAX_NAMES", 1)
    with pytest.raises(UsageError, match="more than 1 names"):
        rank(directory, deny=list_file(tmp_path, "a.org", "b.org"))
    assert directory.dataset(WEBGRAPH).require_current().number == before


def test_it_says_where_it_did_not_converge(tmp_path: Path) -> None:
    links = [(f"http://{n}.org/", f"http://{(n * 7) % 9}.org/") for n in range(9)]
    links += [("http://1.org/", "http://2.org/"), ("http://2.org/", "http://3.org/")]
    directory = made(tmp_path, links)
    (remark,) = rank(directory, iterations=2, tolerance=1e-9).remarks
    assert "the last of 2 iterations" in remark and "1e-09" in remark


def test_pageranks_become_scores_of_mean_one(tmp_path: Path) -> None:
    links = [("http://a.org/", "http://b.org/"), ("http://c.org/", "http://b.org/")]
    directory = made(tmp_path, links)
    make_crawldb(directory.address, {url: datum() for link in links for url in link})
    rank(directory)
    scoreupdater.run(InProcess(), directory, Config(), ScoreUpdaterOptions(), SystemClock())
    ranks = scores_of(directory)
    assert sum(ranks.values()) == pytest.approx(1.0)
    for url, record in records_of(directory).items():
        assert record.score == pytest.approx(3 * ranks[url], rel=1e-6)
    assert set(links_of(graph_of(directory))) == set(links)
    assert len(nodes_of(graph_of(directory))) == 3
