"""What can be asked of generate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from crawl.operations.options import Positive, StealLock, option


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateOptions:
    """The options of generate; None where the configuration decides."""

    top_n: Annotated[
        Positive | None, option("At most this many URLs per segment.", metavar="N")
    ] = None
    num_fetchers: Annotated[
        Positive | None,
        option(
            "Parts of a fetch list, each fetched by a task (default: one a task slot of the"
            " cluster).",
            metavar="N",
        ),
    ] = None
    max_num_segments: Annotated[
        Positive | None,
        option(
            "Make up to this many segments, each as if the ones before were taken already.",
            metavar="N",
        ),
    ] = None
    add_days: Annotated[
        float, option("Select as if it were this many days later.", nutch="-adddays")
    ] = 0.0
    expr: Annotated[str | None, option("Only records that this Spark SQL condition holds for.")] = (
        None
    )
    filter: Annotated[bool | None, option("Do not ask the URL filters.", "--no-filter")] = None
    normalize: Annotated[
        bool | None, option("Count a host under its own name, not its normalised one.", "--no-norm")
    ] = None
    steal_lock: StealLock = False
