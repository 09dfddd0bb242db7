"""A collector of OpenTelemetry spans on loopback, and a Pushgateway that remembers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class Seen:
    """One span as it arrived."""

    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    resource: dict[str, Any]
    failed: bool
    start_ns: int
    end_ns: int


@dataclass
class Collector:
    """What was sent to it."""

    url: str = ""
    posts: list[tuple[str, bytes]] = field(default_factory=list)
    answer: int = 200

    def spans(self) -> list[Seen]:
        found = []
        for path, body in list(self.posts):
            assert path == "/v1/traces"
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                about = _plain(resource.resource.attributes)
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        found.append(
                            Seen(
                                span.name,
                                span.trace_id.hex(),
                                span.span_id.hex(),
                                span.parent_span_id.hex(),
                                _plain(span.attributes),
                                about,
                                span.status.code == 2,
                                span.start_time_unix_nano,
                                span.end_time_unix_nano,
                            )
                        )
        return found

    def named(self, name: str) -> list[Seen]:
        return [span for span in self.spans() if span.name == name]


def _plain(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector that takes all it gets, or gives the answer that a test has set."""
    seen = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if seen.answer == 200:
                seen.posts.append((self.path, body))
            self.send_response(seen.answer)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_PUT = do_POST  # noqa: N815

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    seen.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
