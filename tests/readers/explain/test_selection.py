from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crawl.clock import SystemClock, moment
from crawl.config import Config
from crawl.counters import Counters
from crawl.model.datum import CrawlDatum
from crawl.model.status import DB_STATUSES
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.generate.tasks.scan import select
from crawl.phases.generate.tasks.selection import selection_of
from crawl.readers.explain.selection import (
    GenerateStep,
    generate_steps,
    rejection_of,
    span,
)
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.layout import bucket_of
from crawl.tables.lookup import find_record
from crawl.tables.runner import InProcess
from crawl.urls.parse import host_of
from tests.phases.made import DAY, NOW, datum, make_crawldb, urls_of

URL = "http://a.org/x"


def _steps(
    directory: CrawlDir, url: str, config: Config, now: int = NOW
) -> tuple[GenerateStep, ...]:
    snapshot = directory.require_crawldb()
    row = find_record(directory.crawldb.folder, snapshot, url)
    assert row is not None
    bucket = snapshot.files_of(bucket_of(host_of(url) or "", snapshot.buckets))
    assert bucket is not None
    return generate_steps(selection_of(config, now), row, directory.crawldb.folder, bucket)


def _step(steps: tuple[GenerateStep, ...], reason: str) -> GenerateStep:
    (found,) = [step for step in steps if step.reason == reason]
    return found


@pytest.mark.parametrize(
    ("record", "config", "reason", "detail"),
    [
        ({}, {"urlfilter.length.max": 5}, "url_filters_rejected", "length: "),
        ({"fetch_time": NOW + 3 * DAY}, {}, "schedule_rejected", "3.0 d from now"),
        ({"metadata": {"_ngt_": str(NOW - DAY)}}, {}, "wait_for_update", "(crawl.gen.delay)"),
        ({}, {"generate.restrict.status": "db_gone"}, "status_rejected", "only db_gone"),
        ({"score": float("nan")}, {}, "score_not_a_number", "nan"),
        ({"score": 0.25}, {"generate.min.score": 0.5}, "score_too_low", "sort value 0.25"),
        ({}, {"generate.min.interval": 100}, "interval_rejected", "at most 100 s"),
    ],
)
def test_every_step_can_reject(
    tmp_path: Path, record: dict[str, Any], config: dict[str, Any], reason: str, detail: str
) -> None:
    directory = make_crawldb(str(tmp_path / "c"), {URL: datum(**record)})
    steps = _steps(directory, URL, Config.of(config))
    rejection = rejection_of(steps)
    assert rejection is not None
    assert rejection.reason == reason
    assert detail in rejection.detail
    assert all(step.detail for step in steps)


def test_what_passes_and_what_cannot_be_known(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), {URL: datum()})
    steps = _steps(directory, URL, Config())
    assert rejection_of(steps) is None
    assert {step.reason for step in steps if step.passes is None} == {
        "expr_rejected",
        "below_top_n",
    }
    assert [step.reason for step in steps] == [
        "url_filters_rejected",
        "schedule_rejected",
        "wait_for_update",
        "host_waits",
        "trap.same_signature",
        "expr_rejected",
        "status_rejected",
        "score_not_a_number",
        "score_too_low",
        "interval_rejected",
        "host_probed",
        "urls_skipped_per_host_overflow",
        "below_top_n",
    ]
    unfiltered = _steps(directory, URL, Config.of({"generate.filter": False}))
    assert "not asked" in _step(unfiltered, "url_filters_rejected").detail


def test_marks_that_are_over_or_none(tmp_path: Path) -> None:
    for mark in (str(NOW - 8 * DAY), "yesterday", "9" * 30, "²"):
        record = datum(metadata={"_ngt_": mark})
        directory = make_crawldb(str(tmp_path / mark[:9]), {URL: record})
        assert _step(_steps(directory, URL, Config()), "wait_for_update").passes is True


def test_the_schedule_mends_a_due_time_that_is_too_far(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), {URL: datum(fetch_time=NOW + 900 * DAY)})
    step = _step(_steps(directory, URL, Config()), "schedule_rejected")
    assert step.passes is True
    assert "does not wait for that" in step.detail


