"""What `crawl serve` says of itself while it runs: a line a minute in which something happened."""

from __future__ import annotations

from crawl.clock import Clock
from crawl.service.service_stats import ServiceStats

EVERY_S = 60.0
_REFUSALS_SHOWN = 3


class ReportLines:
    """Decides when there is something to say, and says what changed since the last time."""

    def __init__(self, clock: Clock, every_s: float = EVERY_S) -> None:
        self._clock = clock
        self._every_s = every_s
        self._last_at = clock.monotonic()
        self._before: dict[str, int] = {}

    def is_due(self) -> bool:
        return self._clock.monotonic() - self._last_at >= self._every_s

    def line(self, stats: ServiceStats) -> str | None:
        """The next line; None where nothing ended, was refused or waits."""
        now = self._clock.monotonic()
        seconds, self._last_at = now - self._last_at, now
        since = {
            name: count - self._before.get(name, 0)
            for name, count in stats.counters.items()
            if count > self._before.get(name, 0)
        }
        self._before = dict(stats.counters)
        ended = since.get("ended.finished", 0)
        refused = {
            name.removeprefix("refused."): count
            for name, count in since.items()
            if name.startswith("refused.")
        }
        waiting = sum(stats.waiting.values())
        if not (ended or refused or waiting or stats.claimed):
            return None
        words = [f"{ended:,} URLs finished in {seconds:.0f} s"]
        words.append(f"{waiting:,} wait, {stats.claimed:,} are at work")
        if refused:
            most = sorted(refused.items(), key=lambda each: (-each[1], each[0]))
            shown = ", ".join(f"{name} {count:,}" for name, count in most[:_REFUSALS_SHOWN])
            more = ", …" if len(most) > _REFUSALS_SHOWN else ""
            words.append(f"{sum(refused.values()):,} refused ({shown}{more})")
        return "; ".join(words)
