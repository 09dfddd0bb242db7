"""What generate asks of a URL, read from the configuration."""

from __future__ import annotations

from crawl.buckets.generate.scan import Selection
from crawl.config import Config
from crawl.config.properties import (
    CRAWL_GEN_DELAY,
    DB_HOST_WAIT_MAX,
    GENERATE_COUNT_MODE,
    GENERATE_FILTER,
    GENERATE_MAX_COUNT,
    GENERATE_MAX_NUM_SEGMENTS,
    GENERATE_MIN_INTERVAL,
    GENERATE_MIN_SCORE,
    GENERATE_NORMALISE,
    GENERATE_RESTRICT_STATUS,
)
from crawl.interfaces.active_schedule import ActiveSchedule
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.status import Status


def selection_of(
    config: Config,
    now_ms: int,
    *,
    filtering: bool | None = None,
    normalizing: bool | None = None,
    segments: int | None = None,
    top_n: int | None = None,
) -> Selection:
    """The selection at a moment; None stands for the configuration's word. Raises what is
    wrong with the settings."""
    filtering = config[GENERATE_FILTER] if filtering is None else filtering
    normalizing = config[GENERATE_NORMALISE] if normalizing is None else normalizing
    segments = config[GENERATE_MAX_NUM_SEGMENTS] if segments is None else segments
    status = config[GENERATE_RESTRICT_STATUS]
    return Selection(
        now_ms=now_ms,
        filters=FilterChain.from_config(config) if filtering else None,
        schedule=ActiveSchedule.from_config(config),
        scoring=ScoringChain.from_config(config),
        reserved_ms=int(config[CRAWL_GEN_DELAY]),
        restrict_status=Status.of_label(status) if status else None,
        min_score=config[GENERATE_MIN_SCORE],
        min_interval_s=int(config[GENERATE_MIN_INTERVAL]),
        by_domain=config[GENERATE_COUNT_MODE] == "domain",
        counting=(
            NormalizerChain.from_config(config, Scope.GENERATE_HOST_COUNT) if normalizing else None
        ),
        most_per_group=max(0, config[GENERATE_MAX_COUNT]) * segments,
        most=None if top_n is None else top_n * segments,
        longest_wait_ms=round(config[DB_HOST_WAIT_MAX] * 1000),
    )
