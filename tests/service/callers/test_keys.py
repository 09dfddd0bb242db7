from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence

import pytest

from crawl.config import Config
from crawl.errors import UsageError
from crawl.service.callers.keys import KeyRing, KeyStatus
from crawl.service.callers.quota import Quota
from crawl.service.callers.scope import Scope
from crawl.service.stores.memory import MemoryStore
from crawl.service.stores.store import Row, Space
from crawl.testing.clock import ManualClock
from crawl.testing.store_contract import NOW_MS


class CountingStore(MemoryStore):
    """Counts how often it is read."""

    reads = 0

    def get_many(self, space: Space, keys: Sequence[bytes]) -> list[bytes | None]:
        self.reads += 1
        return super().get_many(space, keys)

    def scan(
        self, space: Space, prefix: bytes = b"", after: bytes = b"", limit: int = 1000
    ) -> list[Row]:
        self.reads += 1
        return super().scan(space, prefix, after, limit)


def ring(store: MemoryStore, clock: ManualClock) -> KeyRing:
    return KeyRing(store, clock, refresh_seconds=5)


def fresh_ring() -> KeyRing:
    clock = ManualClock(NOW_MS)
    return ring(MemoryStore(clock), clock)


def test_a_key_is_known_again_and_its_secret_is_nowhere() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    keys = ring(store, clock)
    made = keys.make(" monitor ", ["fetch", Scope.LOOKUP], {Scope.FETCH: Quota(per_second=2)})
    prefix, key_id, secret = made.text.split("_")
    assert (prefix, key_id, len(secret)) == ("nut", made.key.id, 64)
    assert secret not in repr(made)
    checked = keys.check(made.text)
    assert checked.status is KeyStatus.VALID
    assert checked.key == made.key
    assert made.key.name == "monitor"
    assert made.key.may(Scope.FETCH)
    assert not made.key.may(Scope.SUBMIT)
    assert made.key.quota(Scope.FETCH) == Quota(per_second=2)
    assert made.key.quota(Scope.LOOKUP, Quota(per_day=3)) == Quota(per_day=3)
    stored = store.scan(Space.KEYS)
    assert all(secret.encode() not in row.value + row.key for row in stored)
    assert json.loads(stored[0].value)["digest"] == hashlib.sha256(secret.encode()).hexdigest()
    # as another process reads it
    assert ring(store, clock).check(made.text).key == made.key


def test_an_admin_may_do_everything() -> None:
    key = fresh_ring().make("root", [Scope.ADMIN]).key
    assert all(map(key.may, Scope))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nut_",
        "nut_0_1",
        "NUT_" + "a" * 12 + "_" + "b" * 64,
        "nut_" + "a" * 12 + "_" + "é" * 64,
        "nut_" + "a" * 12 + "_" + "b" * 64 + "\n",
        "nut_" + "a" * 12 + "_" + "b" * 65,
    ],
)
def test_what_is_no_key_is_not_looked_for(text: str) -> None:
    clock = ManualClock(NOW_MS)
    store = CountingStore(clock)
    assert ring(store, clock).check(text).status is KeyStatus.MALFORMED
    assert store.reads == 0


def test_a_wrong_secret_and_an_unknown_id_are_told_alike() -> None:
    keys = fresh_ring()
    made = keys.make("a", [Scope.FETCH])
    wrong = keys.check(f"nut_{made.key.id}_{'0' * 64}")
    unknown = keys.check(f"nut_{'0' * 12}_{made.text[-64:]}")
    assert wrong == unknown
    assert (wrong.status, wrong.key) == (KeyStatus.UNKNOWN, None)
    nobody = hashlib.sha256(b"").hexdigest()
    assert keys.check(f"nut_{made.key.id}_{nobody}").status is KeyStatus.UNKNOWN


def test_a_disabled_key_is_refused_everywhere_within_the_refresh() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    here, elsewhere = ring(store, clock), ring(store, clock)
    made = here.make("a", [Scope.FETCH])
    assert elsewhere.check(made.text).status is KeyStatus.VALID
    here.disable(made.key.id)
    assert here.check(made.text).status is KeyStatus.DISABLED
    assert not here.has_keys()
    assert elsewhere.check(made.text).status is KeyStatus.VALID
    clock.advance(6)
    assert elsewhere.check(made.text).status is KeyStatus.DISABLED
    here.enable(made.key.id)
    assert here.check(made.text).status is KeyStatus.VALID
    assert here.has_keys()


def test_a_new_key_of_another_process_is_known_within_a_second() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    here, elsewhere = ring(store, clock), ring(store, clock)
    elsewhere.check(f"nut_{'0' * 12}_{'0' * 64}")
    made = here.make("a", [Scope.FETCH])
    clock.advance(1.1)
    assert elsewhere.check(made.text).status is KeyStatus.VALID


