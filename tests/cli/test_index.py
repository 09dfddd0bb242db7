"""crawl index, clean and indexchecker: exit codes, --json, wrong input, two at once."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawl.api import crawl as api
from crawl.config import Config
from crawl.errors import CrawlError, Locked, UsageError
from crawl.interfaces.indexwriter import NO_PARAMETERS
from crawl.plugins.indexwriter.jsonl import JsonlIndexWriter
from tests.cli.calling import Answer, Caller
from tests.cli.indexing_here import index_in_this_process
from tests.phases.indexed import GONE, IndexedCrawl, Page

A, B, C = "http://a.com/", "http://b.com/", "http://c.com/"
JSONL = ("-D", "index.writers=jsonl", "-D", "index.shards=2")


@pytest.fixture(scope="module")
def parsed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl with one segment that is parsed and not indexed."""
    folder = tmp_path_factory.mktemp("parsed")
    IndexedCrawl(folder).round({A: Page("alpha"), B: Page("beta"), C: GONE})
    return folder / "crawl"


@pytest.fixture
def made(parsed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    index_in_this_process(monkeypatch)
    shutil.copytree(parsed, tmp_path / "crawl")
    return str(tmp_path / "crawl")


def _one_line(answer: Answer, code: int, text: str) -> None:
    assert (answer.code, answer.err.count("\n"), answer.out) == (code, 1, ""), answer
    assert text in answer.err


def test_index_and_clean_for_programs(made: str, crawl: Caller) -> None:
    done = crawl("index", made, *JSONL, "--json")
    assert done.code == 0
    assert done.json["documents"] == {"jsonl": 2}
    assert len(done.json["segments"]) == 1
    counters = done.json["report"]["counters"]
    assert counters["jsonl.added"] == 2 and counters["skipped.gone"] == 1
    cleaned = crawl("clean", made, *JSONL, "--json")
    assert cleaned.code == 0 and cleaned.json["documents"] == {"jsonl": 2}
    assert cleaned.json["snapshot"] == done.json["snapshot"] + 1


def test_index_and_clean_for_people(made: str, crawl: Caller) -> None:
    done = crawl("index", made, *JSONL)
    assert done.code == 0 and "jsonl has 2 documents" in done.err and "skipped.gone" in done.out
    cleaned = crawl("clean", made, *JSONL)
    assert cleaned.code == 0 and "index is now snapshot" in cleaned.err


def test_nothing_to_index_is_exit_code_1(made: str, crawl: Caller) -> None:
    crawl("index", made, *JSONL)
    _one_line(crawl("index", made, *JSONL), 1, "in the index already")
    assert crawl("index", made, *JSONL, "--all", "--json").json["documents"] == {"jsonl": 2}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-D", "index.writers=jsonll"], "did you mean 'jsonl'"),
        (["-D", "index.writers="], "names no index writer"),
        (["-D", "index.writers=jsonl,jsonl"], "is named twice"),
        (["--params", "gzpi=true"], "no parameter is called 'gzpi' (did you mean 'gzip'"),
        (["--params", "gzip=maybe"], "index writer jsonl: gzip: expected true or false"),
        (["--params", "gzip"], "expected KEY=VALUE&KEY=VALUE"),
        (["--params", "path=a%00b"], "index writer jsonl: path: no folder has a NUL"),
        (["--params", "path=foo://x/y"], "no file system for 'foo'"),
        (["--since", "99"], "99"),
        (["--since", "-1"], "--since"),
        (["--since", "1", "--no-crawldb"], "known to the CrawlDb alone"),
        (["--since", "1", "--all"], "or those since a snapshot"),
        (["--rebuild", "--since", "1"], "takes all segments"),
        (["--base64"], "base64 is the form of binary content"),
        (["--segments", "20200101000000"], "has no segment"),
        (["-D", "indexingfilter.order=basik"], "did you mean 'basic'"),
        (
            ["-D", "index.writers=kafka", "--params", "topic=a/b"],
            "index writer kafka: topic: expected letters",
        ),
    ],
)
def test_wrong_input_is_one_line(made: str, crawl: Caller, arguments: list[str], text: str) -> None:
    _one_line(crawl("index", made, *JSONL, *arguments), 2, text)
    assert not Path(made, "index").exists()


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ("[[writer]\n", "writers.toml"),
        ("writer = 3\n", "expected tables [[writer]]"),
        ("[[writers]]\nid='x'\n", "'writers' is unknown"),
        ("[[writer]]\nid='x'\nplugin='jsonll'", "did you mean 'jsonl'"),
        ("[[writer]]\nplugin=3", "it has no plugin"),
        ("[[writer]]\nid='x'\nplugin='jsonl'\nparameters=3", "parameters: expected a table"),
        ("[[writer]]\nid='x'\nplugin='jsonl'\nwhen='lang ='", "is no condition"),
        ("[[writer]]\nid='x'\nplugin='jsonl'\nfields={renam={}}", "did you mean 'rename'"),
        ("[[writer]]\nid='x'\nplugin='jsonl'\nfields={remove='a'}", "expected a list of names"),
        ("[[writer]]\nid='x'\nplugin='jsonl'\n" * 2, "two writers are called 'x'"),
        (
            "[[writer]]\nid='x'\nplugin='jsonl'\nfields={rename={a=''}}",
            "rename: a: expected a name",
        ),
        (
            "[[writer]]\nid='x'\nplugin='jsonl'\nfields={rename={title='t', content='t'}}",
            "fields: rename: title and content are both 't' then",
        ),
        (
            "[[writer]]\nid='x'\nplugin='jsonl'\nfields={copy={title=['t'], content='t'}}",
            "fields: copy: title and content are both 't' then",
        ),
        ("[[writer]]\nid='snapshots'\nplugin='jsonl'", "no writer can be called 'snapshots'"),
        ("x=" + "[" * 5000, "writers.toml: it is nested too deeply"),
        (
            f"[[writer]]\nid='x'\nplugin='jsonl'\nwhen='{'(' * 9000}'",
            "(((… (9,000 characters)' is no condition: it is nested too deeply",
        ),
    ],
)
def test_a_malformed_routing_file_is_one_line(
    made: str, tmp_path: Path, crawl: Caller, rules: str, text: str
) -> None:
    file = tmp_path / "writers.toml"
    file.write_text(rules)
    page = tmp_path / "page.html"
    page.write_text("<title>x</title>")
    for command in (["index", made], ["clean", made], ["indexchecker", "--file", page]):
        answer = crawl(*command, "-D", "index.writers=x", "-D", f"index.writers.file={file}")
        _one_line(answer, 2, text)


