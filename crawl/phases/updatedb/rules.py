"""updatedb's state machine: one URL's record and the segments' update of it, and what it becomes.

`event_of` says in a word what happened, `TABLE` what follows from it. It differs from
Nutch's on purpose where that one surprises its users:
- a page without a new signature (not parsed yet) may have changed; Nutch finds its old
  signature equal to itself and calls the page unmodified;
- retries stop at `db.fetch.retry.max` and do not grow with every visit of a gone page;
- interval and retries are the CrawlDb's, not those of the day when the list was made;
- a duplicate that is fetched again and did not change stays one: its mark is dedup's to lift, and
  Nutch's readers meet all copies of a page between a round and the next dedup;
- what the last answer said (its code, type, ETag …) is replaced whole, not overlaid;
- a link to a URL does not lift generate's mark from it, for it is still on a list; but the
  end of that list does, where the URL was handed back (phases/updatedb/tasks/reservations.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from crawl.config import Config
from crawl.config.properties import DB_FETCH_INTERVAL_MAX, DB_FETCH_RETRY_MAX
from crawl.counters import Counters
from crawl.interfaces.active_schedule import ActiveSchedule
from crawl.interfaces.schedule import PageChange
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.model.answer_keys import ANSWER_KEYS, PARSE_STATUS_KEY, VALIDATOR_KEYS
from crawl.model.datum import GENERATE_TIME_KEY, CrawlDatum
from crawl.model.status import Status
from crawl.model.value import replace


class Event(Enum):
    """What happened to a URL; the value is what is counted."""

    CHANGED = "fetched_changed"
    """Fetched, with another signature than before."""
    UNCHANGED = "fetched_unchanged"
    """Fetched, with the same signature."""
    FETCHED = "fetched"
    """Fetched, and there is nothing to compare: a first time, or not parsed."""
    NOT_MODIFIED = "not_modified"
    """The server says that it did not change."""
    MOVED_FOR_NOW = "redirected_temporarily"
    MOVED = "redirected_permanently"
    FAILED = "failed"
    """A passing error, and tries are left."""
    GIVEN_UP = "given_up"
    """A passing error too many."""
    GONE = "gone"
    UNPARSABLE = "parse_failed"
    FOUND = "found"
    """Only links tell of it, and the CrawlDb does not know it."""
    LINKED = "linked"
    """Only links tell of it, and the CrawlDb knows it."""
    SILENCE = "not_heard_of"
    """The CrawlDb knows it, and nothing tells of it."""


class NextVisit(Enum):
    """Which method of the schedule sets the next visit."""

    FIRST = "initialize"
    FETCHED = "after_fetch"
    RETRY = "after_retry"
    GONE = "after_gone"
    SAME = "none: as it was"


class KeptSignature(Enum):
    """Whose signature the record keeps."""

    NEW = "this fetch's"
    LAST = "this fetch's, or else the one before"
    OLD = "the one before: a page that comes back as it was is unchanged"


@dataclass(frozen=True, slots=True)
class Transition:
    """The consequences of an event: a line of the table."""

    status: Status | None
    """None: as it was."""
    visit: NextVisit
    change: PageChange
    """Whether the page changed, for the schedule."""
    signature: KeptSignature


_UNKNOWN, _YES, _NO = PageChange.UNKNOWN, PageChange.MODIFIED, PageChange.NOTMODIFIED

_Visit, _Keep = NextVisit, KeptSignature

# fmt: off
TRANSITIONS: Mapping[Event, Transition] = {
    # what happened                  becomes                  next visit       changed   signature
    Event.CHANGED:       Transition(Status.DB_FETCHED,       _Visit.FETCHED,  _YES,     _Keep.NEW),
    Event.UNCHANGED:     Transition(Status.DB_NOTMODIFIED,   _Visit.FETCHED,  _NO,      _Keep.OLD),
    Event.FETCHED:       Transition(Status.DB_FETCHED,       _Visit.FETCHED,  _UNKNOWN, _Keep.LAST),
    Event.NOT_MODIFIED:  Transition(Status.DB_NOTMODIFIED,   _Visit.FETCHED,  _NO,      _Keep.OLD),
    Event.MOVED_FOR_NOW: Transition(Status.DB_REDIR_TEMP,    _Visit.FETCHED,  _UNKNOWN, _Keep.NEW),
    Event.MOVED:         Transition(Status.DB_REDIR_PERM,    _Visit.FETCHED,  _UNKNOWN, _Keep.NEW),
    Event.FAILED:        Transition(Status.DB_UNFETCHED,     _Visit.RETRY,    _UNKNOWN, _Keep.OLD),
    Event.GIVEN_UP:      Transition(Status.DB_GONE,          _Visit.GONE,     _UNKNOWN, _Keep.OLD),
    Event.GONE:          Transition(Status.DB_GONE,          _Visit.GONE,     _UNKNOWN, _Keep.OLD),
    Event.UNPARSABLE:    Transition(Status.DB_PARSE_FAILED,  _Visit.GONE,     _UNKNOWN, _Keep.OLD),
    Event.FOUND:         Transition(Status.DB_UNFETCHED,     _Visit.FIRST,    _UNKNOWN, _Keep.NEW),
    Event.LINKED:        Transition(None,                    _Visit.SAME,     _UNKNOWN, _Keep.OLD),
    Event.SILENCE:       Transition(None,                    _Visit.SAME,     _UNKNOWN, _Keep.OLD),
}
# fmt: on

_BY_FETCH = {
    Status.FETCH_NOTMODIFIED: Event.NOT_MODIFIED,
    Status.FETCH_REDIR_TEMP: Event.MOVED_FOR_NOW,
    Status.FETCH_REDIR_PERM: Event.MOVED,
    Status.FETCH_GONE: Event.GONE,
    Status.PARSE_FAILED: Event.UNPARSABLE,
}
"""Fetches that mean the same whatever the CrawlDb knows."""

_VISITED = (
    Status.DB_FETCHED,
    Status.DB_NOTMODIFIED,
    Status.DB_REDIR_TEMP,
    Status.DB_REDIR_PERM,
    Status.DB_GONE,
    Status.DB_DUPLICATE,
)
"""Records whose next visit is an interval after the last; of others it may be sooner."""

_STILL_UNPARSED = (Status.FETCH_NOTMODIFIED, Status.FETCH_RETRY, Status.PARSE_FAILED)
"""Fetches after which it still stands why the page could not be parsed."""


@dataclass(frozen=True, slots=True)
class UrlUpdate:
    """The news of one URL in the segments."""

    fetch: CrawlDatum | None = None
    """The latest fetch; `fetch_time` is when it was."""
    signature: bytes | None = None
    """The signature that the parse of that fetch made."""
    parse_metadata: Mapping[str, str] = field(default_factory=dict)
    """Metadata of the parse; of one that failed, why."""
    parse_failed: bool = False
    inlinks: Sequence[CrawlDatum] = ()
    """Links to it, best score first."""
    before: UrlUpdate | None = None
    """What the same segments brought of it before a fetch that says only that nothing has changed
    since, or that it could not be had this time."""

    @property
    def new_signature(self) -> bytes | None:
        if self.signature is None and self.fetch is not None:
            return self.fetch.signature
        return self.signature


@dataclass(frozen=True, slots=True)
class UpdateRules:
    """Settings, plugins and the moment, by which a record and its update are judged."""

    schedule: ActiveSchedule
    scoring: ScoringChain
    retry_max: int
    max_interval: int
    additions: bool
    now: int
    again: bool = False
    """Whether segments are applied once more, whose fetches are older than what is known."""

    @classmethod
    def of(
        cls, config: Config, now: int, *, additions: bool = True, again: bool = False
    ) -> UpdateRules:
        return cls(
            ActiveSchedule.from_config(config),
            ScoringChain.from_config(config),
            config[DB_FETCH_RETRY_MAX],
            int(config[DB_FETCH_INTERVAL_MAX]),
            additions,
            now,
            again,
        )


@dataclass(frozen=True, slots=True)
class UpdateOutcome:
    """The new record of a URL, or None and why it is dropped."""

    datum: CrawlDatum | None
    reason: str
    """The event in a word, or why the URL is dropped."""


NOT_ALLOWED = UpdateOutcome(None, "dropped.additions_not_allowed")
NEVER_FETCHED = UpdateOutcome(None, "dropped.neither_fetched_nor_linked")


def event_of(old: CrawlDatum | None, update: UrlUpdate, retry_max: int) -> Event | None:
    """The event of a URL; None where a URL that nobody knows was neither fetched nor linked."""
    fetch = update.fetch
    if fetch is None:
        if update.inlinks:
            return Event.FOUND if old is None else Event.LINKED
        return None if old is None else Event.SILENCE
    if fetch.status is Status.FETCH_RETRY:
        tries = _retries(old) + 1
        return Event.FAILED if tries < retry_max else Event.GIVEN_UP
    if fetch.status is not Status.FETCH_SUCCESS:
        return _BY_FETCH[fetch.status]
    if update.parse_failed:
        return Event.UNPARSABLE
    before, after = old.signature if old is not None else None, update.new_signature
    if before is None or after is None:
        return Event.FETCHED
    return Event.UNCHANGED if before == after else Event.CHANGED


def update_record(
    url: str, old: CrawlDatum | None, update: UrlUpdate, rules: UpdateRules, counters: Counters
) -> UpdateOutcome:
    """The outcome for a URL; plugins' faults are counted."""
    if update.before is not None:
        old = update_record(url, old, update.before, rules, counters).datum or old
    if old is not None and _is_superseded(old, update, rules):
        counters["fetches_superseded"] += 1
        update = UrlUpdate(inlinks=update.inlinks)
    event = event_of(old, update, rules.retry_max)
    if event is None:
        return NEVER_FETCHED
    if old is None and not rules.additions:
        return NOT_ALLOWED
    now = rules.now
    if event is Event.SILENCE:
        assert old is not None
        datum = rules.scoring.orphaned_score(url, old, now, counters)
        return UpdateOutcome(datum, event.value)
    if event is Event.LINKED:
        assert old is not None
        datum = old
    elif event is Event.FOUND:
        datum = _new_record(url, update.inlinks[0], rules, counters)
    else:
        assert update.fetch is not None
        datum = _visited(url, old, update, update.fetch, TRANSITIONS[event], rules, counters)
    datum = rules.scoring.update_score(url, old, datum, update.inlinks, now, counters)
    return UpdateOutcome(datum, event.value)