def test_guessing_does_not_read_the_store_each_time() -> None:
    clock = ManualClock(NOW_MS)
    store = CountingStore(clock)
    keys = ring(store, clock)
    for number in range(100):
        keys.check(f"nut_{number:012x}_{'0' * 64}")
    assert store.reads == 1


def test_a_rotated_key_has_a_new_secret_and_a_grace_for_the_old() -> None:
    clock = ManualClock(NOW_MS)
    keys = ring(MemoryStore(clock), clock)
    made = keys.make("a", [Scope.FETCH])
    rotated = keys.rotate(made.key.id, grace_seconds=60)
    assert rotated.key.id == made.key.id
    assert rotated.text != made.text
    for text in (made.text, rotated.text):
        assert keys.check(text).status is KeyStatus.VALID
    clock.advance(61)
    assert keys.check(made.text).status is KeyStatus.UNKNOWN
    assert keys.check(rotated.text).status is KeyStatus.VALID
    third = keys.rotate(made.key.id)
    assert keys.check(rotated.text).status is KeyStatus.UNKNOWN
    assert keys.check(third.text).status is KeyStatus.VALID


def test_when_keys_were_used_is_written_rarely() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    keys = ring(store, clock)
    first = keys.make("a", [Scope.FETCH])
    clock.advance(3)
    second = keys.make("b", [Scope.FETCH])
    for _ in range(100):
        keys.check(first.text)
    assert [each.used_ms for each in keys.list()] == [clock.now_ms(), 0]
    assert [each.used_ms for each in ring(store, clock).list()] == [0, 0]
    assert keys.flush() == 1
    assert keys.flush() == 0
    assert [each.used_ms for each in ring(store, clock).list()] == [clock.now_ms(), 0]
    assert [each.key for each in keys.list()] == [first.key, second.key]


def test_uses_that_could_not_be_written_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    keys = ring(store, clock)
    made = keys.make("a", [Scope.FETCH])
    keys.check(made.text)

    def fail(*_: object) -> None:
        raise OSError("gone")

    with monkeypatch.context() as patched:
        patched.setattr(store, "put_many", fail)
        with pytest.raises(OSError, match="gone"):
            keys.flush()
    assert keys.flush() == 1


@pytest.mark.parametrize("name", ["", "  ", "x" * 101, "a\nb", "a\u202eb"])
def test_names_that_cannot_be_meant(name: str) -> None:
    with pytest.raises(UsageError, match="printable"):
        fresh_ring().make(name, [Scope.FETCH])


def test_scopes_and_keys_that_are_not_there() -> None:
    keys = fresh_ring()
    with pytest.raises(UsageError, match=r"'write\\n' is no scope: submit, fetch"):
        keys.make("a", ["write\n"])
    with pytest.raises(UsageError, match="needs a scope"):
        keys.make("a", [])
    for key_id in ("0" * 12, "../x\x1b"):
        with pytest.raises(UsageError, match="there is no key"):
            keys.disable(key_id)


def test_changes_by_many_threads_are_all_kept() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    made = ring(store, clock).make("a", [Scope.FETCH])
    texts: list[str] = []

    def change() -> None:
        keys = ring(store, clock)
        texts.append(keys.rotate(made.key.id).text)
        keys.disable(made.key.id)

    threads = [threading.Thread(target=change) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keys = ring(store, clock)
    statuses = [keys.check(text).status for text in texts]
    assert sorted(statuses) == [KeyStatus.DISABLED, *[KeyStatus.UNKNOWN] * 7]


def test_the_refresh_is_configured() -> None:
    clock = ManualClock(NOW_MS)
    store = MemoryStore(clock)
    keys = KeyRing.of(Config.of({"service.keys.refresh": 60}), store, clock)
    made = ring(store, clock).make("a", [Scope.FETCH])
    keys.check(made.text)
    ring(store, clock).disable(made.key.id)
    clock.advance(59)
    assert keys.check(made.text).status is KeyStatus.VALID
    clock.advance(2)
    assert keys.check(made.text).status is KeyStatus.DISABLED


def test_a_key_that_was_let_in_is_good_until_it_is_disabled_or_has_another_secret() -> None:
    clock = ManualClock(NOW_MS)
    ring = KeyRing(MemoryStore(clock), clock)
    made = ring.make("listener", [Scope.LOOKUP])
    other = ring.make("other", [Scope.LOOKUP])
    assert ring.is_valid(made.key) and ring.is_valid(other.key)
    ring.disable(other.key.id)
    assert not ring.is_valid(other.key)
    ring.rotate(made.key.id, grace_seconds=60)
    assert ring.is_valid(made.key)
    clock.advance(61)
    assert not ring.is_valid(made.key)
