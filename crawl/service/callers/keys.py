"""API keys: `nut_<id>_<secret>`.

Of a key only the SHA-256 of its secret is stored. A slow hash such as those for passwords would
add nothing: they make it dear to try all likely passwords, and of a secret of 256 random bits
no value is likelier than another, so that nobody can try enough of them at any price. Digests
are compared in constant time all the same, and an unknown id takes as long as a wrong secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import msgspec

from crawl.clock import Clock
from crawl.config import Config
from crawl.errors import UsageError
from crawl.printable import printable
from crawl.service.callers.quota import UNLIMITED, Quota
from crawl.service.callers.scope import Scope
from crawl.service.callers.settings_access import KEYS_REFRESH
from crawl.service.stores.scanning import scan_all
from crawl.service.stores.store import Row, Space, Store

MAX_KEYS: Final = 10_000
MAX_NAME: Final = 100
_TEXT = re.compile(r"nut_([0-9a-f]{12})_([0-9a-f]{64})", re.ASCII)
_ID = re.compile(r"[0-9a-f]{12}", re.ASCII)
_RECORDS: Final = b"key/"
_USES: Final = b"used/"
_KNOWN_AGAIN_SECONDS: Final = 1.0
"""An unknown id has the keys read again, so that a new one may be used at once; not more often
than this, whatever is tried."""

Random = Callable[[int], str]
"""So many random bytes in hexadecimal digits."""


class APIKey(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a key; its secret is not."""

    id: str
    name: str
    digest: str
    scopes: tuple[Scope, ...]
    created_ms: int
    quotas: dict[Scope, Quota] = {}
    is_disabled: bool = False
    rotated_ms: int = 0
    old_digest: str = ""
    """Of the secret before, which is good until `old_until_ms`."""
    old_until_ms: int = 0

    def may(self, scope: Scope) -> bool:
        """Whether requests of the class are allowed."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def quota(self, scope: Scope, default: Quota = UNLIMITED) -> Quota:
        """The key's own quota for the class, else the default."""
        return self.quotas.get(scope, default)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made, and the only time that anybody sees its text."""

    key: APIKey
    text: str

    def __repr__(self) -> str:
        return f"NewKey(key={self.key!r}, text='***')"


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key and when it was last used; 0: never."""

    key: APIKey
    used_ms: int


class KeyStatus(StrEnum):
    """What became of a text that should be a key."""

    VALID = "valid"
    MALFORMED = "malformed"
    UNKNOWN = "unknown"
    """No such id, or not this secret: nobody is told which."""
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class KeyCheck:
    """The key that a text is, or why it is none."""

    status: KeyStatus
    key: APIKey | None = None


