"""A real S3 API server in a process of its own, for tests.

moto, because it speaks the whole protocol (conditional writes, multipart uploads) and comes
from PyPI. Its check and its write of a conditional request are two steps, so here one request
is served at a time: the real store is atomic there.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import urllib.request
import uuid
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest

from tests.storage import faulty_proxy
from tests.storage.faulty_proxy import FaultyProxy

_SERVER = """
import threading
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication, MotoRequestHandler, create_backend_app,
)
from werkzeug.serving import make_server

class Quiet(MotoRequestHandler):
    def log(self, *args):
        pass

app, one_at_a_time = DomainDispatcherApplication(create_backend_app), threading.Lock()

def serial(environ, start_response):
    with one_at_a_time:
        return app(environ, start_response)

server = make_server("127.0.0.1", 0, serial, threaded=True, request_handler=Quiet)
print(server.server_address[1], flush=True)
server.serve_forever()
"""

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
    # never look for a role of the machine: that would be traffic
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}


@dataclass(frozen=True, slots=True)
class S3Server:
    """A server that runs."""

    address: str

    @property
    def host(self) -> str:
        return urlsplit(self.address).hostname or ""

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    def variables(self, address: str = "") -> dict[str, str]:
        """The environment of a client of it, or of a proxy before it."""
        return {**CREDENTIALS, "AWS_ENDPOINT_URL": address or self.address}

    def new_bucket(self) -> str:
        """An empty bucket's address."""
        name = f"crawl-{uuid.uuid4().hex[:12]}"
        self._ask("PUT", f"/{name}")
        return f"s3://{name}"

    def uploads(self, bucket: str) -> list[str]:
        """The names of the uploads that were begun and not ended."""
        listing = self._ask("GET", f"/{bucket.removeprefix('s3://')}?uploads")
        space = "{http://s3.amazonaws.com/doc/2006-03-01/}"
        found = ElementTree.fromstring(listing).iterfind(f"{space}Upload/{space}Key")
        return [key.text or "" for key in found]

    def _ask(self, method: str, path: str) -> bytes:
        signed = "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/s3/aws4_request"
        request = urllib.request.Request(
            self.address + path, method=method, headers={"Authorization": signed}
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            content: bytes = answer.read()
        return content


@contextmanager
def proxied(server: S3Server, patch: pytest.MonkeyPatch) -> Iterator[FaultyProxy]:
    """A proxy that all requests of this process to the server go through, for a block."""
    # the pauses between attempts have no part in what is shown with it
    patch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", lambda *_: 0.01)
    with faulty_proxy.running(server.host, server.port) as found:
        for name, value in server.variables(found.address).items():
            patch.setenv(name, value)
        yield found


@contextmanager
def running() -> Iterator[S3Server]:
    """A server on a free port of loopback, for the time of a block."""
    process = subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        port = process.stdout.readline().decode().strip()
        assert port, "the S3 server did not start"
        yield S3Server(f"http://127.0.0.1:{port}")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        if process.stdout:
            process.stdout.close()
