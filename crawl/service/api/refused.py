"""Errors as they are answered: JSON of one form, `{"error": {"code", "message"}}`."""

from __future__ import annotations

from typing import Any, Final

import msgspec
from starlette.responses import Response

from crawl.printable import printable

_LONGEST_MESSAGE: Final = 500
_RETRY_AFTER: Final = "retry-after"
_ENCODE = msgspec.json.Encoder().encode
_JSON_HEADERS: Final = [
    (b"content-type", b"application/json"),
    # nothing between us and the reader may keep it, or guess its type
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
]

Headers = tuple[tuple[str, str], ...]


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Headers = (),
        details: Any = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers
        self.details = details


def json_response(value: Any, status: int = 200, headers: Headers = ()) -> Response:
    """An answer."""
    body = _ENCODE(value)
    response = Response.__new__(Response)
    response.status_code = status
    response.body = body
    response.background = None
    own = [(name.lower().encode(), text.encode("latin-1")) for name, text in headers]
    length = (b"content-length", b"%d" % len(body))
    response.raw_headers = [length, *_JSON_HEADERS, *own]
    return response


def error_response(refused: Refused) -> Response:
    """The answer for a refusal. Whoever is told to come back is told when."""
    error: dict[str, Any] = {
        "code": refused.code,
        "message": printable(str(refused), _LONGEST_MESSAGE),
    }
    if refused.details is not None:
        error["details"] = refused.details
    headers = refused.headers
    if refused.status in (429, 503) and not any(
        name.lower() == _RETRY_AFTER for name, _ in headers
    ):
        headers = (*headers, ("Retry-After", "5"))
    return json_response({"error": error}, refused.status, headers)
