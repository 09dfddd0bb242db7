"""crawl updatehostdb and readhostdb on the command line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from crawl.model.answer_keys import CODE_KEY, RESPONSE_TIME_KEY
from crawl.model.derived_tables import HOSTDB
from crawl.model.status import Status
from crawl.phases.updatehostdb.tasks.read import SHOWN
from tests.cli.calling import Caller
from tests.phases.hosts import update_hosts
from tests.phases.linked_crawl import in_this_process
from tests.phases.made import datum, make_crawldb, make_segment
from tests.phases.updating import S1, fetched


@pytest.fixture
def counted(tmp_path: Path) -> str:
    """Hosts of 1 to 5 URLs; every second has failed once for each of them."""
    urls = [f"http://h{host}.org/p{n}" for host in range(1, 6) for n in range(host)]
    directory = make_crawldb(str(tmp_path / "crawl"), {url: datum() for url in urls})
    answered = {CODE_KEY: "200", RESPONSE_TIME_KEY: "40"}
    make_segment(
        directory,
        S1,
        [
            (url, fetched(Status.FETCH_SUCCESS, metadata=answered))
            if int(url[8]) % 2
            else (url, fetched(Status.FETCH_RETRY))
            for url in urls
        ],
        [],
    )
    update_hosts(directory)
    return directory.address


@pytest.fixture
def hosts(counted: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The same, asked without Spark."""
    with in_this_process(monkeypatch):
        yield counted


def test_one_host(crawl: Caller, hosts: str) -> None:
    found = crawl("readhostdb", hosts, "--host", "H3.org", "--json").json
    assert (found["host"], found["urls"], found["succeeded"]) == ("h3.org", 3, 3)
    assert found["response_ms_p50"] == pytest.approx(40, rel=0.03)
    assert set(SHOWN) <= found.keys()
    narrow = crawl(
        "readhostdb", hosts, "--host", "h3.org", "--json", "-D", "hostdb.percentiles=90"
    ).json
    assert "response_ms_p90" in narrow
    answer = crawl("readhostdb", hosts, "--host", "h3.org")
    lines = answer.out.splitlines()
    assert (answer.code, answer.err, lines[0]) == (0, "", "h3.org")
    assert ["urls", "3"] in [line.split() for line in lines]
    assert ["sitemaps_read"] in [line.split() for line in lines], "nobody asked for any"


def test_an_unknown_host(crawl: Caller, hosts: str) -> None:
    answer = crawl("readhostdb", hosts, "--host", "no\x1b.org")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == "readhostdb: no\\x1b.org is not in the HostDb\n"
    answer = crawl("readhostdb", hosts, "--host", "none.org", "--json")
    assert (answer.code, answer.json) == (1, None)


def test_the_greatest_hosts(crawl: Caller, hosts: str) -> None:
    found = crawl("readhostdb", hosts, "--top", 2, "--json").json
    assert [(row["host"], row["urls"]) for row in found] == [("h5.org", 5), ("h4.org", 4)]
    found = crawl("readhostdb", hosts, "--top", 9, "--by", "failed", "--json").json
    assert [row["host"] for row in found] == ["h4.org", "h2.org", "h1.org", "h3.org", "h5.org"]
    answer = crawl("readhostdb", hosts, "--top", 1, "--by", "failed")
    rows = [line.split() for line in answer.out.splitlines() if line.strip()]
    assert rows[0][:3] == ["host", "failed", "urls"]
    assert rows[-1][:3] == ["h4.org", "4", "4"]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_only_hosts_for_which_a_condition_holds(
    crawl: Caller, counted: str, tmp_path: Path
) -> None:
    often = ("-q", "--expr", "failed > 0.5 * requests")
    found = crawl("readhostdb", counted, "--top", 5, "--json", *often).json
    assert [row["host"] for row in found] == ["h4.org", "h2.org"]
    out = tmp_path / "out"
    answer = crawl("readhostdb", counted, "--dump", out, "--format", "json", *often)
    assert (answer.code, answer.err) == (0, f"readhostdb: 2 hosts in {out}\n")
    dumped = [json.loads(line) for part in out.glob("part-*") for line in part.open()]
    assert sorted(row["host"] for row in dumped) == ["h2.org", "h4.org"]
    for wrong in ("fialed > 1", "failed >", "failed"):
        answer = crawl("readhostdb", counted, "--top", 5, "-q", "--expr", wrong)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1), answer.err
    # an older dump is not lost by it
    answer = crawl(
        "readhostdb", counted, "--dump", out, "--overwrite", "-q", "--expr", "fialed > 1"
    )
    assert answer.code == 2
    assert (out / "_SUCCESS").exists() and list(out.glob("part-*"))


