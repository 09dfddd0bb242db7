"""A side of a comparison in a process of its own, with the time, processor time and
memory that it and all its children need. Reads Linux's /proc: no package needed."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

_INTERVAL_S = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")


class Side(Protocol):
    """Whoever does the work of the steps; lives in a process of its own."""

    def prepare(self, step: str) -> None:
        """Makes the state before the step again; not measured."""
        ...

    def run(self, step: str) -> dict[str, Any]:
        """The step; what it returns is for people."""
        ...

    def facts(self, step: str) -> dict[str, Any]:
        """What the step made, for comparing; not measured."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Measured:
    """What a call took."""

    seconds: float
    cpu_s: float
    peak_mib: float
    told: dict[str, Any]


def as_figures(run: Measured) -> dict[str, Any]:
    """What a file of figures says of a run."""
    return {
        "seconds": round(run.seconds, 3),
        "cpu_s": round(run.cpu_s, 2),
        "peak_mib": round(run.peak_mib),
        **run.told,
    }


class Process:
    """A Side behind a pipe."""

    def __init__(self, make: Callable[[], Side], tree: Path | None = None) -> None:
        """`tree`: where it and all its children import our packages from, if not from here."""
        ours, theirs = get_context("spawn").Pipe()
        self._pipe = ours
        self._process = get_context("spawn").Process(target=_serve, args=(make, theirs, tree))
        with _importing_from(tree):
            self._process.start()
        theirs.close()
        self.started = self._measured(self._answer)

    def prepare(self, step: str) -> None:
        self._call("prepare", step)

    def run(self, step: str) -> Measured:
        return self._measured(lambda: self._call("run", step))

    def facts(self, step: str) -> dict[str, Any]:
        found: dict[str, Any] = self._call("facts", step)
        return found

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._process.is_alive():
            self._pipe.send(None)
            self._process.join(60)

    def _measured(self, work: Callable[[], Any]) -> Measured:
        assert self._process.pid is not None
        with _Memory(self._process.pid) as memory:
            spent, started = cpu_s(self._process.pid), time.monotonic()
            told = work()
            seconds = time.monotonic() - started
            spent = cpu_s(self._process.pid) - spent
        return Measured(seconds, spent, memory.peak / (1 << 20), told or {})

    def _call(self, method: str, step: str) -> Any:
        self._pipe.send((method, step))
        return self._answer()

    def _answer(self) -> Any:
        try:
            ok, answer = self._pipe.recv()
        except EOFError:
            raise SystemExit("bench: a measured process died; was it out of memory?") from None
        if not ok:
            raise SystemExit(f"bench: {answer}")
        return answer


@contextmanager
def _importing_from(tree: Path | None) -> Iterator[None]:
    """What is started in the block looks for packages there first."""
    if tree is None:
        yield
        return
    paths, variable = list(sys.path), os.environ.get("PYTHONPATH")
    # the first is the folder of the benchmarks themselves
    sys.path[1:] = [str(tree), *sys.path[1:]]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(tree), *filter(None, [variable])])
    try:
        yield
    finally:
        sys.path[:] = paths
        if variable is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = variable


def _serve(make: Callable[[], Side], pipe: Connection, tree: Path | None) -> None:
    try:
        if tree is not None:
            os.chdir(tree)  # Spark's workers look for packages where they are first
        side = make()
        pipe.send((True, {}))
        while (call := pipe.recv()) is not None:
            method, step = call
            pipe.send((True, getattr(side, method)(step)))
        side.close()
    except Exception as error:
        pipe.send((False, f"{type(error).__name__}: {error}"))
        raise


class _Memory:
    """The most memory that a process and its descendants hold together in a block."""

    def __init__(self, root: int) -> None:
        self._root = root
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.peak = 0

    def __enter__(self) -> _Memory:
        self._thread.start()
        return self

    def __exit__(self, *fault: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            self.peak = max(self.peak, sum(_pss(pid) for pid in _tree(self._root)))
            if self._done.wait(_INTERVAL_S):
                return


def _stat(pid: int | str) -> list[str]:
    """The fields of /proc/PID/stat after the name, which may hold anything; none if gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _tree(root: int) -> list[int]:
    """The process and all below it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(entry.name)):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        found.append(pid)
        waiting += children.get(pid, [])
    return found


def _pss(pid: int) -> int:
    """Memory in bytes; pages shared by several processes count once in all."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass  # it ended meanwhile
    return 0


def worker_peak_mib(root: int) -> float:
    """The most memory that any of Spark's Python workers below a process ever had."""
    peaks = [0]
    for pid in _tree(root):
        with suppress(OSError):  # it ended meanwhile
            if b"pyspark.daemon" in Path(f"/proc/{pid}/cmdline").read_bytes():
                lines = Path(f"/proc/{pid}/status").read_text().splitlines()
                peaks += [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    return max(peaks) / 1024


def cpu_s(root: int) -> float:
    """Processor seconds of the tree, of children that ended included."""
    spent = 0
    for pid in _tree(root):
        if fields := _stat(pid):
            spent += sum(int(ticks) for ticks in fields[11:15])
    return spent / _TICKS


def memory_mib(root: int) -> float:
    """What the tree holds now; pages shared by several of its processes count once."""
    return sum(map(_pss, _tree(root))) / (1 << 20)
