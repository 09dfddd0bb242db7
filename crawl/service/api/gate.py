"""What every request passes: who asks, whether they may, how much, and how large it is. What goes
wrong is answered as JSON, `{"error": {"code", "message"}}`, and counted.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from crawl.counters import Counters
from crawl.errors import CrawlError, Locked, StorageError, UsageError
from crawl.printable import printable
from crawl.service.access import (
    AccessPolicy,
    Caller,
    Refusal,
    RequestHead,
    admit,
    authorize,
    quota_refusal,
)
from crawl.service.keys import KeyRing
from crawl.service.quota import Quota, Quotas
from crawl.service.scope import Scope

_LONGEST_MESSAGE = 500
_log = logging.getLogger(__name__)

Handle = Callable[[Request, Caller], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]
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


def json_response(
    value: Any, status: int = 200, headers: tuple[tuple[str, str], ...] = ()
) -> Response:
    """An answer; nothing between us and the reader may keep it, or guess its type."""
    response = Response(msgspec.json.encode(value), status, media_type="application/json")
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    for name, text in headers:
        response.headers[name] = text
    return response


def error_response(refused: Refused) -> Response:
    """The answer for a refusal."""
    error: dict[str, Any] = {
        "code": refused.code,
        "message": printable(str(refused), _LONGEST_MESSAGE),
    }
    if refused.details is not None:
        error["details"] = refused.details
    return json_response({"error": error}, refused.status, refused.headers)


@dataclass(frozen=True, slots=True)
class Gate:
    """Lets requests through to their handlers."""

    policy: AccessPolicy
    keys: KeyRing
    quotas: Quotas
    counters: Counters
    max_body: int
    default_quotas: Mapping[Scope, Quota]
    """Of keys that have none of their own."""

    def guard(
        self, handle: Handle, scope: Scope | None
    ) -> Callable[[Request], Awaitable[Response]]:
        """The endpoint of a handler; without a scope whoever reaches the service may ask."""

        def admit_to(request: Request) -> Caller:
            return self._admit(request, scope)

        return self._guarded(handle, admit_to)

    def guard_any(self, handle: Handle) -> Callable[[Request], Awaitable[Response]]:
        """The same for whoever has a key for anything, or needs none: the handler sees to it that
        no more is done than the key may."""
        return self._guarded(handle, self._known)

    def _guarded(self, handle: Handle, admit_to: Callable[[Request], Caller]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            try:
                return await handle(request, admit_to(request))
            except Refused as refused:
                return self._refuse(refused)
            except UsageError as error:
                return self._refuse(Refused(400, "bad_request", str(error)))
            except Locked as error:
                return self._refuse(Refused(409, "locked", str(error)))
            except StorageError as error:
                _log.error("%s", error)
                retry = (("Retry-After", "5"),)
                return self._refuse(Refused(503, "storage_unavailable", str(error), retry))
            except CrawlError as error:
                return self._refuse(Refused(400, "bad_request", str(error)))
            except (ClientDisconnect, HTTPException):
                raise
            except Exception:
                _log.exception("%s %s", request.method, request.url.path)
                message = "an internal error; the service's log has more"
                return self._refuse(Refused(500, "internal_error", message))

        return endpoint

    def take(self, caller: Caller, scope: Scope, urls: int) -> None:
        """Takes from the caller's quota, a URL each; raises Refused where it is used up."""
        answer = self.quotas.take(
            caller.id, scope, caller.quota(scope, self.default_quotas[scope]), urls
        )
        refusal = quota_refusal(answer)
        if refusal is not None:
            raise _refused(refusal)

    async def body(self, request: Request) -> bytes:
        """The body; raises Refused where it is larger than it may be, or no JSON by its name."""
        kind = request.headers.get("content-type", "application/json").partition(";")[0].strip()
        if kind.lower() != "application/json":
            # a form that another site's page posts is of another type
            raise Refused(415, "media_type", "expected a body of type application/json")
        length = request.headers.get("content-length", "")
        if length.isdecimal() and int(length) > self.max_body:
            raise self._too_large()
        body = bytearray()
        async for piece in request.stream():
            body += piece
            if len(body) > self.max_body:
                raise self._too_large()
        return bytes(body)

    def _too_large(self) -> Refused:
        return Refused(413, "too_large", f"the body is larger than {self.max_body:,} bytes")

    def _admit(self, request: Request, scope: Scope | None) -> Caller:
        if scope is None:
            _require_one_host(request)
            return Caller()
        caller = self._known(request)
        refusal = authorize(caller, scope)
        if refusal is not None:
            raise _refused(refusal)
        return caller

    def _known(self, request: Request) -> Caller:
        """Who asks; raises Refused where nobody is to be answered."""
        _require_one_host(request)
        headers = request.headers
        head = RequestHead(
            headers.get("host"),
            headers.get("authorization"),
            headers.get("x-api-key"),
            headers.get("origin"),
            headers.get("sec-fetch-site"),
            request.url.scheme == "https",
        )
        found = admit(self.policy, head, self.keys.check)
        if isinstance(found, Refusal):
            raise _refused(found)
        return found

    def _refuse(self, refused: Refused) -> Response:
        self.counters[f"api_errors.{refused.code}"] += 1
        if refused.status in (401, 403):
            _log.warning("a request was refused: %s", refused.code)
        return error_response(refused)


def _require_one_host(request: Request) -> None:
    if len(request.headers.getlist("host")) > 1:
        raise Refused(400, "bad_request", "more than one Host header")


def _refused(refusal: Refusal) -> Refused:
    return Refused(refusal.status, refusal.reason.value, refusal.message, refusal.headers)
