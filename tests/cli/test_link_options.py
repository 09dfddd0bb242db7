"""Options of the commands of LinkDb and graphs: each makes the difference that it promises, or is
refused in a line; and places that cannot be written to are, before any work is done."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawl.driver.output_folder import make_room
from crawl.errors import StorageError
from crawl.phases.hostgraph import dump as graph_dump
from crawl.phases.nodedumper import run as nodedumper
from crawl.readers.readlinkdb import run as readlinkdb
from crawl.storage.folder import Folder
from tests.cli.calling import Caller
from tests.phases.linked_crawl import in_this_process, make_linked_crawl
from tests.phases.linked_pages import ALL_LINKS, add_parse, build
from tests.phases.linking import LinkingPage, inlinks_of, make_parsed
from tests.phases.made import datum, make_crawldb

SEGMENT = "20260101000000"


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("options") / "crawl"
    make_linked_crawl(str(place))
    return place


@pytest.fixture
def crawl(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Caller]:
    with in_this_process(monkeypatch):
        yield Caller(capsys)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), {"http://b.org/"}),
        (("--no-normalize",), {"http://b.org:80/./"}),
        (("--no-filter",), {"http://b.org/", "http://bad.org/x"}),
        (("--no-normalize", "--no-filter"), {"http://b.org:80/./", "http://bad.org:80/./x"}),
    ],
)
def test_invertlinks_without_normalizers_or_filters(
    crawl: Caller, tmp_path: Path, options: tuple[str, ...], expected: set[str]
) -> None:
    directory = make_crawldb(str(tmp_path / "c"), {"http://a.org/": datum()})
    links = (("http://b.org:80/./", "b"), ("http://bad.org:80/./x", "bad"))
    make_parsed(directory, SEGMENT, [LinkingPage("http://a.org/", links)])
    deny = ("urlfilter.order=domaindenylist", "urlfilter.domaindenylist.rules=bad.org")
    answer = crawl("invertlinks", directory.address, *options, "-D", deny[0], "-D", deny[1])
    assert answer.code == 0, answer
    assert {url for url, _ in inlinks_of(directory)} == expected


def test_sums_and_maxima_of_hosts(crawl: Caller, linked: Path) -> None:
    pages = crawl("nodedumper", linked, "--inlinks", "--top", 100, "--json").json
    by_host: dict[str, list[float]] = {}
    for page in pages:
        by_host.setdefault(page["name"].split("/")[2], []).append(page["value"])
    grouped = ("nodedumper", linked, "--inlinks", "--group", "host", "--top", 9, "--json")
    for options, combine in (((), sum), (("--sum",), sum), (("--max",), max)):
        answer = crawl(*grouped, *options)
        found = {each["name"]: each["value"] for each in answer.json}
        assert found == {host: combine(values) for host, values in by_host.items()}
    assert any(sum(values) != max(values) for values in by_host.values())


def test_a_dump_of_links_tells_programs_how_many(
    crawl: Caller, linked: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    answer = crawl("readlinkdb", linked, "--dump", out, "--json")
    links = sum(pq.read_table(path).num_rows for path in out.glob("part-*.parquet"))
    assert links > 10
    assert answer.json == {"links": links, "folder": str(out)}


def test_lists_tell_programs_how_many(crawl: Caller, linked: Path, tmp_path: Path) -> None:
    out, graph = tmp_path / "out", tmp_path / "graph"
    answer = crawl("nodedumper", linked, "--scores", "--top", 7, "--output", out, "--json")
    assert answer.json == {"lines": 7, "folder": str(out)}
    assert len((out / "part-00000.txt").read_text().splitlines()) == 7
    for group in ("host", "domain"):
        wanted = ("--group", group, "--format", "cc", "--output", graph, "--overwrite", "--json")
        told = crawl("nodedumper", linked, *wanted).json
        vertices = gzip.decompress((graph / "vertices.txt.gz").read_bytes()).splitlines()
        edges = gzip.decompress((graph / "edges.txt.gz").read_bytes()).splitlines()
        assert told == {f"{group}s": len(vertices), "links": len(edges), "folder": str(graph)}
        assert len(vertices) == 3


def test_lists_for_file_fields(crawl: Caller, linked: Path, tmp_path: Path) -> None:
    pages = crawl("nodedumper", linked, "--inlinks", "--top", 3).out.splitlines()
    equals = crawl("nodedumper", linked, "--inlinks", "--top", 3, "--as-eff").out.splitlines()
    assert equals == ["=".join(line.split("\t")) for line in pages] != pages
    out = tmp_path / "out"
    options = ("--inlinks", "--top", 3, "--as-eff", "--output", out, "--format", "text")
    assert crawl("nodedumper", linked, *options).code == 0
    assert (out / "part-00000.txt").read_text().splitlines() == equals


def test_hosts_and_domains_are_two_graphs(crawl: Caller, tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), {"http://www.a.org/": datum()})
    pages = {
        "http://www.a.org/": ["http://shop.a.org/", "http://b.org/"],
        "http://shop.a.org/": ["http://www.b.org/"],
    }
    add_parse(directory, SEGMENT, pages)
    build(directory, **ALL_LINKS)
    graphs = {}
    for group in ("host", "domain"):
        answer = crawl("hostgraph", directory.address, "--group", group, "--json")
        graphs[group] = {each["host"]: each["hosts"] for each in answer.json["top"]}
        assert answer.json["report"]["counters"][f"{group}s"] == len(graphs[group])
    assert graphs == {
        "host": dict.fromkeys(("www.a.org", "shop.a.org", "b.org", "www.b.org"), 1),
        "domain": {"a.org": 2, "b.org": 2},
    }
    domains = crawl("hostgraph", directory.address, "--group", "domain", "--top", 1)
    assert "domaingraph is now snapshot 2 with 2 domains and 1 links" in domains.err
    assert [line.split()[:2] for line in domains.out.splitlines()].count(["1", "b.org"]) == 1


def test_a_page_that_is_not_there_is_null(crawl: Caller, linked: Path) -> None:
    answer = crawl("nodereader", linked, "http://nowhere.org/", "--json")
    assert (answer.code, json.loads(answer.out)) == (1, None)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("nodedumper {} --scores --output x --format parquet --as-eff", "--as-eff goes with text"),
        ("nodedumper {} --scores --output x --format json --as-eff", "not with --format json"),
        ("nodedumper {} --scores --top 3 --json --as-eff", "not with --json"),
        ("nodedumper {} --scores --top 3 --format text", "go with --output FOLDER"),
        ("nodedumper {} --scores --top 3 --overwrite", "go with --output FOLDER"),
        ("nodedumper {} --scores --top 3 --max", "go with --group"),
        ("nodedumper {} --scores --top 3 --group host --sum --max", "one of --sum and --max"),
        ("nodedumper {} --format cc --output x", "--group: it is needed"),
        ("nodedumper {} --group host --format cc", "--output: it is needed"),
        ("nodedumper {} --top 3", "give one of --inlinks, --outlinks, --scores and --format cc"),
        ("nodedumper {} --scores --output x --format xml", "expected one of text, json, parquet"),
        ("nodedumper {} --scores --inlinks --top 3", "give one of --inlinks, --outlinks"),
        (
            "nodedumper {} --group host --format cc --output x --top 3",
            "--scores, not with --format",
        ),
        (
            "nodedumper {} --group host --format cc --output x --as-eff",
            "--scores, not with --format",
        ),
        ("nodedumper {} --group host --format cc --output x --scores", "--scores and --format cc"),
        ("readlinkdb {} --url http://a.org/ --format csv", "--format goes with --dump"),
        ("readlinkdb {} --url http://a.org/ --overwrite", "--overwrite goes with --dump"),
        ("readlinkdb {} --url http://a.org/ --dump x", "give one of --url and --dump"),
        ("linkrank {} --tolerance 1", "go with --pagerank"),
        ("linkrank {} --seeds x", "go with --pagerank"),
        ("linkrank {} --by-domain", "go with --pagerank"),
    ],
)
def test_what_would_be_ignored_is_refused(
    crawl: Caller,
    linked: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = crawl(*line.format(linked).split())
    assert answer.code == 2
    assert told in answer.err and answer.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_what_is_refused_later_leaves_nothing_behind(tmp_path: Path) -> None:
    out = Folder(str(tmp_path / "out"))
    make_room(out, overwrite=False)
    assert not list(tmp_path.iterdir())
    (tmp_path / "out").mkdir()
    make_room(out, overwrite=False)
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "a folder that was there stays"


DUMPS = [
    ["nodedumper", "{}", "--inlinks", "--output"],
    ["nodedumper", "{}", "--group", "host", "--format", "cc", "--output"],
    ["readlinkdb", "{}", "--dump"],
]


@pytest.mark.parametrize("command", DUMPS, ids=" ".join)
def test_a_place_that_cannot_be_written_to_is_told_before_the_work(
    crawl: Caller,
    linked: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
) -> None:
    def work(*given: object) -> None:
        raise AssertionError("nothing was to be done")

    def refuse(self: Folder, name: str, data: bytes) -> None:
        assert self.address == str(tmp_path / "refused")
        raise StorageError(f"{self.path(name)}: permission denied")

    for phase, name in ((nodedumper, "run"), (graph_dump, "run"), (readlinkdb, "dump")):
        monkeypatch.setattr(phase, name, work)
    monkeypatch.setattr(Folder, "write", refuse)  # root may write anywhere
    file = tmp_path / "file"
    file.write_text("mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    for place, told in (
        (file, "is a file: name a folder"),
        (file / "below", "a part of the path is a file"),
        (tmp_path / "refused", "refused cannot be written to: "),
        (folder, "is not empty: it holds other files"),
    ):
        for options in ((), ("--overwrite",)):
            line = [word.replace("{}", str(linked)) for word in command]
            answer = crawl(*line, place, *options)
            assert answer.code == 2, answer
            assert told in answer.err and answer.err.count("\n") == 1
    assert file.read_text() == "mine"
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]
