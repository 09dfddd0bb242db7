"""What a crawl's folder holds for whoever reads it, without what depends on the moment: rows of
every dataset and segment, documents of every index writer, answers of the search, and the files
beside the crawl. Two crawls that came to the same are equal in it.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from crawl.declared import load_declared
from crawl.errors import NoSnapshot, StorageError
from crawl.model.derived_tables import ATTACHED, INDEX
from crawl.model.tables import HOSTS, SERVERS
from crawl.phases.index.tasks.outputs import noted_folder, noted_outputs
from crawl.phases.index.tasks.writers import named_writers
from crawl.readers.search.search import find_embedded_index
from crawl.search.folders import EmbeddedFolders
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.folder import Folder
from crawl.storage.parquet import open_table
from crawl.storage.segments import SEGMENT_TABLES, Segment
from crawl.storage.snapshot import Dataset
from tests.phases.indexed import read_documents

Rows = dict[str, list[str]]
"""Values by key; several of one key only where it is there more than once."""

_VOLATILE = frozenset(
    ("fetch_time", "modified_time", "version", "job", "since", "last", "wait_until", "slow_until")
)
"""Columns that tell of the moment, beside those that are timestamps or of response times."""
_VOLATILE_METADATA = frozenset(("_rs_", "_ngt_", "_pst_", "date", "last-modified"))


@dataclass(frozen=True, slots=True)
class Differences:
    """What one crawl has and another has not, a line each."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    """There more often than in the other, or there alone."""
    stale: list[str] = field(default_factory=list)
    """There with another value."""

    def __bool__(self) -> bool:
        return bool(self.lost or self.doubled or self.stale)

    @property
    def lines(self) -> list[str]:
        return [
            f"{kind}: {line}"
            for kind, lines in (
                ("lost", self.lost),
                ("doubled", self.doubled),
                ("stale", self.stale),
            )
            for line in lines
        ]


def differences(expected: Mapping[str, Rows], found: Mapping[str, Rows]) -> Differences:
    """How what was found differs from what is expected."""
    told = Differences()
    for area in sorted({*expected, *found}):
        before, after = expected.get(area, {}), found.get(area, {})
        for key in sorted({*before, *after}):
            old, new = Counter(before.get(key, ())), Counter(after.get(key, ()))
            if old == new:
                continue
            line = f"{area} {key}"
            if old.total() > new.total():
                told.lost.append(line)
            elif old.total() < new.total():
                told.doubled.append(line)
            else:
                told.stale.append(f"{line}: {_shown(new - old)} instead of {_shown(old - new)}")
    return told


def _shown(values: Counter[str]) -> str:
    return " ".join(values)[:300]


def outcome(root: Path, crawl: str = "crawl") -> dict[str, Rows]:
    """All that readers find in the crawl and beside it, by area."""
    directory = CrawlDir(str(root / crawl))
    found: dict[str, Rows] = {}
    if not directory.folder.names():
        return found
    names = {
        segment.name: f"segment-{number}"
        for number, segment in enumerate(directory.segments.generated())
    }
    for dataset in directory.datasets():
        if dataset.name != SERVERS.name:  # pauses, which are of the moment
            found.update(_of_dataset(dataset, names))
    for segment in directory.segments.generated():
        found.update(_of_segment(segment, names))
    found.update(_of_writers(directory))
    found["search"] = _of_search(directory, root / "conf")
    for path in sorted(root.iterdir()):
        if path.name not in (crawl, "other", "conf", "seeds.txt") and "LOCK" not in path.name:
            found[f"file {path.name}"] = _of_file(path)
    # files lie in the order of names that are others in each run
    return {
        area: {key: sorted(values) for key, values in rows.items()}
        for area, rows in found.items()
        if rows
    }


def _of_dataset(dataset: Dataset, names: Mapping[str, str]) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    snapshot = dataset.current()
    if snapshot is None:
        return found
    table = dataset.table_of(snapshot)
    parts = [(dataset.name, table.key, snapshot.files), ("hosts", HOSTS.key, snapshot.hosts)]
    parts += [
        (f"{dataset.name} {name}", ATTACHED[name].key, files)
        for name, files in snapshot.attached.items()
    ]
    for area, key, files in parts:
        rows: Rows = defaultdict(list)
        for file in files:
            with open_table(dataset.folder, file.path) as source:
                _add(rows, source.read(), key, names)
        found[area] = dict(rows)
    found[f"{dataset.name} contains"] = {
        names.get(segment, segment): [""] for segment in snapshot.applied
    }
    found[f"{dataset.name} buckets"] = {"": [str(snapshot.buckets)]}
    return found


def _of_segment(segment: Segment, names: Mapping[str, str]) -> dict[str, Rows]:
    found: dict[str, Rows] = {}
    for part in SEGMENT_TABLES:
        manifest = segment.manifest(part)
        if manifest is None:
            continue
        rows: Rows = defaultdict(list)
        for file in manifest.files:
            with open_table(segment.part_folder(part), file.path) as source:
                _add(rows, source.read(), ("url",) if part != "fetch_hosts" else ("host",), names)
        found[f"{names[segment.name]} {part}"] = dict(rows)
    return found


def _add(rows: Rows, table: pa.Table, key: Iterable[str], names: Mapping[str, str]) -> None:
    wanted = [
        field.name
        for field in table.schema
        if not pa.types.is_timestamp(field.type)
        and field.name not in _VOLATILE
        and not field.name.startswith(("response_ms", "response_headers", "request_headers"))
        and not field.name.endswith(("_at", "_until", "_seen", "_fetched"))
    ]
    for row in table.select(wanted).to_pylist():
        where = " ".join(str(row[name]) for name in key if name in row)
        rows[where].append(_value({k: _plain(k, v, names) for k, v in row.items()}))


def _plain(name: str, value: Any, names: Mapping[str, str]) -> Any:
    if name == "segment":
        return names.get(value, value)
    if isinstance(value, bytes):
        return blake2b(value, digest_size=6).hexdigest()
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if name in ("metadata", "headers") and value is not None:
        pairs = value.items() if isinstance(value, dict) else value
        return sorted(
            (key, str(one)) for key, one in pairs if key.lower() not in _VOLATILE_METADATA
        )
    return value


def _value(row: Any) -> str:
    text = json.dumps(row, default=str, sort_keys=True)
    return text if len(text) < 400 else blake2b(text.encode(), digest_size=12).hexdigest()


def _of_writers(directory: CrawlDir) -> dict[str, Rows]:
    """The documents of every index writer, by what the ledger names, and by the list that is for
    those who read the writer's files alone."""
    found: dict[str, Rows] = {}
    for writer, output in noted_outputs(directory.dataset(INDEX).current()).items():
        folder = noted_folder(directory, writer, output)
        found[f"documents of {writer}"] = _documents(folder.path(n) for n in output.shards.values())
        listed = EmbeddedFolders(folder).names() or ()
        found[f"listed documents of {writer}"] = _documents(map(folder.path, listed))
    return found


