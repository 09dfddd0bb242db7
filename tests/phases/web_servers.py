"""Real web servers over a folder of files, configured by a few lines."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.debian import installed
from tests.free_port import LOOPBACK, free_port

_STARTS_WITHIN_S = 60


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder whose files servers can read: their workers are another user than we, and nobody
    else may look into the folders of pytest."""
    with tempfile.TemporaryDirectory(prefix="nutria-files-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextmanager
def nginx(files: Path, home: Path, more: str = "") -> Iterator[int]:
    """nginx as it comes, with these lines more; yields its port."""
    temporary = "".join(
        f"{kind}_temp_path {home}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    program = installed("nginx", "nginx-light")
    with _running(
        home,
        "nginx.conf",
        lambda port: (
            f"daemon off; pid {home}/pid; error_log {home}/error.log; worker_processes 1;\n"
            f"events {{}}\nhttp {{ access_log off; types {{ text/html html; }} {temporary}\n"
            f"server {{ listen {LOOPBACK}:{port}; root {files}; {more} }} }}\n"
        ),
        lambda conf: [program, "-c", str(conf), "-p", str(home), "-e", f"{home}/error.log"],
    ) as port:
        yield port


@contextmanager
def apache(files: Path, home: Path, more: str = "") -> Iterator[int]:
    """Apache httpd; yields its port."""
    program = installed("apache2", "apache2-bin")
    modules = "".join(
        f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"
        for name in ("mpm_event", "authz_core", "dir", "mime", "filter", "deflate", "headers")
    )
    with _running(
        home,
        "httpd.conf",
        lambda port: (
            f"{modules}ServerRoot {home}\nListen {LOOPBACK}:{port}\nServerName {LOOPBACK}\n"
            f"PidFile {home}/pid\nErrorLog {home}/error.log\nTypesConfig /dev/null\n"
            f"DefaultRuntimeDir {home}\n"
            f"AddType text/html html\nDirectoryIndex index.html\nDocumentRoot {files}\n"
            f"<Directory {files}>\nRequire all granted\n</Directory>\n{more}\n"
        ),
        lambda conf: [program, "-DFOREGROUND", "-f", str(conf)],
    ) as port:
        yield port


@contextmanager
def lighttpd(files: Path, home: Path, more: str = "") -> Iterator[int]:
    """lighttpd; yields its port."""
    program = installed("lighttpd", "lighttpd")
    with _running(
        home,
        "lighttpd.conf",
        lambda port: (
            f'server.document-root = "{files}"\nserver.bind = "{LOOPBACK}"\n'
            f'server.port = {port}\nindex-file.names = ("index.html")\n'
            f'server.errorlog = "{home}/error.log"\n'
            f'mimetype.assign = (".html" => "text/html")\n{more}\n'
        ),
        lambda conf: [program, "-D", "-f", str(conf)],
    ) as port:
        yield port


@contextmanager
def _running(
    home: Path, name: str, conf: Callable[[int], str], command: Callable[[Path], list[str]]
) -> Iterator[int]:
    home.mkdir()
    port = free_port()
    file = home / name
    file.write_text(conf(port))
    with (home / "output.txt").open("wb") as output:
        server = subprocess.Popen(
            command(file), stdout=output, stderr=output, start_new_session=True
        )
    try:
        _wait_until_it_listens(server, port, home)
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _wait_until_it_listens(server: subprocess.Popen[bytes], port: int, home: Path) -> None:
    until = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < until:
        assert server.poll() is None, (home / "output.txt").read_text()
        with socket.socket() as asked:
            if asked.connect_ex((LOOPBACK, port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nothing listens on {port}")
