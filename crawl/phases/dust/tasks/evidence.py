"""What speaks for the rules of a bucket's hosts, and what against: rows put together by number.

URLs that are the same but for one part are a group. Where all of a group had the same content,
it agrees; a URL with another content than most of its group is an exception. A content that
several groups share says nothing of the part: a site that answers everything with one page
ignores all of the URL, and to leave out what distinguishes its pages would be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from crawl.model.arrow import strings
from crawl.phases.dust.rules import RuleEvidence
from crawl.phases.dust.tasks.rows import CANDIDATES, JOINT, NAMES, PLAIN
from crawl.tables.exchange import RowKind
from crawl.urls.dust import DustKind, DustRule
from crawl.urls.text_hashes import Numbers, mixed

_SHARED = 4
"""Groups that may have the same content before it counts for none of them: a page may well be
there under http and https, or under a few names, for other reasons."""
_HOST_ROWS = 2_000_000
"""Rows of a host, and kind of row, that are looked at. Of a larger host every second, fourth …
group is, whole, so that none is torn and the shares stay what they are."""
_ALL_ROWS = 16_000_000
"""The same for all hosts of a bucket: where they have more, each is left fewer."""
_MIN_ROWS = 64
"""Rows that every host is left, however many hosts there are."""


@dataclass(frozen=True, slots=True)
class BucketEvidence:
    """What is known of the hosts of a bucket."""

    rules: list[RuleEvidence]
    joint: dict[int, tuple[int, int]]
    """Of all rules of a host together, by its number (crawl/storage/layout.py): the URLs that they
    make the same as another, and the exceptions."""


def bucket_evidence(tables: Callable[[RowKind], Iterable[pa.Table]]) -> BucketEvidence:
    """The evidence of all rows of a bucket, which `tables` brings kind by kind."""
    halvings: dict[int, int] = {}
    rows = _gather(CANDIDATES, tables(CANDIDATES), halvings)
    others = _columns(_gather(PLAIN, tables(PLAIN), halvings))
    rules = _of_rules(_columns(_thinned(rows, halvings)), others, _names(tables(NAMES)))
    return BucketEvidence(list(rules), _of_joint(_columns(_gather(JOINT, tables(JOINT), {}))))


def _gather(kind: RowKind, tables: Iterable[pa.Table], halvings: dict[int, int]) -> pa.Table:
    """All rows; large hosts are thinned as they come, and `halvings` says how often."""
    waiting = [kind.schema.empty_table()]
    count, most = 0, _ALL_ROWS
    for table in tables:
        waiting.append(table)
        count += table.num_rows
        if count > most:
            waiting = [_fitting(pa.concat_tables(waiting), halvings)]
            count = waiting[0].num_rows
            most = max(_ALL_ROWS, 2 * count)
    return _fitting(pa.concat_tables(waiting), halvings)


def _fitting(rows: pa.Table, halvings: dict[int, int]) -> pa.Table:
    """As many of the rows as may be looked at."""
    rows = _thinned(rows, halvings)
    most_of_host = _HOST_ROWS
    while rows.num_rows > most_of_host:
        _halve(halvings, rows, most_of_host)
        rows = _thinned(rows, halvings)
        if rows.num_rows <= _ALL_ROWS or most_of_host <= _MIN_ROWS:
            break
        most_of_host //= 2
    return rows


def _halve(halvings: dict[int, int], rows: pa.Table, most: int) -> None:
    """Has every host thinned that has more of the rows."""
    hosts, counts = np.unique(rows["host"].to_numpy(), return_counts=True)
    too_many = counts > most
    for host, count in zip(hosts[too_many].tolist(), counts[too_many].tolist(), strict=True):
        more = int(np.ceil(np.log2(count / most)))
        halvings[host] = halvings.get(host, 0) + more


def _thinned(rows: pa.Table, halvings: dict[int, int]) -> pa.Table:
    if not halvings:
        return rows
    keeps = _stays(rows["host"].to_numpy(), rows["key"].to_numpy(), halvings)
    return rows.filter(pa.array(keeps))


def _columns(rows: pa.Table) -> dict[str, Numbers]:
    return {name: rows[name].to_numpy() for name in rows.column_names}


def _stays(hosts: Numbers, keys: Numbers, halvings: dict[int, int]) -> npt.NDArray[np.bool_]:
    """Which rows of thinned hosts are looked at, by their keys."""
    numbers = np.array(sorted(halvings), np.uint64)
    masks = np.array([(1 << halvings[host]) - 1 for host in numbers.tolist()], np.uint64)
    places = np.minimum(np.searchsorted(numbers, hosts), len(numbers) - 1)
    is_left_out: npt.NDArray[np.bool_] = (numbers[places] == hosts) & ((keys & masks[places]) != 0)
    return ~is_left_out


def _names(tables: Iterable[pa.Table]) -> dict[int, tuple[str, DustRule]]:
    """What each rule's number stands for; of a choice of names the more frequent one."""
    counts: dict[int, dict[tuple[str, DustRule], int]] = {}
    for table in tables:
        for rule, host, kind, name, count in zip(
            cast("list[int]", table["rule"].to_pylist()),
            *(strings(table[column]) for column in ("host", "kind", "name")),
            cast("list[int]", table["count"].to_pylist()),
            strict=True,
        ):
            named = host, DustRule(DustKind(kind), name)
            of_rule = counts.setdefault(rule, {})
            of_rule[named] = of_rule.get(named, 0) + count
    return {
        rule: max(of_rule.items(), key=lambda each: (each[1], each[0]))[0]
        for rule, of_rule in counts.items()
    }


