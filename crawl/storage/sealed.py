"""Small JSON files that bear a checksum of themselves: manifests, pointers, marks, reports.

    {"snapshots": [6, 7], "next": 8, "seal": "1f2e3d4c5b6a7988"}

The seal is the object's last entry, so that the file stays JSON for every other tool. Files
of former releases are read too: pointers had their checksum in a second line, and manifests
had none.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

_SEALED = re.compile(rb'(\{.*?)(?:, )?"seal": "([0-9a-f]{16})"\}\n?', re.DOTALL)
_KEY = "seal"


def seal(content: Mapping[str, Any]) -> bytes:
    """The object as a sealed file."""
    return seal_text(json.dumps(content))


def seal_text(text: str) -> bytes:
    """A JSON object's text as a sealed file."""
    head = text.strip().removesuffix("}").rstrip().encode()
    comma = b"" if head == b"{" else b", "
    return head + comma + f'"{_KEY}": "{_digest(head)}"}}\n'.encode()


def unseal(raw: bytes, *, unsealed: bool = True) -> dict[str, Any]:
    """What a sealed file says; raises ValueError, with the reason, where it is damaged.

    `unsealed`: whether a file of a former release without any seal is read as well.
    """
    match = _SEALED.fullmatch(raw)
    if match is not None:
        if match[2].decode() != _digest(match[1]):
            raise ValueError("its checksum is wrong")
        return _object(match[1] + b"}")
    body, _, rest = raw.partition(b"\n")
    if rest.strip() == _digest(body).encode():
        return _object(body)
    if not raw.strip():
        raise ValueError("it is empty")
    if not unsealed:
        raise ValueError("its checksum is wrong or missing")
    content = _object(raw)
    if _KEY in content:
        raise ValueError("its checksum is garbled")
    return content


def bears_seal(raw: bytes) -> bool:
    """Whether the file was written by a release that seals such files."""
    return f'"{_KEY}": "'.encode() in raw[-32:]


def _object(raw: bytes) -> dict[str, Any]:
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no JSON ({error})") from error
    if not isinstance(content, dict):
        raise ValueError("it is no JSON object")
    return content


def _digest(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()[:16]
