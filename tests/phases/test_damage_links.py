"""Every file of LinkDb, graphs and HostDb flipped, cut, removed, one at a time: each command
gives the right answer or one line with the file and what to do, a check names the file, and after
`check --repair` what was lost can be made anew. With ALL_DAMAGE=1 in the environment of every file
in every way."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from crawl.config import Config
from crawl.errors import DamagedFile
from crawl.model.derived_tables import (
    DOMAINGRAPH,
    HOSTDB,
    HOSTGRAPH,
    LINKDB,
    MADE_BY,
    WEBGRAPH,
)
from crawl.model.tables import CRAWLDB
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.cli.calling import Answer, Caller
from tests.phases.damaging import KINDS, Damage
from tests.phases.linked_crawl import (
    DAMAGED,
    FIRST,
    LISTED,
    READERS,
    WRITERS,
    in_this_process,
    key_of,
    make_linked_crawl,
    rows_of,
    words,
)
from tests.phases.made import NOW

pytestmark = [pytest.mark.slow(seconds=40), pytest.mark.exhaustive]

TABLES = {table.name: table for table in (LINKDB, WEBGRAPH, HOSTDB, HOSTGRAPH, DOMAINGRAPH)}
DATASETS = tuple(TABLES)
READ = {
    LINKDB.name: {"readlinkdb", "invertlinks", "mergelinkdb"},
    WEBGRAPH.name: {
        *("nodereader", "nodedumper", "webgraph", "linkrank", "scoreupdater"),
        *("hostgraph", "hostgraph domain"),
    },
    HOSTGRAPH.name: {"hostgraph", "nodedumper cc"},
    DOMAINGRAPH.name: {"hostgraph domain", "nodedumper cc domain"},
    HOSTDB.name: {"readhostdb", "simulate", "updatehostdb"},
    CRAWLDB.name: {
        *("domainstats", "crawlcomplete", "protocolstats", "dust", "mirrors"),
        *("scoreupdater", "updatehostdb", "dedup"),
    },
    "segments": {"linkstats", "invertlinks", "webgraph", "updatehostdb", "dedup", "simulate"},
}
"""Which commands read what; with ALL_DAMAGE all are asked."""
ALL = bool(os.environ.get("ALL_DAMAGE"))
WRITTEN = {
    **dict.fromkeys(("invertlinks", "mergelinkdb"), LINKDB.name),
    **dict.fromkeys(("webgraph", "linkrank"), WEBGRAPH.name),
    "updatehostdb": HOSTDB.name,
    "hostgraph": HOSTGRAPH.name,
    "hostgraph domain": DOMAINGRAPH.name,
}
"""What a command writes, where that is not the CrawlDb."""


@dataclass
class Shop:
    """A crawl, and what the commands answer and make where nothing is damaged."""

    place: Path
    answers: dict[str, tuple[Answer, Any]] = field(default_factory=dict)
    states: dict[str, Any] = field(default_factory=dict)

    @property
    def whole(self) -> Path:
        return self.place / "whole"

    @property
    def other(self) -> Path:
        """Another crawl, which has the same."""
        return self.place / "other"

    def copied(self, damage: Damage | None = None) -> Path:
        root = self.place / "copy"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.whole, root)
        if damage is not None:
            damage.do(root)
        return root

    def call(self, crawl: Caller, command: list[str], root: Path) -> tuple[Answer, Any]:
        """The answer, and the files that it wrote elsewhere."""
        out = self.place / "out"
        shutil.rmtree(out, ignore_errors=True)
        answer = crawl(*words(command, root, self.other, out))
        files = sorted(out.rglob("*")) if out.exists() else []
        return answer, {path.name: path.read_bytes() for path in files if path.is_file()}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    place = tmp_path_factory.mktemp("damage")
    make_linked_crawl(str(place / "whole"))
    shutil.copytree(place / "whole", place / "other")
    return Shop(place)


@pytest.fixture
def crawl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    with in_this_process(monkeypatch):
        yield Caller(capsys)


def damages(root: Path) -> list[Damage]:
    """Every kind for every file; or table files of the second bucket, which have the most, and what
    names them, in one way after the other."""
    files = sorted(
        str(path.relative_to(root))
        for name in READ
        for path in (root / name).rglob("*")
        if path.is_file()
    )
    if ALL:
        return [Damage(path, kind) for path in files for kind in KINDS]
    chosen = [
        path
        for path in files
        if path.endswith((".parquet", "CURRENT", "manifest.json"))
        and ("-00000-" not in path or path.startswith((HOSTGRAPH.name, DOMAINGRAPH.name)))
        and (path.startswith(DATASETS) or path.endswith(".parquet"))
        and LISTED not in path
        and (FIRST not in path or "parse_data" in path)
    ]
    return [Damage(path, KINDS[place % len(KINDS)]) for place, path in enumerate(chosen)]


def commands(among: list[list[str]], damage: Damage) -> list[list[str]]:
    """Those that read what is damaged."""
    return [each for each in among if ALL or key_of(each) in READ[damage.path.split("/")[0]]]


def test_one_damage_at_a_time(shop: Shop, crawl: Caller) -> None:
    failures = []
    for damage in damages(shop.whole):
        for each in (read_damaged, write_damaged, generate_damaged, find_and_repair):
            try:
                each(shop, crawl, damage)
            except Exception as error:
                failures.append(f"{damage}, {each.__name__}: {type(error).__name__}: {error}")
    assert failures == []


def read_damaged(shop: Shop, crawl: Caller, damage: Damage) -> None:
    """The same answer as ever, or one line."""
    root = shop.copied(damage)
    for command in commands(READERS, damage):
        key = " ".join(command)
        if key not in shop.answers:
            shop.answers[key] = shop.call(crawl, command, shop.whole)
            assert shop.answers[key][0].code in (0, 1)
        answer, files = shop.call(crawl, command, root)
        expected, expected_files = shop.answers[key]
        if answer.code == expected.code:
            assert answer.out.replace(str(root), str(shop.whole)) == expected.out, key
            assert files == expected_files, key
        else:
            assert_clear(answer, damage, key)


def assert_clear(answer: Answer, damage: Damage, what: str) -> None:
    """One line that names the file, or what points to it, and the way out."""
    assert answer.code == 2, (what, answer)
    assert answer.err.startswith("crawl: "), (what, answer)
    assert answer.err.count("\n") == 1, (what, answer)
    name = damage.path.rpartition("/")[2].removesuffix(".copy")
    assert name in answer.err, (what, answer)
    assert "crawl check" in answer.err, (what, answer)


def write_damaged(shop: Shop, crawl: Caller, damage: Damage) -> None:
    """The same state as ever, or one line; what was whole stays."""
    for command in commands(WRITERS, damage):
        key = " ".join(command)
        if key not in shop.states:
            root = shop.copied()
            assert shop.call(crawl, command, root)[0].code == 0, key
            shop.states[key] = rows_of(CrawlDir(str(root)))
        root = shop.copied(damage)
        answer, _ = shop.call(crawl, command, root)
        if answer.code != 0:
            assert_clear(answer, damage, key)
            continue
        for name, files in rows_of(CrawlDir(str(root))).items():
            expected = shop.states[key][name]
            assert len(files) == len(expected), key
            for place, rows in enumerate(files):
                # a file that the command need not read stays as it is
                assert rows in (DAMAGED, expected[place]), (key, name, place)


def generate_damaged(shop: Shop, crawl: Caller, damage: Damage) -> None:
    """generate with bounds by the HostDb: the whole list, or one line."""
    if not ALL and not damage.path.startswith(HOSTDB.name):
        return
    directory = CrawlDir(str(shop.copied(damage)))
    config = Config.of({"generate.max.count": "auto", "urlfilter.order": []})
    options = GenerateOptions(add_days=60)
    try:
        done = generate.run(
            InProcess(), directory, config, options, ManualClock(NOW), resolver=lambda host: None
        )
    except DamagedFile as error:
        assert "\n" not in str(error)
    else:
        assert done.report.counters["urls_generated"] == 24


def find_and_repair(shop: Shop, crawl: Caller, damage: Damage) -> None:
    """A check names it; after a repair all is whole, and what was lost can be made anew."""
    if not damage.path.startswith(DATASETS):
        return  # see test_damage.py
    root = shop.copied(damage)
    found = crawl("check", root, "--deep", "--json", "-q")
    faults = {fault["path"] for fault in found.json["faults"]}
    if found.code == 0:
        assert damage.path.endswith("report.json") and damage.kind == "removed"
        return
    assert any(path in damage.path or damage.path in path for path in faults), faults
    mended = crawl("check", root, "--deep", "--repair", "-q")
    assert mended.code == 0, mended
    assert not check(CrawlDir(str(root)), deep=True).faults
    name = damage.path.split("/")[0]
    if not CrawlDir(str(root)).dataset(TABLES[name]).manifests():
        assert f"`crawl {MADE_BY[name]} {root}`" in mended.err
    for command in WRITERS:
        if WRITTEN.get(key_of(command)) == name:
            again = crawl(*words(command, root, shop.other, shop.place / "out"))
            assert again.code == 0, again
    assert rows_of(CrawlDir(str(root)))[name]


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("file", ["CURRENT", "snapshots/000001/manifest.json"])
@pytest.mark.parametrize("kind", ["removed", "cut"])
def test_a_file_and_its_copy(shop: Shop, crawl: Caller, name: str, file: str, kind: str) -> None:
    """No command takes what it cannot read for what is not there."""
    root = shop.copied()
    for path in (f"{name}/{file}", f"{name}/{file}.copy"):
        Damage(path, kind).do(root)
    for command in commands([*READERS, *WRITERS], Damage(f"{name}/{file}", kind)):
        answer, _ = shop.call(crawl, command, root)
        if name == WEBGRAPH.name and file != "CURRENT":
            assert answer.code == 0  # the graph's current snapshot is its second
            continue
        assert answer.code == 2, (command, answer)
        assert answer.err.count("\n") == 1 and f"{name}" in answer.err, answer
    mended = crawl("check", root, "--repair", "-q")
    assert mended.code == 0, mended
    assert not check(CrawlDir(str(root)), deep=True).faults
