"""Links that travel as one row say the same as those that travel one by one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.counters import Counters
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.arrow import strings
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_records, to_table
from crawl.model.status import Status
from crawl.phases.updatedb.tasks import delta, links
from crawl.phases.updatedb.tasks.links import DELTA, combined_links, single_rows, without_weak_links
from crawl.phases.updatedb.tasks.url_updates import UrlUpdates, arrange_updates
from crawl.tables import ranges
from tests.examples import scaled
from tests.phases.made import NOW, datum
from tests.phases.updating import S1, S2, Crawl, fetched, signed

SCORES = st.sampled_from([0.1, 0.7, 1e-20, 3e38, -1.0, -0.0, 0.0, float("inf"), float("nan")])
METADATA = st.sampled_from(
    [{}, {}, {"_depth_": "2"}, {"a": "b\0\0c", "d": ""}, {"a": "b", "c": "d"}]
)
LINK = st.builds(
    CrawlDatum,
    status=st.just(Status.LINKED),
    fetch_time=st.integers(1, 3).map(lambda n: NOW - n),
    fetch_interval=st.sampled_from([60, 3600]),
    score=SCORES | st.floats(0, 1, width=32),
    metadata=METADATA,
)
OTHER = st.builds(fetched) | st.builds(signed, st.sampled_from([b"x", b"y"]))
URLS = st.sampled_from([f"http://h{n % 2}.org/{n}" for n in range(5)])
ROWS = st.lists(st.tuples(URLS, LINK | LINK | OTHER), max_size=30)


@pytest.fixture(autouse=True, scope="module")
def always_worthwhile() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(links, "_WORTHWHILE", 0.0)
        yield


def as_delta(rows: list[tuple[str, CrawlDatum]]) -> pa.Table:
    table = to_table((url, url.split("/")[2], each) for url, each in rows)
    return pa.concat_tables([DELTA.empty_table(), single_rows(table, 1)]).combine_chunks()


def said(updates: UrlUpdates) -> list[Any]:
    """All that scoring and schedule can see of the updates, scores to the last bit."""
    urls = np.arange(len(updates.urls))
    linked = urls[updates.link_counts(urls) > 0]
    brought = updates.links_to(urls)
    best = [(url, repr(each)) for url, each in to_records(updates.best_links(linked))]
    inlinks = [
        [(repr(link.score), link.metadata) for link in each.inlinks]
        for each in updates.updates_of(urls)
    ]
    bits = brought.score.view(np.int32).tolist()
    return [strings(updates.urls), brought.owner.tolist(), bits, best, inlinks]


@given(rows=ROWS, cuts=st.sets(st.integers(0, 30)), most=st.integers(1, 40))
@settings(max_examples=scaled(300))
def test_combined_links_say_the_same(
    rows: list[tuple[str, CrawlDatum]], cuts: set[int], most: int
) -> None:
    edges = [0, *sorted(cuts), len(rows)]
    tasks = [rows[start:end] for start, end in pairwise(edges)]
    one_by_one, combined = Counters(), Counters()
    wanted = arrange_updates(as_delta(rows), most, one_by_one)
    sent = [combined_links(as_delta(task), combined) for task in tasks]
    for table, task in zip(sent, tasks, strict=True):
        assert table.schema.equals(DELTA)
        runs = groupby(
            (url, each.status, each.metadata, *([] if each.status is Status.LINKED else [number]))
            for number, (url, each) in enumerate(task)
        )
        assert table.num_rows == len(list(runs))
    found = arrange_updates(pa.concat_tables([DELTA.empty_table(), *sent]), most, combined)
    assert said(found) == said(wanted)
    del combined["links_combined"]
    assert +combined == +one_by_one


@given(rows=st.lists(LINK | OTHER, max_size=20), most=st.integers(1, 8), cut=st.integers(0, 20))
@settings(max_examples=scaled(200))
def test_weak_links_to_one_url_are_left_out_on_the_way(
    rows: list[CrawlDatum], most: int, cut: int
) -> None:
    told = [("http://h.org/", each) for each in rows]
    wanted = arrange_updates(as_delta(told), most, Counters())
    counters = Counters()
    first = combined_links(as_delta(told[:cut]), Counters())
    whole = pa.concat_tables([first, as_delta(told[cut:])])
    thinned = without_weak_links(whole, most, counters)
    count = sum(each.status is Status.LINKED for each in rows)
    assert counters["inlinks_over_limit"] == max(0, count - most)
    assert said(arrange_updates(thinned, most, Counters())) == said(wanted)


KNOWN = st.dictionaries(URLS, st.builds(datum, score=st.sampled_from([0.0, 0.3])), max_size=5)
DEPTHS = st.sampled_from([{}, {"_depth_": "1"}, {"_depth_": "2"}])
LINKS = st.builds(
    datum,
    status=st.just(Status.LINKED),
    fetch_time=st.just(NOW),
    fetch_interval=st.sampled_from([60, 3600]),
    score=st.floats(0, 1, width=32),
    metadata=DEPTHS,
)


@given(
    known=KNOWN,
    segments=st.lists(
        st.lists(st.tuples(URLS, LINKS), min_size=1, max_size=30), min_size=1, max_size=2
    ),
    pages=st.lists(URLS, unique=True, max_size=3),
    files=st.integers(1, 4),
    rows_at_once=st.sampled_from([1, 15, 1000]),
    range_bytes=st.sampled_from([1, 1 << 30]),
    config=st.fixed_dictionaries(
        {
            "scoring.filter.order": st.sampled_from(
                ["opic", "linkrank", "opic,depth", "similarity", "domain-budget,orphan", "link"]
            ),
            "db.update.max.inlinks": st.sampled_from([2, 10000]),
        }
    ),
)
@settings(max_examples=scaled(60))
def test_an_updatedb_comes_to_the_same_in_fewer_rows(
    known: dict[str, CrawlDatum],
    segments: list[list[tuple[str, CrawlDatum]]],
    pages: list[str],
    files: int,
    rows_at_once: int,
    range_bytes: int,
    config: dict[str, object],
) -> None:
    outcomes, sent = [], []
    for combines in (False, True):
        with (
            tempfile.TemporaryDirectory() as folder,
            pytest.MonkeyPatch.context() as patch,
        ):
            if not combines:
                patch.setattr(ScoringChain, "may_combine_links", False)
            patch.setattr(delta, "_ROWS_AT_ONCE", rows_at_once)
            patch.setattr(ranges, "_MAX_BYTES", range_bytes)
            crawl = Crawl(Path(folder), known, buckets=2)
            for name, parsed in zip((S1, S2), segments, strict=False):
                answers = [(url, fetched()) for url in pages]
                crawl.segment(name, answers, parsed, buckets=2, files=files)
            counters = crawl.update(settings=config).report.counters
            sent.append((counters.pop("rows_sent"), counters.pop("links_combined", 0)))
            outcomes.append((crawl.records, +counters))
    assert outcomes[0] == outcomes[1]
    (one_by_one, none), (rows, combined) = sent
    assert none == 0 and rows <= one_by_one - combined


def test_links_that_hardly_repeat_travel_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "_WORTHWHILE", 0.1)
    told = [(f"http://h.org/{number}", datum(status=Status.LINKED)) for number in range(20)]
    few, many = (
        as_delta([each for n, each in enumerate(told) for _ in range(1 + (n < again))])
        for again in (2, 3)
    )
    counters = Counters()
    assert combined_links(few, counters).equals(few) and not counters
    assert combined_links(many, counters).num_rows == 20
    assert counters == {"links_combined": 3}
