"""What generate asks of a URL, and how it is read from the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from crawl.config import Config, properties
from crawl.errors import UsageError
from crawl.interfaces.active_schedule import ActiveSchedule
from crawl.interfaces.chains import FilterChain, NormalizerChain
from crawl.interfaces.scoring_chain import ScoringChain
from crawl.interfaces.urlnormalizer import Scope
from crawl.model.status import Status


@dataclass(frozen=True)
class Selection:
    """What a URL must satisfy, and how candidates are counted."""

    now_ms: int
    """The moment at which a URL must be due: later than now where somebody looks ahead."""
    filters: FilterChain | None
    schedule: ActiveSchedule
    scoring: ScoringChain
    reserved_ms: int
    """How long a record that generate marked stays reserved."""
    restrict_status: Status | None
    min_score: float
    min_interval_s: int
    """Reject intervals above it; negative for no bound."""
    by_domain: bool
    counting: NormalizerChain | None
    """Normalizers of the scope generate_host_count."""
    most_per_group: int
    """No more than this many of a group can ever be taken; 0 or less: no bound. One more
    is kept as a candidate, to tell that the group had more."""
    most: int | None
    """No more than this many can ever be taken in all."""
    longest_wait_ms: int = 0
    """The longest wait of a host that answers nothing; 0: hosts never wait."""
    segments: int = 1
    """How many are made at the most."""
    bounds_hosts: bool = False
    """Whether hosts have caps or pauses of their own, which are received."""
    ahead_ms: int = 0
    """How much later than now the moment is."""

    @property
    def host_ms(self) -> int:
        """The moment at which a host must be ready: now, however far one looks ahead."""
        return self.now_ms - self.ahead_ms

    @property
    def counts_groups(self) -> bool:
        """Whether candidates of a group must meet, because they are counted."""
        return self.most_per_group > 0 or self.bounds_hosts


def selection_of(
    config: Config,
    now_ms: int,
    *,
    filtering: bool | None = None,
    normalizing: bool | None = None,
    segments: int | None = None,
    top_n: int | None = None,
    ahead_ms: int = 0,
) -> Selection:
    """The selection at a moment, which is so much later than now; None stands for the
    configuration's word. Raises what is wrong with the settings."""
    filtering = config[properties.GENERATE_FILTER] if filtering is None else filtering
    normalizing = config[properties.GENERATE_NORMALISE] if normalizing is None else normalizing
    segments = config[properties.GENERATE_MAX_NUM_SEGMENTS] if segments is None else segments
    status = config[properties.GENERATE_RESTRICT_STATUS]
    return Selection(
        now_ms=now_ms,
        filters=FilterChain.from_config(config) if filtering else None,
        schedule=ActiveSchedule.from_config(config),
        scoring=ScoringChain.from_config(config),
        reserved_ms=int(config[properties.CRAWL_GEN_DELAY]),
        restrict_status=Status.of_label(status) if status else None,
        min_score=config[properties.GENERATE_MIN_SCORE],
        min_interval_s=int(config[properties.GENERATE_MIN_INTERVAL]),
        by_domain=config[properties.GENERATE_COUNT_MODE] == "domain",
        counting=(
            NormalizerChain.from_config(config, Scope.GENERATE_HOST_COUNT) if normalizing else None
        ),
        most_per_group=max(0, most_per_host(config)) * segments,
        most=None if top_n is None else top_n * segments,
        longest_wait_ms=round(config[properties.DB_HOST_WAIT_MAX] * 1000),
        segments=segments,
        bounds_hosts=bounds_hosts(config),
        ahead_ms=ahead_ms,
    )


def most_per_host(config: Config) -> int:
    """Most URLs in a segment of a host that the HostDb does not know; 0 or less: no limit."""
    most = config[properties.GENERATE_MAX_COUNT]
    return config[properties.GENERATE_MAX_COUNT_AUTO] if is_automatic(config) else int(most)


def is_automatic(config: Config) -> bool:
    """Whether each host has a bound by what the HostDb says of it."""
    return config[properties.GENERATE_MAX_COUNT] == properties.AUTO


def host_expressions(config: Config) -> dict[str, str]:
    """The expressions over the HostDb that are given, by the names of their properties."""
    expressions = (properties.GENERATE_MAX_COUNT_EXPR, properties.GENERATE_FETCH_DELAY_EXPR)
    return {each.name: config[each] for each in expressions if config[each].strip()}


def bounds_hosts(config: Config) -> bool:
    """Whether the HostDb is needed. Raises UsageError where hosts are not what is counted."""
    is_auto, expressions = is_automatic(config), host_expressions(config)
    mode, by_expression = properties.GENERATE_COUNT_MODE, properties.GENERATE_MAX_COUNT_EXPR.name
    if config[mode] == "domain" and (is_auto or by_expression in expressions):
        automatic = f"{properties.GENERATE_MAX_COUNT.name}={properties.AUTO}"
        name = automatic if is_auto else by_expression
        raise UsageError(f"{name} bounds hosts, and {mode.name} is domain")
    return is_auto or bool(expressions)
