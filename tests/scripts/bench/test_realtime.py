"""The parts of the benchmark of the realtime lane: what it draws, what it measures, and whether its
audit finds what it is for."""

from __future__ import annotations

import http.client
import importlib
import json
import math
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawl.synthetic.web import LogEntry
from crawl.synthetic.web.log import read_entries

BENCH = Path(__file__).resolve().parents[3] / "scripts" / "bench"
PARTS = ("audit", "http", "load", "numbers", "plan", "processes", "web")


def _bench() -> SimpleNamespace:
    """Its modules, which import each other as scripts do."""
    sys.path.insert(0, str(BENCH))
    try:
        parts = {name: importlib.import_module(f"realtime_{name}") for name in PARTS}
        return SimpleNamespace(main=importlib.import_module("realtime"), **parts)
    finally:
        sys.path.remove(str(BENCH))


bench = _bench()

# what is drawn


def test_domains_are_popular_by_zipf() -> None:
    shares = bench.plan.zipf_shares(1000, 1.0)
    assert math.isclose(shares.sum(), 1.0)
    assert math.isclose(shares[0] / shares[9], 10.0)
    shape = bench.plan.LoadShape(300, 100, domains=1000)
    urls = bench.plan.load_urls(shape, 80)
    assert len(urls) == 30_000
    ends = [bench.plan.chain_of(url)[-1] for url in urls]
    domains = Counter(hop.host.partition(".")[2] for hop in ends)
    for number in (0, 1, 4):
        seen = domains[f"d{number}.test"] / len(urls)
        assert seen == pytest.approx(shares[number], rel=0.1)


def test_no_host_has_more_than_it_can_answer() -> None:
    shape = bench.plan.LoadShape(300, 100, host_rate=0.5)
    urls = bench.plan.load_urls(shape, 80)
    asked = Counter(hop.host for url in set(urls) for hop in bench.plan.chain_of(url))
    # by chance some have more
    assert max(asked.values()) / shape.seconds < 2 * shape.host_rate


def test_shares_of_a_load_are_those_that_were_asked_for() -> None:
    shape = bench.plan.LoadShape(1000, 20)
    urls = bench.plan.load_urls(shape, 8080)
    assert urls == bench.plan.load_urls(shape, 8080)
    assert urls != bench.plan.load_urls(bench.plan.LoadShape(1000, 20, seed=2), 8080)
    once = set(urls)
    assert 1 - len(once) / len(urls) == pytest.approx(shape.repeats, rel=0.1)
    chains = [bench.plan.chain_of(url) for url in once]
    assert sum(len(chain) > 1 for chain in chains) / len(once) == pytest.approx(0.1, rel=0.1)
    assert {len(chain) for chain in chains} == {1, 2, 3}
    assert any(chain[0].host != chain[-1].host for chain in chains)
    assert sum(map(bench.plan.is_private, once)) / len(once) == pytest.approx(0.005, rel=0.3)


def test_latencies_and_failures_are_those_of_a_web() -> None:
    names = [("h1.d1.test", f"/p{n}") for n in range(50_000)]
    drawn = sorted(bench.plan.latency_s(host, path, 0) for host, path in names)
    assert bench.numbers.percentile(drawn, 0.5) == pytest.approx(0.2, rel=0.05)
    assert 1.2 < bench.numbers.percentile(drawn, 0.99) < 2.2
    assert drawn[-1] <= bench.plan.LONGEST_S
    kinds = Counter(bench.plan.kind_of(host, path, 0, 0.02) for host, path in names)
    failures = [kinds[each] for each in ("unavailable", "reset", "silence")]
    assert sum(failures) / len(names) == pytest.approx(0.02, rel=0.1)
    assert min(failures) > 250
    failed = [each for each in names if bench.plan.kind_of(*each, 0, 0.02) != "page"]
    again = sum(bench.plan.kind_of(*each, 1, 0.02) != "page" for each in failed)
    assert again / len(failed) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 50), (0.9, 90), (0.99, 99), (1.0, 100), (0.0, 1), (0.001, 1)]
)
def test_percentiles(share: float, expected: int) -> None:
    assert bench.numbers.percentile(range(1, 101), share) == expected


