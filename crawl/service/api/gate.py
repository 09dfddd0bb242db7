"""What every request passes: who asks, whether they may, how much, and how large it is. What goes
wrong is answered as JSON, `{"error": {"code", "message"}}`, and counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from crawl.counters import Counters
from crawl.errors import CrawlError, StorageError, UsageError
from crawl.service.api.body_room import BodyRoom
from crawl.service.api.refusal_log import RefusalLog
from crawl.service.api.refused import Headers, Refused, error_response, json_response
from crawl.service.callers.access import (
    AccessPolicy,
    Caller,
    Refusal,
    RequestHead,
    admit,
    admit_unknown,
    authorize,
    quota_refusal,
)
from crawl.service.callers.keys import KeyRing
from crawl.service.callers.quota import Quota, Quotas
from crawl.service.callers.scope import Scope

__all__ = ["Endpoint", "Gate", "Handle", "Headers", "Refused", "error_response", "json_response"]

_log = logging.getLogger(__name__)
_BODY_SIZE: Final = "nutria.body"
"""Where a request's scope keeps how much room its body takes."""
_GIVEN: Final = "nutria.headers"
_READ_ONCE: Final = {
    b"host": "host",
    b"authorization": "authorization",
    b"x-api-key": "api_key",
    b"origin": "origin",
    b"sec-fetch-site": "fetch_site",
    b"content-type": "content_type",
    b"content-encoding": "content_encoding",
    b"content-length": "content_length",
}
"""Headers that decide something. Of two of a kind a proxy may have looked at the other."""

Handle = Callable[[Request, Caller], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]


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
    log: RefusalLog
    room: BodyRoom = field(default_factory=BodyRoom)
    body_s: float = 60.0
    """For how long a body may arrive."""

    def guard(self, handle: Handle, scope: Scope | None) -> Endpoint:
        """The endpoint of a handler; without a scope whoever reaches the service may ask."""

        def admit_to(request: Request) -> Caller:
            return self._admit(request, scope)

        return self._guarded(handle, admit_to)

    def guard_any(self, handle: Handle) -> Endpoint:
        """The same for whoever has a key for anything, or needs none: the handler sees to it that
        no more is done than the key may."""
        return self._guarded(handle, self._known)

    def guard_open(self, handle: Handle) -> Endpoint:
        """The same for whoever reaches the service, other sites' pages in a browser aside."""

        def admit_to(request: Request) -> Caller:
            refusal = admit_unknown(self.policy, _head_of(request))
            if refusal is not None:
                raise _refused(refusal)
            return Caller()

        return self._guarded(handle, admit_to)

    def _guarded(self, handle: Handle, admit_to: Callable[[Request], Caller]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            try:
                return await handle(request, admit_to(request))
            except ClientDisconnect:  # nobody reads what is answered
                return self.refuse(request, Refused(400, "client_gone", "the body broke off"))
            except HTTPException:
                raise
            except Exception as error:
                return self.refuse(request, _refusal_of(error, request, self.log))
            finally:
                self.room.give_back(request.scope.pop(_BODY_SIZE, 0))

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
        """The body; raises Refused where it is larger or slower than it may be, or no JSON by its
        name."""
        given = _given(request)
        kind = given.get("content_type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            # what another site's page posts without asking us first is of another type, or of none
            message = "expected a body with Content-Type: application/json"
            raise Refused(415, "media_type", message)
        if given.get("content_encoding", "identity").strip().lower() != "identity":
            raise Refused(415, "content_encoding", "expected a body that is not compressed")
        length = given.get("content_length", "")
        if length.isdecimal() and int(length) > self.max_body:
            raise self._too_large()
        try:
            async with asyncio.timeout(self.body_s):
                return await self._read(request)
        except TimeoutError:
            message = f"the body did not arrive within {self.body_s:g}s"
            raise Refused(408, "body_timeout", message, (("Connection", "close"),)) from None

    def is_still_admitted(self, caller: Caller) -> bool:
        """Whether one that was let in would be let in now: its key may have been disabled."""
        return caller.key is None or self.keys.is_valid(caller.key)

    def refuse(self, request: Request, refused: Refused) -> Response:
        """The answer, which is counted; of what is not a matter of the wish itself the log is
        told."""
        self.counters[f"api_errors.{refused.code}"] += 1
        if refused.status in (401, 403, 408, 413, 429, 431, 503):
            client = request.client.host if request.client else ""
            self.log.tell(refused.code, client, request.method, request.scope["path"])
        return error_response(refused)

    async def _read(self, request: Request) -> bytes:
        pieces: list[bytes] = []
        size = 0
        async for piece in request.stream():
            size += len(piece)
            if size > self.max_body:
                raise self._too_large()
            self.room.take(len(piece))
            request.scope[_BODY_SIZE] = size
            pieces.append(piece)
        return b"".join(pieces)

    def _too_large(self) -> Refused:
        return Refused(413, "too_large", f"the body is larger than {self.max_body:,} bytes")

    def _admit(self, request: Request, scope: Scope | None) -> Caller:
        if scope is None:
            _given(request)
            return Caller()
        caller = self._known(request)
        refusal = authorize(caller, scope)
        if refusal is not None:
            raise _refused(refusal)
        return caller

    def _known(self, request: Request) -> Caller:
        """Who asks; raises Refused where nobody is to be answered."""
        found = admit(self.policy, _head_of(request), self.keys.check)
        if isinstance(found, Refusal):
            raise _refused(found)
        return found


def _given(request: Request) -> dict[str, str]:
    """The headers that decide something; Refused where one of them is there twice."""
    known: dict[str, str] | None = request.scope.get(_GIVEN)
    if known is not None:
        return known
    given: dict[str, str] = {}
    for header, value in request.scope["headers"]:
        name = _READ_ONCE.get(header)
        if name is not None:
            if name in given:
                message = f"more than one header {header.decode()}"
                raise Refused(400, "bad_request", message)
            given[name] = value.decode("latin-1")
    request.scope[_GIVEN] = given
    return given


def _head_of(request: Request) -> RequestHead:
    given = _given(request).get
    return RequestHead(
        given("host"),
        given("authorization"),
        given("api_key"),
        given("origin"),
        given("fetch_site"),
        request.scope.get("scheme") == "https",
    )


def _refusal_of(error: Exception, request: Request, log: RefusalLog) -> Refused:
    """What is told of an error. What went wrong in the service itself is its operator's business:
    the log has it, with the places on its disk."""
    if isinstance(error, Refused):
        return error
    if isinstance(error, UsageError):
        return Refused(400, "bad_request", str(error))
    if isinstance(error, StorageError):
        log.tell_fault(str(error))
        message = "the service cannot store or read at the moment; its log has more"
        return Refused(503, "storage_unavailable", message)
    if isinstance(error, CrawlError):
        _log.error("%s", error)
        return Refused(503, "unavailable", "the service cannot do this now; its log has more")
    _log.error("%s %r failed", request.method, request.scope["path"][:200], exc_info=error)
    return Refused(500, "internal_error", "an internal error; the service's log has more")


def _refused(refusal: Refusal) -> Refused:
    return Refused(refusal.status, refusal.reason.value, refusal.message, refusal.headers)
