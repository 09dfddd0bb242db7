"""serve as an operation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from crawl.operations.operation import Asked, Operation
from crawl.operations.options import option
from crawl.operations.view import Line, Note, View
from crawl.operations.work import Work
from crawl.service.faces.role import Role

DEFAULT_PORT = 8199
_LOOK_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """The options of serve."""

    host: Annotated[
        str,
        option(
            "Address to listen on. Any but loopback needs a key (`crawl keys`).", metavar="ADDRESS"
        ),
    ] = "127.0.0.1"
    port: Annotated[
        Annotated[int, Meta(ge=0, le=65535)], option("Port to listen on; 0: a free one.")
    ] = DEFAULT_PORT
    role: Annotated[
        Role,
        option(
            "What this process does of it: all, or with Kafka between them intake (takes URLs on),"
            " fetch (asks servers; needs no store) or lookup (stores and answers)."
        ),
    ] = Role.ALL


@dataclass(frozen=True, slots=True)
class Served:
    """A service: as soon as it can be asked, and once more when it has ended."""

    address: str
    ended: bool = False
    finished: int = 0
    """Jobs that ended, when it has."""
    waiting: int = 0
    """Jobs that are left for the next start."""


def run(work: Work, options: ServeOptions) -> Iterator[Served]:
    from crawl.service.faces.serving import bound, listen, quick_turns, require_server, served

    require_server()
    import threading

    from crawl.service.callers.access import check_bind, is_loopback_bind
    from crawl.service.faces.report_lines import ReportLines
    from crawl.service.faces.roles import serving
    from crawl.service.fetching.lane_settings import check_settings
    from crawl.service.place import has_own_store

    check_settings(work.config)
    is_asked = threading.Event()
    # before anything is made in the crawl's folder, and nobody is answered before all is checked
    listener = bound(options.host, options.port)
    is_bare = options.role is Role.FETCH
    try:
        if not is_bare and not has_own_store(work.directory, work.config):
            check_bind(options.host, has_keys=False)
        crawl = serving(options.role, work.directory, work.config, work.clock, options.host)
    except BaseException:
        listener.close()
        raise
    try:
        if not is_bare:  # it says how it is, and does nothing for anybody
            check_bind(options.host, has_keys=crawl.has_keys)
        listen(listener, options.host, options.port)
    except BaseException:
        listener.close()
        crawl.service.close()
        raise
    host, port = listener.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    with (
        quick_turns(),
        work.stopping(is_asked.set),
        crawl,
        served(crawl.app(), listener, crawl.limits) as is_alive,
        crawl.announced(host, port),
    ):
        yield Served(address)
        needed = is_bare or is_loopback_bind(options.host)
        keys = "no key is needed" if needed else "keys are needed"
        work.remark(f"{address}: {keys}; Ctrl-C ends")
        lines = ReportLines(work.clock)
        while is_alive() and not is_asked.wait(_LOOK_S):
            crawl.service.require_running()
            if lines.is_due() and (line := lines.line(crawl.service.stats())):
                work.remark(line)
    stats = crawl.service.last_stats
    waiting = sum(stats.waiting.values()) + stats.claimed
    yield Served(address, True, stats.counters.get("ended.finished", 0), waiting)


def render(served: Served, asked: Asked) -> View:
    if not served.ended:
        return [Line(served.address)]
    return [
        Note(f"{served.finished:,} URLs were finished; {served.waiting:,} wait for the next start")
    ]


def values(served: Served, asked: Asked) -> dict[str, Any]:
    if not served.ended:
        return {"address": served.address}
    return {"finished": served.finished, "waiting": served.waiting}


OPERATION = Operation(
    name="serve",
    run=run,
    render=render,
    values=values,
    method="",
    streams=True,
    help="""
    Serve CRAWL_DIR in realtime until Ctrl-C: submit a URL, and its page is known within seconds.

    URLs are fetched by the engine of the batch crawl, as politely, and end in segments that
    `crawl updatedb`, `invertlinks` and `index` take like any other. What was submitted is kept in
    a queue on disk and survives the death of the process. Prints the address; /openapi.json
    describes what can be asked. It needs the extra `serve`.

    With `service.kafka.servers` URLs come by a topic, too, and what is finished goes to one; --role
    splits the service into processes with Kafka between them, each as often as is needed.
    """,
    examples=(
        "crawl serve mycrawl -D http.agent.name=mybot",
        "crawl serve mycrawl --port 0 --json",
        "crawl serve mycrawl --role fetch -D service.kafka.servers=kafka:9092",
        "crawl serve mycrawl --host 0.0.0.0 -D service.access.hosts=crawler.example.org",
    ),
)
