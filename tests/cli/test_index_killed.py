"""An index that was killed between the ledger's publication and what follows it: whichever command
comes next, nobody is answered from what was there before, and the next writer completes it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from crawl.model.derived_tables import INDEX
from crawl.phases.index.tasks.settle import is_unsettled
from crawl.storage.crawl_dir import CrawlDir
from tests.cli.calling import Answer, Caller
from tests.cli.indexing_here import index_in_this_process
from tests.phases.indexed import GONE, IndexedCrawl, Page, documents_of
from tests.phases.killed import Moment, run_killed, writes_of

pytestmark = [pytest.mark.slow(seconds=60), pytest.mark.exhaustive]

URLS = tuple(f"http://h{number}.com/" for number in range(8))
LATER = tuple(f"http://k{number}.com/" for number in range(6))
ALL = ("--per-host", "0", "--limit", "50", "--duplicates")
WRITERS = ("tantivy", "jsonl")
SETTINGS = ("-D", f"index.writers={','.join(WRITERS)}", "-D", "index.shards=2")


def _first(folder: Path) -> IndexedCrawl:
    """Nothing is indexed yet."""
    crawl = IndexedCrawl(folder, ",".join(WRITERS))
    crawl.round({url: Page(f"alpha of {url}") for url in URLS})
    return crawl


def _second(folder: Path) -> IndexedCrawl:
    """The first round is indexed; the second is not."""
    crawl = _first(folder)
    crawl.index()
    crawl.round({url: Page(f"alpha of {url}") for url in LATER} | {URLS[0]: GONE})
    return crawl


def _stale(folder: Path) -> IndexedCrawl:
    """All is indexed, and the CrawlDb has some pages as gone."""
    crawl = _second(folder)
    crawl.index()
    return crawl


def _index(folder: str) -> None:
    IndexedCrawl(Path(folder), ",".join(WRITERS)).index(delete_gone=True, steal_lock=True)


def _clean(folder: str) -> None:
    IndexedCrawl(Path(folder), ",".join(WRITERS)).clean(steal_lock=True)


def _moments(writes: dict[str, int]) -> list[Moment]:
    """Those from the ledger's publication on, which its pointer makes."""
    decisive = (
        "write crawl/index/CURRENT",
        "write crawl/index/CURRENT.copy",
        "write index/tantivy/FOLDERS, torn",
        "write index/tantivy/FOLDERS",
        "write index/jsonl/FOLDERS.copy, torn",
        "delete index/tantivy/part-#-#",
        "delete crawl/index/LOCK",
    )
    return [Moment(kind, writes[kind]) for kind in decisive if kind in writes]


def _found(crawl: Caller, address: str) -> set[str]:
    """The pages that a search finds, which must not fail."""
    answer = crawl("search", address, "alpha", *ALL, "--json")
    assert answer.code == 0, answer
    return {hit["url"] for hit in answer.json["results"]}


def _require_settled(crawl: Caller, address: str, expected: set[str]) -> None:
    """Every writer has these pages, whoever reads its folder by its own list or by the ledger,
    and nothing else."""
    assert _found(crawl, address) == expected
    checked = crawl("check", address, "--deep")
    assert checked.code == 0, checked
    for writer in WRITERS:
        folder = Path(address, "index", writer)
        assert set(documents_of(IndexedCrawl(Path(address).parent).crawl_dir, writer)) == expected
        listed = json.loads((folder / "FOLDERS").read_bytes().partition(b"\n")[0])["folders"]
        assert sorted(listed) == sorted(path.name for path in folder.glob("part-*"))
    left = [path.name for path in Path(address, "index").rglob("*.unfinished")]
    # the empty folder of a holder that died when it had released its lock goes with the next one
    assert [name for name in left if not name.startswith(".LOCK.holder-")] == []


def _run_index(crawl: Caller, address: str) -> Answer:
    return crawl("index", address, *SETTINGS)


def _run_index_if_due(crawl: Caller, address: str) -> Answer:
    return crawl("index", address, *SETTINGS, "--if-due")


def _run_index_of_another(crawl: Caller, address: str) -> Answer:
    return crawl("index", address, "-D", "index.writers=csv")


def _run_clean(crawl: Caller, address: str) -> Answer:
    return crawl("clean", address, *SETTINGS)


def _run_clean_of_another(crawl: Caller, address: str) -> Answer:
    return crawl("clean", address, "-D", "index.writers=csv")


def _run_repair(crawl: Caller, address: str) -> Answer:
    return crawl("check", address, "--repair")


def _run_gc(crawl: Caller, address: str) -> Answer:
    return crawl("gc", address)


NEXT = (
    _run_index,
    _run_index_if_due,
    _run_index_of_another,
    _run_clean,
    _run_clean_of_another,
    _run_repair,
    _run_gc,
)


@pytest.mark.parametrize(
    ("prepared", "job"),
    [(_first, _index), (_second, _index), (_stale, _clean)],
    ids=["first index", "second index", "clean"],
)
def test_killed_between_the_ledger_and_what_writers_have(
    tmp_path: Path,
    crawl: Caller,
    monkeypatch: pytest.MonkeyPatch,
    prepared: Callable[[Path], IndexedCrawl],
    job: Callable[[str], None],
) -> None:
    index_in_this_process(monkeypatch)
    base, tried, copy = tmp_path / "base", tmp_path / "tried", tmp_path / "copy"
    prepared(base)
    shutil.copytree(base, tried)
    writes = writes_of(job, str(tried))
    after = _found(crawl, str(tried / "crawl"))
    assert len(after) > 5
    moments = _moments(writes)
    assert len(moments) >= 6
    for place, moment in enumerate(moments):
        shutil.rmtree(tried)
        shutil.copytree(base, tried)
        assert run_killed(job, str(tried), at=moment), moment
        # nobody is answered from what was there before
        assert _found(crawl, str(tried / "crawl")) == after, moment
        ledger = CrawlDir(str(tried / "crawl")).dataset(INDEX).current()
        is_settled = not is_unsettled(CrawlDir(str(tried / "crawl")), (), ledger)
        # every command after the first moment, which is the worst; of the others one in turn
        for following in NEXT if not place else (_run_index, NEXT[1 + place % (len(NEXT) - 1)]):
            shutil.copytree(tried, copy)
            address = str(copy / "crawl")
            answer = following(crawl, address)
            assert answer.code == (following is _run_index and is_settled), (moment, answer)
            _require_settled(crawl, address, after)
            shutil.rmtree(copy)
