"""mcp as an operation: tools for agents, over stdin and stdout or over HTTP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from crawl.errors import CrawlError, Locked, ServiceUnreachable, UsageError
from crawl.operations.operation import Asked, Operation
from crawl.operations.options import option
from crawl.operations.view import Line, Note, View
from crawl.operations.work import Work
from crawl.service.faces.submit_operation import KEY_VARIABLE

if TYPE_CHECKING:
    from crawl.service.mcp.reaching import Reach

_LOOPBACK = "127.0.0.1"
_LOOK_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class MCPOptions:
    """The options of mcp."""

    http: Annotated[
        Annotated[int, Meta(ge=0, le=65535)] | None,
        option(
            "Serve over HTTP at this port, under /mcp, instead of stdin and stdout; 0: a free one.",
            metavar="PORT",
        ),
    ] = None
    host: Annotated[
        str,
        option(
            "With --http the address to listen on. Any but loopback needs a key (`crawl keys`).",
            metavar="ADDRESS",
        ),
    ] = _LOOPBACK
    service: Annotated[
        str | None,
        option(
            "Ask the service that runs there, in place of one for CRAWL_DIR; with the key of the"
            f" environment's {KEY_VARIABLE}.",
            metavar="URL",
        ),
    ] = None


@dataclass(frozen=True, slots=True)
class Tools:
    """Tools over HTTP: as soon as they can be used, and once more at the end."""

    address: str
    ended: bool = False


def run(work: Work, options: MCPOptions) -> Iterator[Tools]:
    from crawl.service.faces.serving import require_server
    from crawl.service.mcp.package import require_mcp

    _check(work, options)
    require_mcp()
    require_server()
    if options.http is None:
        _serve_stdio(work, options)
        return
    yield from _serve_http(work, options, options.http)


def _check(work: Work, options: MCPOptions) -> None:
    from crawl.service.callers.access import is_loopback_bind

    if (work.crawl is None) == (options.service is None):
        raise UsageError("give either a crawl's folder or --service")
    if options.http is None and options.host != _LOOPBACK:
        raise UsageError("--host goes with --http")
    if options.service is not None and not is_loopback_bind(options.host):
        raise UsageError(
            f"--service listens on loopback alone: others ask {options.service.rstrip('/')}/mcp"
        )


def _serve_stdio(work: Work, options: MCPOptions) -> None:
    import threading

    from crawl.service.mcp import stdio
    from crawl.service.mcp.reaching import ReachedService

    ends = stdio.taken_ends()
    is_asked = threading.Event()
    faults: list[CrawlError] = []
    reach = _reach(work, options)
    if options.service is not None:
        reach.client()  # raises what is no address

    def begin() -> None:
        """Reaches the service while the client is greeted, which waits for a few seconds at most.
        What is wrong with the crawl or its settings is told at once, and not to the first call."""
        try:
            reach.client()
        except CrawlError as fault:
            faults.append(fault)
            return
        whose = "this process's own service" if reach.is_own else f"the service at {reach.address}"
        work.remark(f"tools for an agent on stdin and stdout, by {whose}")

    with work.stopping(is_asked.set), ExitStack() as stack:
        stack.callback(reach.close)
        threading.Thread(target=begin, name="mcp-begin", daemon=True).start()
        stdio.serve(ends, ReachedService(reach), lambda: is_asked.is_set() or bool(faults))
    if faults:
        raise faults[0]


def _serve_http(work: Work, options: MCPOptions, port: int) -> Iterator[Tools]:
    import threading

    from crawl.service.faces.own_service import own_service

    is_asked = threading.Event()
    with work.stopping(is_asked.set), ExitStack() as stack:
        try:
            if options.service is not None:
                raise ServiceUnreachable("it is elsewhere")
            own = stack.enter_context(own_service(work, options.host, port))
            address, check = own.address, own.crawl.service.require_running
        except (Locked, ServiceUnreachable):
            address, check = _bridge(work, options, port, stack), _nothing
        address = f"{address}/mcp"
        yield Tools(address)
        work.remark(f"tools for agents at {address}; Ctrl-C ends")
        while not is_asked.wait(_LOOK_S):
            check()
    yield Tools(address, ended=True)


def _bridge(work: Work, options: MCPOptions, port: int, stack: ExitStack) -> str:
    """Serves the tools over a service of another process; where."""
    from crawl.service.callers.access import AccessPolicy, is_loopback_bind
    from crawl.service.faces.announcement import address_of
    from crawl.service.faces.serving import listening, served
    from crawl.service.mcp.bridge import bridge_app
    from crawl.service.settings import MAX_BODY

    reach = _reach(work, options)
    stack.callback(reach.close)
    reach.client()
    if not is_loopback_bind(options.host):
        raise UsageError(
            f"another process serves this crawl: agents elsewhere ask its own {reach.address}/mcp"
        )
    listener = listening(options.host, port)
    policy = AccessPolicy(is_loopback=True, needs_key=False)
    app = bridge_app(reach, policy, work.config[MAX_BODY])
    stack.enter_context(served(app, listener))
    return address_of(*listener.getsockname()[:2])


def _reach(work: Work, options: MCPOptions) -> Reach:
    """The service that is asked: the named one, or the crawl's, by whichever process has it."""
    from contextlib import contextmanager

    from crawl.service.faces.announcement import announcement_of
    from crawl.service.faces.own_service import own_service
    from crawl.service.mcp.reaching import Reach
    from crawl.service.place import folder_of

    key = os.environ.get(KEY_VARIABLE)
    named = options.service
    if named is not None:
        return Reach(key=key, clock=work.clock, address_of_other=lambda: named, own=None)
    folder = folder_of(work.directory, work.config)

    def address_of_other() -> str | None:
        found = announcement_of(folder)
        return None if found is None else found.address

    @contextmanager
    def own() -> Iterator[str]:
        with own_service(work, _LOOPBACK, 0) as service:
            yield service.address

    return Reach(key=key, clock=work.clock, address_of_other=address_of_other, own=own)


def _nothing() -> None:
    """Of a service elsewhere each call tells whether it is there."""


def render(tools: Tools, asked: Asked) -> View:
    return [Note("ended")] if tools.ended else [Line(tools.address)]


def values(tools: Tools, asked: Asked) -> dict[str, Any]:
    return {"ended": True} if tools.ended else {"address": tools.address}


OPERATION = Operation(
    name="mcp",
    run=run,
    render=render,
    values=values,
    method="",
    is_crawl_optional=True,
    streams=True,
    help=f"""
    Tools for agents, by the Model Context Protocol: fetch a page, look up URLs, search what was
    fetched, crawl a site.

    Over stdin and stdout, for clients that start it themselves; with --http over HTTP, under
    /mcp, as `crawl serve` has it too. The tools keep to the robots.txt, pace, keys, quotas and
    limits of `crawl serve`. Where no other process serves CRAWL_DIR, this one does, and listens on
    loopback for the next; else it asks that one, with the key of the environment's {KEY_VARIABLE}
    if one is needed. It needs the extras `serve` and `mcp`.
    """,
    examples=(
        "crawl mcp mycrawl -D http.agent.name=mybot",
        "crawl mcp mycrawl --http 8200",
        "NUTRIA_KEY=nut_… crawl mcp --service https://crawler.example.org",
    ),
)
