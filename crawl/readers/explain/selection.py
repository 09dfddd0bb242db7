"""Why generate would or would not select one URL: the steps of `scan.select`, one by one.

Each is asked whatever the others say, so that a person sees all that stands in the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.clock import moment
from crawl.counters import Counters
from crawl.interfaces.chain_steps import filter_steps
from crawl.model.datum import GENERATE_TIME_KEY, CrawlDatum
from crawl.model.hosts import HostState
from crawl.model.records import to_records
from crawl.model.report import BELOW_TOP_N, PER_HOST_OVERFLOW
from crawl.model.status import Status
from crawl.model.tables import CRAWLDB
from crawl.phases.generate.tasks.host_gate import HOST_PROBED, HOST_WAITS, SAME_PAGES
from crawl.phases.generate.tasks.ranking import keys_of
from crawl.phases.generate.tasks.scan import WAIT_FOR_UPDATE, select
from crawl.phases.generate.tasks.selection import Selection
from crawl.printable import plural
from crawl.readers.explain.bounds import HostLimit
from crawl.rules.host_wait import waits_until
from crawl.storage.folder import Folder
from crawl.storage.manifest import BucketFile
from crawl.storage.parquet import open_table, read_groups
from crawl.tables.hosts import read_hosts
from crawl.tables.lookup import may_hold
from crawl.urls.domains import registered_domain
from crawl.urls.parse import host_of

_HOST_COLUMN = CRAWLDB.names.index("host")

Rank = Callable[[], tuple[int, int]]
"""Counts the candidates of the URL's host: its place among them, from 1, and how many there are."""


@dataclass(frozen=True, slots=True)
class GenerateStep:
    """One step's word."""

    reason: str
    """The counter under which generate rejects by it."""
    passes: bool | None
    """None where that cannot be said of one URL alone."""
    detail: str
    """One line for people."""


def generate_steps(
    selection: Selection,
    row: pa.Table,
    crawldb: Folder,
    bucket: Sequence[BucketFile],
    hosts: BucketFile | None = None,
    listed_in: str = "",
    own: HostLimit | None = None,
) -> tuple[GenerateStep, ...]:
    """The steps in generate's order for one record, a row of the bucket's files with all columns;
    `listed_in` is the unfinished segment that has it on its list, if one has; `own` is the bound
    of its host, by the HostDb."""
    ((url, datum),) = to_records(row)
    name = row["host"][0].as_py()
    host = read_hosts(crawldb, hosts).get(name)
    rank = partial(_rank, selection, url, name, crawldb, bucket)
    steps = list(_own_steps(selection, row, url, datum, host, listed_in))
    is_candidate = all(step.passes is not False for step in steps)
    steps.append(_probed(selection, host, is_candidate, rank))
    is_candidate &= steps[-1].passes is not False
    steps.append(_cap(selection, name, is_candidate, own, rank))
    steps.append(
        GenerateStep(BELOW_TOP_N, None, "hangs on all other candidates, where --top-n is given")
    )
    return tuple(steps)


def rejection_of(steps: tuple[GenerateStep, ...]) -> GenerateStep | None:
    """The first step that rejects."""
    return next((step for step in steps if step.passes is False), None)


def _own_steps(
    selection: Selection,
    row: pa.Table,
    url: str,
    datum: CrawlDatum,
    host: HostState | None,
    listed_in: str,
) -> Iterator[GenerateStep]:
    now, faults = selection.now_ms, Counters()
    yield _filtered(selection, url)
    due = bool(selection.schedule.due(row, now, faults)[0].as_py())
    yield GenerateStep("schedule_rejected", due, _due(datum.fetch_time, now, due))
    yield _reserved(selection, datum, listed_in)
    yield _host_waits(selection, host)
    yield _same_pages(selection, host, datum)
    yield GenerateStep("expr_rejected", None, "--expr is evaluated by generate alone")
    status = selection.restrict_status
    rule = "any will do" if status is None else f"only {status.label} (generate.restrict.status)"
    is_right = status is None or datum.status is status
    yield GenerateStep("status_rejected", is_right, f"{datum.status.label}; {rule}")
    value = float(select(selection, row, None, faults)[1][0])
    yield GenerateStep("score_not_a_number", not np.isnan(value), f"sort value {value:g}")
    yield GenerateStep(
        "score_too_low",
        value >= selection.min_score,
        f"sort value {value:g}, at least {selection.min_score:g} (generate.min.score)",
    )
    most = selection.min_interval_s
    rule = "any will do" if most < 0 else f"at most {most:,} s (generate.min.interval)"
    is_short = most < 0 or datum.fetch_interval <= most
    yield GenerateStep(
        "interval_rejected", is_short, f"interval {datum.fetch_interval:,} s; {rule}"
    )


