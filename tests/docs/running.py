"""Runs the blocks of a page in order: one shell, one Python namespace, one Spark session.

The shell is a real bash. `crawl` in it is a small program that hands its command line, folder,
environment and stdin to this process, which calls the command and answers with what it printed
and its exit code: so all commands of all pages share the session that the tests have open, and
a JVM is not started for each. `crawl testweb` and `crawl serve`, which serve until they are ended,
are processes; the port of the second is a free one, wherever the page has its own.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crawl.cli.main import main
from crawl.service.faces.serve_operation import DEFAULT_PORT
from tests.docs.pages import ROOT, Block
from tests.free_port import free_port
from tests.installs import PRODUCT, only_installed

_CLIENT = """\
#!{python} -IS
import json, os, socket, sys
port = os.environ["DOCS_SERVICE_PORT"]
if sys.argv[1:2] == ["serve"]:
    os.environ["PYTHONPATH"] = {root!r}
    os.execv({python!r}, [{python!r}, "-m", "crawl", *sys.argv[1:], "--port", port])
if sys.argv[1:2] == ["submit"] and "--server" not in sys.argv:
    sys.argv += ["--server", "http://127.0.0.1:" + port]
if sys.argv[1:2] == ["testweb"] and "--table" not in sys.argv:
    # smaller than what a reader would start, so that a page takes seconds
    more = [] if "--sites" in sys.argv else ["--sites", "3", "--pages", "20"]
    os.environ["PYTHONPATH"] = {root!r}
    os.execv({python!r}, [{python!r}, "-m", "crawl", *sys.argv[1:], *more])
asked = dict(argv=sys.argv[1:], cwd=os.getcwd(), env=dict(os.environ), stdin=sys.stdin.read())
asked["name"] = os.path.basename(sys.argv[0])
with socket.create_connection(("127.0.0.1", int(os.environ["DOCS_PORT"]))) as line:
    line.sendall(json.dumps(asked).encode() + b"\\n")
    with line.makefile("rb") as answer:
        result = json.loads(answer.readline())