def test_percentiles_of_little() -> None:
    assert math.isnan(bench.numbers.percentile([], 0.5))
    assert bench.numbers.percentile([7.0], 0.99) == 7.0
    found = bench.numbers.latencies([3.0, 1.0, 2.0])
    assert (found.count, found.p50, found.most) == (3, 2.0, 3.0)


# the audit

ROBOTS = [LogEntry(0.0, 0.1, "a.test", "/robots.txt"), LogEntry(0.0, 0.1, "b.test", "/robots.txt")]
POLITE = [
    *ROBOTS,
    LogEntry(1.1, 1.5, "a.test", "/p1"),
    LogEntry(1.2, 1.5, "b.test", "/p2"),
    LogEntry(2.5, 2.6, "a.test", "/p3"),
]


@pytest.mark.parametrize(
    ("planted", "name"),
    [
        (LogEntry(3.5, 3.6, "a.test", "/p4"), "too_soon"),
        (LogEntry(1.4, 1.6, "b.test", "/p4"), "at_once"),
        (LogEntry(3.0, 3.1, "c.test", "/p4"), "before_robots"),
        (LogEntry(9.0, 9.1, "a.test", "/private/p4"), "forbidden"),
    ],
)
def test_the_audit_finds_what_is_planted(planted: LogEntry, name: str) -> None:
    assert bench.audit.violations(POLITE, 1.0).count == 0
    found = bench.audit.violations([*POLITE, planted], 1.0)
    assert getattr(found, name) == 1
    # two at once are too soon as well
    assert found.count == (2 if name == "at_once" else 1)


def fate(path: str, submitted: float, queryable: float, host: str = "a.test") -> Any:
    return bench.load.Fate(f"http://{host}:80{path}", submitted, queryable_at=queryable)


def test_a_url_that_waited_for_nothing_but_the_service() -> None:
    log = [LogEntry(10.03, 10.33, "a.test", "/p1")]
    spent = bench.audit.Overheads(log, 1.0).of(fate("/p1", 10.0, 10.35))
    assert spent.web == pytest.approx(0.3)
    assert spent.politeness == 0.0
    assert (spent.late, spent.after) == (pytest.approx(0.03), pytest.approx(0.02))
    assert spent.own == pytest.approx(0.05)


def test_the_turn_of_a_host_is_not_the_service() -> None:
    # ready at 10.0, the host is free at 10.7 + 1, asked 0.05 later
    log = [LogEntry(9.9, 10.7, "a.test", "/p0"), LogEntry(11.75, 11.95, "a.test", "/p1")]
    spent = bench.audit.Overheads(log, 1.0).of(fate("/p1", 10.0, 12.0))
    assert spent.web == pytest.approx(0.2)
    assert spent.politeness == pytest.approx(1.7)
    assert spent.own == pytest.approx(0.05 + 0.05)


def test_each_hop_of_a_chain_has_its_own_turn() -> None:
    log = [
        LogEntry(10.5, 11.0, "a.test", "/p0"),
        LogEntry(10.01, 10.21, "s.test", "/r/a.test/p1", status=301),
        LogEntry(12.04, 12.34, "a.test", "/p1"),
    ]
    spent = bench.audit.Overheads(log, 1.0).of(fate("/r/a.test/p1", 10.0, 12.35, "s.test"))
    assert spent.web == pytest.approx(0.2 + 0.3)
    assert spent.politeness == pytest.approx(12.0 - 10.21)
    assert spent.own == pytest.approx(0.01 + 0.04 + 0.01)
    assert spent.web + spent.politeness + spent.own == pytest.approx(2.35)


