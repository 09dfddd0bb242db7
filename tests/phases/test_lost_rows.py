"""Every phase that has rows exchanged, with blocks that are lost again and again, and a sender of
each exchange that meets a second fault when it sends once more: what comes out is what comes out
without, or it is an error and nothing is published."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import crawl.phases
import crawl.readers
from crawl.config import Config
from crawl.errors import CrawlError, UsageError
from crawl.model.status import Status
from crawl.phases.dedup import run as dedup
from crawl.phases.dedup.options import DedupOptions
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.refresh import run as refresh
from crawl.phases.refresh.options import RefreshOptions
from crawl.spark.faults import ChangedRows
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.cli.calling import Caller
from tests.cluster.held_phases import run_phases
from tests.cluster.test_lost_blocks import outcome, small_crawl
from tests.phases import sitemap_web
from tests.phases.exported import ExportedCrawl
from tests.phases.fetch.test_hand_over import hand_over
from tests.phases.fetch.test_hand_over import known as handed_over
from tests.phases.indexed import IndexedCrawl, Page
from tests.phases.linked_crawl import in_this_process, make_linked_crawl, rows_of, words
from tests.phases.made import NOW, datum, make_crawldb, records_of
from tests.spark.lossy_shuffle import SECOND_FAULT, SecondFault, lossy_exchanges

pytestmark = pytest.mark.slow  # whole phases, four times each


@dataclass(frozen=True)
class Case:
    """A phase on a crawl of its own."""

    name: str
    modules: tuple[str, ...]
    """Files of crawl/phases whose exchanges it has."""
    prepare: Callable[[Path], object]
    run: Callable[[Path, Caller], Any]
    """Returns what it tells; raises CrawlError."""
    state: Callable[[Path], Any]
    """What is published."""

    def __str__(self) -> str:
        return self.name


def _command(modules: str, *command: str) -> Case:
    """A command on the crawl of linked_crawl.py."""

    def run(folder: Path, call: Caller) -> Any:
        answer = call(*words([*command], folder / "crawl", folder / "other", folder / "out"))
        if answer.code:
            kind = ChangedRows if "were sent at first" in answer.err else UsageError
            raise kind(answer.err)
        if "{out}" in command:
            files = [path for path in (folder / "out").rglob("*") if path.is_file()]
            return sorted((path.name, path.read_bytes()) for path in files)
        return answer.out if "--json" in command or "--top" in command else ""

    def prepare(folder: Path) -> None:
        make_linked_crawl(str(folder / "crawl"))
        shutil.copytree(folder / "crawl", folder / "other")

    return Case(
        " ".join(word for word in command if "{" not in word),
        tuple(modules.split()),
        prepare,
        run,
        lambda folder: rows_of(CrawlDir(str(folder / "crawl"))),
    )


PAGES = {
    f"http://h{n}.org/{n}": Page(f"word{n} is a text of some length, as are others of its kind")
    for n in range(12)
}


def _indexed(folder: Path) -> IndexedCrawl:
    made = IndexedCrawl(folder)
    made.round(PAGES)
    return made


def _indexed_and_gone(folder: Path) -> None:
    _indexed(folder).index()
    IndexedCrawl(folder).set_records(dict.fromkeys(list(PAGES)[::2], Status.DB_GONE))


def _documents(folder: Path) -> Any:
    made = IndexedCrawl(folder)
    return made.documents() if made.crawl_dir.folder.child("index").names() else None


def _exported(folder: Path) -> Any:
    made = ExportedCrawl(folder)
    return made.records("out") if (folder / "out" / "_SUCCESS").exists() else None


def _sitemap_run(folder: Path, call: Caller) -> None:
    a, b = "http://a.org", "http://b.org"
    sitemap_web.WEBS["lost"] = sitemap_web.SitemapWeb(
        {
            f"{a}/robots.txt": sitemap_web.robots(f"{a}/map.xml", f"{a}/index.xml"),
            f"{a}/map.xml": sitemap_web.urlset(*(f"{a}/{n}" for n in range(9))),
            f"{a}/index.xml": sitemap_web.index(f"{a}/deep.xml"),
            f"{a}/deep.xml": sitemap_web.urlset(*(f"{a}/deep/{n}" for n in range(9))),
            f"{b}/robots.txt": sitemap_web.robots(f"{b}/map.xml"),
            f"{b}/map.xml": sitemap_web.urlset(*(f"{b}/{n}" for n in range(9))),
        }
    )
    directory = CrawlDir(str(folder / "c"))
    sitemap_web.read(directory, sitemap_web.config_of("lost"), hosts=True)


def _listed(folder: Path) -> None:
    """A CrawlDb of which half is on the lists of a segment, and nothing but these says so."""
    records = {f"http://h{n % 5}.org/{n}": datum(fetch_time=NOW + n % 2) for n in range(30)}
    directory = make_crawldb(str(folder / "crawl"), records, buckets=3)
    settings = {"urlfilter.order": [], "generate.update.crawldb": False}
    generate.run(
        InProcess(),
        directory,
        Config.of(settings),
        GenerateOptions(),
        ManualClock(NOW),
        resolver=lambda host: None,
    )


def _urls(folder: Path) -> list[str]:
    return sorted(records_of(CrawlDir(str(folder / "c"))))


def _inject(folder: Path, call: Caller) -> None:
    (folder / "seeds").write_text("".join(f"http://new{n}.org/\n" for n in range(9)))
    answer = call("inject", folder / "crawl", folder / "seeds")
    if answer.code:
        kind = ChangedRows if "were sent at first" in answer.err else UsageError
        raise kind(answer.err)


CASES = [
    _command("invertlinks", "invertlinks", "{}", "--no-filter", "--no-normalize"),
    _command("mergelinkdb", "mergelinkdb", "{}", "{other}"),
    _command("webgraph", "webgraph", "{}"),
    _command("linkrank.pagerank", "linkrank", "{}", "--pagerank", "--by-domain"),
    _command("hostgraph hostgraph.ranking", "hostgraph", "{}"),
    _command("scoreupdater", "scoreupdater", "{}"),
    _command("updatehostdb", "updatehostdb", "{}"),
    _command("dedup dedup.clusters", "dedup", "{}", "--canonical", "--redirects"),
    _command("nodedumper", "nodedumper", "{}", "--inlinks", "--top", "30"),
    _command(
        "hostgraph.dump",
        "nodedumper",
        "{}",
        "--group",
        "host",
        "--format",
        "cc",
        "--output",
        "{out}",
    ),
    _command("webstats", "domainstats", "{}", "--json"),
    _command("webstats", "linkstats", "{}", "--json"),
    _command("mirrors", "mirrors", "{}", "--json", "--min-contents", "2"),
    Case(
        "inject",
        ("inject",),
        lambda folder: make_crawldb(str(folder / "crawl"), {"http://a.org/": datum()}, buckets=4),
        _inject,
        lambda folder: sorted(records_of(CrawlDir(str(folder / "crawl")))),
    ),
    Case(
        "updatedb and generate",
        ("updatedb", "generate.steps"),
        lambda folder: small_crawl(folder / "crawl"),
        lambda folder, call: run_phases(InProcess(), CrawlDir(str(folder / "crawl"))),
        lambda folder: _rounds(CrawlDir(str(folder / "crawl"))),
    ),
    Case(
        "refresh",
        ("refresh",),
        _listed,
        lambda folder, call: _refresh(folder),
        lambda folder: records_of(CrawlDir(str(folder / "crawl"))),
    ),
    Case(
        "dedup --near",
        ("dedup", "dedup.clusters"),
        _indexed,
        lambda folder, call: _dedup(folder),
        lambda folder: records_of(IndexedCrawl(folder).crawl_dir),
    ),
    Case("index", ("index.tasks.keys",), _indexed, lambda folder, call: _index(folder), _documents),
    Case("clean", ("clean",), _indexed_and_gone, lambda folder, call: _clean(folder), _documents),
    Case(
        "export", ("index.tasks.keys",), _indexed, lambda folder, call: _export(folder), _exported
    ),
    Case(
        "sitemap",
        ("sitemap", "sitemap.waves", "sitemap.states"),
        lambda folder: sitemap_web.known(folder, "http://a.org/", "http://b.org/"),
        _sitemap_run,
        _urls,
    ),
    Case(
        "hand over",
        ("fetch.hand_over",),
        lambda folder: make_crawldb(str(folder), {"http://a.org/": datum()}),
        lambda folder, call: _hand_over(folder),
        lambda folder: handed_over(CrawlDir(str(folder))),
    ),
]
ELSEWHERE = {
    "dust": "tests/phases/dust/test_dust.py: only hosts of several files exchange rows",
    "slices": "it has no sending task, only a query of Spark",
}


def _rounds(directory: CrawlDir) -> Any:
    generated = len(directory.segments.generated())
    return outcome(directory) if generated > 1 else records_of(directory)


def _refresh(folder: Path) -> Any:
    directory = CrawlDir(str(folder / "crawl"))
    options = RefreshOptions(("*.org",))
    config = Config.of({"urlfilter.order": []})
    return refresh.run(InProcess(), directory, config, options, ManualClock(NOW)).report.counters


def _dedup(folder: Path) -> None:
    made = IndexedCrawl(folder)
    options = DedupOptions(near="jaccard")
    dedup.run(InProcess(), made.crawl_dir, made.config, options, ManualClock(NOW))


def _index(folder: Path) -> None:
    IndexedCrawl(folder).index()


def _clean(folder: Path) -> None:
    IndexedCrawl(folder).clean()


def _export(folder: Path) -> None:
    ExportedCrawl(folder).export("out")


def _hand_over(folder: Path) -> None:
    if not hand_over(str(folder), "abcdef"):
        raise UsageError(SECOND_FAULT)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    with in_this_process(monkeypatch):
        yield Caller(capsys)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rows_that_are_lost(case: Case, tmp_path: Path, call: Caller) -> None:
    first = tmp_path / "first"
    first.mkdir()
    case.prepare(first)
    before = case.state(first)
    for fault in (SecondFault.PASSING, SecondFault.USER, SecondFault.FEWER_ROWS):
        shutil.copytree(first, tmp_path / fault.name)
    told = case.run(first, call)
    after = case.state(first)

    folder = tmp_path / SecondFault.PASSING.name
    with lossy_exchanges(SecondFault.PASSING) as shuffle:
        found = case.run(folder, call)
    assert shuffle.met > 0
    assert (found, case.state(folder)) == (told, after)

    folder = tmp_path / SecondFault.USER.name
    with lossy_exchanges(SecondFault.USER), pytest.raises(UsageError, match=SECOND_FAULT):
        case.run(folder, call)
    assert case.state(folder) == before

    folder = tmp_path / SecondFault.FEWER_ROWS.name
    try:
        with lossy_exchanges(SecondFault.FEWER_ROWS):
            case.run(folder, call)
    except CrawlError as error:
        assert isinstance(error, ChangedRows)
        assert case.state(folder) == before
    else:
        assert case.state(folder) == after


def test_every_phase_that_exchanges_rows_is_tried() -> None:
    tried = {name for case in CASES for name in case.modules}
    found = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".run")
        for root in (Path(crawl.phases.__path__[0]), Path(crawl.readers.__path__[0]))
        for path in root.rglob("*.py")
        if re.search(r"\.exchange\(", path.read_text(encoding="utf-8"))
    }
    assert found == tried | ELSEWHERE.keys()
