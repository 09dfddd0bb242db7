"""Which hosts failed in a fetch, and how long later rounds must not ask them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from crawl.clock import Clock
from crawl.model.hosts import HostTrouble


@dataclass(frozen=True, slots=True)
class _Trouble:
    reason: str
    at: float
    until: float
    base_s: float
    gave_up: bool


@dataclass(slots=True)
class HostTroubles:
    """By host; only those that failed are known. Moments are the engine's monotonic ones."""

    clock: Clock
    _hosts: dict[str, _Trouble] = field(default_factory=dict)
    _closed: dict[str, tuple[str, float]] = field(default_factory=dict)
    """Keys of queues that were closed: why, and until when."""

    def __bool__(self) -> bool:
        return bool(self._hosts)

    def pause(self, host: str, reason: str, now: float, until: float, base_s: float) -> None:
        """Notes that the host failed; it is asked again in this fetch, if there is time."""
        self._add(host, _Trouble(reason, now, until, base_s, gave_up=False))

    def give_up(
        self, host: str, reason: str, now: float, until: float, base_s: float = 0.0
    ) -> None:
        """Notes that the host's URLs are returned unfetched."""
        self._add(host, _Trouble(reason, now, until, base_s, gave_up=True))

    def close(self, key: str, hosts: Iterable[str], reason: str, now: float, until: float) -> None:
        """Notes that a whole queue is returned unfetched, perhaps of several hosts."""
        self._closed[key] = reason, until
        for host in hosts:
            self.give_up(host, reason, now, until, until - now)

    def refuse(self, key: str, host: str, now: float) -> None:
        """Notes the host of a URL that came when its queue was closed already."""
        if key in self._closed and host not in self._hosts:
            reason, until = self._closed[key]
            self.give_up(host, reason, now, until, max(0.0, until - now))

    def answered(self, host: str) -> None:
        """Notes that the host works: no pause but the usual one is owed."""
        known = self._hosts.get(host)
        if known is not None and not known.gave_up:
            del self._hosts[host]

    def all_hosts(self) -> list[HostTrouble]:
        """All of them, in times of the calendar."""
        now, now_ms = self.clock.monotonic(), self.clock.now_ms()

        def moment(at: float) -> int:
            return now_ms + round((at - now) * 1000)

        return [
            HostTrouble(
                host,
                each.reason,
                moment(each.at),
                moment(each.until),
                round(each.base_s * 1000),
                each.gave_up,
            )
            for host, each in sorted(self._hosts.items())
        ]

    def _add(self, host: str, new: _Trouble) -> None:
        known = self._hosts.get(host)
        if known is not None:
            new = _Trouble(
                known.reason if known.gave_up else new.reason,
                new.at,
                max(known.until, new.until),
                max(known.base_s, new.base_s),
                known.gave_up or new.gave_up,
            )
        self._hosts[host] = new
