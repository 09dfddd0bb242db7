"""Near duplicates and canonical URLs, on pages with known truth."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from hashlib import md5
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from crawl.config import Config
from crawl.errors import NothingToDo, UsageError
from crawl.model.content import Content
from crawl.model.parse import Parse
from crawl.model.status import Status
from crawl.model.table import Table
from crawl.model.tables import PARSE_DATA, PARSE_TEXT
from crawl.plugins.signature.simhash import SimhashSignature, distance
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import attempt_name
from crawl.storage.parquet import open_writer
from crawl.storage.segments import GENERATE, PartFile, PartManifest
from tests.phases.dedup.edited_pages import MadePage, edited, made_pages, words_of
from tests.phases.dedup.test_dedup import page, run_dedup, statuses
from tests.phases.made import NOW, make_crawldb, records_of

DUPLICATE = Status.DB_DUPLICATE
SEGMENT = "20260101000000"


def add_parse(
    directory: CrawlDir, table: Table, rows: Iterable[Mapping[str, Any]], name: str
) -> None:
    """A part of a segment's parse with these rows; columns that are not named are empty."""
    empty: dict[Any, Any] = {pa.string(): "", pa.binary(): None}
    columns = [
        {
            each.name: row.get(each.name, empty.get(each.type, NOW if "time" in each.name else []))
            for each in table.columns
        }
        for row in rows
    ]
    segment = directory.segments.segment(name)
    segment.publish(GENERATE, PartManifest((), NOW))
    path = attempt_name("part-00000")
    content = pa.Table.from_pylist(columns, table.schema)
    with open_writer(segment.part_folder(table.name), path, table.schema) as writer:
        writer.write(content)
    size = segment.part_folder(table.name).size(path) or 0
    segment.publish(table.name, PartManifest((PartFile(0, path, len(columns), size),), NOW))


def add_texts(directory: CrawlDir, texts: Mapping[str, str], name: str = SEGMENT) -> None:
    rows = [{"url": url, "text": text, "main_text": None} for url, text in texts.items()]
    add_parse(directory, PARSE_TEXT, rows, name)


def add_canonicals(directory: CrawlDir, said: Mapping[str, str], name: str = SEGMENT) -> None:
    rows = [{"url": url, "canonical": canonical} for url, canonical in said.items()]
    add_parse(directory, PARSE_DATA, rows, name)


def crawl_of(tmp_path: Path, pages: list[MadePage], **shape: Any) -> CrawlDir:
    records = {each.url: page(md5(each.text.encode()).digest()) for each in pages}
    directory = make_crawldb(str(tmp_path), records, **shape)
    add_texts(directory, {each.url: each.text for each in pages})
    return directory


def clusters_of(directory: CrawlDir, **options: Any) -> list[set[str]]:
    groups = run_dedup(directory, groups=100_000, urls=100_000, **options).groups
    return [{group.survivor, *group.duplicates} for group in groups]


@pytest.mark.slow(seconds=8)
@pytest.mark.parametrize("seed", [7, 1, 2, 3, 4])
def test_edited_copies_are_found_and_pages_of_one_template_are_not(
    tmp_path: Path, seed: int
) -> None:
    shares = (0.01, 0.05, 0.1)
    pages = made_pages(seed, 150, shares)
    directory = crawl_of(tmp_path, pages, buckets=3, group_rows=100)
    original = {each.url: each.original for each in pages}
    found = clusters_of(directory, near="jaccard=0.3")
    together = [
        Counter(original[url] for url in cluster).most_common(1)[0][1] - 1 for cluster in found
    ]
    claimed = sum(len(cluster) - 1 for cluster in found)
    assert sum(together) / claimed >= 0.99, "precision"
    assert sum(together) / (len(pages) - 150) >= 0.95, "recall"
    marked = sum(each is DUPLICATE for each in statuses(directory).values())
    assert marked == claimed