def test_the_place_within_the_host_is_the_one_that_generate_gives(tmp_path: Path) -> None:
    records = {f"http://a.org/{n}": datum(score=n % 3) for n in range(30)}
    records |= {f"http://b.org/{n}": datum(score=9) for n in range(30)}
    records["http://a.org/not-due"] = datum(score=9, fetch_time=NOW + DAY)
    directory = make_crawldb(str(tmp_path / "c"), records, buckets=1)
    config = Config.of({"generate.max.count": 7})
    taken = generate.run(
        InProcess(),
        directory,
        config,
        GenerateOptions(),
        _At(NOW),
        resolver=lambda host: None,
    )
    selected = set(urls_of(directory, taken.segments))
    ranks = set()
    for url in (url for url in records if url.startswith("http://a.org/")):
        step = _step(_steps(directory, url, config), "urls_skipped_per_host_overflow")
        if url.endswith("not-due"):
            assert (step.passes, step.detail) == (None, "not counted: rejected before")
            continue
        assert step.passes == (url in selected), step.detail
        assert "of 30 candidates of a.org, at most 7" in step.detail
        ranks.add(step.detail.split()[1])
    assert ranks == {str(n) for n in range(1, 31)}


class _At(SystemClock):
    def __init__(self, now_ms: int) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        return self._now_ms


def test_a_cap_that_one_bucket_cannot_decide(tmp_path: Path) -> None:
    directory = make_crawldb(str(tmp_path / "c"), {"http://www.a.org/": datum()})
    by_domain = Config.of({"generate.max.count": 1, "generate.count.mode": "domain"})
    step = _step(
        _steps(directory, "http://www.a.org/", by_domain), "urls_skipped_per_host_overflow"
    )
    assert (step.passes, step.detail) == (None, "counted with the other hosts of a.org")
    renamed = Config.of(
        {
            "generate.max.count": 1,
            "urlnormalizer.order.generate_host_count": ["host"],
            "urlnormalizer.hosts.rules": "www.a.org a.org",
        }
    )
    step = _step(_steps(directory, "http://www.a.org/", renamed), "urls_skipped_per_host_overflow")
    assert (step.passes, step.detail) == (None, "counted under another name: a.org")


RECORDS = st.builds(
    CrawlDatum,
    st.sampled_from(DB_STATUSES),
    st.integers(NOW - 9 * DAY, NOW + 200 * DAY),
    fetch_interval=st.integers(0, 10**7),
    retries=st.integers(0, 9),
    score=st.floats(width=32),
    metadata=st.dictionaries(
        st.sampled_from(["_ngt_", "x"]),
        st.integers(0, 2 * NOW).map(str) | st.text("a1² "),
        max_size=2,
    ),
)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "generate.min.score": st.sampled_from([-1.0, 0.0, 2.5]),
        "generate.min.interval": st.sampled_from([-1, 0, 10**6]),
        "generate.restrict.status": st.sampled_from(["", "db_unfetched"]),
        "urlfilter.length.max": st.sampled_from([5, 500]),
    },
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(record=RECORDS, changed=SETTINGS)
def test_the_steps_agree_with_generate(
    tmp_path_factory: pytest.TempPathFactory, record: CrawlDatum, changed: dict[str, Any]
) -> None:
    config = Config.of(changed)
    directory = make_crawldb(str(tmp_path_factory.mktemp("c")), {URL: record})
    row = find_record(directory.crawldb.folder, directory.require_crawldb(), URL)
    assert row is not None
    counters = Counters()
    alive, _ = select(selection_of(config, NOW), row, None, counters)
    rejection = rejection_of(_steps(directory, URL, config))
    assert bool(alive[0]) == (rejection is None)
    if rejection is not None:
        assert counters[rejection.reason] == 1


def test_the_selection_is_the_one_of_the_phase() -> None:
    config = Config.of(
        {
            "generate.max.count": 3,
            "generate.restrict.status": "db_gone",
            "generate.min.interval": 7,
            "generate.min.score": 0.5,
            "generate.count.mode": "domain",
            "crawl.gen.delay": 9,
        }
    )
    options = GenerateOptions(top_n=10, max_num_segments=2, filter=False, normalize=False)
    theirs = generate._selection(config, options, NOW)
    ours = selection_of(config, NOW, filtering=False, normalizing=False, segments=2, top_n=10)
    assert ours == theirs
    usual = selection_of(Config(), NOW)
    assert usual.filters is not None
    assert usual.counting is not None
    assert usual.most is None


def test_times_for_people() -> None:
    assert span(999) == "999 ms"
    assert span(90_000) == "1.5 min"
    assert span(3 * DAY) == "3.0 d"
    assert moment(NOW) == "2027-01-15 08:00:00 UTC"
    assert moment(10**18) == f"{10**18} ms"