@dataclass(frozen=True, slots=True)
class _Groups:
    """Rows in the order of their groups, and what each group is."""

    order: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    most: npt.NDArray[np.int64]
    """Rows with the content that is the most frequent."""
    agrees: npt.NDArray[np.bool_]
    varies: npt.NDArray[np.bool_]
    """Whether there are several values."""

    @classmethod
    def of(cls, groups: Numbers, signatures: Numbers, values: Numbers) -> _Groups:
        order = np.lexsort((signatures, groups)).astype(np.int64)
        group, signature = groups[order], signatures[order]
        new_group = np.ones(len(order), np.bool_)
        new_group[1:] = group[1:] != group[:-1]
        new_run = new_group.copy()
        new_run[1:] |= signature[1:] != signature[:-1]
        starts, runs = np.flatnonzero(new_group), np.flatnonzero(new_run)
        lengths = np.diff(np.append(runs, len(order)))
        first_runs = np.searchsorted(runs, starts)
        run_counts = np.diff(np.append(first_runs, len(runs)))
        value = values[order]
        return cls(
            order,
            starts,
            np.diff(np.append(starts, len(order))),
            np.maximum.reduceat(lengths, first_runs),
            run_counts == 1,
            np.minimum.reduceat(value, starts) != np.maximum.reduceat(value, starts),
        )


def _of_rules(
    rows: dict[str, Numbers], plain: dict[str, Numbers], rule_names: dict[int, tuple[str, DustRule]]
) -> Iterator[RuleEvidence]:
    if not len(rows["rule"]):
        return
    rule, key, signature, value = _with_plain(rows, plain)
    groups = _Groups.of(mixed(rule ^ mixed(key)), signature, value)
    firsts = groups.order[groups.starts]
    telling = np.flatnonzero(groups.varies)
    numbers, places = np.unique(rule[firsts[telling]], return_inverse=True)
    count = len(numbers)
    urls = np.bincount(places, groups.sizes[telling], count).astype(np.int64)
    exceptions = np.bincount(places, (groups.sizes - groups.most)[telling], count)
    agreeing = telling[groups.agrees[telling]]
    agreeing_places = places[groups.agrees[telling]]
    contents = mixed(rule[firsts[agreeing]] ^ mixed(signature[firsts[agreeing]]))
    _distinct, examples, inverse, shared = np.unique(
        contents, return_index=True, return_inverse=True, return_counts=True
    )
    own = shared <= _SHARED
    support = np.bincount(agreeing_places[examples[own]], minlength=count)
    support_groups = agreeing[own[inverse]]
    values = _distinct_values(groups, support_groups, agreeing_places[own[inverse]], value, count)
    for place, number in enumerate(numbers.tolist()):
        if number in rule_names:
            host, named = rule_names[number]
            yield RuleEvidence(
                host,
                named,
                contents=int(support[place]),
                values=int(values[place]),
                urls=int(urls[place]),
                exceptions=int(exceptions[place]),
            )


def _with_plain(rows: dict[str, Numbers], plain: dict[str, Numbers]) -> Sequence[Numbers]:
    """The rows, and those of URLs that are what is left of them."""
    order = np.argsort(plain["key"], kind="stable")
    plain_keys, plain_signatures = plain["key"][order], plain["signature"][order]
    _, firsts = np.unique(mixed(rows["rule"] ^ mixed(rows["key"])), return_index=True)
    rules, keys = rows["rule"][firsts], rows["key"][firsts]
    starts = np.searchsorted(plain_keys, keys)
    counts = np.searchsorted(plain_keys, keys, side="right") - starts
    places = np.repeat(starts, counts) + ranks_within(counts)
    return (
        np.concatenate([rows["rule"], np.repeat(rules, counts)]),
        np.concatenate([rows["key"], np.repeat(keys, counts)]),
        np.concatenate([rows["signature"], plain_signatures[places]]),
        np.concatenate([rows["value"], np.zeros(len(places), np.uint64)]),
    )


def ranks_within(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """0, 1, 2 … for each of the counts."""
    ends = np.cumsum(counts)
    return np.arange(int(counts.sum())) - np.repeat(ends - counts, counts)


def _distinct_values(
    groups: _Groups,
    places_of_groups: npt.NDArray[np.int64],
    rules: npt.NDArray[np.int64],
    values: Numbers,
    count: int,
) -> npt.NDArray[np.int64]:
    """How many values each rule has in its chosen groups."""
    sizes = groups.sizes[places_of_groups]
    places = np.repeat(groups.starts[places_of_groups], sizes) + ranks_within(sizes)
    of_rule = np.repeat(rules, sizes)
    group_values = values[groups.order[places]]
    pairs = mixed(group_values ^ mixed(of_rule.astype(np.uint64)))
    _, firsts = np.unique(pairs, return_index=True)
    return np.bincount(of_rule[firsts], minlength=count)


def _of_joint(rows: dict[str, Numbers]) -> dict[int, tuple[int, int]]:
    if not len(rows["host"]):
        return {}
    groups = _Groups.of(rows["key"], rows["signature"], rows["value"])
    merged = np.flatnonzero(groups.varies)
    numbers, places = np.unique(rows["host"][groups.order[groups.starts]], return_inverse=True)
    count = len(numbers)
    urls = np.bincount(places[merged], groups.sizes[merged], count)
    exceptions = np.bincount(places[merged], (groups.sizes - groups.most)[merged], count)
    figures = zip(urls.astype(int).tolist(), exceptions.astype(int).tolist(), strict=True)
    return dict(zip(numbers.tolist(), figures, strict=True))
