"""Readers of LinkDb and graphs take no lock: where their snapshot is dropped while they read, by
a writer or `crawl gc`, they begin anew with the one that is current then."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from crawl.api.crawl import open as open_crawl
from crawl.errors import StorageError
from crawl.model.derived_tables import DOMAINGRAPH, HOSTDB, HOSTGRAPH, LINKDB, WEBGRAPH
from crawl.model.table import Table
from crawl.phases.nodedumper import run as nodedumper
from crawl.phases.nodedumper.options import NodeDumperOptions
from crawl.phases.webgraph.values import NodeGroup, NodeValue
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from tests.cli.calling import Answer, Caller
from tests.phases.linked_crawl import (
    LISTED,
    READERS,
    TARGET,
    in_this_process,
    key_of,
    make_linked_crawl,
    words,
)
from tests.phases.replacing import publish_again, replaced

TABLES: dict[str, Table] = {
    "readlinkdb": LINKDB,
    "nodereader": WEBGRAPH,
    "nodedumper": WEBGRAPH,
    "nodedumper cc": HOSTGRAPH,
    "nodedumper cc domain": DOMAINGRAPH,
    "readhostdb": HOSTDB,
}
COMMANDS = [each for each in READERS if key_of(each) in TABLES]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("replaced") / "crawl"
    make_linked_crawl(str(place))
    return place


@pytest.fixture
def root(whole: Path, tmp_path: Path) -> Path:
    root = tmp_path / "crawl"
    shutil.copytree(whole, root)
    return root


@pytest.fixture
def crawl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    with in_this_process(monkeypatch):
        yield Caller(capsys)


def call(crawl: Caller, command: list[str], root: Path) -> tuple[Answer, dict[str, bytes]]:
    """The answer, and the files that it wrote, which are removed."""
    out = root.parent / "out"
    answer = crawl(*words(command, root, root, out))
    files = {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }
    shutil.rmtree(out, ignore_errors=True)
    return answer, files


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_reader_whose_snapshot_is_dropped_begins_anew(
    crawl: Caller, root: Path, command: list[str]
) -> None:
    expected = call(crawl, command, root)
    assert expected[0].code == 0
    dataset = CrawlDir(str(root)).dataset(TABLES[key_of(command)])
    with replaced(dataset, times=3) as state:
        assert call(crawl, command, root) == expected
    assert not state.left


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_one_that_never_comes_to_its_end_says_so(
    crawl: Caller, root: Path, command: list[str]
) -> None:
    with replaced(CrawlDir(str(root)).dataset(TABLES[key_of(command)]), times=99):
        answer, files = call(crawl, command, root)
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert "5 times in a row what was being read was replaced" in answer.err
    assert "_SUCCESS" not in files


def test_inlinks_of_the_handle(root: Path) -> None:
    web = open_crawl(str(root))
    expected = web.inlinks(TARGET)
    assert expected
    with replaced(CrawlDir(str(root)).dataset(LINKDB), times=2) as state:
        assert web.inlinks(TARGET) == expected
    assert not state.left


def test_a_linkdb_that_is_merged_and_replaced(crawl: Caller, root: Path, tmp_path: Path) -> None:
    merged = ["mergelinkdb", str(tmp_path / "all"), str(root)]
    assert crawl(*merged).code == 0
    expected = call(crawl, ["readlinkdb", str(tmp_path / "all"), "--dump", "{out}"], root)
    shutil.rmtree(tmp_path / "all")
    with replaced(CrawlDir(str(root)).dataset(LINKDB), times=3) as state:
        again = crawl(*merged, "--json")
    assert again.code == 0, again
    assert not state.left
    links = again.json["report"]["details"]["merged"][0]["links"]
    assert again.json["report"]["counters"]["links"] == links, "what failed is not counted"
    found = call(crawl, ["readlinkdb", str(tmp_path / "all"), "--dump", "{out}"], root)
    assert found == expected


def test_a_simulation_whose_hostdb_is_replaced(crawl: Caller, root: Path) -> None:
    command = ["simulate", str(root), LISTED, "--json"]
    expected = crawl(*command).json
    assert expected["latencies"].pop("hostdb") == 1
    assert expected["latencies"]["measured"] == 1
    with replaced(CrawlDir(str(root)).dataset(HOSTDB), times=3) as state:
        answer = crawl(*command)
    assert answer.code == 0, answer
    assert not state.left
    found = answer.json
    assert found["latencies"].pop("hostdb") == 4
    assert found == expected


def test_what_is_damaged_is_not_taken_for_replaced(crawl: Caller, root: Path) -> None:
    for path in (root / "linkdb/snapshots").rglob("*.parquet"):
        path.unlink()
    answer, _ = call(crawl, READERS[0], root)
    assert answer.code == 2 and "in a row" not in answer.err
    assert "crawl check" in answer.err


def test_lists_while_a_writer_publishes(root: Path) -> None:
    """Each is that of the graph, or one clear line; nothing is left in the crawl's folder."""
    directory = CrawlDir(str(root))
    options = NodeDumperOptions(NodeValue.SCORES, top=30, group=NodeGroup.HOST)
    expected = nodedumper.run(InProcess(), directory, options)

    def read(_: int) -> Any:
        try:
            return nodedumper.run(InProcess(), CrawlDir(str(root)), options)
        except StorageError as error:
            assert "times in a row" in str(error)
            return expected

    def write(_: int) -> None:
        for _ in range(8):
            publish_again(directory.dataset(WEBGRAPH))

    with ThreadPoolExecutor(4) as pool:
        writer = pool.submit(write, 0)
        found = list(pool.map(read, range(12)))
        writer.result()
    assert found == [expected] * 12
    assert not (root / "webgraph/scratch").exists()