def _of_search(directory: CrawlDir, conf: Path) -> Rows:
    """The documents that a search looks through."""
    if not directory.dataset(INDEX).is_begun():
        return {}
    try:
        writers = named_writers(load_declared((), str(conf), {}))
        folders = find_embedded_index(directory, writers, None)
        return _documents(folders.require_paths("crawl"))
    except NoSnapshot:
        return {}
    except StorageError as error:
        return {"refused": [str(error).rpartition("/")[2]]}


def _documents(paths: Iterable[str]) -> Rows:
    rows: Rows = defaultdict(list)
    for path in paths:
        for url, document in read_documents(path):
            kept = {k: v for k, v in document.items() if k in ("title", "content", "url", "host")}
            rows[url].append(_value(kept))
    return dict(rows)


def _of_file(path: Path) -> Rows:
    """The lines of a file, or of the files of a folder that says that it is whole."""
    if path.is_file():
        return {"": [_value(path.read_text(errors="replace").splitlines())]}
    folder = Folder(str(path))
    if "_SUCCESS" not in folder.names():
        return {}
    rows: Rows = defaultdict(list)
    for name in folder.files():
        if name.startswith(("_", "LOCK")) or name == "manifest.json":
            continue
        if name.endswith(".parquet"):
            _add(rows, pq.read_table(path / name), (), {})
            continue
        raw = (path / name).read_bytes()
        text = gzip.decompress(raw) if name.endswith(".gz") else raw
        for number, line in enumerate(text.decode(errors="replace").splitlines()):
            key, value = _of_line(line)
            rows[key or f"{name} {number}"].append(value)
    return dict(rows)


def _of_line(line: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
    except ValueError:
        return line.partition("\t")[0], line
    if not isinstance(row, dict):
        return "", line
    key = str(row.get("id") or " ".join(str(row.get(n, "")) for n in ("url", "from_url", "host")))
    timeless = {
        name: _plain(name, value, {})
        for name, value in row.items()
        if not any(word in name for word in ("time", "response_ms", "date", "_at", "until", "seen"))
        and name not in (*_VOLATILE, "last_fetched", "segment", "snapshot")
    }
    return key, _value(timeless)
