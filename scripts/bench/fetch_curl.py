"""`fetch_curl.py PLAN THREADS`: the floor beneath our fetcher: threads that fetch with
pycurl, keep connections and throw every byte away. No queues, no robots.txt, no records."""

from __future__ import annotations

import json
import resource
import sys
import threading
import time
from collections import defaultdict
from pathlib import Path
from urllib.parse import urlsplit

import pycurl


class Fetching:
    """One thread with its own share of the hosts, so that a connection serves all of a
    host's pages; one handle, whose pool holds them."""

    def __init__(self, urls: list[str], resolve: list[str], hosts: int) -> None:
        self._urls = urls
        self._received = 0
        self.pages = 0
        self._curl = pycurl.Curl()
        self._curl.setopt(pycurl.NOSIGNAL, 1)
        self._curl.setopt(pycurl.RESOLVE, resolve)
        self._curl.setopt(pycurl.MAXCONNECTS, hosts)
        self._curl.setopt(pycurl.WRITEFUNCTION, self._drop)

    def run(self) -> None:
        curl = self._curl
        for url in self._urls:
            curl.setopt(pycurl.URL, url)
            curl.perform()
            self.pages += curl.getinfo(pycurl.RESPONSE_CODE) == 200
        curl.close()

    @property
    def received(self) -> int:
        return self._received

    def _drop(self, data: bytes) -> None:
        self._received += len(data)


def main(plan: str, threads: str) -> None:
    told = json.loads(Path(plan).read_text())
    resolve = [f"{host}:{told['port']}:{address}" for host, address in told["hosts"].items()]
    shares: dict[int, list[str]] = defaultdict(list)
    place = {host: number % int(threads) for number, host in enumerate(told["hosts"])}
    for url in told["urls"]:
        shares[place[urlsplit(url).hostname or ""]].append(url)
    crew = [Fetching(urls, resolve, len(told["hosts"])) for urls in shares.values()]
    members = [threading.Thread(target=each.run) for each in crew]
    before, begun = resource.getrusage(resource.RUSAGE_SELF), time.monotonic()
    for member in members:
        member.start()
    for member in members:
        member.join()
    ended, after = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    measured = {
        "seconds": ended - begun,
        "cpu_s": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "pages": sum(each.pages for each in crew),
        "bytes": sum(each.received for each in crew),
        "peak_mib": _peak_mib(),
    }
    print(json.dumps(measured))


def _peak_mib() -> float:
    """Of this process: getrusage's begins with what the parent had."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
