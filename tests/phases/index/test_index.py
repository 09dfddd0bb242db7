"""index and clean on crawls whose pages change, move, vanish and repeat each other."""

from __future__ import annotations

import json
import random
import resource
import signal
from pathlib import Path

import pytest

from crawl.errors import ConfigError, NothingToDo, PluginError, StorageError, UsageError
from crawl.model.derived_tables import INDEX
from crawl.model.status import Status
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from tests.phases.indexed import FILE_WRITERS, GONE, MOVED, IndexedCrawl, Page

NOINDEX = "<meta name=robots content=noindex>"
A, B, C, D, E = (f"http://{host}/" for host in ("a.com", "b.com", "c.com", "d.org", "e.net"))
DEEP = "http://a.com/deep"


def test_documents_are_the_indexable_pages_through_three_rounds(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path, ",".join(FILE_WRITERS))
    crawl.round(
        {
            A: Page("alpha one"),
            B: Page("beta one"),
            C: Page("gamma one", NOINDEX),
            D: Page("delta one"),
            E: GONE,
            DEEP: Page("deep one"),
        }
    )
    done = crawl.index()
    assert done.documents == dict.fromkeys(FILE_WRITERS, 4)
    assert done.report.counters["deleted.noindex"] == 1
    assert done.report.counters["skipped.gone"] == 1
    for writer in FILE_WRITERS:
        assert set(crawl.documents(writer)) == {A, B, D, DEEP}

    crawl.round({A: Page("alpha two"), B: GONE, C: Page("gamma two"), D: Page("d", NOINDEX)})
    crawl.index(delete_gone=True)
    for writer in FILE_WRITERS:
        found = crawl.documents(writer)
        assert set(found) == {A, C, DEEP}
        assert found[A]["title"] == "alpha" and "two" in found[A]["content"]

    crawl.round({B: Page("beta three"), DEEP: MOVED, C: Page("gamma two")})
    crawl.index()  # deletes nothing that is gone
    assert set(crawl.documents()) == {A, B, C, DEEP}
    crawl.set_records({A: Status.DB_DUPLICATE, C: None})
    cleaned = crawl.clean()
    assert cleaned.report.counters["stale.db_duplicate"] == 1
    assert cleaned.report.counters["stale.not_in_crawldb"] == 1
    for writer in FILE_WRITERS:
        assert set(crawl.documents(writer)) == {B}


def test_indexing_twice_changes_nothing(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path, "jsonl,tantivy")
    name = crawl.round({A: Page("alpha"), B: Page("beta")})
    crawl.index()
    files = sorted(Path(crawl.address, "index", "jsonl").iterdir())
    with pytest.raises(NothingToDo, match="is in the index already"):
        crawl.index()
    done = crawl.index(name)
    assert done.report.counters["jsonl.unchanged"] == 2
    assert not done.report.counters["jsonl.updated"]
    assert sorted(Path(crawl.address, "index", "jsonl").iterdir()) == files


def test_the_newest_parse_wins_whatever_the_order(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    first = crawl.round({A: Page("alpha one"), B: Page("beta one")})
    second = crawl.round({A: Page("alpha two")})
    crawl.index(second)
    assert crawl.index(first).report.counters["jsonl.unchanged"] == 1
    assert "two" in crawl.documents()[A]["content"]
    there = Path(crawl.address, "segments", second)
    there.rename(tmp_path / second)  # only the ledger knows of it then
    assert crawl.index(first).report.counters["jsonl.older"] == 1
    (tmp_path / second).rename(there)
    both = IndexedCrawl(tmp_path / "other")
    both.round({A: Page("alpha one"), B: Page("beta one")})
    both.round({A: Page("alpha two")})
    done = both.index()
    assert done.report.counters["documents"] == 2
    assert both.documents() == crawl.documents()


@pytest.mark.parametrize("writer", FILE_WRITERS)
def test_a_full_disk_is_one_line_and_the_next_job_goes_on(tmp_path: Path, writer: str) -> None:
    crawl = IndexedCrawl(tmp_path, writer)
    many = " ".join(f"{random.Random(number).getrandbits(64):x}" for number in range(5_000))
    crawl.round({A: Page(f"alpha {many}"), B: Page(f"beta {many}")})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    obeyed = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(StorageError, match=rf"index/{writer}/part-.*File too large") as fault:
            crawl.index()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, obeyed)
    assert "\n" not in str(fault.value)
    assert crawl.index().documents == {writer: 2}
    assert set(crawl.documents(writer)) == {A, B}


