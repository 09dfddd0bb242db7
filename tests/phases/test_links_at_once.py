"""Two commands at once on one dataset: one of them works, the other says so in one line."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.errors import Locked, NothingToDo
from crawl.model.derived_tables import DOMAINGRAPH, HOSTDB, HOSTGRAPH, LINKDB, WEBGRAPH
from crawl.model.table import Table
from crawl.model.tables import CRAWLDB
from crawl.phases.invertlinks import run as invertlinks
from crawl.phases.invertlinks.options import InvertLinksOptions
from crawl.phases.updatehostdb import run as updatehostdb
from crawl.phases.updatehostdb.options import UpdateHostDbOptions
from crawl.phases.webgraph import run as webgraph
from crawl.phases.webgraph.options import WebGraphOptions
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir, locked
from crawl.tables.runner import InProcess
from tests.cli.calling import Caller
from tests.phases.linked_crawl import (
    READERS,
    WRITERS,
    in_this_process,
    key_of,
    make_linked_crawl,
    rows_of,
    words,
)

LOCKS: dict[str, Table] = {
    **dict.fromkeys(("invertlinks", "mergelinkdb"), LINKDB),
    **dict.fromkeys(("webgraph", "linkrank"), WEBGRAPH),
    "updatehostdb": HOSTDB,
    "hostgraph": HOSTGRAPH,
    "hostgraph domain": DOMAINGRAPH,
    **dict.fromkeys(("scoreupdater", "dedup"), CRAWLDB),
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("at-once") / "crawl"
    make_linked_crawl(str(place))
    return place


@pytest.fixture
def crawl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    with in_this_process(monkeypatch):
        yield Caller(capsys)


_NEED_NO_LOCK = ("readlinkdb", "nodereader", "nodedumper", "readhostdb", "dust", "mirrors")
RANKERS = [each for each in WRITERS if each[0] in ("hostgraph", "scoreupdater")]
LOCKLESS = [each for each in READERS if each[0] in _NEED_NO_LOCK]


@pytest.mark.parametrize("command", WRITERS, ids=key_of)
def test_a_writer_that_finds_the_lock_taken(
    crawl: Caller, whole: Path, tmp_path: Path, command: list[str]
) -> None:
    root = tmp_path / "crawl"
    shutil.copytree(whole, root)
    directory = CrawlDir(str(root))
    before = rows_of(directory)
    folder = directory.dataset(LOCKS[key_of(command)]).folder
    line = words(command, root, whole, tmp_path / "out")
    with locked(folder, "another", Config(), SystemClock()):
        answer = crawl(*line)
        assert (answer.code, answer.err.count("\n")) == (3, 1), answer
        assert "another" in answer.err
        assert rows_of(directory) == before
        for each in LOCKLESS:
            # dust and mirrors end with 1 where they find nothing
            may_be = (0, 1) if each[0] in ("dust", "mirrors") else (0,)
            assert crawl(*words(each, root, whole, tmp_path / "out")).code in may_be, each
            shutil.rmtree(tmp_path / "out", ignore_errors=True)
    assert crawl(*line).code == 0


@pytest.mark.parametrize("command", WRITERS, ids=key_of)
def test_a_writer_takes_no_lock_but_that_of_what_it_writes(
    crawl: Caller, whole: Path, tmp_path: Path, command: list[str]
) -> None:
    root = tmp_path / "crawl"
    shutil.copytree(whole, root)
    directory = CrawlDir(str(root))
    with ExitStack() as held:
        for table in (CRAWLDB, LINKDB, WEBGRAPH, HOSTGRAPH, DOMAINGRAPH, HOSTDB):
            if table is not LOCKS[key_of(command)]:
                folder = directory.dataset(table).folder
                held.enter_context(locked(folder, "another", Config(), SystemClock()))
        answer = crawl(*words(command, root, whole, tmp_path / "out"))
    assert answer.code == 0, answer
    assert not check(directory, deep=True).faults


@pytest.mark.parametrize("command", RANKERS, ids=key_of)
def test_the_link_graph_is_taken_further_while_it_is_read(
    crawl: Caller, whole: Path, tmp_path: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A webgraph and a linkrank that begin when the other is at work are not refused; they keep
    one snapshot, so that what the other has begun to read is deleted."""
    root = tmp_path / "crawl"
    shutil.copytree(whole, root)
    directory = CrawlDir(str(root))
    dataset = directory.dataset(WEBGRAPH)
    run, exchange = InProcess.run, InProcess.exchange
    codes: list[int] = []

    def take_further() -> None:
        if codes:
            return
        for name in ("webgraph", "linkrank"):
            codes.append(0)  # what follows runs tasks of its own
            line = words([name, "{}", "-D", "crawldb.snapshots.keep=1"], root, whole, tmp_path)
            codes[-1] = crawl(*line).code

    def meanwhile_run(self: InProcess, *given: Any) -> Any:
        take_further()
        return run(self, *given)

    def meanwhile_exchange(self: InProcess, *given: Any) -> Any:
        take_further()
        return exchange(self, *given)

    monkeypatch.setattr(InProcess, "run", meanwhile_run)
    monkeypatch.setattr(InProcess, "exchange", meanwhile_exchange)
    answer = crawl(*words([*command, "--json"], root, whole, tmp_path / "out"))
    assert codes == [0, 0]
    assert answer.code == 0, answer
    newest = dataset.require_current()
    assert dataset.timeline().numbers == (newest.number,)
    details = answer.json["report"]["details"]
    assert details.get("webgraph_snapshot", details.get("graph")) == newest.number
    counted = answer.json["report"]["counters"]
    assert counted.get("pages", counted.get("urls_scored")) == newest.rows
    assert not check(directory, deep=True).faults


@pytest.mark.parametrize("name", ["invertlinks", "webgraph", "updatehostdb"])
def test_of_several_at_once_one_takes_a_segment_in(whole: Path, tmp_path: Path, name: str) -> None:
    root = tmp_path / "crawl"
    shutil.copytree(whole, root)
    config = Config.of({"link.ignore.internal.host": False, "link.ignore.internal.domain": False})

    def run(_: int) -> object:
        given = InProcess(), CrawlDir(str(root)), config
        try:
            if name == "invertlinks":
                return invertlinks.run(*given, InvertLinksOptions(), SystemClock())
            if name == "webgraph":
                return webgraph.run(*given, WebGraphOptions(), SystemClock())
            return updatehostdb.run(*given, UpdateHostDbOptions(), SystemClock())
        except (Locked, NothingToDo) as error:
            assert "\n" not in str(error)
            return error

    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(run, range(4)))
    done = [each for each in ended if not isinstance(each, Exception)]
    directory = CrawlDir(str(root))
    assert len(done) >= 1
    number = {"invertlinks": LINKDB, "webgraph": WEBGRAPH, "updatehostdb": HOSTDB}[name]
    snapshots = directory.dataset(number).timeline().numbers
    if name != "updatehostdb":  # which may count the CrawlDb again
        assert len(done) == 1
        assert snapshots[-1] == {"invertlinks": 2, "webgraph": 3}[name]
    assert not check(directory, deep=True).faults
