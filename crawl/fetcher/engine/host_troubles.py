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
    said: str = ""

    @property
    def left_alone_until(self) -> float:
        """When it may be asked again, also by who comes after this engine."""
        return max(self.until, self.at + self.base_s)


@dataclass(slots=True)
class HostTroubles:
    """By host; only those that failed are known. Moments are the engine's monotonic ones."""

    clock: Clock
    max_hosts: int = 100_000
    """With more than these, `take_past` looks for those that are over."""
    _look_above: int = 0
    _hosts: dict[str, _Trouble] = field(default_factory=dict)
    _closed: dict[str, tuple[str, float, str]] = field(default_factory=dict)
    """Keys of queues that are closed: why, until when, and what their server said."""

    def __bool__(self) -> bool:
        return bool(self._hosts)

    def pause(
        self, host: str, reason: str, now: float, until: float, base_s: float, said: str
    ) -> None:
        """Notes that the host failed; it is asked again in this fetch, if there is time."""
        self._add(host, _Trouble(reason, now, until, base_s, gave_up=False, said=said))

    def give_up(
        self, host: str, reason: str, now: float, until: float, base_s: float = 0.0, said: str = ""
    ) -> None:
        """Notes that the host's URLs are returned unfetched. What it said before is remembered
        where nothing new was `said`."""
        self._add(host, _Trouble(reason, now, until, base_s, gave_up=True, said=said))

    def close(
        self, key: str, hosts: Iterable[str], reason: str, now: float, until: float, said: str = ""
    ) -> None:
        """Notes that a whole queue is returned unfetched, perhaps of several hosts."""
        self._closed[key] = reason, until, said
        for host in hosts:
            self.give_up(host, reason, now, until, until - now, said)

    def reopen(self, keys: Iterable[str]) -> None:
        """Notes that queues are closed no longer."""
        for key in keys:
            self._closed.pop(key, None)

    def refuse(self, key: str, host: str, now: float) -> None:
        """Notes the host of a URL that came when its queue was closed already."""
        if key in self._closed and host not in self._hosts:
            reason, until, said = self._closed[key]
            self.give_up(host, reason, now, until, max(0.0, until - now), said)

    def answered(self, host: str) -> None:
        """Notes that the host works: no pause but the usual one is owed."""
        known = self._hosts.get(host)
        if known is not None and not known.gave_up:
            del self._hosts[host]

    def all_hosts(self) -> list[HostTrouble]:
        """All of them, in times of the calendar."""
        return self._in_calendar_times(self._hosts)

    def take_past(self, now: float) -> list[HostTrouble]:
        """Where there are many, forgets and returns those whose host need not be left alone any
        longer. The others stay, however many they are."""
        if len(self._hosts) <= max(self.max_hosts, self._look_above):
            return []
        past = {host: each for host, each in self._hosts.items() if each.left_alone_until <= now}
        for host in past:
            del self._hosts[host]
        self._look_above = 2 * len(self._hosts)  # so that a look, which takes long, is rare
        return self._in_calendar_times(past)

    def _in_calendar_times(self, troubles: dict[str, _Trouble]) -> list[HostTrouble]:
        now, now_ms = self.clock.monotonic(), self.clock.now_ms()

        def moment(at: float) -> int:
            return now_ms + round((at - now) * 1000)

        told: list[HostTrouble] = []
        for host, each in sorted(troubles.items()):
            at, until, base_ms = moment(each.at), moment(each.until), round(each.base_s * 1000)
            told.append(HostTrouble(host, each.reason, at, until, base_ms, each.gave_up, each.said))
        return told

    def _add(self, host: str, new: _Trouble) -> None:
        known = self._hosts.get(host)
        if known is not None:
            reason = known.reason if known.gave_up else new.reason
            until, base_s = max(known.until, new.until), max(known.base_s, new.base_s)
            gave_up, said = known.gave_up or new.gave_up, new.said or known.said
            new = _Trouble(reason, new.at, until, base_s, gave_up, said)
        self._hosts[host] = new
