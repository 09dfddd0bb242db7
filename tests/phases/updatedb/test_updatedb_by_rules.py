"""updatedb over whole files does what the rules say of one URL after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.counters import Counters
from crawl.interfaces.scoring import ScoringFilter
from crawl.model.answer_keys import CODE_KEY
from crawl.model.datum import GENERATE_TIME_KEY, CrawlDatum
from crawl.model.status import DB_STATUSES, Status
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.phases.updatedb.rules import UpdateRules, UrlUpdate, update_record
from crawl.phases.updatedb.tasks import delta
from crawl.tables.runner import InProcess
from crawl.testing.clock import ManualClock
from tests.examples import scaled
from tests.phases.made import DAY, NOW, make_crawldb, make_segment, records_of


class Odd(ScoringFilter):
    """A scoring that can only answer by row, and has a say in everything."""

    def __init__(self, config: Config) -> None:
        pass

    def initial_score(self, url: str, datum: CrawlDatum) -> CrawlDatum:
        return replace(datum, score=0.5)

    def update_score(
        self, url: str, old: CrawlDatum | None, datum: CrawlDatum, inlinks: Any, now: int
    ) -> CrawlDatum:
        scores = "".join(str(link.score) for link in inlinks)
        return replace(datum, metadata={**datum.metadata, "links": scores})

    def orphaned_score(self, url: str, datum: CrawlDatum, now: int) -> CrawlDatum:
        return replace(datum, status=Status.DB_ORPHAN)


class OddOfScores(Odd):
    """The same, which says that it looks at no more of links than it does."""

    may_combine_links = True


CHAINS = (
    "opic",
    "depth,domain-budget",
    "tests.phases.updatedb.test_updatedb_by_rules:Odd",
    "opic,orphan,tests.phases.updatedb.test_updatedb_by_rules:OddOfScores",
)
URLS = st.integers(0, 25).map(lambda n: f"http://h{n % 5}.org/p{n}")
SIGNATURES = st.none() | st.sampled_from([b"1", b"2"])


def datums(*statuses: Status) -> st.SearchStrategy[CrawlDatum]:
    return st.builds(
        CrawlDatum,
        status=st.sampled_from(statuses),
        fetch_time=st.integers(1, 6).map(lambda day: NOW - day * DAY),
        modified_time=st.sampled_from([0, NOW - 90 * DAY]),
        fetch_interval=st.sampled_from([0, 2_592_000, 9_000_000]),
        retries=st.integers(0, 4),
        score=st.sampled_from([0.0, 0.25, 1.0]),
        signature=SIGNATURES,
        metadata=st.dictionaries(st.sampled_from(["k", CODE_KEY, GENERATE_TIME_KEY]), st.just("v")),
    )


FETCHES = [status for status in Status if status.is_fetch and status is not Status.PARSE_FAILED]
SAY_NOTHING = (Status.FETCH_NOTMODIFIED, Status.FETCH_RETRY)
"""After these it counts what was fetched before them."""
PARSES = (Status.SIGNATURE, Status.PARSE_METADATA, Status.PARSE_FAILED, Status.FETCH_SUCCESS)


def rows(*statuses: Status) -> st.SearchStrategy[list[tuple[str, CrawlDatum]]]:
    return st.lists(st.tuples(URLS, datums(*statuses)), max_size=12)


SEGMENTS = st.lists(
    st.tuples(rows(*FETCHES, Status.LINKED), st.none() | rows(*PARSES, Status.LINKED)),
    min_size=1,
    max_size=3,
)


def expected(
    records: Mapping[str, CrawlDatum],
    segments: list[tuple[list[tuple[str, CrawlDatum]], list[tuple[str, CrawlDatum]] | None]],
    updating: UpdateRules,
) -> dict[str, CrawlDatum]:
    """updatedb as one would write it for a small crawl."""
    result = {}
    urls = {url for fetch, parse in segments for url, _ in [*fetch, *(parse or [])]}
    for url in urls | records.keys():
        update, latest = UrlUpdate(), -1
        telling, latest_telling = None, -1
        links: list[CrawlDatum] = []
        for fetch, parse in segments:
            links += [
                each for name, each in [*fetch, *(parse or [])] if name == url and _link(each)
            ]
            answers = [each for name, each in fetch if name == url and not _link(each)]
            parsed = [each for name, each in parse or [] if name == url and not _link(each)]
            answers += [each for each in parsed if each.status is Status.FETCH_SUCCESS]
            for each in answers:
                if each.fetch_time >= latest:
                    update, latest = _url_update(each, parsed), each.fetch_time
                if each.status not in SAY_NOTHING and each.fetch_time >= latest_telling:
                    telling, latest_telling = _url_update(each, parsed), each.fetch_time
        if update.fetch is not None and update.fetch.status in SAY_NOTHING:
            update = replace(update, before=telling)
        links.sort(key=lambda each: (-each.score, "\0".join(chain(*each.metadata.items()))))
        outcome = update_record(
            url, records.get(url), replace(update, inlinks=links), updating, Counters()
        )
        if outcome.datum is not None:
            result[url] = outcome.datum
    return result


def _link(each: CrawlDatum) -> bool:
    return each.status is Status.LINKED


def _url_update(fetch: CrawlDatum, parsed: list[CrawlDatum]) -> UrlUpdate:
    update = UrlUpdate(fetch)
    parse_records = [each for each in parsed if each.status is not Status.FETCH_SUCCESS]
    of_the_answer = [each for each in parse_records if each.fetch_time == fetch.fetch_time]
    for each in sorted(of_the_answer or parse_records, key=lambda each: each.fetch_time):
        if each.status is Status.SIGNATURE:
            update = replace(update, signature=each.signature)
        elif each.status is Status.PARSE_METADATA and not update.parse_failed:
            update = replace(update, parse_metadata=each.metadata)
        elif each.status is Status.PARSE_FAILED:
            update = replace(update, parse_failed=True, parse_metadata=each.metadata)
    return update


@settings(max_examples=scaled(60), deadline=None)
@given(
    records=st.dictionaries(URLS, datums(*DB_STATUSES), max_size=25),
    segments=SEGMENTS,
    scoring=st.sampled_from(CHAINS),
    additions=st.booleans(),
    shape=st.tuples(st.integers(1, 6), st.integers(1, 9), st.integers(1, 6)),
    rows_at_once=st.sampled_from([1, 10, 1000]),
)
def test_it_does_what_the_rules_say(
    tmp_path_factory: pytest.TempPathFactory,
    records: dict[str, CrawlDatum],
    segments: list[tuple[list[tuple[str, CrawlDatum]], list[tuple[str, CrawlDatum]] | None]],
    scoring: str,
    additions: bool,
    shape: tuple[int, int, int],
    rows_at_once: int,
) -> None:
    buckets, group_rows, written_for = shape
    folder = str(tmp_path_factory.mktemp("updatedb") / "c")
    directory = make_crawldb(folder, records, buckets=buckets, group_rows=group_rows)
    names = [f"2026010{number}000000" for number in range(len(segments))]
    for name, (fetch, parse) in zip(names, segments, strict=True):
        make_segment(directory, name, fetch, parse, buckets=written_for, files=1)
    config = Config.of({"scoring.filter.order": scoring, "crawldb.row.group.size": group_rows})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delta, "_ROWS_AT_ONCE", rows_at_once)
        done = updatedb.run(
            InProcess(),
            directory,
            config,
            UpdateDbOptions(tuple(names), additions=additions),
            ManualClock(NOW),
        )
    wanted = expected(records, segments, UpdateRules.of(config, NOW, additions=additions))
    assert records_of(directory) == {
        url: replace(each, score=float(np.float32(each.score))) for url, each in wanted.items()
    }
    assert done.report.counters["urls_new"] == len(wanted.keys() - records.keys())
