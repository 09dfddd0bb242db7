"""What answers like a Kubernetes API server: it takes down what it is asked for, and a kubelet
of a kind starts an executor's pod as a process of this machine, by the image's entry point.

There is no scheduler, no network and no container: what is proved is what Spark asks for, and
that the entry point makes an executor of it.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Pod = dict[str, Any]
Kubelet = Callable[[Pod], "subprocess.Popen[bytes]"]
"""Starts the process that a pod is."""
_POD_IP = "127.0.0.1"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    body: dict[str, Any]


@dataclass
class RecordingApi:
    """All that is created is accepted and given an id."""

    address: str
    kubelet: Kubelet | None = None
    requests: list[Request] = field(default_factory=list)
    pods: dict[str, Pod] = field(default_factory=dict)
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def master(self) -> str:
        return f"k8s://{self.address}"

    def created(self, kind: str) -> list[dict[str, Any]]:
        return [
            request.body
            for request in self.requests
            if request.method in ("POST", "PATCH") and request.body.get("kind") == kind
        ]

    def answer(self, request: Request) -> tuple[int, dict[str, Any]]:
        self.requests.append(request)
        name = request.path.rpartition("/")[2]
        match request.method:
            case "GET" if name == "pods":
                items = [self._with_status(name) for name in self.pods]
                return 200, {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": items}
            case "GET" if name in self.pods:
                return 200, self._with_status(name)
            case "POST" | "PATCH" if request.body.get("kind"):
                return 201, self._create(request.body)
            case "DELETE":
                self._delete(name)
                return 200, {"apiVersion": "v1", "kind": "Status", "status": "Success"}
        return 404, {"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 404}

    def close(self) -> None:
        for name in list(self.pods):
            self._delete(name)

    def _create(self, body: dict[str, Any]) -> dict[str, Any]:
        marks = {"uid": f"id-{len(self.requests)}", "resourceVersion": "1"}
        marks["creationTimestamp"] = "2026-01-01T00:00:00Z"
        made = {**body, "metadata": {**body["metadata"], **marks}}
        if body["kind"] == "Pod":
            name = made["metadata"]["name"]
            self.pods[name] = made
            if self.kubelet is not None:
                self.processes[name] = self.kubelet(made)
        return made

    def _with_status(self, name: str) -> Pod:
        process = self.processes.get(name)
        is_running = process is None or process.poll() is None
        phase = "Running" if is_running else "Failed"
        return {**self.pods[name], "status": {"phase": phase, "podIP": _POD_IP}}

    def _delete(self, name: str) -> None:
        # a collection is deleted by labels, which only our pods have
        for gone in [name] if name in self.pods else list(self.pods) if name == "pods" else []:
            del self.pods[gone]
            process = self.processes.pop(gone, None)
            if process is not None:
                process.kill()
                process.wait()


def environment_of(pod: Pod) -> dict[str, str]:
    """The variables of a pod's only container; what the kubelet would fill in is filled in."""
    fields = {"status.podIP": _POD_IP, "metadata.name": pod["metadata"]["name"]}
    (container,) = pod["spec"]["containers"]
    found: dict[str, str] = {}
    for variable in container["env"]:
        source = variable.get("valueFrom", {})
        if "fieldRef" in source:
            found[variable["name"]] = fields[source["fieldRef"]["fieldPath"]]
        elif not source:
            found[variable["name"]] = variable.get("value", "")
    return found


@contextmanager
def recording_api(kubelet: Kubelet | None = None) -> Iterator[RecordingApi]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            body = json.loads(raw) if raw else {}
            with lock:
                code, answer = api.answer(Request(self.command, urlsplit(self.path).path, body))
            data = json.dumps(answer).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is printed."""

    for method in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        setattr(Handler, f"do_{method}", Handler._answer)
    server = ThreadingHTTPServer((_POD_IP, 0), Handler)
    server.daemon_threads = True
    lock = threading.Lock()
    api = RecordingApi(f"http://{_POD_IP}:{server.server_address[1]}", kubelet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield api
    finally:
        api.close()
        server.shutdown()
        thread.join()
        server.server_close()
