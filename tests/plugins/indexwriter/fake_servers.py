"""Servers that keep documents as OpenSearch, Elasticsearch and Solr do, as far as our writers ask;
and that go wrong when a test says so.

The bulk API is Elasticsearch's as it is published: actions and sources by line, external versions,
an item for every action, `errors`.
"""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True, slots=True)
class Asked:
    """A request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Said:
    """An answer; `raw` instead of all else, after which the connection is cut."""

    status: int
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    after: bool = False
    """The work is done before this is said."""


Fault = Said | None


class FakeServer:
    """Answers by `answer`, unless the next fault says otherwise."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []
        """For the next requests that change documents or commit; None: none."""
        self.asked: list[Asked] = []
        self.documents: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        handler = type("Bound", (_Handler,), {"fake": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def address(self) -> str:
        scheme = "https" if isinstance(self._server.socket, ssl.SSLSocket) else "http"
        return f"{scheme}://127.0.0.1:{self._server.server_address[1]}"

    def secure(self, context: ssl.SSLContext) -> None:
        """From now on it speaks TLS."""
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def forget(self) -> None:
        """It is as new."""
        self.documents.clear()
        self.asked.clear()

    def titles(self) -> dict[str, str]:
        return {str(each["url"]): str(each["title"]) for each in self.documents.values()}

    def handle(self, asked: Asked) -> Said:
        with self._lock:
            self.asked.append(asked)
            fault = self.faults.pop(0) if self.faults and self.changes(asked) else None
            if fault is not None and not fault.after:
                return fault
            said = self.answer(asked)
            return said if fault is None else fault

    def changes(self, asked: Asked) -> bool:
        raise NotImplementedError

    def answer(self, asked: Asked) -> Said:
        raise NotImplementedError


class FakeBulkServer(FakeServer):
    """OpenSearch and Elasticsearch."""

    def __init__(self) -> None:
        super().__init__()
        self.indexes: dict[str, Any] = {}
        self.versions: dict[str, int] = {}
        self.item_faults: dict[str, list[tuple[int, str, str]]] = {}
        """By id: what is said of it next, in place of the work."""

    def forget(self) -> None:
        super().forget()
        self.indexes.clear()
        self.versions.clear()

    def changes(self, asked: Asked) -> bool:
        return asked.method == "POST"

    def answer(self, asked: Asked) -> Said:
        index, _, action = urlsplit(asked.path).path.strip("/").partition("/")
        if action == "_bulk":
            return self._bulk(asked)
        if action == "_refresh":
            return Said(200, {"_shards": {"failed": 0}})
        if asked.method == "HEAD":
            return Said(200 if index in self.indexes else 404)
        if index in self.indexes:
            return Said(400, {"error": {"type": "resource_already_exists_exception"}})
        self.indexes[index] = json.loads(asked.body)
        return Said(200, {"acknowledged": True})

    def _bulk(self, asked: Asked) -> Said:
        body = asked.body
        if asked.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        assert asked.headers["content-type"] == "application/x-ndjson" and body.endswith(b"\n")
        lines = iter(body.decode().split("\n")[:-1])
        items = []
        for line in lines:
            ((action, head),) = json.loads(line).items()
            source = json.loads(next(lines)) if action == "index" else None
            items.append({action: self._change(head, source)})
        errors = any("error" in next(iter(item.values())) for item in items)
        return Said(200, {"took": 1, "errors": errors, "items": items})

    def _change(self, head: dict[str, Any], source: dict[str, Any] | None) -> dict[str, Any]:
        key, version = head["_id"], head["version"]
        assert head["version_type"] == "external_gte" and len(key.encode()) <= 512
        if self.item_faults.get(key):
            status, kind, reason = self.item_faults[key].pop(0)
            return {"status": status, "error": {"type": kind, "reason": reason}}
        if self.versions.get(key, -1) > version:
            said = {"type": "version_conflict_engine_exception", "reason": "version conflict"}
            return {"status": 409, "error": said}
        self.versions[key] = version
        if source is not None:
            status = 200 if key in self.documents else 201
            self.documents[key] = source
            return {"status": status}
        return {"status": 200 if self.documents.pop(key, None) else 404}


class FakeSolr(FakeServer):
    """A collection of Solr at `/solr/nutria`, with its optimistic concurrency."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: dict[str, int] = {}
        self.between: Callable[[], None] | None = None
        """Done once between a question and the change that follows it."""
        self._next = 1_800_000_000_000_000_000

    def forget(self) -> None:
        super().forget()
        self.tokens.clear()

    def changes(self, asked: Asked) -> bool:
        return asked.path.startswith("/solr/nutria/update")

    def answer(self, asked: Asked) -> Said:
        path = urlsplit(asked.path).path.removeprefix("/solr/nutria")
        done = {"responseHeader": {"status": 0, "QTime": 1}}
        if path == "/schema/uniquekey":
            return Said(200, {**done, "uniqueKey": "id"})
        if path.startswith("/schema/fields/"):
            has = path.endswith("_l")
            return Said(200 if has else 404, {**done, "field": {}})
        if path == "/get":
            return Said(200, self._get(asked))
        if path != "/update":
            return Said(404, {"error": {"msg": "not found", "code": 404}})
        if self.between is not None:
            between, self.between = self.between, None
            between()
        for command, value in json.loads(asked.body, object_pairs_hook=list):
            if command == "commit":
                continue
            fault = self._change(command, dict(value))
            if fault is not None:
                return fault
        return Said(200, done)

    def _get(self, asked: Asked) -> dict[str, Any]:
        pairs = parse_qsl(asked.body.decode(), keep_blank_values=True)
        names = dict(pairs)["fl"].split(",")
        keys = [value for name, value in pairs if name == "id"]
        found = [
            {name: value for name, value in each.items() if name in names}
            for key in keys
            if (each := self.stored(key)) is not None
        ]
        if len(keys) == 1:
            return {"doc": found[0] if found else None}
        return {"response": {"numFound": len(found), "docs": found}}

    def stored(self, key: str) -> dict[str, Any] | None:
        found = self.documents.get(key)
        return None if found is None else {**found, "_version_": self.tokens[key]}

    def put(self, document: dict[str, Any]) -> None:
        """As another program does."""
        self._next += 1
        self.tokens[document["id"]] = self._next
        self.documents[document["id"]] = document

    def _change(self, command: str, value: dict[str, Any]) -> Said | None:
        document = dict(value["doc"]) if command == "add" else value
        token, key = document.pop("_version_", 0), document["id"]
        present = self.tokens.get(key)
        is_met = {0: True, -1: present is None, 1: present is not None}.get(token, token == present)
        if not is_met:
            message = f"version conflict for {key} expected={token} actual={present or -1}"
            return Said(409, {"error": {"msg": message, "code": 409}})
        if command == "delete":
            self.documents.pop(key, None)
            self.tokens.pop(key, None)
            return None
        if document.get("title") == "unwanted":
            return Said(400, {"error": {"msg": f"ERROR: [doc={key}] \x1b[31mbad", "code": 400}})
        self.put(document)
        return None


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news here."""


class _Handler(BaseHTTPRequestHandler):
    fake: FakeServer
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body at once
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        said = self.fake.handle(Asked(self.command, self.path, headers, body))
        if said.raw is not None:
            self.close_connection = True
            self.wfile.write(said.raw)
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if isinstance(said.body, bytes):
            text = said.body
        else:
            text = b"" if said.body is None else json.dumps(said.body).encode()
        self.send_response(said.status)
        self.send_header("Content-Length", str(len(text)))
        for name, value in said.headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_POST = do_PUT = do_HEAD = _answer  # noqa: N815
