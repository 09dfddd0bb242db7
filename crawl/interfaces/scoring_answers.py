"""What a scoring filter may answer: the chain checks it before anybody builds on it.

Each raises ValueError for an answer that is none, which the chain counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from crawl.interfaces.scoring import Scores, Target
from crawl.model.datum import CrawlDatum
from crawl.model.parse import Parse


def checked_datum(datum: CrawlDatum) -> CrawlDatum:
    """A record with a score that is a number."""
    if not isinstance(datum, CrawlDatum) or not isinstance(datum.score, int | float):
        raise ValueError(f"no record with a score: {datum!r}")
    if datum.score != datum.score:
        raise ValueError("a score that is not a number")
    checked_metadata(datum.metadata)
    return datum


def checked_parse(parse: Parse) -> Parse:
    """A parse."""
    if not isinstance(parse, Parse):
        raise ValueError(f"no parse: {parse!r}")
    checked_metadata(parse.metadata)
    return parse


def checked_metadata(metadata: Mapping[str, str]) -> Mapping[str, str]:
    """Metadata: texts by texts."""
    for key, value in metadata.items():
        if type(key) is not str or type(value) is not str:
            raise ValueError(f"no text: {key!r} = {value!r}")
    return metadata


def checked_number(value: float) -> float:
    """A number."""
    value = float(value)
    if value != value:
        raise ValueError("not a number")
    return value


def checked_targets(targets: Sequence[Target], answer: Sequence[Target]) -> Sequence[Target]:
    """`given` if it is made of the targets, in their order; a plugin adds none, for its
    URL would have passed no filter."""
    if len(answer) == len(targets):
        in_order = all(new[0] == old[0] for new, old in zip(answer, targets, strict=True))
    else:
        rest = iter(targets)
        in_order = all(any(url == target for target, _ in rest) for url, _ in answer)
    if not in_order:
        raise ValueError("not the targets in their order")
    last = None
    for _, datum in answer:
        if datum is not last:  # the targets of a page often share one record
            last = checked_datum(datum)
    return answer


def stored_scores(datums: pa.Table) -> Scores:
    """The table's scores, for the chain to begin with."""
    scores: Scores = datums["score"].to_numpy().astype(np.float32, copy=False)
    return scores


def checked_scores(scores: Scores | None, rows: int) -> Scores:
    """The plugin's column as scores; ValueError where it does not score every row."""
    if scores is None or scores.shape != (rows,) or np.isnan(scores).any():
        raise ValueError(f"no {rows} scores")
    return scores.astype(np.float32, copy=False)


def checked_ranks(column: pa.Array[Any], rows: int) -> pa.Array[Any]:
    """The plugin's column as ranks; ValueError where it does not rank every row."""
    if len(column) != rows or column.null_count:
        raise ValueError(f"{len(column)} ranks for {rows} rows")
    return column.cast(pa.float32())