class KeyRing:
    """All keys, as the store has them and as remembered for a few seconds. Safe to use from many
    threads and by several processes with one store."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        refresh_seconds: float = 5.0,
        random: Random = secrets.token_hex,
    ) -> None:
        """A key that another process disables is refused here after `refresh_seconds`."""
        self._store = store
        self._clock = clock
        self._refresh_seconds = refresh_seconds
        self._random = random
        self._lock = threading.Lock()
        self._keys: dict[str, APIKey] = {}
        self._read_at = self._changed_at = -float("inf")
        self._used: dict[str, int] = {}
        """Uses that are not written yet."""

    @classmethod
    def of(cls, config: Config, store: Store, clock: Clock) -> KeyRing:
        """With the configured time for which keys are remembered."""
        return cls(store, clock, refresh_seconds=config[KEYS_REFRESH])

    def make(
        self,
        name: str,
        scopes: Iterable[Scope | str],
        quotas: Mapping[Scope, Quota] | None = None,
    ) -> NewKey:
        """Makes a key; UsageError where it cannot be meant."""
        key = APIKey(
            id=self._random(6),
            name=checked_name(name),
            digest="",
            scopes=checked_scopes(scopes),
            created_ms=self._clock.now_ms(),
            quotas=dict(quotas or {}),
        )
        if len(self._read()) >= MAX_KEYS:
            raise UsageError(f"there are {MAX_KEYS:,} keys already")
        text, digest = self._secret(key.id)
        key = msgspec.structs.replace(key, digest=digest)
        if not self._store.compare_and_set(Space.KEYS, _key_of(key.id), None, _ENCODE(key)):
            raise UsageError(f"there is a key {key.id} already: make another one")
        self._remember(key)
        return NewKey(key, text)

    def rotate(self, key_id: str, grace_seconds: float = 0.0) -> NewKey:
        """Gives the key a new secret; the old one is good for a while, or no more."""
        text, digest = self._secret(key_id)
        now_ms = self._clock.now_ms()

        def rotated(key: APIKey) -> APIKey:
            has_grace = grace_seconds > 0
            return msgspec.structs.replace(
                key,
                digest=digest,
                rotated_ms=now_ms,
                old_digest=key.digest if has_grace else "",
                old_until_ms=now_ms + round(grace_seconds * 1000) if has_grace else 0,
            )

        return NewKey(self._change(key_id, rotated), text)

    def disable(self, key_id: str) -> APIKey:
        """Refuses the key from now on."""
        return self._change(key_id, lambda key: msgspec.structs.replace(key, is_disabled=True))

    def enable(self, key_id: str) -> APIKey:
        """Takes a disabled key again."""
        return self._change(key_id, lambda key: msgspec.structs.replace(key, is_disabled=False))

    def list(self) -> list[ListedKey]:
        """All keys, the oldest first, with what the store knows of their use."""
        keys = sorted(self._read().values(), key=lambda key: (key.created_ms, key.id))
        stored = self._store.get_many(Space.KEYS, [_use_of(key.id) for key in keys])
        with self._lock:
            fresh = dict(self._used)
        return [
            ListedKey(key, max(int(used or 0), fresh.get(key.id, 0)))
            for key, used in zip(keys, stored, strict=True)
        ]

    def has_keys(self) -> bool:
        """Whether there is a key that may be used."""
        return any(not key.is_disabled for key in self._read().values())

    def check(self, text: str) -> KeyCheck:
        """The key that the text is; notes that it was used."""
        match = _TEXT.fullmatch(text)
        if match is None:
            return KeyCheck(KeyStatus.MALFORMED)
        key_id, secret = match.groups()
        key = self._find(key_id)
        now_ms = self._clock.now_ms()
        digest = _digest(secret)
        is_it = hmac.compare_digest(digest, key.digest if key else _NOBODYS)
        has_old = key is not None and now_ms < key.old_until_ms
        is_old = hmac.compare_digest(digest, key.old_digest if key and has_old else _NOBODYS)
        if key is None or not (is_it or is_old):
            return KeyCheck(KeyStatus.UNKNOWN)
        if key.is_disabled:
            return KeyCheck(KeyStatus.DISABLED, key)
        with self._lock:
            self._used[key_id] = now_ms
        return KeyCheck(KeyStatus.VALID, key)

    def is_valid(self, key: APIKey) -> bool:
        """Whether a key that was let in is good still: neither disabled nor given another secret.
        For answers that go on for long."""
        now = self._find(key.id)
        if now is None or now.is_disabled:
            return False
        is_old = key.digest == now.old_digest and self._clock.now_ms() < now.old_until_ms
        return is_old or hmac.compare_digest(key.digest, now.digest)

    def is_enabled(self, key_id: str) -> bool:
        """Whether there is such a key, and it may be used."""
        key = self._find(key_id)
        return key is not None and not key.is_disabled

    def flush(self) -> int:
        """Writes when keys were last used, and returns of how many: to be called by a timer, for a
        write for each request would be dear, and at the end."""
        with self._lock:
            used, self._used = self._used, {}
        rows = [
            Row(key=_use_of(key_id), value=b"%d" % at_ms, version=at_ms, expires_at_ms=None)
            for key_id, at_ms in used.items()
        ]
        try:
            if rows:
                self._store.put_many(Space.KEYS, rows)
        except BaseException:
            with self._lock:
                self._used = {**used, **self._used}
            raise
        return len(rows)

    def _secret(self, key_id: str) -> tuple[str, str]:
        secret = self._random(32)
        return f"nut_{key_id}_{secret}", _digest(secret)

    def _find(self, key_id: str) -> APIKey | None:
        with self._lock:
            key, age = self._keys.get(key_id), self._clock.monotonic() - self._read_at
        if age <= (_KNOWN_AGAIN_SECONDS if key is None else self._refresh_seconds):
            return key
        return self._read().get(key_id)

    def _read(self) -> dict[str, APIKey]:
        started_at = self._clock.monotonic()
        rows = scan_all(self._store, Space.KEYS, _RECORDS)
        keys = {key.id: key for key in (_DECODE(row.value) for row in rows)}
        with self._lock:
            # what was read before a change of ours may not undo it
            if started_at >= max(self._read_at, self._changed_at):
                self._keys, self._read_at = keys, started_at
        return keys

    def _remember(self, key: APIKey) -> None:
        with self._lock:
            self._keys = {**self._keys, key.id: key}
            self._changed_at = self._clock.monotonic()

    def _change(self, key_id: str, change: Callable[[APIKey], APIKey]) -> APIKey:
        place = _key_of(key_id) if _ID.fullmatch(key_id) else b""
        while True:
            stored = self._store.get_many(Space.KEYS, [place])[0] if place else None
            if stored is None:
                raise UsageError(f"there is no key '{printable(key_id, 40)}'")
            key = change(_DECODE(stored))
            if self._store.compare_and_set(Space.KEYS, place, stored, _ENCODE(key)):
                self._remember(key)
                return key


_ENCODE = msgspec.json.Encoder().encode
_DECODE = msgspec.json.Decoder(APIKey).decode


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


_NOBODYS: Final = "0" * 64
"""The digest of no secret that anybody knows."""


def _key_of(key_id: str) -> bytes:
    return _RECORDS + key_id.encode()


def _use_of(key_id: str) -> bytes:
    return _USES + key_id.encode()


def checked_name(name: str) -> str:
    """What a key may be called; UsageError where it may not."""
    name = name.strip()
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise UsageError(f"the name of a key has 1 to {MAX_NAME} printable characters")
    return name


def checked_scopes(scopes: Iterable[Scope | str]) -> tuple[Scope, ...]:
    """What a key may do, each once; UsageError for what is no scope, and where there is none."""
    checked: dict[Scope, None] = {}
    for scope in scopes:
        try:
            checked[Scope(scope)] = None
        except ValueError:
            known = ", ".join(Scope)
            raise UsageError(f"'{printable(scope, 40)}' is no scope: {known}") from None
    if not checked:
        raise UsageError("a key needs a scope: " + ", ".join(Scope))
    return tuple(checked)
