"""kill -9 at the writes of nodedumper and readlinkdb --dump: what is there under a file's name is
whole, `_SUCCESS` says that all is there, and the next run finishes the work."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from crawl.driver.output_folder import SUCCESS, make_room
from crawl.model.dump_format import DumpFormat
from crawl.phases.hostgraph import dump as graph_dump
from crawl.phases.invertlinks.linkdb import linkdb_of
from crawl.phases.invertlinks.tasks.dump import LinkDumpJob
from crawl.phases.nodedumper import run as nodedumper
from crawl.phases.nodedumper.options import NodeDumperOptions
from crawl.phases.webgraph.values import ListFormat, NodeGroup, NodeValue
from crawl.readers.readlinkdb import run as readlinkdb
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.tables.runner import InProcess
from tests.phases.killed import run_killed, writes_of
from tests.phases.linked_crawl import make_linked_crawl

pytestmark = [pytest.mark.slow(seconds=20), pytest.mark.exhaustive]

Job = Callable[[str, str], None]
Files = dict[str, bytes]


def write_list(address: str, out: str, form: str, by: str) -> None:
    make_room(Folder(out), overwrite=True)
    options = NodeDumperOptions(
        NodeValue(by), group=NodeGroup.HOST, output=out, format=ListFormat(form)
    )
    nodedumper.run(InProcess(), CrawlDir(address), options)


def write_graph(address: str, out: str, group: str) -> None:
    make_room(Folder(out), overwrite=True, own=graph_dump.OWN_NAMES)
    graph_dump.run(InProcess(), CrawlDir(address), NodeGroup(group), Folder(out))


def write_links(address: str, out: str, form: str, regex: str | None = None) -> None:
    make_room(Folder(out), overwrite=True)
    directory = CrawlDir(address)
    job = LinkDumpJob(linkdb_of(directory).folder, Folder(out), DumpFormat(form), regex)
    readlinkdb.dump(InProcess(), directory, job)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> str:
    address = str(tmp_path_factory.mktemp("dumps") / "crawl")
    make_linked_crawl(address)
    return address


@pytest.mark.parametrize(
    ("older", "job"),
    [
        (
            partial(write_list, form="text", by="inlinks"),
            partial(write_list, form="text", by="scores"),
        ),
        (
            partial(write_list, form="parquet", by="inlinks"),
            partial(write_list, form="parquet", by="scores"),
        ),
        (partial(write_graph, group="domain"), partial(write_graph, group="host")),
        (partial(write_links, form="text", regex=".*1"), partial(write_links, form="text")),
        (partial(write_links, form="parquet", regex=".*1"), partial(write_links, form="parquet")),
    ],
    ids=["list", "list as Parquet", "cc", "links", "links as Parquet"],
)
@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_dump_killed_at_its_writes(
    crawl: str, tmp_path: Path, older: Job, job: Job, is_replaced: bool
) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    torn = [kind for kind in writes_of(job, crawl, str(whole)) if kind.endswith(", torn")]
    assert any(kind.startswith("file ") for kind in torn), "it also dies while a file grows"
    new, old = files_of(whole), {}
    if is_replaced:
        older(crawl, str(tmp_path / "older"))
        old = files_of(tmp_path / "older")
        assert old != new
    at, killed = 1, True
    while killed:
        shutil.rmtree(out, ignore_errors=True)
        if is_replaced:
            shutil.copytree(tmp_path / "older", out)
        killed = run_killed(job, crawl, str(out), at=at)
        found = files_of(out)
        for name, data in shown(found).items():
            if not name.startswith("parts/"):
                assert data in (old.get(name), new.get(name)), (at, name)
        if SUCCESS in found:
            assert shown(found) in (old, new), at
        job(crawl, str(out))
        assert files_of(out) == new, "nothing that was left unfinished is there"
        at += 1
    assert at > 8


def files_of(folder: Path) -> Files:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def shown(files: Files) -> Files:
    """Those whose names are not hidden: what people and programs look at."""
    return {
        name: data
        for name, data in files.items()
        if not any(part.startswith(".") for part in name.split("/"))
    }