def _filtered(selection: Selection, url: str) -> GenerateStep:
    if selection.filters is None:
        return GenerateStep("url_filters_rejected", True, "not asked (generate.filter)")
    steps = filter_steps(selection.filters, url)
    for step in steps:
        if step.reason is not None:
            return GenerateStep("url_filters_rejected", False, f"{step.plugin}: {step.reason}")
    names = ", ".join(step.plugin for step in steps) or "no filter is active"
    return GenerateStep("url_filters_rejected", True, f"accepted: {names}")


def _due(fetch_time: int, now: int, due: bool) -> str:
    detail = f"due {moment(fetch_time)}, {span(abs(fetch_time - now))}"
    if fetch_time <= now:
        return f"{detail} ago" + ("" if due else ", but the schedule says no")
    return f"{detail} from now" + (", but the schedule does not wait for that" if due else "")


def _reserved(selection: Selection, datum: CrawlDatum, listed_in: str) -> GenerateStep:
    if listed_in:
        detail = f"on the list of segment {listed_in}, which the CrawlDb has not taken in yet"
        return GenerateStep(WAIT_FOR_UPDATE, False, f"{detail} (crawl.gen.delay)")
    mark = datum.metadata.get(GENERATE_TIME_KEY)
    if mark is None:
        return GenerateStep(WAIT_FOR_UPDATE, True, "not marked by a generate")
    if not (mark.isascii() and mark.isdigit() and len(mark) <= 18):
        return GenerateStep(WAIT_FOR_UPDATE, True, f"{GENERATE_TIME_KEY}={mark} is no time")
    until = int(mark) + selection.reserved_ms
    is_over = until <= selection.now_ms
    detail = f"selected {moment(int(mark))}, {'was' if is_over else 'is'} reserved until"
    return GenerateStep(WAIT_FOR_UPDATE, is_over, f"{detail} {moment(until)} (crawl.gen.delay)")


def _host_waits(selection: Selection, host: HostState | None) -> GenerateStep:
    if host is None or not host.wait_until:
        return GenerateStep(HOST_WAITS, True, "nothing is held against the host")
    until = waits_until(host, selection.longest_wait_ms)
    is_over = until <= selection.now_ms
    word = "was" if is_over else "is"
    detail = f"{describe_trouble(host)}; {word} left out until {moment(until)} (db.host.wait.max)"
    return GenerateStep(HOST_WAITS, is_over, detail)


def _same_pages(selection: Selection, host: HostState | None, datum: CrawlDatum) -> GenerateStep:
    if host is None or not host.slowed or not selection.longest_wait_ms:
        return GenerateStep(SAME_PAGES, True, "the host's new pages are not all the same")
    if datum.status is not Status.DB_UNFETCHED:
        return GenerateStep(SAME_PAGES, True, "new URLs of the host have to wait, this is none")
    is_over = host.slow_until <= selection.now_ms
    detail = f"{host.repeats:,} of the host's last {host.pages:,} new pages are the same page"
    until = f"no new URL until {moment(host.slow_until)}, then a few (db.host.same.pages)"
    return GenerateStep(SAME_PAGES, None if is_over else False, f"{detail}; {until}")