def _is_superseded(old: CrawlDatum, update: UrlUpdate, rules: UpdateRules) -> bool:
    """Whether the CrawlDb knows of a later visit than this fetch: a service fetched the page while
    it was on a list, and its segment was applied first. A visit that is still to come was none: the
    interval was changed since, or the clock of whoever visited was wrong."""
    if update.fetch is None or rules.again or old.status not in _VISITED:
        return False
    return update.fetch.fetch_time < old.fetch_time - old.fetch_interval * 1000 <= rules.now


def _new_record(url: str, link: CrawlDatum, rules: UpdateRules, counters: Counters) -> CrawlDatum:
    status = TRANSITIONS[Event.FOUND].status
    assert status is not None
    datum = replace(
        link,
        status=status,
        modified_time=0,
        signature=None,
        metadata=_without(link.metadata, GENERATE_TIME_KEY),
    )
    datum = rules.schedule.initialize(url, datum, rules.now, counters)
    return rules.scoring.initial_score(url, datum, counters)


def _visited(
    url: str,
    old: CrawlDatum | None,
    update: UrlUpdate,
    fetch: CrawlDatum,
    transition: Transition,
    rules: UpdateRules,
    counters: Counters,
) -> CrawlDatum:
    before = 0 if old is None else old.modified_time
    modified = fetch.modified_time or before
    fetched = fetch.fetch_time
    status = transition.status
    assert status is not None
    if old is not None and old.status is Status.DB_DUPLICATE and transition.change is _NO:
        status = old.status
    metadata = _metadata(old, update, fetch)
    if status is Status.DB_PARSE_FAILED:
        # or the server would never send it again, to a parser that reads it by then
        metadata = _without(metadata, *VALIDATOR_KEYS)
    datum = CrawlDatum(
        status,
        fetched,
        modified,
        (old or fetch).fetch_interval,
        _retries(old),
        (old or fetch).score,
        _signature(old, update, transition.signature),
        metadata,
    )
    schedule = rules.schedule
    if datum.fetch_interval <= 0:  # a document inside a page: nobody gave it one
        datum = schedule.initialize(url, datum, rules.now, counters)
    if transition.visit is NextVisit.RETRY:
        return schedule.after_retry(url, datum, fetched=fetched, counters=counters)
    if transition.visit is NextVisit.GONE:
        if fetch.status is Status.FETCH_RETRY:
            datum = replace(datum, retries=min(_retries(old) + 1, rules.retry_max))
        return schedule.after_gone(url, datum, fetched=fetched, counters=counters)
    datum = schedule.after_fetch(
        url,
        datum,
        previous_modified=before,
        fetched=fetched,
        modified=modified,
        change=transition.change,
        counters=counters,
    )
    if transition.change is PageChange.NOTMODIFIED and datum.modified_time != before:
        datum = replace(datum, modified_time=before)
    if datum.fetch_interval > rules.max_interval:
        counters["refetch_forced"] += 1
        datum = schedule.force_refetch(url, datum, rules.now, asap=False, counters=counters)
        # or the server would say that nothing has changed
        datum = replace(datum, metadata=_without(datum.metadata, *VALIDATOR_KEYS))
    return datum