@pytest.mark.parametrize(
    "log",
    [
        [],
        [LogEntry(10.1, 10.2, "a.test", "/p1", status=503)],
        [LogEntry(10.1, 10.2, "a.test", "/p1", status=0)],
        [LogEntry(10.1, 10.2, "a.test", "/p1"), LogEntry(12.1, 12.2, "a.test", "/p1")],
        [LogEntry(5.1, 5.2, "a.test", "/p1")],
    ],
)
def test_no_share_is_told_of_what_failed_or_came_twice(log: list[LogEntry]) -> None:
    assert bench.audit.Overheads(log, 1.0).of(fate("/p1", 10.0, 15.0)) is None
    assert bench.audit.Overheads(POLITE, 1.0).of(fate("/p1", 1.0, 0.0)) is None


def test_who_loses_or_is_rude_fails() -> None:
    polite, rude = bench.audit.violations(POLITE, 1.0), bench.audit.violations(POLITE, 9.0)
    assert bench.main.exit_code(bench.load.LoadResult(), polite) == 0
    assert bench.main.exit_code(bench.load.LoadResult(), None) == 0
    assert bench.main.exit_code(bench.load.LoadResult(), rude) == 1
    assert bench.main.exit_code(bench.load.LoadResult(lost=["u"]), polite) == 1
    assert bench.main.exit_code(bench.load.LoadResult(not_found=1), polite) == 1


# its own HTTP


CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n1;x=y\r\n \r\nA\r\nw\r\nrld\r\n\r\n!\r\n0\r\n\r\n"
)
PLAIN = b"HTTP/1.1 202 Accepted\r\nContent-Length: 17\r\n\r\nhello w\r\nrld\r\n\r\n!"


@given(st.sampled_from([CHUNKED, PLAIN]), st.lists(st.integers(0, len(CHUNKED))))
def test_answers_in_pieces(answer: bytes, cuts: list[int]) -> None:
    body: list[bytes] = []
    parser = bench.http.AnswerParser(body.append)
    for begin, end in pairwise([0, *sorted(cuts), len(CHUNKED)]):
        assert not parser.is_complete or not answer[begin:end]
        if piece := answer[begin:end]:
            parser.feed(piece)
    assert parser.is_complete
    assert b"".join(body).startswith(b"hello w\r\nrld\r\n")


@pytest.mark.parametrize(
    "said",
    [b"HTTP/1.1\r\n\r\n", b"x" * 70_000, CHUNKED[:49] + b"zz\r\n", PLAIN.replace(b"17", b"-")],
)
def test_what_is_no_answer(said: bytes) -> None:
    with pytest.raises(bench.http.Broken):
        bench.http.AnswerParser(lambda body: None).feed(said)


EVENTS = (
    b": hello\n\nid: 1\nevent: finished\ndata: {}\n\nevent: other\ndata: {\n\n"
    b"event: finished\r\nid: 2\r\ndata: []\r\n\r\ndata: cut"
)


@given(st.lists(st.integers(0, len(EVENTS) - 20)))
def test_events_in_pieces(cuts: list[int]) -> None:
    lines, found = bench.load.EventLines(), list[bytes]()
    # a cut between CR and LF is not met with: services end lines by LF
    safe = [each for each in sorted(cuts) if EVENTS[each - 1 : each] != b"\r"]
    for begin, end in pairwise([0, *safe, len(EVENTS)]):
        found += lines.feed(EVENTS[begin:end])
    assert [each.strip() for each in found] == [b"{}", b"[]"]
    assert lines.last_id == "2"


# its processes


