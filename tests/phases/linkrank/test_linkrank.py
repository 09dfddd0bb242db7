"""Ranks of the stored link graph: against dense arithmetic, by lists, in the CrawlDb."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.driver.phase_run import Published
from crawl.errors import NoSnapshot, StorageError, UsageError
from crawl.model.derived_tables import WEBGRAPH
from crawl.phases.linkrank import run as linkrank
from crawl.phases.linkrank.options import LinkRankOptions
from crawl.phases.nodedumper import run as nodedumper
from crawl.phases.nodedumper.options import NodeDumperOptions
from crawl.phases.scoreupdater import run as scoreupdater
from crawl.phases.scoreupdater.options import ScoreUpdaterOptions
from crawl.phases.webgraph.tasks import edges, listing, ranking, vectors
from crawl.phases.webgraph.values import Combine, ListFormat, NodeGroup, NodeValue
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.tables.runner import InProcess
from tests.examples import scaled
from tests.phases.linked_pages import ALL_LINKS, add_parse, build, graph_of, nodes_of
from tests.phases.made import datum, make_crawldb, records_of

SEGMENT = "20260101000000"


def rank(directory: CrawlDir, **settings: object) -> Published:
    config = Config.of({name.replace("__", "."): value for name, value in settings.items()})
    return linkrank.run(InProcess(), directory, config, LinkRankOptions(), SystemClock())


def scores_of(directory: CrawlDir) -> dict[str, float]:
    graph = graph_of(directory)
    values = [graph.scores_of(part) for part in range(len(graph.nodes))]
    scores = np.concatenate([np.zeros(0), *values])
    return {url: float(scores[number]) for url, (number, _, _) in nodes_of(graph).items()}


def dense_link_rank(links: set[tuple[str, str]], iterations: int = 10) -> dict[str, float]:
    """The formula, with a matrix."""
    urls = sorted({url for link in links for url in link})
    place = {url: number for number, url in enumerate(urls)}
    matrix = np.zeros((len(urls), len(urls)))
    for of, to in links:
        matrix[place[to], place[of]] = 1 / sum(each == of for each, _ in links)
    scores = np.ones(len(urls))
    for _ in range(iterations):
        scores = 0.15 + 0.85 * (1 / max(1, len(urls)) + matrix @ scores)
    return dict(zip(urls, scores.tolist(), strict=True))


def dump(directory: CrawlDir, by: NodeValue, **options: object) -> list[tuple[str, float]]:
    wanted = NodeDumperOptions(by, **options)  # type: ignore[arg-type]
    nodes = nodedumper.run(InProcess(), directory, wanted)
    assert isinstance(nodes, list)
    return nodes


URLS = st.builds("http://{}.org/{}".format, st.sampled_from("abcd"), st.sampled_from("xyz"))
LINKS = st.sets(st.tuples(URLS, URLS), max_size=25)


@settings(max_examples=scaled(60), deadline=None)
@given(links=LINKS, file_rows=st.sampled_from([2, 1000]), edges_a_task=st.sampled_from([1, 1000]))
def test_scores_are_those_of_the_formula(
    tmp_path_factory: pytest.TempPathFactory,
    links: set[tuple[str, str]],
    file_rows: int,
    edges_a_task: int,
) -> None:
    """Loops, pages without links and the empty graph included, whatever the files."""
    directory = CrawlDir(str(tmp_path_factory.mktemp("crawl")))
    pages: dict[str, list[str]] = {}
    for of, to in sorted(links):
        pages.setdefault(of, []).append(to)
    add_parse(directory, SEGMENT, pages)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "_EDGES_PER_TASK", edges_a_task)
        patch.setattr(edges, "_MAX_ROWS", file_rows)
        patch.setattr(vectors, "_MAX_IN_MEMORY", 8 * file_rows)
        build(directory, crawldb__file__rows=file_rows, crawldb__buckets=3, **ALL_LINKS)
        rank(directory)
    assert scores_of(directory) == pytest.approx(dense_link_rank(links), abs=1e-9)
    assert not check(directory, deep=True).faults


def test_links_of_a_site_count_once(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    pages = {f"http://{n}.spam.org/": ["http://good.org/"] for n in range(50)}
    pages["http://other.org/"] = ["http://better.org/"]
    pages["http://another.org/"] = ["http://better.org/"]
    add_parse(directory, SEGMENT, pages)
    build(directory)
    rank(directory)
    scores = scores_of(directory)
    assert scores["http://better.org/"] > scores["http://good.org/"]


def test_a_graph_is_ranked_again_and_loses_its_ranks_when_it_grows(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    with pytest.raises(NoSnapshot, match="has no link graph yet"):
        rank(directory)
    add_parse(directory, SEGMENT, {"http://a.org/": ["http://b.org/"]})
    build(directory)
    assert rank(directory).report.counters["iterations"] == 10
    ranked = rank(directory, link__analyze__num__iterations=2)
    assert ranked.report.counters["iterations"] == 2
    add_parse(directory, "20260102000000", {"http://b.org/": ["http://c.org/"]})
    build(directory)
    assert not graph_of(directory).has_scores
    assert list(directory.dataset(WEBGRAPH).require_current().applied) == [
        SEGMENT,
        "20260102000000",
    ]
    with pytest.raises(NoSnapshot, match="crawl linkrank"):
        dump(directory, NodeValue.SCORES, top=3)


def test_edges_of_another_graph_are_no_ranks(tmp_path: Path) -> None:
    directory = CrawlDir(str(tmp_path))
    add_parse(directory, SEGMENT, {"http://a.org/": ["http://b.org/"]})
    build(directory)
    graph = graph_of(directory)
    other = type(graph)(graph.folder, graph.nodes[:1], {0: next(iter(graph.edges.values()))})
    with pytest.raises(StorageError, match="has edges of another graph"):
        list(other.blocks(0))


@pytest.mark.parametrize("file_rows", [3, 1000])
def test_scores_become_those_of_the_crawldb(tmp_path: Path, file_rows: int) -> None:
    known = {f"http://h{n % 5}.org/p{n}": datum(metadata={"n": str(n)}) for n in range(40)}
    directory = make_crawldb(str(tmp_path), known, buckets=3)
    urls = list(known)
    pages = {
        url: [urls[(3 * n + 1) % 20], f"http://new{n}.org/"] for n, url in enumerate(urls[:20])
    }
    add_parse(directory, SEGMENT, pages)
    build(directory, **ALL_LINKS)
    rank(directory)
    done = scoreupdater.run(
        InProcess(),
        directory,
        Config.of({"link.score.updater.clear.score": 0.25, "crawldb.file.rows": file_rows}),
        ScoreUpdaterOptions(),
        SystemClock(),
    )
    scores = scores_of(directory)
    records = records_of(directory)
    assert records.keys() == known.keys()
    for url, record in records.items():
        assert record.score == pytest.approx(scores.get(url, 0.25), rel=1e-6)
        assert record.metadata == known[url].metadata
    counters = done.report.counters
    assert counters["urls_scored"] == 20
    assert counters["urls_cleared"] == 20
    assert counters["nodes_unknown"] == 20
    assert not check(directory, deep=True).faults


@pytest.mark.parametrize("rows_a_range", [1, 3, 1000])
def test_lists_are_of_the_whole_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows_a_range: int
) -> None:
    monkeypatch.setattr(listing, "_ROWS_PER_RANGE", rows_a_range)
    directory = CrawlDir(str(tmp_path / "crawl"))
    chance = random.Random(7)
    urls = [f"http://{'abcdef'[n % 6]}{n % 2}.x{n % 3}.org/{n}" for n in range(40)]
    pages = {url: chance.sample(urls, chance.randint(0, 6)) for url in urls[:30]}
    add_parse(directory, SEGMENT, pages)
    build(directory, crawldb__buckets=4, **ALL_LINKS)
    rank(directory)
    scores, nodes = scores_of(directory), nodes_of(graph_of(directory))
    best = sorted(scores, key=lambda url: (-scores[url], nodes[url][0]))
    for top in (1, 2, 7, 35, 100):
        found = dump(directory, NodeValue.SCORES, top=top)
        assert [name for name, _ in found] == best[:top]
    most = sorted(nodes, key=lambda url: (-nodes[url][1], nodes[url][0]))
    assert [name for name, _ in dump(directory, NodeValue.INLINKS, top=9)] == most[:9]
    by_domain: dict[str, list[float]] = {}
    for url, score in scores.items():
        domain = ".".join(url.split("/")[2].split(".")[-2:])
        by_domain.setdefault(domain, []).append(score)
    for option, combine in ((Combine.SUM, sum), (Combine.MAX, max)):
        found = dump(directory, NodeValue.SCORES, top=2, group=NodeGroup.DOMAIN, combine=option)
        expected = sorted(((combine(each), name) for name, each in by_domain.items()), reverse=True)
        assert [name for name, _ in found] == [name for _, name in expected[:2]]
        values = [value for _, value in found]
        assert values == pytest.approx([value for value, _ in expected[:2]])
    output = tmp_path / "out"
    to_files = NodeDumperOptions(
        NodeValue.SCORES, output=str(output), format=ListFormat.TEXT, as_eff=True
    )
    written = nodedumper.run(InProcess(), directory, to_files)
    lines = [
        line for path in sorted(output.glob("part-*")) for line in path.read_text().splitlines()
    ]
    assert written == len(lines) == len(best)
    assert [line.rpartition("=")[0] for line in lines] == best
    assert (output / "_SUCCESS").exists()
    with pytest.raises(UsageError, match="--output FOLDER"):
        dump(directory, NodeValue.INLINKS)


def test_a_missing_piece_of_a_vector_is_told(tmp_path: Path) -> None:
    piece = vectors.write_piece(Folder(str(tmp_path)), "scores-0", 0, np.ones(3))
    (tmp_path / piece.path).write_bytes(b"cut")
    with pytest.raises(StorageError, match="missing or cut"):
        vectors.whole_vector(Folder(str(tmp_path)), (piece,), 3)
