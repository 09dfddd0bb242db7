"""Of each URL, what it would be without one of its parts: the rows that evidence is made of.

A URL's key is a number for all of it but what the rules so far take away; parameters are added
to it in any order, so that leaving one out is a subtraction. URLs that lack the part in question
are not repeated for every rule: they are found by their own keys among the `PLAIN` rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.model.arrow import required_schema
from crawl.phases.dust.tasks.forms import PATH_SALT, Mask, RowPlaces, UrlForms
from crawl.storage.layout import encoded, number_of
from crawl.tables.exchange import RowKind
from crawl.urls.columns import column_bytes
from crawl.urls.dust import ADD, LOWER, REMOVE, DustKind, HostDust, is_dust_name
from crawl.urls.text_hashes import Numbers, mixed, row_hashes


def number_columns(*names: str) -> pa.Schema:
    """The schema of rows of numbers."""
    return required_schema(dict.fromkeys(names, pa.uint64()))


CANDIDATES = RowKind("candidates", number_columns("rule", "host", "key", "signature", "value"))
"""URLs that have what a rule would take away: the rule of a host, the key without it, and which
of several values it was."""
PLAIN = RowKind("plain", number_columns("host", "key", "signature"))
"""URLs as they are."""
JOINT = RowKind("joint", number_columns("host", "key", "signature", "value"))
"""URLs of hosts that have rules already: what all of them make of each, and which URL it was."""
NAMES = RowKind(
    "names",
    required_schema(
        {
            "rule": pa.uint64(),
            "host": pa.string(),
            "kind": pa.string(),
            "name": pa.string(),
            "count": pa.int64(),
        }
    ),
)
"""What the numbers of rules stand for."""

_SALTS: dict[str, np.uint64] = {
    name: np.uint64(number_of(f"dust {name}"))
    for name in ("authority", "path", "fragment", "bare", "index", "slash", "case")
}
_MIN_ROWS = 2
"""A name that occurs in fewer URLs at a time cannot be shown to make no difference."""
_INDEX_LENGTH = 16


@dataclass(slots=True)
class DustRows:
    """Rows of some URLs, kind by kind."""

    tables: dict[RowKind, list[pa.Table]] = field(
        default_factory=lambda: {CANDIDATES: [], PLAIN: [], JOINT: []}
    )
    names: dict[tuple[int, str], tuple[str, DustKind, int]] = field(default_factory=dict)
    """By rule and name: the host, the kind, and how often it occurred."""
    urls: int = 0

    def add_name(self, rule: int, host: str, kind: DustKind, name: str, count: int) -> None:
        *_, before = self.names.get((rule, name), (host, kind, 0))
        self.names[(rule, name)] = host, kind, before + count

    def all_tables(self) -> dict[RowKind, list[pa.Table]]:
        """Those of each kind, the names among them."""
        rows = [
            {"rule": rule, "host": host, "kind": str(kind), "name": name, "count": count}
            for (rule, name), (host, kind, count) in self.names.items()
        ]
        return {**self.tables, NAMES: [pa.Table.from_pylist(rows, schema=NAMES.schema)]}


def add_rows(
    result: DustRows,
    urls: pa.Array[Any],
    hosts: pa.Array[Any],
    signatures: pa.Array[Any],
    rules_by_host: Mapping[str, HostDust],
    *,
    search: bool,
) -> None:
    """Adds the rows of a column of pages; `known` are the rules so far, by host. Without
    `search` nothing is looked for beyond them."""
    chunk = _Chunk(urls, hosts, signatures, rules_by_host)
    result.urls += int(np.count_nonzero(chunk.forms.usable))
    if rules_by_host:
        rows = np.flatnonzero(chunk.forms.usable & chunk.has_rules)
        joint = (chunk.host[rows], chunk.of_host(rows, chunk.keys[rows]), chunk.signature[rows])
        value = chunk.forms.hashes.of(chunk.forms.starts[rows], chunk.forms.row_ends[rows])
        result.tables[JOINT].append(pa.table([*joint, value], schema=JOINT.schema))
    if not search:
        return
    rows = np.flatnonzero(chunk.forms.usable)
    plain = (chunk.host[rows], chunk.of_host(rows, chunk.keys[rows]), chunk.signature[rows])
    result.tables[PLAIN].append(pa.table(list(plain), schema=PLAIN.schema))
    chunk.add_params(result)
    chunk.add_indexes(result)
    chunk.add_slashes(result)
    chunk.add_cases(result)


class _Chunk:
    """Some URLs, their keys under the rules so far, and what else could be left out of them."""

    def __init__(
        self,
        urls: pa.Array[Any],
        hosts: pa.Array[Any],
        signatures: pa.Array[Any],
        rules_by_host: Mapping[str, HostDust],
    ) -> None:
        self.forms = forms = UrlForms(urls)
        codes = encoded(hosts)
        self._names: list[str] = [str(name) for name in codes.dictionary.to_pylist()]
        self._codes = codes.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        numbers: Numbers = np.array([number_of(name) for name in self._names], np.uint64)
        self.host: Numbers = numbers[self._codes]
        self.signature = row_hashes(column_bytes(signatures))
        count = len(urls)
        self.has_rules: Mask = np.zeros(count, np.bool_)
        self._lower: Mask = np.zeros(count, np.bool_)
        self._slash: Mask = np.zeros(count, np.bool_)
        self._dropped: Mask = np.zeros(len(forms.pieces), np.bool_)
        index_names: dict[int, frozenset[str]] = {}
        for code, name in enumerate(self._names):
            rules = rules_by_host.get(name)
            if rules is not None:
                rows = self._codes == code
                self.has_rules |= rows
                self._lower |= rows & rules.lower
                self._slash |= rows & bool(rules.slash)
                index_names[code] = rules.indexes
                self._drop(rows, rules)
        pieces = forms.pieces
        in_path = pieces.in_path & ~self._dropped
        self._has_path_params: Mask = np.zeros(count, np.bool_)
        self._has_path_params[pieces.rows[in_path]] = True
        self._ends = forms.segment_ends.copy()
        """Where the path ends under the rules."""
        self._cut_indexes(index_names)
        self._cut_slashes()
        self._sums: Numbers = np.zeros(count, np.uint64)
        np.add.at(self._sums, pieces.rows[~self._dropped], pieces.numbers[~self._dropped])
        self._bare = self._bare_queries()
        self.keys: Numbers = self._base(np.arange(count), self._ends) + self._sums

    def of_host(self, rows: RowPlaces, keys: Numbers) -> Numbers:
        """The keys, or rules, as numbers that no other host has."""
        return mixed(self.host[rows] + mixed(keys))

    def add_params(self, result: DustRows) -> None:
        pieces = self.forms.pieces
        candidates = np.flatnonzero(~self._dropped & self.forms.nameable())
        if not len(candidates):
            return
        order = candidates[np.lexsort((pieces.names[candidates], pieces.rows[candidates]))]
        rows, names = pieces.rows[order], pieces.names[order]
        is_first = np.ones(len(order), np.bool_)
        is_first[1:] = (rows[1:] != rows[:-1]) | (names[1:] != names[:-1])
        firsts = np.flatnonzero(is_first)
        sums: Numbers = np.add.reduceat(pieces.numbers[order], firsts)
        examples = order[firsts]
        rows = rows[firsts]

        def named(place: int) -> tuple[DustKind, str]:
            piece = examples[place : place + 1]
            (name,) = self.forms.texts(pieces.starts[piece], pieces.name_ends[piece])
            in_path = bool(pieces.in_path[piece[0]])
            return DustKind.PATH_PARAM if in_path else DustKind.PARAM, name

        self._add(result, rows, names[firsts], self.keys[rows] - sums, mixed(sums), named)

    def add_indexes(self, result: DustRows) -> None:
        forms = self.forms
        starts, ends = forms.last_slashes + 1, self._ends
        lengths = ends - starts
        is_short = (lengths > 0) & (lengths <= _INDEX_LENGTH)
        rows = np.flatnonzero(forms.usable & ~self._has_path_params & is_short)
        if not len(rows):
            return
        segments = self._path_hashes(rows, starts[rows], ends[rows])
        _distinct, examples, inverse = np.unique(segments, return_index=True, return_inverse=True)
        example_rows = rows[examples]
        names = forms.texts(starts[example_rows], ends[example_rows])
        is_index = np.array([is_dust_name(DustKind.INDEX, name) for name in names], np.bool_)
        stays = is_index[inverse]
        rows, segments, places = rows[stays], segments[stays], inverse[stays]
        ends = np.where(
            self._may_lose_slash()[rows] & self._slash[rows],
            forms.last_slashes[rows],
            forms.last_slashes[rows] + 1,
        )
        keys = self._base(rows, ends) + self._sums[rows]

        def named(place: int) -> tuple[DustKind, str]:
            name = names[places[place]]
            return DustKind.INDEX, name.lower() if self._lower[rows[place]] else name

        self._add(result, rows, mixed(segments ^ _SALTS["index"]), keys, segments, named)

    def add_slashes(self, result: DustRows) -> None:
        forms = self.forms
        open_rows = forms.usable & ~self._has_path_params & ~self._slash
        ends_in_slash = self._ends == forms.last_slashes + 1
        rows = np.flatnonzero(open_rows & ends_in_slash & self._may_lose_slash())
        keys = self._base(rows, forms.last_slashes[rows]) + self._sums[rows]
        rules = np.full(len(rows), _SALTS["slash"])
        self._add(result, rows, rules, keys, rules, lambda place: (DustKind.SLASH, ADD))
        without = np.flatnonzero(open_rows & ~ends_in_slash & ~forms.dotted_segment())
        codes, firsts, counts = np.unique(
            self._codes[without], return_index=True, return_counts=True
        )
        numbers = self.of_host(without[firsts], np.full(len(firsts), _SALTS["slash"]))
        for code, number, count in zip(codes, numbers.tolist(), counts.tolist(), strict=True):
            result.add_name(number, self._names[code], DustKind.SLASH, REMOVE, count)

    def add_cases(self, result: DustRows) -> None:
        rows = np.flatnonzero(self.forms.usable & self.forms.has_upper() & ~self._lower)
        starts, ends = self.forms.path_starts[rows], self._ends[rows]
        paths = self.forms.lowered.of(starts, ends) if len(rows) else np.zeros(0, np.uint64)
        keys = self._base_of(rows, paths) + self._sums[rows]
        rules = np.full(len(rows), _SALTS["case"])
        values = self.forms.hashes.of(starts, ends)
        self._add(result, rows, rules, keys, values, lambda place: (DustKind.CASE, LOWER))

    def _add(
        self,
        result: DustRows,
        rows: RowPlaces,
        rules: Numbers,
        keys: Numbers,
        values: Numbers,
        named: Any,
    ) -> None:
        """Adds candidates of rules, and what they are called."""
        if not len(rows):
            return
        of_host = self.of_host(rows, rules)
        distinct, examples, inverse, counts = np.unique(
            of_host, return_index=True, return_inverse=True, return_counts=True
        )
        keeps: Mask = counts >= _MIN_ROWS
        for place in np.flatnonzero(keeps).tolist():
            example = int(examples[place])
            kind, name = named(example)
            if not is_dust_name(kind, name):
                keeps[place] = False
                continue
            host = self._names[self._codes[rows[example]]]
            result.add_name(int(distinct[place]), host, kind, name, int(counts[place]))
        stays = keeps[inverse]
        rows = rows[stays]
        columns = [
            of_host[stays],
            self.host[rows],
            self.of_host(rows, keys[stays]),
            self.signature[rows],
            values[stays] | np.uint64(1),  # 0 is for URLs without it
        ]
        result.tables[CANDIDATES].append(pa.table(columns, schema=CANDIDATES.schema))

    def _drop(self, rows: Mask, rules: HostDust) -> None:
        pieces = self.forms.pieces
        for names, in_path in ((rules.params, False), (rules.path_params, True)):
            if names:
                numbers = _name_numbers(sorted(names), in_path)
                self._dropped |= (
                    rows[pieces.rows] & (pieces.in_path == in_path) & np.isin(pieces.names, numbers)
                )

    def _cut_indexes(self, index_names: Mapping[int, frozenset[str]]) -> None:
        forms = self.forms
        for code, names in index_names.items():
            if names:
                is_here = (self._codes == code) & forms.usable & ~self._has_path_params
                rows = np.flatnonzero(is_here)
                starts, ends = forms.last_slashes[rows] + 1, self._ends[rows]
                segments = self._path_hashes(rows, starts, ends)
                cut = rows[np.isin(segments, row_hashes(_column(sorted(names))))]
                self._ends[cut] = forms.last_slashes[cut] + 1

    def _cut_slashes(self) -> None:
        forms = self.forms
        ends_in_slash = self._ends == forms.last_slashes + 1
        cut = np.flatnonzero(
            self._slash & ends_in_slash & ~self._has_path_params & self._may_lose_slash()
        )
        self._ends[cut] = forms.last_slashes[cut]

    def _may_lose_slash(self) -> Mask:
        """Whether the last slash is one that a rule would take away, if nothing came after it."""
        return (self.forms.last_slashes > self.forms.path_starts) & self.forms.plain_before()

    def _path_hashes(self, rows: RowPlaces, starts: RowPlaces, ends: RowPlaces) -> Numbers:
        hashes = self.forms.hashes.of(starts, ends)
        if self._lower.any():
            lowered = self.forms.lowered.of(starts, ends)
            hashes = np.where(self._lower[rows], lowered, hashes)
        return hashes

    def _base(self, rows: RowPlaces, ends: RowPlaces) -> Numbers:
        """The keys of rows without their parameters, with paths that end there."""
        return self._base_of(rows, self._path_hashes(rows, self.forms.path_starts[rows], ends))

    def _base_of(self, rows: RowPlaces, paths: Numbers) -> Numbers:
        forms = self.forms
        authority = forms.hashes.of(forms.starts[rows], forms.path_starts[rows])
        fragment = forms.hashes.of(forms.ends[rows], forms.row_ends[rows])
        return mixed(
            (authority ^ _SALTS["authority"])
            + mixed(paths ^ _SALTS["path"])
            + mixed(fragment ^ _SALTS["fragment"])
            + self._bare[rows]
        )

    def _bare_queries(self) -> Numbers:
        """A number for rows whose query is empty, which is not the same as none."""
        forms = self.forms
        is_bare = forms.query_starts < forms.ends
        is_bare[forms.pieces.rows[~forms.pieces.in_path]] = False
        return is_bare.astype(np.uint64) * _SALTS["bare"]


def _column(texts: list[str]) -> Any:
    return column_bytes(pa.array(texts, pa.string()))


def _name_numbers(names: list[str], in_path: bool) -> Numbers:
    return mixed(row_hashes(_column(names)) ^ (PATH_SALT if in_path else np.uint64(0)))
