"""Hosts, anchors and URLs from the network as LinkDb, link graph, HostDb, statistics and duplicates
show them: nothing reaches a terminal, or a line of a file, as it is."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crawl.model.arrow import strings
from crawl.model.derived_tables import HOSTDB, LINKDB, WEBGRAPH
from crawl.model.report import Report
from crawl.model.status import Status
from crawl.model.table import Table
from crawl.model.tables import CRAWLDB
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.hostdb import LAYOUT, LAYOUT_NOTE
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import open_table, open_writer
from crawl.testing.clock import ManualClock
from tests.cli.calling import Answer, Caller
from tests.cli.test_hostile_text import WICKED, assert_safe
from tests.phases.hosts import hosts_of, update_hosts
from tests.phases.linked_crawl import in_this_process
from tests.phases.linked_pages import add_parse, build
from tests.phases.made import NOW, datum, make_crawldb
from tests.phases.made_segments import link, make_segment

WICKED_HOST = f"h{WICKED}.org"
FORGED = f"{WICKED}\nforged"
ODD_URL = f"http://h1.org/{FORGED}"
PLAIN_URL = "http://h1.org/plain"
LONG_URL = "http://h1.org/" + "\x1b\u202e" * 10_000
SEGMENT = "20270101000000"
ALL_LINKS: dict[str, Any] = {
    "link.ignore.internal.host": False,
    "link.ignore.internal.domain": False,
}


def publish(
    directory: CrawlDir,
    table: Table,
    rows: list[dict[str, Any]],
    notes: dict[str, Any] | None = None,
) -> None:
    """Makes these rows all that a dataset has."""
    dataset = directory.dataset(table)
    with dataset.writing("test", ManualClock(NOW), stale_after_ms=1e9, heartbeat_s=60) as writing:
        path = f"{writing.place}/part-00000-0000abcd.parquet"
        ordered = sorted(rows, key=lambda row: str(row[table.key[0]]).encode())
        with open_writer(dataset.folder, path, table.schema) as writer:
            writer.write(pa.Table.from_pylist(ordered, schema=table.schema))
        file = BucketFile(0, path, len(rows), dataset.folder.size(path) or 0)
        writing.publish([file], Report("test", NOW, "", {}), buckets=1, keep=1, notes=notes)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> str:
    address = str(tmp_path_factory.mktemp("hostile") / "crawl")
    page = datum(status=Status.DB_FETCHED, signature=b"s" * 16)
    urls = [ODD_URL, PLAIN_URL, f"{ODD_URL}?s{WICKED}=1", LONG_URL]
    directory = make_crawldb(address, {PLAIN_URL: page}, buckets=1)
    outlinks = [link(url, FORGED) for url in urls]
    pages = [{"url": url, "outlinks": outlinks} for url in urls]
    fetched = [(PLAIN_URL, datum(status=Status.FETCH_SUCCESS, fetch_time=NOW))]
    make_segment(
        directory,
        SEGMENT,
        generate=fetched,
        fetch=fetched,
        contents=[],
        parse=[(PLAIN_URL, datum(status=Status.LINKED))],
        pages=pages,
        buckets=1,
    )
    build(directory, None, **ALL_LINKS)
    update_hosts(directory)
    host = hosts_of(directory)["h1.org"]
    odd = {"host": WICKED_HOST, "trouble": FORGED, "homepage": ODD_URL, "dns_state": FORGED}
    publish(directory, HOSTDB, [host, {**host, **odd}], {LAYOUT_NOTE: LAYOUT})
    publish(
        directory,
        LINKDB,
        [
            {
                "url": url,
                "host": "h1.org",
                "from_url": ODD_URL,
                "anchor": FORGED,
                "score": 1.0,
                "segment": SEGMENT,
            }
            for url in urls
        ],
    )
    row = {
        "status": int(Status.DB_FETCHED),
        "fetch_time": NOW,
        "modified_time": None,
        "fetch_interval": 1,
        "retries": 0,
        "score": 1.0,
        "signature": b"s" * 16,
        "metadata": [("nutch.protocol.code", FORGED)],
    }
    hosts = [WICKED_HOST, "h1.org", f"www.{WICKED_HOST}", "h1.org"]
    known = [{**row, "url": url, "host": at} for url, at in zip(urls, hosts, strict=True)]
    publish(directory, CRAWLDB, known)
    return address


@pytest.fixture
def crawl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    with in_this_process(monkeypatch):
        yield Caller(capsys)


COMMANDS: list[list[str]] = [
    ["readlinkdb", "{}", "--url", PLAIN_URL],
    ["readlinkdb", "{}", "--url", ODD_URL],
    ["readlinkdb", "{}", "--url", f"http://nowhere.org/{FORGED}"],
    ["nodereader", "{}", PLAIN_URL, "--links", "9"],
    ["nodereader", "{}", ODD_URL, "--links", "9"],
    ["nodereader", "{}", f"http://nowhere.org/{FORGED}"],
    ["nodedumper", "{}", "--inlinks", "--top", "9"],
    ["nodedumper", "{}", "--inlinks", "--group", "host"],
    ["readhostdb", "{}", "--host", WICKED_HOST],
    ["readhostdb", "{}", "--host", f"nobody{FORGED}"],
    ["readhostdb", "{}", "--top", "9"],
    ["domainstats", "{}"],
    ["domainstats", "{}", "--by", "tld"],
    ["crawlcomplete", "{}"],
    ["protocolstats", "{}"],
    ["linkstats", "{}"],
    ["dust", "{}", "--doubtful", "--min-support", "2", "--min-values", "2"],
    ["dust", "{}", "--host", WICKED_HOST],
    ["mirrors", "{}", "--min-contents", "2"],
    ["explain", "{}", ODD_URL],
    ["invertlinks", "{}", f"20270101000001{FORGED}"],
    ["mergelinkdb", "{}", f"nowhere {FORGED}"],
    ["dedup", "{}", "--groups", "9"],
]


def call(crawl: Caller, command: list[str], crawled: str, *more: object) -> Answer:
    return crawl(*(word.replace("{}", crawled) for word in command), *more)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: ascii(" ".join(command))[:40])
def test_commands_for_people_and_programs(crawl: Caller, crawled: str, command: list[str]) -> None:
    answer = call(crawl, command, crawled)
    assert_safe(answer.out, besides="\n\t")
    assert_safe(answer.err)
    assert answer.out or answer.err
    assert answer.code in (0, 1, 2), answer.err
    as_json = call(crawl, command, crawled, "--json")
    assert_safe(as_json.out)
    if as_json.code == 0:
        json.loads(as_json.out)


@pytest.mark.parametrize(
    ("command", "forms"),
    [
        (["readlinkdb", "{}", "--dump"], ("text", "csv", "json")),
        (["readhostdb", "{}", "--dump"], ("text", "csv", "json")),
        (["nodedumper", "{}", "--inlinks", "--output"], ("text", "json")),
    ],
)
def test_files_for_people(
    crawl: Caller, crawled: str, tmp_path: Path, command: list[str], forms: tuple[str, ...]
) -> None:
    for form in forms:
        out = tmp_path / form
        answer = call(crawl, command, crawled, out, "--format", form)
        assert answer.code == 0, answer.err
        files = [path for path in out.iterdir() if path.suffix]
        text = "".join(path.read_bytes().decode() for path in files)
        assert len(text) > 1000
        assert_safe(text, besides="\n\t")


@pytest.fixture
def hostile_hosts(tmp_path: Path) -> str:
    """A crawl with a link graph in which hosts bear what no parser lets through."""
    directory = make_crawldb(str(tmp_path / "crawl"), {PLAIN_URL: datum()}, buckets=1)
    hosts = ["plain.org", WICKED_HOST, f"www.{FORGED}.org", f"h\t{WICKED}.com", 'q"uote.org']
    urls = [f"http://h{n}.org/" for n in range(len(hosts))]
    add_parse(directory, SEGMENT, dict.fromkeys(urls, urls))
    build(directory, **ALL_LINKS)
    dataset = directory.dataset(WEBGRAPH)
    with dataset.writing("test", ManualClock(NOW), stale_after_ms=1e9, heartbeat_s=60) as writing:
        assert writing.base is not None
        (file,) = writing.base.files
        path = f"{writing.place}/nodes-00000-0000abcd.parquet"
        with open_table(dataset.folder, file.path) as source:
            rows: pa.Table = source.read()
        field = WEBGRAPH.schema.field("host")
        with open_writer(dataset.folder, path, WEBGRAPH.schema) as writer:
            writer.write(rows.set_column(1, field, pa.array(hosts)))
        writing.publish(
            [replace(file, path=path, bytes=dataset.folder.size(path) or 0)],
            Report("test", NOW, "", {}),
            buckets=1,
            keep=1,
            attached=writing.base.attached,
        )
    return directory.address


@pytest.mark.parametrize("group", ["host", "domain"])
def test_graphs_of_hosts(crawl: Caller, hostile_hosts: str, tmp_path: Path, group: str) -> None:
    """A name breaks no line, and what was a tab in it no column."""
    for options in ((), ("--json",)):
        answer = call(crawl, ["hostgraph", "{}", "--group", group], hostile_hosts, *options)
        assert answer.code == 0
        assert_safe(answer.out)
        assert_safe(answer.err)
    assert any(WICKED in each["host"] for each in answer.json["top"])
    out = tmp_path / "graph"
    command = ["nodedumper", "{}", "--group", group, "--format", "cc", "--output"]
    answer = call(crawl, command, hostile_hosts, out, "--json")
    assert answer.code == 0, answer.err
    for name, columns in (("vertices", 2), ("edges", 2), ("ranks", 5)):
        text = gzip.decompress((out / f"{name}.txt.gz").read_bytes()).decode()
        assert_safe(text, besides="\n\t")
        rows = answer.json["links" if name == "edges" else f"{group}s"]
        assert text.count("\n") == rows + (name == "ranks") > 3
        further = int(group == "domain" and name != "edges")
        assert {line.count("\t") + 1 for line in text.splitlines()} == {columns + further}
    stored = strings(pq.read_table(out / "vertices.parquet")["host_rev"])
    assert any("\x1b" in name for name in stored), "programs get it as it is"


def test_a_report_of_duplicates(crawl: Caller, crawled: str, tmp_path: Path) -> None:
    file = tmp_path / "groups.json"
    assert call(crawl, ["dedup", "{}"], crawled, "--report", file).code == 0
    assert_safe(file.read_text())
    assert json.loads(file.read_text())