@pytest.mark.slow(seconds=5)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_simhashes_of_texts_find_copies_with_few_edits_and_no_others(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    plugin = SimhashSignature(Config())
    shares = (0.002, 0.01, 0.1)
    texts: dict[str, str] = {}
    for number in range(60):
        words = words_of(chance, chance.randint(100, 800))
        texts[f"http://h{number % 7}.org/{number}/0"] = " ".join(words)
        for copy, share in enumerate(shares, start=1):
            url = f"http://h{(number + copy) % 7}.org/{number}/{copy}"
            texts[url] = " ".join(edited(chance, words, share))
    signatures = {
        url: plugin.calculate(Content(url, b""), Parse(url, text=text))
        for url, text in texts.items()
    }
    records = {url: page(signature) for url, signature in signatures.items()}
    directory = make_crawldb(str(tmp_path), records, buckets=3)
    found = clusters_of(directory, near="hamming=3")
    # exactly those that a walk over all pairs joins
    assert {frozenset(cluster) for cluster in found} == near_clusters(signatures, 3)
    originals = [{url.split("/")[3] for url in cluster} for cluster in found]
    assert {len(some) for some in originals} == {1}, "precision"

    def beside(url: str) -> str:
        number = int(url.split("/")[3])
        return f"http://h{number % 7}.org/{number}/0"

    cluster_of = {url: at for at, cluster in enumerate(found) for url in cluster}
    recall = {
        share: sum(
            cluster_of.get(url, -1) == cluster_of.get(beside(url), -2)
            for url in texts
            if url.endswith(f"/{copy}")
        )
        / 60
        for copy, share in enumerate(shares, start=1)
    }

    assert recall[0.002] >= 0.8
    assert 0.35 <= recall[0.01] <= 0.7
    assert recall[0.1] <= 0.05, "which is for jaccard to find"


def near_clusters(signatures: Mapping[str, bytes], bits: int) -> set[frozenset[str]]:
    """By the distance of every pair."""
    cluster = {url: {url} for url in signatures}
    for one, other in combinations(signatures, 2):
        near = distance(signatures[one], signatures[other]) <= bits
        if near and cluster[one] is not cluster[other]:
            cluster[one] |= cluster[other]
            for url in cluster[one]:
                cluster[url] = cluster[one]
    return {frozenset(each) for each in cluster.values() if len(each) > 1}


def test_near_and_exact_duplicates_are_one_cluster(tmp_path: Path) -> None:
    chance = random.Random(3)
    words = words_of(chance, 300)
    text, near = " ".join(words), " ".join([*words[:150], "another", *words[150:]])
    other = " ".join(words_of(chance, 300))
    texts = {"http://a.org/": text, "http://b.org/": text, "http://c.org/": near}
    texts |= {"http://c.org/2": near, "http://d.org/": other, "http://e.org/empty": ""}
    records = {
        url: page(md5(each.encode()).digest(), score=len(texts) - at)
        for at, (url, each) in enumerate(texts.items())
    }
    for buckets in (1, 4):
        directory = make_crawldb(str(tmp_path / str(buckets)), records, buckets=buckets)
        # only one of those with a signature has a text of its own
        add_texts(directory, {url: texts[url] for url in texts if url != "http://b.org/"})
        assert clusters_of(directory, near="jaccard") == [
            {"http://a.org/", "http://b.org/", "http://c.org/", "http://c.org/2"}
        ]
        found = statuses(directory)
        assert [url for url in texts if found[url] is DUPLICATE] == [
            *("http://b.org/", "http://c.org/", "http://c.org/2")
        ]
        again = directory.require_crawldb().number
        assert run_dedup(directory, near="jaccard").snapshot.number == again
        assert run_dedup(directory, near="jaccard", group="host").report.counters["duplicates"] == 1
        run_dedup(directory)
        assert [url for url, each in statuses(directory).items() if each is DUPLICATE] == [
            *sorted(set(found) & {"http://b.org/", "http://c.org/2"}, key=list(found).index)
        ]


def test_the_text_of_the_latest_segment_counts_in_any_order(tmp_path: Path) -> None:
    chance = random.Random(4)
    old, new = (" ".join(words_of(chance, 200)) for _ in range(2))
    records = {f"http://{host}.org/": page(host.encode() * 16) for host in "ab"}
    for order in (1, -1):
        directory = make_crawldb(str(tmp_path / str(order)), records)
        for name, text in [("20260101000000", old), ("20260102000000", new)][::order]:
            add_texts(directory, {"http://a.org/": text}, name)
        add_texts(directory, {"http://b.org/": old}, "20260103000000")
        assert clusters_of(directory, near="jaccard") == []
        add_texts(directory, {"http://b.org/": new}, "20260104000000")
        assert clusters_of(directory, near="jaccard") == [set(records)]


def test_a_long_chain_is_one_cluster_whatever_the_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("crawl.phases.dedup.run._ROWS_PER_DESTINATION", 10)
    # neighbours differ by one bit, the ends by 60
    simhashes = [((1 << n) - 1).to_bytes(8, "little") for n in range(61)]
    records = {f"http://h{n}.org/": page(each) for n, each in enumerate(simhashes)}
    records["http://far.org/"] = page(bytes.fromhex("aa55" * 4))
    directory = make_crawldb(str(tmp_path), records, buckets=5)
    (cluster,) = run_dedup(directory, near="hamming=1", groups=5).groups
    assert cluster.size == 61
    assert run_dedup(directory, near="hamming=0").report.counters["duplicates"] == 0


def test_a_canonical_page_survives(tmp_path: Path) -> None:
    urls = ["http://a.org/best", "http://a.org/p?s=1", "http://a.org/p?s=2", "http://b.org/x"]
    records = {url: page(url.encode(), score=9.0 * n) for n, url in enumerate(urls)}
    records["http://b.org/gone"] = page(status=Status.DB_GONE)
    directory = make_crawldb(str(tmp_path), records)
    said = {urls[1]: urls[0], urls[2]: urls[1], urls[3]: "http://b.org/gone", urls[0]: urls[0]}
    add_canonicals(directory, said)
    done = run_dedup(directory, canonical=True, compare_order="canonical,urlLength")
    found = {url for url, each in statuses(directory).items() if each is DUPLICATE}
    assert found == {urls[1], urls[2]}
    assert done.report.counters["canonicals"] == 3
    assert done.report.counters["canonicals_unknown"] == 1
    # what was said at last counts
    add_canonicals(directory, {urls[1]: "", urls[2]: ""}, "20260102000000")
    assert run_dedup(directory, canonical=True).report.counters["duplicates_lifted"] == 2
    assert DUPLICATE not in {each.status for each in records_of(directory).values()}


def test_a_canonical_page_of_another_host_is_of_another_group(tmp_path: Path) -> None:
    records = {f"http://{host}.org/": page(host.encode()) for host in "ab"}
    directory = make_crawldb(str(tmp_path), records)
    add_canonicals(directory, {"http://a.org/": "http://b.org/"})
    done = run_dedup(directory, canonical=True, group="host")
    assert done.report.counters["canonicals_of_other_groups"] == 1
    assert done.report.counters["duplicates"] == 0
    assert run_dedup(directory, canonical=True).report.counters["duplicates"] == 1


@pytest.mark.parametrize("near", ["jacard", "jaccard=2", "jaccard=x", "hamming=1.5", "hamming=9"])
def test_a_wrong_measure_is_one_line(tmp_path: Path, near: str) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": page()})
    with pytest.raises(UsageError, match="^--near: [^\n]*$"):
        run_dedup(directory, near=near)


def test_without_texts_there_is_nothing_near(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path), {"http://a.org/": page()})
    with pytest.raises(NothingToDo, match="no segment has parsed texts"):
        run_dedup(directory, near="jaccard")
