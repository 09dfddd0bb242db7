"""The protocol over HTTP for a service that another process has: on loopback alone, for whoever is
let in here asks there with our key, unless it brings its own."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from crawl.service.api.gate import Refused, error_response
from crawl.service.callers.access import AccessPolicy, Caller, Refusal, RequestHead, admit
from crawl.service.callers.keys import KeyCheck, KeyStatus
from crawl.service.mcp.mounted import MountedTools
from crawl.service.mcp.reaching import Reach, ReachedService

_KEY_HEADERS = ("authorization", "x-api-key")


def bridge_app(reach: Reach, policy: AccessPolicy, max_body: int) -> Starlette:
    """The application; keys are judged by the service that is asked."""

    def ask_of(request: Request) -> ReachedService:
        headers = request.headers
        return ReachedService(
            reach, {name: headers[name] for name in _KEY_HEADERS if name in headers}
        )

    tools = MountedTools(ask_of, max_body)

    async def answer(request: Request) -> Response:
        try:
            return await tools.answer(request, _caller(request, policy))
        except Refused as refused:
            return error_response(refused)

    return Starlette(routes=[Route("/mcp", answer, methods=["POST"])])


def _caller(request: Request, policy: AccessPolicy) -> Caller:
    headers = request.headers
    if any(len(headers.getlist(name)) > 1 for name in ("host", "origin", *_KEY_HEADERS)):
        raise Refused(400, "bad_request", "a header that decides is there twice")
    head = RequestHead(
        host=headers.get("host"),
        origin=headers.get("origin"),
        fetch_site=headers.get("sec-fetch-site"),
    )
    found = admit(policy, head, lambda key: KeyCheck(KeyStatus.UNKNOWN))
    if isinstance(found, Refusal):
        raise Refused(found.status, found.reason.value, found.message, found.headers)
    return found
