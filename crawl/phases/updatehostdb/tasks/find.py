"""One host of the HostDb, from a HostDb of any size."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from crawl.model.arrow import as_array
from crawl.model.derived_tables import HOSTDB
from crawl.model.sketches import Sketches
from crawl.phases.updatehostdb.tasks.read import SHOWN, as_values
from crawl.storage.folder import Folder
from crawl.storage.manifest import Snapshot
from crawl.tables.lookup import find_rows


def find_host(
    hostdb: Folder, snapshot: Snapshot, host: str, percentiles: tuple[float, ...] = ()
) -> dict[str, Any] | None:
    """One host as plain values, with these percentiles by its sketches; None where it is not
    known."""
    rows = find_rows(HOSTDB, hostdb, snapshot, host)
    return None if rows is None else host_values(rows, percentiles)


def host_values(row: pa.Table, percentiles: tuple[float, ...] = ()) -> dict[str, Any]:
    """A row of the HostDb as plain values."""
    (found,) = as_values(row.select(SHOWN))
    for name in ("response_ms", "size"):
        sketches = Sketches.of_lists(as_array(row[f"{name}_bins"]), as_array(row[f"{name}_counts"]))
        values = sketches.quantiles([each / 100 for each in percentiles])
        if sketches.totals()[0]:
            known = zip(percentiles, values, strict=True)
            found |= {f"{name}_p{each:g}": round(float(value[0]), 4) for each, value in known}
    return found
