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
    reply: str = ""

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
        self, host: str, reason: str, now: float, until: float, base_s: float, reply: str
    ) -> None:
        """Notes that the host failed; it is asked again in this fetch, if there is time."""
        self._add(host, _Trouble(reason, now, until, base_s, gave_up=False, reply=reply))

    def give_up(
        self, host: str, reason: str, now: float, until: float, base_s: float = 0.0, reply: str = ""
    ) -> None:
        """Notes that the host's URLs are returned unfetched. What it said before is remembered
        where there is no new `reply`."""
        self._add(host, _Trouble(reason, now, until, base_s, gave_up=True, reply=reply))

    def close(
        self, key: str, hosts: Iterable[str], reason: str, now: float, until: float, reply: str = ""
    ) -> None:
        """Notes that a whole queue is returned unfetched, perhaps of several hosts."""
        self._closed[key] = reason, until, reply
        for host in hosts:
            self.give_up(host, reason, now, until, until - now, reply)

    def reopen(self, keys: Iterable[str]) -> None:
        """Notes that queues are closed no longer."""
        for key in keys:
            self._closed.pop(key, None)

    def refuse(self, key: str, host: str, now: float) -> None:
        """Notes the host of a URL that came when its queue was closed already."""
        if key in self._closed and host not in self._hosts:
            reason, until, reply = self._closed[key]
            self.give_up(host, reason, now, until, max(0.0, until - now), reply)

    def answered(self, host: str) -> None:
        """Notes that the host works: no pause but the usual one is owed."""
        trouble = self._hosts.get(host)
        if trouble is not None and not trouble.gave_up:
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

        return [
            HostTrouble(
                *(host, each.reason, moment(each.at), moment(each.until)),
                *(round(each.base_s * 1000), each.gave_up, each.reply),
            )
            for host, each in sorted(troubles.items())
        ]

    def _add(self, host: str, new: _Trouble) -> None:
        before = self._hosts.get(host)
        if before is not None:
            reason = before.reason if before.gave_up else new.reason
            until, base_s = max(before.until, new.until), max(before.base_s, new.base_s)
            gave_up, reply = before.gave_up or new.gave_up, new.reply or before.reply
            new = _Trouble(reason, new.at, until, base_s, gave_up, reply)
        self._hosts[host] = new
