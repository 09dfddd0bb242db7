from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.errors import NoSnapshot, PluginError
from crawl.model.datum import FETCH_DELAY_KEY, GENERATE_TIME_KEY, CrawlDatum
from crawl.model.status import Status
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.storage.crawl_dir import CrawlDir
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.examples import scaled
from tests.phases.generating import run
from tests.phases.made import (
    DAY,
    NOW,
    datum,
    fetch_lists,
    make_crawldb,
    urls_of,
)


@pytest.fixture
def address(tmp_path: Any) -> str:
    return str(tmp_path / "crawl")


HOSTS = ["a.org", "www.a.org", "b.org", "c.co.uk", "d.com", "e.net"]
RECORDS = st.dictionaries(
    st.builds("http://{}/{}".format, st.sampled_from(HOSTS), st.integers(0, 60).map("p{}".format)),
    st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.0, 2.0, 7.5]).map(lambda score: datum(score=score)),
    max_size=60,
)


def domain(host: str) -> str:
    return host.removeprefix("www.")


def host(url: str) -> str:
    return url.split("/")[2]


@settings(max_examples=scaled(40))
@given(
    records=RECORDS,
    top_n=st.none() | st.integers(1, 40),
    cap=st.sampled_from([-1, 0, 1, 3, 10]),
    segments=st.integers(1, 3),
    parts=st.integers(1, 4),
    mode=st.sampled_from(["host", "domain"]),
    buckets=st.integers(1, 5),
)
def test_the_selection_is_exact(
    tmp_path_factory: pytest.TempPathFactory,
    records: dict[str, CrawlDatum],
    top_n: int | None,
    cap: int,
    segments: int,
    parts: int,
    mode: str,
    buckets: int,
) -> None:
    directory = make_crawldb(str(tmp_path_factory.mktemp("crawl")), records, buckets=buckets)
    done = run(
        directory,
        {"generate.max.count": cap, "generate.count.mode": mode},
        top_n=top_n,
        num_fetchers=parts,
        max_num_segments=segments,
    )
    assert bool(done.segments) == bool(records)
    group = domain if mode == "domain" else (lambda name: name)
    left = dict(records)
    for name in done.segments:
        # what a reader of the rules would do by hand: best first, each group up to its cap
        counts: Counter[str] = Counter()
        expected: list[float] = []
        for url in sorted(left, key=lambda url: -left[url].score):
            if (cap <= 0 or counts[group(host(url))] < cap) and (
                top_n is None or len(expected) < top_n
            ):
                counts[group(host(url))] += 1
                expected.append(left[url].score)
        taken = urls_of(directory, [name])
        assert sorted((left[url].score for url in taken), reverse=True) == expected
        mine = Counter(group(host(url)) for url in taken)
        assert cap <= 0 or max(mine.values()) <= cap
        assert len(set(taken)) == len(taken)
        for url in taken:
            del left[url]
    counters = done.report.counters
    assert counters["urls_generated"] == len(records) - len(left)
    assert counters["records"] == len(records)
    assert counters["urls_skipped_per_host_overflow"] + counters["below_top_n"] == len(left)


def test_a_host_is_in_one_part_and_hosts_take_turns(address: str) -> None:
    records = {f"http://{name}/p{n}": datum() for name in HOSTS for n in range(50)}
    directory = make_crawldb(address, records)
    (name,) = run(directory, num_fetchers=3).segments
    parts = fetch_lists(directory, name)
    assert len(parts) == 3
    hosts = [{host(url) for url, _ in part} for part in parts]
    assert sum(map(len, hosts)) == len(HOSTS)
    for part in parts:
        names = [host(url) for url, _ in part]
        changes = sum(first != second for first, second in pairwise(names))
        assert changes > len(names) / 4


def test_partition_by_domain_and_by_address(address: str) -> None:
    records = {f"http://{name}/p{n}": datum() for name in HOSTS for n in range(5)}
    directory = make_crawldb(address, records)
    settings = {"partition.url.mode": "byDomain"}
    (name,) = run(directory, settings, num_fetchers=4).segments
    hosts = [{host(url) for url, _ in part} for part in fetch_lists(directory, name)]
    assert [{"a.org", "www.a.org"} <= names for names in hosts if "a.org" in names] == [True]
    directory.segments.folder.delete(name)

    asked: list[str] = []

    def resolver(name: str) -> str | None:
        asked.append(name)
        return {"b.org": "192.0.2.1", "c.co.uk": "192.0.2.1"}.get(name)

    settings = {"partition.url.mode": "byIP"}
    done = run(directory, settings, resolver, num_fetchers=4, top_n=25)
    known = {"b.org", "c.co.uk"} & {*asked}
    assert done.report.counters["hosts_not_resolved"] == len(asked) - len(known)
    assert len(asked) == len(set(asked))
    hosts = [{host(url) for url, _ in part} for part in fetch_lists(directory, done.segments[0])]
    (shared,) = [names for names in hosts if "b.org" in names]
    assert "c.co.uk" in shared


