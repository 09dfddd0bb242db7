"""How often values occur together."""

from __future__ import annotations

import pyarrow as pa


def value_counts(rows: pa.Table) -> pa.Table:
    """Each combination of the columns' values once, and in `count_all` how many rows have it."""
    grouped = rows.unify_dictionaries().group_by(rows.column_names, use_threads=False)
    return grouped.aggregate([([], "count_all")])