def test_without_the_crawldb_the_segments_decide(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    name = crawl.round({A: Page("alpha"), B: GONE}, update=False)
    crawl.set_records({A: None})
    done = crawl.index(name)
    assert done.report.counters["skipped.not_in_crawldb"] == 1
    assert any("--no-crawldb" in remark for remark in done.remarks)
    assert crawl.index(name, crawldb=False).documents == {"jsonl": 1}


def test_rebuild_makes_the_index_anew(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round({A: Page("alpha"), B: Page("beta")})
    crawl.index()
    for file in Path(crawl.address, "index", "jsonl").iterdir():
        file.unlink()
    crawl.round({B: GONE})
    assert crawl.index(rebuild=True).documents == {"jsonl": 1}
    assert set(crawl.documents()) == {A}


def test_binary_content_and_segments_since_a_snapshot(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round({A: Page("alpha"), B: Page("beta")})
    before = crawl.crawl_dir.require_crawldb().number
    second = crawl.round({A: Page("alpha two")})
    done = crawl.index(since=before, binary_content=True)
    assert done.segments == (second,)
    assert "alpha two" in crawl.documents()[A]["binaryContent"]


def test_writers_have_their_own_fields_and_documents(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path, "a,rest")
    crawl.round({A: Page("alpha"), B: Page("beta")})
    rules = """
[[writer]]
id = "a"
plugin = "jsonl"
when = "host = 'a.com'"
[writer.fields]
rename = { content = "text" }
remove = ["segment"]
[[writer]]
id = "rest"
plugin = "jsonl"
when = "NOT host = 'a.com'"
parameters = { gzip = true }
"""
    file = tmp_path / "writers.toml"
    file.write_text(rules)
    crawl.settings["index.writers.file"] = str(file)
    assert crawl.index().documents == {"a": 1, "rest": 1}
    (document,) = crawl.documents("a").values()
    assert document["text"] == "alpha" and not {"content", "segment"} & set(document)
    assert set(crawl.documents("rest")) == {B}
    file.write_text(rules.replace("host = 'a.com'", "host LIKE 'b%'"))
    crawl.index(every=True)
    assert set(crawl.documents("a")) == {B} and set(crawl.documents("rest")) == {A}


def test_bad_settings_are_one_line(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round({A: Page("alpha")})
    crawl.settings["index.writers"] = "jsonll"
    with pytest.raises(PluginError, match="jsonl"):
        crawl.index()
    crawl.settings["index.writers"] = "jsonl"
    with pytest.raises(ConfigError, match="no parameter is called 'gzpi'"):
        crawl.index(params={"gzpi": "true"})
    with pytest.raises(UsageError, match="newest snapshot"):
        crawl.index(since=99)
    file = tmp_path / "writers.toml"
    crawl.settings["index.writers.file"] = str(file)
    for text, message in (
        ("[[writer]\n", "writers.toml"),
        ("[[writer]]\nid='x'\nplugin='jsonl'\nwen='1'", "'wen' is unknown"),
        ("[[writer]]\nid='x'\nplugin='jsonl'\nwhen='host ='", "is no condition"),
        ("[[writer]]\nid='../x'\nplugin='jsonl'", "is no id"),
    ):
        file.write_text(text)
        with pytest.raises(ConfigError, match=message):
            crawl.index()


def test_the_ledger_is_a_dataset_that_check_understands(tmp_path: Path) -> None:
    crawl = IndexedCrawl(tmp_path)
    crawl.round({A: Page("alpha"), B: Page("beta")})
    crawl.index()
    assert not check(crawl.crawl_dir, deep=True).faults
    snapshot = CrawlDir(crawl.address).dataset(INDEX).current()
    assert snapshot is not None and snapshot.rows == 2 and json.dumps(snapshot.notes)