sys.stdout.write(result["out"])
sys.stderr.write(result["err"])
sys.exit(result["code"])
"""
_PYTHON = "take-python-block"
_SERVICE = f"127.0.0.1:{DEFAULT_PORT}"
_EXPECTED = re.compile(r"#.*\bexit code (\d+)")


@dataclass
class Shell:
    """A page's scratch folder, and what its commands are called with."""

    folder: Path
    environment: Mapping[str, str]
    replaced: Mapping[str, str]
    """URLs of the page and those of the synthetic web that stand for them."""
    installed: frozenset[str] = frozenset((PRODUCT,))
    """What the page has its reader install: no more can be imported."""
    service_port: int = field(default_factory=free_port)
    """Where `crawl serve` listens."""
    namespace: dict[str, Any] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)
    """What every command printed, in order."""
    faults: list[str] = field(default_factory=list)

    def run(self, blocks: Sequence[Block]) -> None:
        """Runs them all; `faults` lists what did not go as the page says."""
        self._install()
        script = ["trap 'kill $(jobs -p) 2>/dev/null || true' EXIT", "set -o pipefail"]
        script.append('trap \'echo "$BLOCK:$?:$BASH_COMMAND" >> "$DOCS_FAILED"\' ERR')
        for number, block in enumerate(blocks):
            script += [f"BLOCK={number}", *self._lines(number, block)]
        listener = socket.create_server(("127.0.0.1", 0))
        environment = {
            **self.environment,
            "PATH": f"{self.folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "DOCS_PORT": str(listener.getsockname()[1]),
            "DOCS_SERVICE_PORT": str(self.service_port),
            "DOCS_FAILED": str(self.folder / ".failed"),
        }
        with contextlib.closing(listener), (self.folder / ".log").open("wb") as log:
            shell = subprocess.Popen(
                ["bash", "-c", "\n".join(script)],
                cwd=self.folder / "work",
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            listener.settimeout(0.05)
            while shell.poll() is None:
                with contextlib.suppress(TimeoutError):
                    connection, _ = listener.accept()
                    connection.settimeout(None)
                    self._answer(connection, blocks)
        self._judge(blocks)

    @property
    def log(self) -> str:
        """All that was printed on the shell's terminal."""
        return (self.folder / ".log").read_text(encoding="utf-8", errors="replace")

    def _install(self) -> None:
        for place in ("bin", "work/scripts"):
            (self.folder / place).mkdir(parents=True, exist_ok=True)
        client = _CLIENT.format(python=sys.executable, root=str(ROOT))
        for name in ("bin/crawl", f"bin/{_PYTHON}", "work/scripts/crawl"):
            program = self.folder / name
            program.write_text(client)
            program.chmod(0o755)
        (self.folder / "work" / "conf").symlink_to(ROOT / "conf")
        (self.folder / ".failed").touch()

    def _lines(self, number: int, block: Block) -> list[str]:
        if block.file:
            return [f"{_PYTHON} {number} {shlex.quote(block.file)}"]
        if block.language == "python":
            return [f"{_PYTHON} {number}"]
        if block.language == "sh":
            return self._typed(block.text).splitlines()
        return [
            f"{{ {self._typed(command)}\n}} > {self._output(number, place)} 2>&1"
            for place, (command, _) in enumerate(block.exchanges())
        ]

    def _typed(self, text: str) -> str:
        for url, stand_in in self.replaced.items():
            text = text.replace(url, stand_in)
        return text.replace(_SERVICE, f"127.0.0.1:{self.service_port}")

    def _output(self, number: int, place: int) -> Path:
        return self.folder / f".out-{number}-{place}"

    def _answer(self, connection: socket.socket, blocks: Sequence[Block]) -> None:
        with connection, connection.makefile("rb") as line:
            asked = json.loads(line.readline())
            with (
                _as(asked["cwd"], asked["env"], asked["stdin"]) as (out, err),
                only_installed(self.installed),
            ):
                if asked["name"] == _PYTHON:
                    number, *file = asked["argv"]
                    code = self._python(blocks[int(number)], *file)
                else:
                    code = _command(asked["argv"])
            self.printed += [out.text(), err.text()]
            answer = {"out": out.text(), "err": err.text(), "code": code}
            connection.sendall(json.dumps(answer).encode() + b"\n")

    def _python(self, block: Block, file: str = "") -> int:
        if file:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(self._typed(block.text), encoding="utf-8")
            return 0
        try:
            exec(compile(self._typed(block.text), block.place, "exec"), self.namespace)
        except Exception:
            self.faults.append(f"{block.place}: {traceback.format_exc()}")
            return 1
        return 0

    def _judge(self, blocks: Sequence[Block]) -> None:
        """Holds exit codes and outputs against what the page says."""
        failed: list[tuple[int, str, str]] = []
        for line in (self.folder / ".failed").read_text().splitlines():
            digits, _, rest = line.partition(":")
            if digits.isdigit():  # the other lines are the rest of a command of several
                code, _, command = rest.partition(":")
                failed.append((int(digits), code, command))
        for number, block in enumerate(blocks):
            if block.is_shell:
                expected = [match[1] for match in _EXPECTED.finditer(block.text)]
                found = [code for block_number, code, _ in failed if block_number == number]
                if found != expected:
                    commands = [
                        f"{code}: {command}"
                        for block_number, code, command in failed
                        if block_number == number
                    ]
                    self.faults.append(f"{block.place}: exit codes {commands}, said: {expected}")
            if block.language == "console":
                for place, (command, shown) in enumerate(block.exchanges()):
                    printed = self._output(number, place).read_text(encoding="utf-8")
                    typed = [self._typed(line) for line in shown]
                    missing = first_missing(typed, printed.splitlines())
                    if missing is not None:
                        self.faults.append(
                            f"{block.place}: {command!r} prints no line {missing!r} there, but\n"
                            + printed
                        )


def first_missing(shown: Sequence[str], printed: Sequence[str]) -> str | None:
    """The first line that is shown and not printed, in this order; digits may differ, and …
    stands for anything."""
    rest = iter([_figures(line) for line in printed])
    for line in shown:
        if line.strip() in ("", "…"):
            continue
        pattern = re.compile(".*".join(map(re.escape, _figures(line).split("…"))))
        if not any(pattern.fullmatch(found) for found in rest):
            return line
    return None


def _figures(line: str) -> str:
    return " ".join(re.sub(r"\d[\d.,:]*", "0", line).split())


class _Text(io.TextIOWrapper):
    """What a command writes, as text and as bytes."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self) -> str:
        raw = self.buffer
        assert isinstance(raw, io.BytesIO)
        return raw.getvalue().decode("utf-8", "replace")


@contextlib.contextmanager
def _as(cwd: str, environment: Mapping[str, str], stdin: str) -> Iterator[tuple[_Text, _Text]]:
    """Has this process run as one that was started in that folder."""
    before = dict(os.environ), sys.stdin, Path.cwd()
    out, err = _Text(), _Text()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(cwd)
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    searched = list(sys.path)
    sys.path[:0] = [place for place in environment.get("PYTHONPATH", "").split(":") if place]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield out, err
    finally:
        sys.path[:] = searched
        os.chdir(before[2])
        sys.stdin = before[1]
        os.environ.clear()
        os.environ.update(before[0])


def _command(arguments: Sequence[str]) -> int:
    try:
        main(list(arguments))
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    raise AssertionError("a command ends with an exit code")