@pytest.mark.parametrize("form", ["parquet", "csv", "json", "text"])
def test_dumps(crawl: Caller, hosts: str, tmp_path: Path, form: str) -> None:
    out = tmp_path / "out"
    options = ("--dump", out, "--format", form, "--columns", "host, urls")
    answer = crawl("readhostdb", hosts, *options)
    assert (answer.code, answer.err) == (0, f"readhostdb: 5 hosts in {out}\n")
    assert (out / "_SUCCESS").exists()
    found: dict[str, int] = {}
    for part in out.glob("part-*"):
        if form == "parquet":
            rows = pq.read_table(part).to_pylist()
        elif form == "csv":
            rows = list(csv.DictReader(io.StringIO(part.read_text())))
        elif form == "json":
            rows = [json.loads(line) for line in part.read_text().splitlines()]
        else:
            named = [block.split() for block in part.read_text().split("\n\n") if block]
            rows = [{"host": host, "urls": urls} for host, _, urls in named]
        assert all(list(row) == ["host", "urls"] for row in rows)
        found |= {row["host"]: int(row["urls"]) for row in rows}
    assert found == {f"h{n}.org": n for n in range(1, 6)}
    again = crawl("readhostdb", hosts, *options)
    assert (again.code, again.err.count("\n")) == (2, 1)
    assert "is not empty: choose another or use --overwrite" in again.err
    assert crawl("readhostdb", hosts, *options, "--overwrite", "--json").json == {
        "hosts": 5,
        "folder": str(out),
    }


def test_a_whole_dump_has_every_column(crawl: Caller, hosts: str, tmp_path: Path) -> None:
    assert crawl("readhostdb", hosts, "--dump", tmp_path / "out").code == 0
    (first, *_) = sorted((tmp_path / "out").glob("*.parquet"))
    assert pq.read_schema(first).names == HOSTDB.names
    assert crawl("readhostdb", hosts, "--dump", tmp_path / "csv", "--format", "csv").code == 0
    (first, *_) = sorted((tmp_path / "csv").glob("*.csv"))
    assert first.read_text().splitlines()[0].split(",") == SHOWN


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give one of --host NAME, --top N and --dump FOLDER"),
        (["--host", "a.org", "--top", "3"], "give one of"),
        (["--host", "a.org", "--by", "urls"], "--by goes with --top, not with --host"),
        (["--host", "a.org", "--expr", "true"], "--expr goes with --top or --dump"),
        (["--top", "3", "--format", "csv"], "--format goes with --dump"),
        (["--top", "3", "--overwrite"], "--overwrite goes with --dump"),
        (["--top", "3", "--by", "url"], "no column 'url' (did you mean 'urls'?)"),
        (["--top", "3", "--by", "trouble"], "hosts have no order by trouble, which is text"),
        (["--dump", "out", "--columns", "hots"], "no column 'hots'"),
        (["--top", "0"], "--top"),
    ],
)
def test_wrong_input_is_one_line(
    crawl: Caller, hosts: str, options: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hosts)
    answer = crawl("readhostdb", hosts, *options)
    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err and answer.err.count("\n") == 1


@pytest.mark.parametrize("options", [["--host", "a.org"], ["--top", "3"], ["--dump", "out"]])
def test_without_a_hostdb(
    crawl: Caller, made: str, options: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made)
    answer = crawl("readhostdb", made, *options)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == (
        f"crawl: {made} has no HostDb yet: make it with `crawl updatehostdb {made}`\n"
    )
    answer = crawl("readhostdb", f"{made}-none", *options)
    assert answer.code == 2 and "has no CrawlDb yet" in answer.err
    assert not Path("out").exists()


def test_updatehostdb_tells_what_it_counted(crawl: Caller, hosts: str) -> None:
    answer = crawl("updatehostdb", hosts, "--rebuild")
    assert answer.code == 0
    rows = [line.split() for line in answer.out.splitlines()]
    assert ["hosts", "5"] in rows and ["requests", "15"] in rows
    assert answer.err.endswith(f"is now snapshot 2 with 5 hosts; 1 segment counted: {S1}\n")
    values = crawl("updatehostdb", hosts, "--json").json
    assert (values["snapshot"], values["segments"]) == (3, [])
    answer = crawl("updatehostdb", hosts, S1)
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "is in the HostDb already" in answer.err