def test_the_web_is_asked_and_remembers(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    url = "/r/h2.d1.test/p7"
    options = ("--log", str(log), "--errors", "0")
    with bench.processes.process_with_port("realtime_web.py", *options) as (port, _):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

        def ask(host: str, path: str) -> tuple[http.client.HTTPResponse, bytes]:
            connection.request("GET", path, headers={"Host": f"{host}:{port}", "User-Agent": "me"})
            answer = connection.getresponse()
            return answer, answer.read()

        assert b"Disallow: /private/" in ask("s1.short.test", "/robots.txt")[1]
        answer, _ = ask("s1.short.test", url)
        assert answer.status in (301, 302)
        assert answer.headers["Location"] == f"http://h2.d1.test:{port}/p7"
        answer, body = ask("h2.d1.test", "/p7")
        assert answer.status == 200
        assert 9_000 < len(body) < 11_000
        assert b'property="og:title" content="Report p7 of h2.d1.test"' in body
        connection.close()
    entries = list(read_entries(log.read_bytes()))
    assert [entry.path for entry in entries] == ["/robots.txt", url, "/p7"]
    assert [entry.status for entry in entries] == [200, answer_status(url), 200]
    for entry in entries:
        expected = bench.plan.latency_s(entry.host, entry.path, 0)
        assert entry.ended - entry.began > expected - 0.01
    assert bench.audit.violations(entries, 0.0).before_robots == 1, "of h2.d1.test"


def answer_status(path: str) -> int:
    return 301 if len(path) % 2 else 302


def test_a_web_that_fails_in_every_way(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    kinds = {bench.plan.kind_of("a.test", f"/p{n}", 0, 1.0): f"/p{n}" for n in range(50)}
    with bench.processes.process_with_port(
        "realtime_web.py", "--log", str(log), "--errors", "1"
    ) as (port, _):
        for kind, path in sorted(kinds.items()):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=4)
            connection.request("GET", path, headers={"Host": "a.test"})
            if kind == "unavailable":
                assert connection.getresponse().status == 503
            else:
                with pytest.raises(OSError):
                    connection.getresponse()
            connection.close()
    assert sorted(kinds) == ["reset", "silence", "unavailable"]
    assert sorted(entry.status for entry in read_entries(log.read_bytes())) == [0, 0, 503]


def run(port: int, out: Path, *options: str) -> tuple[int, Any]:
    """The benchmark itself against another service."""
    command = [sys.executable, str(BENCH / "realtime.py"), "--json", str(out)]
    command += ["--service", f"http://127.0.0.1:{port}", "--seconds", "2", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    assert "submitted" in done.stdout
    return done.returncode, json.loads(out.read_text())


@pytest.mark.slow(seconds=10)
def test_a_service_that_loses_nothing_passes(tmp_path: Path) -> None:
    with bench.processes.process_with_port("realtime_stand_in.py") as (port, _):
        code, told = run(
            port, tmp_path / "out.json", "--rate", "100", "--lookups", "500", "--no-web"
        )
    assert code == 0
    assert told["submitted"] == told["finished"] == 200
    assert told["rows"]["queryable"]["count"] == 200
    assert told["rows"]["queryable"]["p50"] >= 0.1, "it finishes them after so long"
    assert told["lookups"]["urls"] == 1000
    assert not told["lookups"]["failed"]


@pytest.mark.slow(seconds=10)
def test_a_service_that_loses_some_is_found_out(tmp_path: Path) -> None:
    with bench.processes.process_with_port("realtime_stand_in.py", "--lose", "0.2") as (port, _):
        options = ("--rate", "100", "--lookups", "0", "--grace", "1", "--no-web")
        code, told = run(port, tmp_path / "out.json", *options)
    assert code == 1
    assert told["lost_count"] > 10
    assert told["lost_count"] + told["finished"] == told["submitted"] == 200


@pytest.mark.slow(seconds=20)
def test_who_fetches_politely_passes_and_who_does_not_fails(tmp_path: Path) -> None:
    with bench.processes.process_with_port("realtime_stand_in.py", "--fetch", "--delay", "0.3") as (
        port,
        _,
    ):
        options = ("--rate", "50", "--lookups", "0", "--domains", "20")
        polite = run(port, tmp_path / "polite.json", *options, "--delay", "0.3")
        rude = run(port, tmp_path / "rude.json", *options, "--delay", "3", "--seed", "2")
    code, told = polite
    assert code == 0
    assert told["submitted"] == told["finished"] == 100
    assert not any(told["violations"].values())
    assert told["requests"] > 100
    rows = told["rows"]
    assert 70 < rows["own"]["count"] == rows["web"]["count"] <= 100
    assert rows["web"]["p50"] > 0.05
    code, told = rude
    assert code == 1
    assert told["violations"]["too_soon"] > 10
    assert told["violations"]["at_once"] == told["violations"]["forbidden"] == 0