def test_giants_are_apart_and_the_makespan_is_reported(address: str) -> None:
    giants = {f"http://giant{g}.org/p{n}": datum() for g in range(2) for n in range(100)}
    dwarfs = {f"http://dwarf{d}.org/p{n}": datum() for d in range(60) for n in range(2)}
    directory = make_crawldb(address, {**giants, **dwarfs}, buckets=8)
    settings = {"fetcher.server.delay": 2, "generate.expected.latency": 1}
    done = run(directory, settings, num_fetchers=2)
    parts = fetch_lists(directory, done.segments[0])
    for part in parts:
        assert len({host(url) for url, _ in part if "giant" in url}) == 1
    (summary,) = done.report.details["segments"]
    assert summary["predicted_makespan_s"] == 100 * 1 + 99 * 2
    assert summary["longest_chain"].startswith("giant")
    assert [part["longest_chain_s"] for part in summary["parts"]] == [298.0, 298.0]
    on_disk = directory.segments.segment(done.segments[0]).report("crawl_generate")
    assert on_disk["details"]["segments"][0]["predicted_makespan_s"] == 298.0


def test_a_hosts_own_delay_makes_its_chain_longer(address: str) -> None:
    slow = {f"http://slow.org/p{n}": datum(metadata={FETCH_DELAY_KEY: "60000"}) for n in range(5)}
    fast = {f"http://fast.org/p{n}": datum() for n in range(5)}
    directory = make_crawldb(address, {**slow, **fast})
    done = run(directory, {"fetcher.server.delay": 1}, num_fetchers=1)
    (summary,) = done.report.details["segments"]
    assert summary["longest_chain"] == "slow.org"
    assert summary["longest_chain_s"] == 5 * 0.5 + 4 * 60


@pytest.mark.parametrize(
    ("record", "settings", "options", "reason"),
    [
        (datum(), {"urlfilter.regex.file": "none.txt"}, {}, "url_filters_rejected"),
        (datum(fetch_time=NOW + 1), {}, {}, "schedule_rejected"),
        (datum(metadata={GENERATE_TIME_KEY: str(NOW - DAY)}), {}, {}, "wait_for_update"),
        (
            datum(status=Status.DB_GONE),
            {"generate.restrict.status": "db_unfetched"},
            {},
            "status_rejected",
        ),
        (datum(score=float("nan")), {}, {}, "score_not_a_number"),
        (datum(score=0.4), {"generate.min.score": 0.5}, {}, "score_too_low"),
        (datum(fetch_interval=101), {"generate.min.interval": 100}, {}, "interval_rejected"),
    ],
)
def test_every_rejection_has_its_reason(
    address: str,
    record: CrawlDatum,
    settings: dict[str, object],
    options: dict[str, Any],
    reason: str,
) -> None:
    directory = make_crawldb(address, {"http://a.org/": record})
    config = Config.of({"urlfilter.order": "regex", **settings}, files={"none.txt": "-."})
    done = generate.run(
        InProcess(),
        directory,
        config,
        GenerateOptions(**options),
        ManualClock(NOW),
        resolver=lambda host: None,
    )
    assert done.segments == ()
    counters = done.report.counters
    assert (counters["records"], counters[reason], counters["candidates"]) == (1, 1, 0)
    assert directory.segments.generated() == []


def test_the_first_reason_in_nutchs_order_is_the_one_counted(address: str) -> None:
    record = datum(
        fetch_time=NOW + 1, score=0.0, metadata={GENERATE_TIME_KEY: str(NOW)}, fetch_interval=999
    )
    directory = make_crawldb(address, {"http://a.org/": record})
    settings = {"generate.min.score": 1, "generate.min.interval": 5}
    counters = run(directory, settings).report.counters
    assert (counters["schedule_rejected"], counters.total()) == (1, 2)


