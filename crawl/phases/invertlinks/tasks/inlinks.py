"""The inlinks of one URL out of the LinkDb."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from crawl.model.derived_tables import LINKDB
from crawl.storage.folder import Folder
from crawl.storage.manifest import Snapshot
from crawl.tables.lookup import find_rows


def inlinks_of_url(linkdb: Folder, snapshot: Snapshot, url: str) -> pa.Table:
    """The rows of the links to a URL, best-scored first; one file is opened, however large the
    LinkDb is."""
    rows = find_rows(LINKDB, linkdb, snapshot, url)
    if rows is None:
        return LINKDB.schema.empty_table()
    # the rows are in the order of the linking pages, which decides between equal scores
    return rows.take(np.argsort(-rows["score"].to_numpy(), kind="stable"))