def test_a_crawl_that_has_no_crawldb_or_no_index(tmp_path: Path, made: str, crawl: Caller) -> None:
    for command in ("index", "clean"):
        _one_line(crawl(command, tmp_path / "nothing", *JSONL), 2, "has no CrawlDb yet")
    missing = crawl("clean", made, *JSONL)
    _one_line(missing, 2, "has no index yet: make one with `crawl index")
    assert not Path(made, "index").exists()


def test_indexchecker_with_wrong_input(tmp_path: Path, crawl: Caller) -> None:
    page = tmp_path / "page.html"
    page.write_text("<title>x</title>")
    _one_line(crawl("indexchecker", "--file", tmp_path / "none"), 2, "No such file")
    _one_line(crawl("indexchecker", "--file", page, A), 2, "--file goes without URLs")
    _one_line(crawl("indexchecker", "--file", page, "-D", "index.writers=x"), 2, "'x'")
    unknown = crawl("indexchecker", "--file", page, "-D", "indexingfilter.order=nosuch")
    _one_line(unknown, 2, "nosuch")


def test_indexchecker_lets_no_field_forge_a_line(tmp_path: Path, crawl: Caller) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<meta property="og:x&#10;forged&#27;[2J" content="y&#10;forged"><title>x</title>'
    )
    order = "indexingfilter.order=basic,structured"
    shown = crawl("indexchecker", "--file", page, "--url", A, "-D", order)
    assert shown.code == 0 and "og:x" in shown.out
    assert "\x1b" not in shown.out
    assert not [line for line in shown.out.splitlines() if line.strip().startswith("forged")]


def test_wrong_input_to_the_api(made: str) -> None:
    with api.open(made, settings={"index.writers": "jsonl"}) as web:
        for wrong in (
            {"since": "1"},
            {"since": -1},
            {"since": 99},
            {"params": {"gzip": 1}},
            {"params": {"nonsens": "1"}},
            {"segments": ["20200101000000"]},
            {"base64": True},
        ):
            with pytest.raises(CrawlError) as error:
                web.index(**wrong)
            assert "\n" not in str(error.value)
        with pytest.raises(CrawlError, match="has no index yet"):
            web.clean()
        assert web.index().documents == {"jsonl": 2}
        with pytest.raises(UsageError, match="nothing to index"):
            web.index()
        with pytest.raises(CrawlError, match="no parameter is called 'x'"):
            web.clean(params={"x": "1"})


_entered, _go_on = threading.Event(), threading.Event()


class WaitingWriter(JsonlIndexWriter):
    """Stays in the middle of its work until a test lets it go on."""

    def __init__(self, config: Config, parameters: Any = NO_PARAMETERS) -> None:
        super().__init__(config, parameters)

    def open(self, shard: Any) -> Any:
        _entered.set()
        assert _go_on.wait(60)
        return super().open(shard)


@pytest.fixture
def busy(made: str) -> Iterator[str]:
    """A crawl that has an index and is being indexed again."""
    writers = f"jsonl,{__name__}:WaitingWriter"
    web = api.open(made, settings={"index.writers": writers, "index.shards": 2})
    _go_on.set()
    web.index()
    _entered.clear()
    _go_on.clear()
    documents: list[Any] = []
    thread = threading.Thread(target=lambda: documents.append(web.index(rebuild=True).documents))
    thread.start()
    try:
        assert _entered.wait(60)
        yield made
    finally:
        _go_on.set()
        thread.join(60)
    assert documents == [{"jsonl": 2, "waitingwriter": 2}]


def test_the_second_of_two_is_told_in_one_line(busy: str, crawl: Caller) -> None:
    for command in (["index", "--all"], ["index", "--rebuild"], ["clean"]):
        answer = crawl(command[0], busy, *JSONL, *command[1:])
        _one_line(answer, 3, "index is locked: ")
        assert "--steal-lock" in answer.err
    with api.open(busy, settings={"index.writers": "jsonl"}) as web:
        with pytest.raises(Locked):
            web.clean()
        with pytest.raises(Locked):
            web.index(every=True)
        _go_on.set()