@pytest.mark.parametrize("mark", [str(NOW - 8 * DAY), "not a number", "99999999999999999999"])
def test_an_old_or_senseless_mark_reserves_nothing(address: str, mark: str) -> None:
    directory = make_crawldb(
        address, {"http://a.org/": datum(metadata={GENERATE_TIME_KEY: mark, "x": "y"})}
    )
    (name,) = run(directory).segments
    ((_, record),) = fetch_lists(directory, name)[0]
    assert record.metadata == {"x": "y", GENERATE_TIME_KEY: str(NOW)}


def test_a_due_time_beyond_the_longest_interval_is_due(address: str) -> None:
    directory = make_crawldb(address, {"http://a.org/": datum(fetch_time=NOW + 91 * DAY)})
    assert run(directory).report.counters["urls_generated"] == 1


def test_add_days_looks_ahead(address: str) -> None:
    directory = make_crawldb(address, {"http://a.org/": datum(fetch_time=NOW + 3 * DAY)})
    assert run(directory, add_days=2.9).segments == ()
    assert len(run(directory, add_days=3).segments) == 1


def test_hosts_are_counted_under_their_normal_name(address: str) -> None:
    records = {f"http://{name}/p{n}": datum() for name in ("a.org", "www.a.org") for n in range(5)}
    directory = make_crawldb(address, records, buckets=7)
    settings = {
        "generate.max.count": 3,
        "urlnormalizer.order.generate_host_count": "host",
        "urlnormalizer.hosts.file": "hosts.txt",
    }
    config = Config.of({"urlfilter.order": "regex", **settings}, {"hosts.txt": "www.a.org a.org\n"})

    def count(normalize: bool | None) -> int:
        done = generate.run(
            InProcess(),
            directory,
            config,
            GenerateOptions(normalize=normalize),
            ManualClock(NOW),
            resolver=lambda host: None,
        )
        return done.report.counters["urls_generated"]

    assert count(None) == 3
    assert count(False) == 6


def test_a_fetch_list_bears_the_records_as_they_are(address: str) -> None:
    record = datum(
        status=Status.DB_NOTMODIFIED,
        modified_time=NOW - 5 * DAY,
        retries=2,
        signature=b"\x01\x02",
        metadata={"lang": "en"},
    )
    directory = make_crawldb(address, {"http://a.org/": record})
    ((found,),) = fetch_lists(directory, run(directory).segments[0])
    marked = {"lang": "en", GENERATE_TIME_KEY: str(NOW)}
    assert found == (
        "http://a.org/",
        datum(
            **{
                **{name: getattr(record, name) for name in record.__slots__},
                "metadata": marked,
            }
        ),
    )


def test_a_plugin_that_raises_is_counted_and_drops_nothing(address: str) -> None:
    directory = make_crawldb(address, {f"http://h{n}.org/": datum() for n in range(5)})
    settings: dict[str, object] = {
        "scoring.filter.order": ["tests.phases.generate.test_generate:BrokenScoring", "opic"],
        "db.fetch.schedule.class": "tests.phases.generate.test_generate:BrokenSchedule",
    }
    counters = run(directory, settings).report.counters
    assert counters["urls_generated"] == 5
    broken = {name: count for name, count in counters.items() if name.startswith("plugin_errors")}
    assert sorted(broken.values()) == [5, 5]


class BrokenScoring:
    def __init__(self, config: Config) -> None:
        pass

    def sort_value(self, *_: object) -> float:
        raise RuntimeError("broken")

    def sort_values(self, *_: object) -> None:
        return None


class BrokenSchedule:
    def __init__(self, config: Config) -> None:
        pass

    def should_fetch(self, *_: object) -> bool:
        raise RuntimeError("broken")

    def should_fetch_batch(self, *_: object) -> None:
        return None


def test_no_crawldb_and_no_such_plugin_are_reported_at_once(address: str) -> None:
    with pytest.raises(NoSnapshot, match=r"crawl inject .* SEEDS"):
        run(CrawlDir(address))
    with pytest.raises(PluginError, match="did you mean 'opic'"):
        generate.check(Config.of({"scoring.filter.order": "opik"}), GenerateOptions())


def test_the_report_is_json(address: str) -> None:
    directory = make_crawldb(address, {"http://a.org/": datum(), "http://b.org/": datum()})
    done = run(directory, top_n=1)
    report = json.loads(done.report.as_json())
    assert report["phase"] == "generate"
    assert report["options"]["top_n"] == 1
    assert report["counters"]["urls_generated"] == 1
    assert set(report["durations_s"]) >= {"cut", "collect", "list"}
