"""How long the answers of hosts took, by the HostDb's sketches: what a simulation draws from."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from crawl.fetcher.drivers.simulate import Latencies
from crawl.model.arrow import as_array, strings
from crawl.model.sketches import Sketches, values_of
from crawl.storage.folder import Folder
from crawl.storage.layout import buckets_of
from crawl.storage.manifest import Snapshot
from crawl.tables.bucket_files import stored_groups

_COLUMNS = ["host", "response_ms_bins", "response_ms_counts"]


@dataclass(frozen=True)
class MeasuredLatencies:
    """A request takes as long as one of the host's answers did, each as likely as it was; where
    none is known, as long as `otherwise` says."""

    otherwise: Latencies
    places: dict[str, int]
    """Of each host that has answered: which sketch is its own."""
    begins: npt.NDArray[np.int64]
    """Where the bins of each sketch begin, and where the last ends."""
    seconds: npt.NDArray[np.float64]
    """That each bin stands for."""
    running: npt.NDArray[np.int64]
    """The answers in each bin and all before it, of whatever sketch."""

    @property
    def hosts(self) -> int:
        """How many have measured answers."""
        return len(self.places)

    def source(self, seed: int) -> Callable[[str], float]:
        otherwise = self.otherwise.source(seed)
        draw = random.Random(seed + 1).randrange
        begins, seconds, running = self.begins, self.seconds, self.running

        def drawn(host: str) -> float:
            place = self.places.get(host)
            if place is None:
                return otherwise(host)
            first, last = int(begins[place]), int(begins[place + 1])
            before = int(running[first - 1]) if first else 0
            rank = before + draw(int(running[last - 1]) - before)
            return float(seconds[first + np.searchsorted(running[first:last], rank, "right")])

        return drawn


def measured_latencies(
    folder: Folder, snapshot: Snapshot, hosts: pa.Array[pa.StringScalar], otherwise: Latencies
) -> MeasuredLatencies:
    """The latencies of these hosts by the HostDb; only the buckets that may know them are read."""
    buckets = set(buckets_of(hosts, snapshot.buckets).tolist()) if len(hosts) else set()
    files = [file for file in snapshot.files if file.bucket in buckets]
    groups = stored_groups(folder, files, _COLUMNS)
    tables = [rows.filter(pc.is_in(rows["host"], value_set=hosts)) for rows in groups]
    if not any(rows.num_rows for rows in tables):
        nothing = np.zeros(0, np.int64)
        return MeasuredLatencies(otherwise, {}, np.zeros(1, np.int64), np.zeros(0), nothing)
    rows = pa.concat_tables(tables)
    sketches = Sketches.of_lists(
        as_array(rows["response_ms_bins"]), as_array(rows["response_ms_counts"])
    )
    begins = np.searchsorted(sketches.owner, np.arange(sketches.owners + 1))
    answered = np.diff(begins) > 0
    places = {
        host: place
        for place, host in enumerate(strings(rows["host"].cast(pa.string())))
        if answered[place]
    }
    return MeasuredLatencies(
        otherwise,
        places,
        begins.astype(np.int64),
        values_of(sketches.bins) / 1000,
        np.cumsum(sketches.counts),
    )