def describe_trouble(host: HostState) -> str:
    """What is the matter with a host, in a few words."""
    last = f"{host.reason}, last {moment(host.last)}"
    # never more than is stored: a host that sent an error has answered
    answer = f": {host.said}" if host.said else ""
    if not host.failures:
        return f"the host asked for a pause or failed{answer} ({last})"
    return f"the host gave no page in {plural(host.failures, 'round')}{answer} ({last})"


def _probed(
    selection: Selection, host: HostState | None, is_candidate: bool, rank: Rank
) -> GenerateStep:
    if host is None or not host.failures or not selection.longest_wait_ms:
        return GenerateStep(HOST_PROBED, True, "the host need not be tried first")
    if not is_candidate:
        return GenerateStep(HOST_PROBED, None, "not counted: rejected before")
    number, candidates = rank()
    place = f"this is number {number:,} of {candidates:,}"
    detail = f"{describe_trouble(host)}: one URL is tried first; {place}"
    return GenerateStep(HOST_PROBED, number == 1, detail)


def _cap(
    selection: Selection, host: str, is_candidate: bool, own: HostLimit | None, rank: Rank
) -> GenerateStep:
    most, why = selection.most_per_group, "generate.max.count"
    if own is not None and not own.is_known:
        return GenerateStep(PER_HOST_OVERFLOW, None, own.why)
    if own is not None and own.value is not None:
        most, why = own.value * selection.segments, own.why
        if most == 0:
            return GenerateStep(PER_HOST_OVERFLOW, False, f"no URL of the host ({why})")
    if most <= 0:
        return GenerateStep(PER_HOST_OVERFLOW, True, f"no limit ({why})")
    if not is_candidate:
        return GenerateStep(PER_HOST_OVERFLOW, None, "not counted: rejected before")
    if selection.by_domain:
        detail = f"counted with the other hosts of {registered_domain(host)}"
        return GenerateStep(PER_HOST_OVERFLOW, None, detail)
    counted_as = selection.counting and selection.counting.normalize(f"http://{host}/")
    if counted_as and host_of(counted_as) not in (None, host):
        detail = f"counted under another name: {host_of(counted_as)}"
        return GenerateStep(PER_HOST_OVERFLOW, None, detail)
    number, candidates = rank()
    place = f"number {number:,} of {candidates:,} candidates of {host}, at most {most:,}"
    return GenerateStep(PER_HOST_OVERFLOW, number <= most, f"{place} ({why})")


def _rank(
    selection: Selection, url: str, host: str, crawldb: Folder, bucket: Sequence[BucketFile]
) -> tuple[int, int]:
    """See Rank."""
    mine: np.uint64 | None = None
    keys = []
    for number, place, rows in _groups_with(host, crawldb, bucket):
        alive, values = select(selection, rows, None, Counters())
        group_keys = keys_of(values[alive], number, place[alive])
        keys.append(group_keys)
        is_this = rows["url"].to_numpy()[alive] == url
        if is_this.any():
            mine = group_keys[is_this][0]
    every = np.concatenate(keys) if keys else np.zeros(0, dtype=np.uint64)
    above = 0 if mine is None else int(np.count_nonzero(every > mine))
    return above + 1, len(every)


def _groups_with(
    host: str, crawldb: Folder, bucket: Sequence[BucketFile]
) -> Iterator[tuple[int, npt.NDArray[np.int64], pa.Table]]:
    """The rows of a host, group by group, with the bucket and their numbers in it."""
    start = 0
    for file in bucket:
        with open_table(crawldb, file.path, size=file.bytes) as source:
            for group in range(source.num_row_groups):
                about = source.metadata.row_group(group)
                place = np.arange(start, start + about.num_rows, dtype=np.int64)
                start += about.num_rows
                if not may_hold(about.column(_HOST_COLUMN), host):
                    continue
                rows = read_groups(source, [group])
                own = np.asarray(rows["host"].to_numpy() == host)
                if own.any():
                    yield file.bucket, place[own], rows.filter(pa.array(own))


def span(ms: int) -> str:
    """A length of time in the unit that fits it."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if ms >= size:
            return f"{ms / size:.1f} {unit}"
    return f"{ms} ms"
