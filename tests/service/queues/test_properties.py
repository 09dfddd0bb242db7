"""The embedded queue against a list that is sorted anew for every question."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import settings, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from crawl.service.queues.embedded import EmbeddedQueue
from crawl.service.queues.queue import Entry
from crawl.service.queues.waiting import SHARE
from tests.examples import scaled

_IDS = strategies.sampled_from([f"id{n}" for n in range(12)])
_KEYS = strategies.sampled_from("abc")
_MOMENTS = strategies.integers(0, 5)


@dataclass(frozen=True)
class _Known:
    number: int
    entry: Entry
    is_claimed: bool = False


@dataclass
class _Model:
    known: dict[str, _Known] = field(default_factory=dict)
    last: int = 0

    def due(self, now_ms: int) -> list[_Known]:
        return [
            each
            for each in sorted(self.known.values(), key=lambda each: each.number)
            if not each.is_claimed and each.entry.not_before_ms <= now_ms
        ]

    def claimed(self) -> Counter[str]:
        return Counter(each.entry.key for each in self.known.values() if each.is_claimed)


class _Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "queue"
        self.queue = EmbeddedQueue(self.path)
        self.model = _Model()
        self.now_ms = 0
        self.served: Counter[int] = Counter()
        """Entries of a priority since one behind it was handed out."""

    @rule(id=_IDS, key=_KEYS, priority=strategies.integers(0, 2), moment=_MOMENTS)
    def put(self, id: str, key: str, priority: int, moment: int) -> None:
        entry = Entry(id, f"http://{key}/", key, priority, moment, id.encode())
        is_new = id not in self.model.known
        assert self.queue.put([entry]).result(60) == is_new
        if is_new:
            self.model.last += 1
            self.model.known[id] = _Known(self.model.last, entry)

    @rule(
        limit=strategies.integers(1, 6),
        shares=strategies.one_of(
            strategies.integers(1, 3),
            strategies.dictionaries(_KEYS, strategies.integers(0, 3)),
        ),
    )
    def claim(self, limit: int, shares: int | dict[str, int]) -> None:
        due, before = self.model.due(self.now_ms), self.model.claimed()
        found = self.queue.claim(limit, self.now_ms, per_key=shares, per_other_key=2)

        def share(key: str) -> int:
            return shares if isinstance(shares, int) else shares.get(key, 2)

        room = {key: max(0, share(key) - before[key]) for key in "abc"}
        possible = sum(min(room[key], sum(each.entry.key == key for each in due)) for key in "abc")
        assert len(found) == min(limit, possible)
        left = [each.entry for each in due]
        for at, entry in enumerate(found):
            open_keys = {key for key in room if room[key]}
            candidates = [each for each in left if each.key in open_keys]
            first = entry.priority
            ahead = [each.priority for each in candidates if each.priority < first]
            # only where all that go before it have had their share
            assert all(self.served[each] >= SHARE for each in ahead)
            self.served = Counter({k: n for k, n in self.served.items() if k >= first})
            self.served[first] += 1
            # the oldest of its key
            same = [e for e in candidates if (e.key, e.priority) == (entry.key, first)]
            assert entry == same[0]
            # no key is served twice in a call while another that could be was not served
            others = {e.key for e in candidates if e.priority == first} - {entry.key}
            served = Counter(e.key for e in found[:at] if e.priority == first)
            assert all(served[entry.key] <= served[other] for other in others) or not others
            left.remove(entry)
            room[entry.key] -= 1
            known = self.model.known[entry.id]
            self.model.known[entry.id] = replace(known, is_claimed=True)

    @rule(id=_IDS, moment=_MOMENTS)
    def release(self, id: str, moment: int) -> None:
        known = self.model.known.get(id)
        is_claimed = known is not None and known.is_claimed
        assert self.queue.release(id, moment).result(60) == is_claimed
        if known is not None and is_claimed:
            entry = known.entry
            later = Entry(entry.id, entry.url, entry.key, entry.priority, moment, entry.payload)
            self.model.known[id] = _Known(known.number, later)

    @rule(ids=strategies.lists(_IDS, max_size=4))
    def finish(self, ids: list[str]) -> None:
        there = {id for id in ids if id in self.model.known}
        assert self.queue.finish(ids).result(60) == len(there)
        for id in there:
            del self.model.known[id]

    @rule(ids=strategies.lists(_IDS, max_size=3, unique=True), key=_KEYS, moment=_MOMENTS)
    def replace(self, ids: list[str], key: str, moment: int) -> None:
        there = [id for id in ids if id in self.model.known]
        entries = [Entry(id, f"http://{key}/new", key, 1, moment, b"new") for id in ids]
        assert self.queue.replace(entries).result(60) == len(there)
        for entry in entries:
            if entry.id in there:
                self.model.last += 1
                self.model.known[entry.id] = _Known(self.model.last, entry)

    @rule(keys=strategies.lists(_KEYS, max_size=3))
    def find(self, keys: list[str]) -> None:
        urls = [f"http://{key}/{name}" for key in keys for name in ("", "new", "missing")]
        known = sorted(self.model.known.values(), key=lambda each: each.number)
        expected: dict[str, list[Entry]] = {}
        for each in known:
            if each.entry.url in urls:
                expected.setdefault(each.entry.url, []).append(each.entry)
        assert self.queue.find(urls) == expected

    @rule()
    def wait(self) -> None:
        self.now_ms += 1

    @precondition(lambda self: self.model.known)
    @rule()
    def open_again(self) -> None:
        self.queue.close()
        self.queue = EmbeddedQueue(self.path)
        self.served.clear()
        for id, known in self.model.known.items():
            self.model.known[id] = replace(known, is_claimed=False)

    @invariant()
    def counts_agree(self) -> None:
        count = self.queue.count()
        known = self.model.known.values()
        assert count.waiting == Counter(e.entry.priority for e in known if not e.is_claimed)
        assert count.claimed == sum(each.is_claimed for each in known)
        for key in "abc":
            assert self.queue.unfinished_of(key) == sum(e.entry.key == key for e in known)
        delayed = [
            each.entry.not_before_ms
            for each in known
            if not each.is_claimed and each.entry.not_before_ms > self.now_ms
        ]
        # one that was removed since may be the next, and is then found to be gone
        next_due_ms = self.queue.next_due_ms(self.now_ms)
        assert next_due_ms is None or next_due_ms > self.now_ms
        assert not delayed or (next_due_ms is not None and next_due_ms <= min(delayed))

    def teardown(self) -> None:
        self.queue.close()
        self.folder.cleanup()


def test_a_queue_does_what_its_model_does() -> None:
    run_state_machine_as_test(
        _Machine, settings=settings(max_examples=scaled(100), stateful_step_count=40)
    )