def _retries(old: CrawlDatum | None) -> int:
    """The failed tries so far; 0 for an unknown URL, though a redirect's target is listed with
    its source's."""
    return 0 if old is None else old.retries


def _signature(old: CrawlDatum | None, update: UrlUpdate, keep: KeptSignature) -> bytes | None:
    before = None if old is None else old.signature
    if keep is KeptSignature.OLD:
        return before
    after = update.new_signature
    return before if after is None and keep is KeptSignature.LAST else after


def _metadata(old: CrawlDatum | None, update: UrlUpdate, fetch: CrawlDatum) -> Mapping[str, str]:
    metadata = dict(fetch.metadata)
    if old is not None:
        for key, value in old.metadata.items():
            if key not in metadata and key not in ANSWER_KEYS:
                metadata[key] = value
    metadata.pop(GENERATE_TIME_KEY, None)
    if fetch.status not in _STILL_UNPARSED:
        metadata.pop(PARSE_STATUS_KEY, None)  # an earlier parse's
    if fetch.status is Status.FETCH_SUCCESS:
        metadata.update(update.parse_metadata)
    return metadata


def _without(metadata: Mapping[str, str], *keys: str) -> Mapping[str, str]:
    if not any(key in metadata for key in keys):
        return metadata
    return {name: value for name, value in metadata.items() if name not in keys}
