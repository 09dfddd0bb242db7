"""Section 2.4 of the reference: every (old record, update) pair, and laws that hold for all."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawl.config import Config
from crawl.counters import Counters
from crawl.interfaces.schedule import FetchSchedule, PageChange
from crawl.model.answer_keys import ANSWER_KEYS, CODE_KEY, PARSE_STATUS_KEY, VALIDATOR_KEYS
from crawl.model.datum import FIXED_INTERVAL_KEY, GENERATE_TIME_KEY, CrawlDatum
from crawl.model.status import DB_STATUSES, Status
from crawl.phases.updatedb.rules import (
    NEVER_FETCHED,
    NOT_ALLOWED,
    TRANSITIONS,
    Event,
    NextVisit,
    UpdateOutcome,
    UpdateRules,
    UrlUpdate,
    event_of,
    update_record,
)

NOW = 1_800_000_000_000
DAY = 86_400_000
MONTH = 2_592_000
URL = "http://a.example/"
FETCHES = (*(s for s in Status if s.is_fetch and s is not Status.PARSE_FAILED), Status.PARSE_FAILED)


@cache
def updating(additions: bool = True) -> UpdateRules:
    return UpdateRules.of(Config(), NOW, additions=additions)


def known(**changes: Any) -> CrawlDatum:
    usual: dict[str, Any] = {
        "status": Status.DB_FETCHED,
        "fetch_time": NOW - 2 * DAY,
        "modified_time": NOW - 90 * DAY,
        "fetch_interval": MONTH,
        "score": 0.5,
        "signature": b"old",
        "metadata": {"seed": "1", GENERATE_TIME_KEY: "5"},
    }
    return CrawlDatum(**{**usual, **changes})


def fetched(status: Status, **changes: Any) -> CrawlDatum:
    usual: dict[str, Any] = {
        "fetch_time": NOW - DAY,
        "fetch_interval": 7,
        "score": 9.0,
        "metadata": {CODE_KEY: "200", GENERATE_TIME_KEY: "5"},
    }
    return CrawlDatum(status, **{**usual, **changes})


def link(score: float = 0.25, **changes: Any) -> CrawlDatum:
    return CrawlDatum(Status.LINKED, NOW - DAY, fetch_interval=7, score=score, **changes)


def update(old: CrawlDatum | None, url_update: UrlUpdate, **changes: Any) -> UpdateOutcome:
    counters = Counters()
    done = update_record(URL, old, url_update, replace(updating(), **changes), counters)
    assert not [name for name in counters if name.startswith("plugin_errors")]
    return done


def new(old: CrawlDatum | None, url_update: UrlUpdate, **changes: Any) -> CrawlDatum:
    datum = update(old, url_update, **changes).datum
    assert datum is not None
    return datum


BECOMES = {
    Status.FETCH_SUCCESS: Status.DB_FETCHED,
    Status.FETCH_NOTMODIFIED: Status.DB_NOTMODIFIED,
    Status.FETCH_REDIR_TEMP: Status.DB_REDIR_TEMP,
    Status.FETCH_REDIR_PERM: Status.DB_REDIR_PERM,
    Status.FETCH_RETRY: Status.DB_UNFETCHED,
    Status.FETCH_GONE: Status.DB_GONE,
    Status.PARSE_FAILED: Status.DB_PARSE_FAILED,
}


def test_every_event_has_its_line_and_every_fetch_is_known() -> None:
    assert TRANSITIONS.keys() == set(Event)
    assert BECOMES.keys() == set(FETCHES)


@pytest.mark.parametrize("status", FETCHES)
def test_a_fetch_before_the_last_visit_says_nothing(status: Status) -> None:
    """A service fetched the page meanwhile, and its segment was applied first."""
    visited = known(fetch_time=NOW - DAY // 2 + MONTH * 1000)
    older = UrlUpdate(fetched(status), signature=b"new", inlinks=[link()])
    assert new(visited, older) == new(visited, UrlUpdate(inlinks=[link()]))
    assert new(visited, older, again=True) == new(known(), older), "segments are applied once more"
    never = replace(visited, status=Status.DB_UNFETCHED)
    assert new(never, older) == new(known(status=Status.DB_UNFETCHED), older)


def test_a_visit_that_is_still_to_come_was_none() -> None:
    """Of a machine whose clock was wrong, or of a page whose interval was shortened since: what is
    fetched before the time must count, or it would be fetched in every round."""
    fetch = UrlUpdate(fetched(Status.FETCH_SUCCESS), signature=b"new")
    years_ahead = known(fetch_time=NOW + 3_650 * DAY)
    assert new(years_ahead, fetch) == new(known(), fetch)
    shortened = known(fetch_time=NOW + 20 * DAY, fetch_interval=DAY // 1000)
    assert new(shortened, fetch).signature == b"new"


def test_a_duplicate_that_did_not_change_stays_one() -> None:
    duplicate = known(status=Status.DB_DUPLICATE)
    same = UrlUpdate(fetched(Status.FETCH_SUCCESS), signature=b"old")
    for url_update in (same, UrlUpdate(fetched(Status.FETCH_NOTMODIFIED))):
        result = new(duplicate, url_update)
        assert result.status is Status.DB_DUPLICATE
        plain = new(known(), url_update)
        assert result == replace(plain, status=Status.DB_DUPLICATE), "all else is as for others"
    changed = UrlUpdate(fetched(Status.FETCH_SUCCESS), signature=b"new")
    assert new(duplicate, changed).status is Status.DB_FETCHED


@pytest.mark.parametrize(("was", "fetch"), [*product([None, *DB_STATUSES], FETCHES)])
def test_every_pair_of_old_and_fetch(was: Status | None, fetch: Status) -> None:
    old = None if was is None else known(status=was)
    result = new(old, UrlUpdate(fetched(fetch)))
    stays = was is Status.DB_DUPLICATE and fetch is Status.FETCH_NOTMODIFIED
    assert result.status is (was if stays else BECOMES[fetch])
    assert GENERATE_TIME_KEY not in result.metadata
    assert result.metadata[CODE_KEY] == "200"
    keeps_old = fetch not in (Status.FETCH_REDIR_PERM, Status.FETCH_REDIR_TEMP)
    assert result.signature == (b"old" if old is not None and keeps_old else None)
    assert result.fetch_time > NOW - DAY
    # what the CrawlDb knows goes before what the fetch list knew
    assert result.score == (9.0 if old is None else 0.5)
    assert result.retries == (1 if fetch is Status.FETCH_RETRY else 0)


@pytest.mark.parametrize("was", DB_STATUSES)
def test_links_and_silence_leave_a_known_url_as_it_is(was: Status) -> None:
    old = known(status=was)
    assert update(old, UrlUpdate()) == UpdateOutcome(old, "not_heard_of")
    linked = new(old, UrlUpdate(inlinks=[link(metadata={"anchor": "x"})]))
    assert replace(linked, score=old.score) == old
    assert update(old, UrlUpdate(signature=b"alone")) == UpdateOutcome(old, "not_heard_of")


@pytest.mark.parametrize(
    ("before", "after", "status", "event"),
    [
        (b"a", b"a", Status.DB_NOTMODIFIED, Event.UNCHANGED),
        (b"a", b"b", Status.DB_FETCHED, Event.CHANGED),
        (None, b"b", Status.DB_FETCHED, Event.FETCHED),
        (b"a", None, Status.DB_FETCHED, Event.FETCHED),
        (None, None, Status.DB_FETCHED, Event.FETCHED),
    ],
)
@pytest.mark.parametrize("was", DB_STATUSES)
def test_a_signature_shows_whether_the_page_changed(
    was: Status, before: bytes | None, after: bytes | None, status: Status, event: Event
) -> None:
    old = known(status=was, signature=before)
    url_update = UrlUpdate(fetched(Status.FETCH_SUCCESS), signature=after)
    assert event_of(old, url_update, 3) is event
    result = new(old, url_update)
    if was is Status.DB_DUPLICATE and event is Event.UNCHANGED:
        status = was
    assert (result.status, result.signature) == (status, after or before)


def test_unchanged_by_signature_is_as_not_modified_by_the_server() -> None:
    old = known()
    by_server = new(old, UrlUpdate(fetched(Status.FETCH_NOTMODIFIED)))
    seen = new(old, UrlUpdate(fetched(Status.FETCH_SUCCESS), signature=b"old"))
    assert by_server == seen
    assert by_server.modified_time == old.modified_time
    changed = new(old, UrlUpdate(fetched(Status.FETCH_SUCCESS), signature=b"new"))
    assert changed.modified_time == NOW - DAY


def test_redirects_are_never_compared() -> None:
    for status in (Status.FETCH_REDIR_PERM, Status.FETCH_REDIR_TEMP):
        result = new(known(), UrlUpdate(fetched(status), signature=b"old"))
        assert result.status is BECOMES[status]


def test_a_failed_parse() -> None:
    result = new(known(), UrlUpdate(fetched(Status.FETCH_SUCCESS), parse_failed=True))
    assert (result.status, result.signature) == (Status.DB_PARSE_FAILED, b"old")
    why = UrlUpdate(fetched(Status.FETCH_SUCCESS), None, {PARSE_STATUS_KEY: "failed_timeout"}, True)
    failed = new(known(), why)
    assert failed.metadata[PARSE_STATUS_KEY] == "failed_timeout"
    # kept while nothing else is known of the page, and forgotten when it is parsed
    carried = dict(failed.metadata)
    kept = new(failed, UrlUpdate(fetched(Status.FETCH_NOTMODIFIED, metadata=carried)))
    assert PARSE_STATUS_KEY in kept.metadata
    parsed = new(failed, UrlUpdate(fetched(Status.FETCH_SUCCESS, metadata=carried)))
    assert PARSE_STATUS_KEY not in parsed.metadata
    # of a page that was not brought there is nothing to parse
    gone = new(known(), UrlUpdate(fetched(Status.FETCH_GONE), parse_failed=True))
    assert gone.status is Status.DB_GONE


def test_a_page_whose_parse_failed_is_asked_for_whole_the_next_time() -> None:
    version = {"ETag": '"1"', "Last-Modified": "then", CODE_KEY: "200"}
    for update in (
        UrlUpdate(fetched(Status.FETCH_SUCCESS, metadata=version), parse_failed=True),
        UrlUpdate(fetched(Status.PARSE_FAILED, metadata=version)),
    ):
        failed = new(known(), update)
        assert failed.status is Status.DB_PARSE_FAILED
        assert not failed.metadata.keys() & {*VALIDATOR_KEYS}
        assert failed.metadata[CODE_KEY] == "200"
    kept = new(known(), UrlUpdate(fetched(Status.FETCH_SUCCESS, metadata=version), signature=b"s"))
    assert kept.metadata["ETag"] == '"1"'


def test_retries_until_gone_and_no_further() -> None:
    datum = known(status=Status.DB_UNFETCHED, signature=None)
    seen = []
    for _ in range(6):
        datum = new(datum, UrlUpdate(fetched(Status.FETCH_RETRY)))
        seen.append((datum.status, datum.retries))
    unfetched, gone = Status.DB_UNFETCHED, Status.DB_GONE
    assert seen == [(unfetched, 1), (unfetched, 2), (gone, 3), (gone, 3), (gone, 3), (gone, 3)]
    assert new(datum, UrlUpdate(fetched(Status.FETCH_SUCCESS))).retries == 0


def test_the_retries_of_a_redirect_are_not_those_of_its_new_target() -> None:
    result = new(None, UrlUpdate(fetched(Status.FETCH_RETRY, retries=2)))
    assert (result.status, result.retries) == (Status.DB_UNFETCHED, 1)
    assert new(None, UrlUpdate(fetched(Status.FETCH_GONE, retries=2))).retries == 0


@pytest.mark.parametrize("status", FETCHES)
def test_why_a_page_could_not_be_parsed_is_said_no_longer_than_it_is_so(status: Status) -> None:
    why = {PARSE_STATUS_KEY: "failed_timeout"}
    result = new(known(metadata=why), UrlUpdate(fetched(status, metadata=why)))
    over = (Status.FETCH_SUCCESS, Status.FETCH_GONE)
    is_over = status in (*over, Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM)
    assert (PARSE_STATUS_KEY not in result.metadata) is is_over


def test_a_page_comes_back_as_it_was() -> None:
    gone = new(known(), UrlUpdate(fetched(Status.FETCH_GONE)))
    back = new(gone, UrlUpdate(fetched(Status.FETCH_SUCCESS), signature=b"old"))
    assert back.status is Status.DB_NOTMODIFIED


def test_due_times() -> None:
    assert new(known(), UrlUpdate(fetched(Status.FETCH_SUCCESS))).fetch_time == NOW - DAY + 30 * DAY
    assert new(known(), UrlUpdate(fetched(Status.FETCH_RETRY))).fetch_time == NOW
    assert new(known(), UrlUpdate(fetched(Status.FETCH_GONE))).fetch_time == NOW - DAY + 45 * DAY


def test_a_document_without_an_interval_gets_one() -> None:
    for status in FETCHES:
        result = new(None, UrlUpdate(fetched(status, fetch_interval=0)))
        assert result.fetch_interval >= MONTH


def test_an_interval_beyond_the_longest_forces_a_refetch() -> None:
    page = fetched(Status.FETCH_SUCCESS, metadata={"ETag": "1", CODE_KEY: "200"})
    result = new(known(fetch_interval=8_000_000), UrlUpdate(page))
    assert (result.status, result.signature) == (Status.DB_UNFETCHED, None)
    assert "ETag" not in result.metadata, "by it the server would say: unchanged"
    assert result.fetch_interval == 6_998_400


@pytest.mark.parametrize("name", ["default", "adaptive", "poisson"])
def test_a_forced_refetch_is_not_due_at_once(name: str) -> None:
    config = Config.of({"db.fetch.schedule.class": name, "scoring.filter.order": []})
    schedule = UpdateRules.of(config, NOW).schedule
    fixed = {FIXED_INTERVAL_KEY: "34560000"}
    url_update = UrlUpdate(fetched(Status.FETCH_SUCCESS, metadata=fixed))
    result = new(known(fetch_interval=34_560_000, metadata=fixed), url_update, schedule=schedule)
    assert result.status is Status.DB_UNFETCHED
    assert not schedule.schedule.should_fetch(URL, result, NOW)
    assert schedule.schedule.should_fetch(URL, result, NOW + 90 * DAY)


def test_a_url_that_only_links_name() -> None:
    best = link(0.5, metadata={"depth": "2", GENERATE_TIME_KEY: "1"}, signature=b"x")
    result = new(None, UrlUpdate(inlinks=[best, link(0.25)]))
    assert result == CrawlDatum(
        Status.DB_UNFETCHED, NOW, 0, MONTH, score=result.score, metadata={"depth": "2"}
    )


def test_what_is_dropped() -> None:
    assert update(None, UrlUpdate()) is NEVER_FETCHED
    assert update(None, UrlUpdate(signature=b"x", parse_failed=True)) is NEVER_FETCHED
    for url_update in (UrlUpdate(inlinks=[link()]), UrlUpdate(fetched(Status.FETCH_SUCCESS))):
        assert update(None, url_update, additions=False) is NOT_ALLOWED
        assert update(known(), url_update, additions=False).datum is not None


def test_metadata_is_merged() -> None:
    old = known(metadata={"a": "old", "b": "old", "ETag": "1", "Content-Type": "text/html"})
    url_update = UrlUpdate(
        fetched(Status.FETCH_SUCCESS, metadata={"b": "fetch", "ETag": "2"}),
        parse_metadata={"lang": "en"},
    )
    expected = {"a": "old", "b": "fetch", "ETag": "2", "lang": "en"}
    assert new(old, url_update).metadata == expected
    gone = replace(url_update, fetch=fetched(Status.FETCH_GONE, metadata={}))
    assert new(old, gone).metadata == {"a": "old", "b": "old"}


class Broken(FetchSchedule):
    """Raises at every call."""

    def __init__(self, config: Config) -> None:
        pass

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_a_schedule_that_raises_loses_no_url() -> None:
    config = Config.of({"db.fetch.schedule.class": "tests.phases.updatedb.test_rules:Broken"})
    counters = Counters()
    for status in FETCHES:
        done = update_record(
            URL, known(), UrlUpdate(fetched(status)), UpdateRules.of(config, NOW), counters
        )
        assert done.datum is not None and done.datum.status is BECOMES[status]
    assert sum(counters.values()) == len(FETCHES)


METADATA = st.dictionaries(
    st.sampled_from(["a", "b", GENERATE_TIME_KEY, *sorted(ANSWER_KEYS)]), st.text(max_size=2)
)
SIGNATURES = st.none() | st.sampled_from([b"1", b"2"])


def datums(statuses: list[Status]) -> st.SearchStrategy[CrawlDatum]:
    return st.builds(
        CrawlDatum,
        status=st.sampled_from(statuses),
        fetch_time=st.integers(0, 2 * NOW),
        modified_time=st.just(0) | st.integers(1, NOW),
        fetch_interval=st.integers(0, 2**31 - 1),
        retries=st.integers(0, 200),
        score=st.floats(-10, 10, width=32),
        signature=SIGNATURES,
        metadata=METADATA,
    )


URL_UPDATES = st.builds(
    UrlUpdate,
    fetch=st.none() | datums(list(FETCHES)),
    signature=SIGNATURES,
    parse_metadata=st.dictionaries(st.sampled_from("xy"), st.text(max_size=2)),
    parse_failed=st.booleans(),
    inlinks=st.lists(datums([Status.LINKED]), max_size=3).map(
        lambda links: sorted(links, key=lambda datum: -datum.score)
    ),
)


@example(
    old=CrawlDatum(Status.DB_DUPLICATE, 0, fetch_interval=1, signature=b"1"),
    url_update=UrlUpdate(fetched(Status.FETCH_NOTMODIFIED)),
    retry_max=3,
)
@given(
    old=st.none() | datums(list(DB_STATUSES)), url_update=URL_UPDATES, retry_max=st.integers(1, 5)
)
def test_laws(old: CrawlDatum | None, url_update: UrlUpdate, retry_max: int) -> None:
    done = update(old, url_update, retry_max=retry_max)
    if old is not None and _was_before_the_last_visit(old, url_update):
        url_update = UrlUpdate(inlinks=url_update.inlinks)
    event = event_of(old, url_update, retry_max)
    if done.datum is None:
        assert old is None and url_update.fetch is None and not url_update.inlinks
        return
    assert event is not None
    result = done.datum
    assert result.status.is_db
    transition = TRANSITIONS[event]
    if transition.status is not None:
        was_duplicate = old is not None and old.status is Status.DB_DUPLICATE
        stays = was_duplicate and transition.change is PageChange.NOTMODIFIED
        same = Status.DB_DUPLICATE if stays else transition.status
        assert result.status in (same, Status.DB_UNFETCHED)
    assert (
        0
        <= result.retries
        <= max(retry_max, 0 if old is None else old.retries, _retries(url_update))
    )
    assert result.fetch_interval > 0 or transition.visit is NextVisit.SAME
    if url_update.fetch is not None:
        assert GENERATE_TIME_KEY not in result.metadata
        for key in ANSWER_KEYS - set(VALIDATOR_KEYS):  # which a forced refetch forgets
            assert result.metadata.get(key) == url_update.fetch.metadata.get(key)
    elif old is not None:
        assert replace(result, score=old.score) == old  # links: the score and nothing else
    # a function of its arguments, and of nothing else
    assert update(old, url_update, retry_max=retry_max) == done


def _was_before_the_last_visit(old: CrawlDatum, url_update: UrlUpdate) -> bool:
    last_visit = old.fetch_time - old.fetch_interval * 1000
    never = (Status.DB_UNFETCHED, Status.DB_PARSE_FAILED, Status.DB_ORPHAN)
    fetch = url_update.fetch
    return old.status not in never and fetch is not None and fetch.fetch_time < last_visit <= NOW


def _retries(url_update: UrlUpdate) -> int:
    return 0 if url_update.fetch is None else url_update.fetch.retries


@example(
    old=CrawlDatum(Status.DB_DUPLICATE, 0, fetch_interval=1, signature=b"1"),
    url_update=UrlUpdate(),
)
@given(old=st.none() | datums(list(DB_STATUSES)), url_update=URL_UPDATES)
def test_the_same_page_again_is_unchanged(old: CrawlDatum | None, url_update: UrlUpdate) -> None:
    again = replace(
        url_update, fetch=fetched(Status.FETCH_SUCCESS), signature=b"1", parse_failed=False
    )
    first = new(old, again)
    if first.signature is not None:  # not forgotten by a forced refetch
        second = new(first, again)
        is_duplicate = first.status is Status.DB_DUPLICATE
        same = Status.DB_DUPLICATE if is_duplicate else Status.DB_NOTMODIFIED
        assert second.status in (same, Status.DB_UNFETCHED)
        assert new(second, again).metadata == second.metadata
