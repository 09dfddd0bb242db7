"""Signatures of deliveries, as the Standard Webhooks specification has them, so that its
libraries can verify ours: an HMAC with SHA-256 over id, time and body."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Final

from crawl.errors import UsageError

SECRET_PREFIX: Final = "whsec_"
_SHORTEST, _LONGEST, _OWN = 24, 64, 32
_TOLERANCE_SECONDS: Final = 300
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}", re.ASCII)


def new_secret(random_bytes: Callable[[int], bytes]) -> str:
    """A secret by so many random bytes as the specification recommends."""
    return SECRET_PREFIX + base64.b64encode(random_bytes(_OWN)).decode()


def check_secret(secret: str) -> str:
    """The secret itself; UsageError where it is none."""
    _secret_bytes(secret)
    return secret


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The header webhook-signature."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    digest = hmac.digest(_secret_bytes(secret), signed, hashlib.sha256)
    return "v1," + base64.b64encode(digest).decode()


def is_genuine(
    secret: str,
    message_id: str,
    timestamp: str,
    signatures: str,
    body: bytes,
    *,
    now_ms: int,
) -> bool:
    """Whether a message was signed with the secret within the last five minutes: what an endpoint
    asks. An older one may have been overheard, and sent once more."""
    if not re.fullmatch(r"[0-9]{1,12}", timestamp, re.ASCII):
        return False
    if abs(now_ms / 1000 - int(timestamp)) > _TOLERANCE_SECONDS:
        return False
    expected = signature(secret, message_id, int(timestamp), body).encode()
    given = signatures.encode("utf-8", "replace").split(b" ")
    return any(hmac.compare_digest(expected, each) for each in given)


def _secret_bytes(secret: str) -> bytes:
    text = secret.removeprefix(SECRET_PREFIX)
    if text != secret and _BASE64.fullmatch(text):
        try:
            raw = base64.b64decode(text, validate=True)
        except binascii.Error:
            raw = b""
        if _SHORTEST <= len(raw) <= _LONGEST:
            return raw
    raise UsageError(
        f"the secret of a webhook is {SECRET_PREFIX} and {_SHORTEST} to {_LONGEST} bytes in base64"
    )
