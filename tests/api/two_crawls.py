"""A program with several crawls in one process, and with sessions of somebody else's: what they
come to, as JSON. A process of its own, since it opens, stops and kills Spark sessions.

    python -m tests.api.two_crawls FOLDER
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import crawl
from crawl.errors import CrawlError
from crawl.storage.crawl_dir import CrawlDir
from crawl.synthetic.web import Settings, Web, WebServer, running
from tests.phases.made import records_of

_PATIENCE_S = 300.0


def main(folder: Path) -> dict[str, object]:
    with running(Web(Settings.plain(3, 20, port=0, size=500, fanout=4))) as server:
        hosts = (f"{server.web.address(host)} {host}\n" for host in server.web.hosts())
        (folder / "hosts.txt").write_text("".join(hosts))
        return {
            "at once": at_once(folder, server, ["a", "b"]),
            "in turn": outcome(folder, server, "c"),
            "stopped": active_context() is None,
            **two_opened(folder),
            "other memory": other_memory(folder),
            "speculation": speculation(folder),
            "borrowed": borrowed(folder),
        }


def opened(folder: Path, name: str, **settings: object) -> crawl.Crawl:
    return crawl.open(
        folder / name,
        settings={
            "http.agent.name": "mybot",
            "http.filter.ipaddress.allow.private": True,
            "http.resolver.hosts.file": str(folder / "hosts.txt"),
            "fetcher.server.delay": 0.01,
            "crawldb.buckets": 2,
            **{key.replace("__", "."): value for key, value in settings.items()},
        },
        master=None if "master" in settings else "local[2]",
        progress=False,
    )


def outcome(folder: Path, server: WebServer, name: str) -> list[list[object]]:
    """What a crawl of two rounds knows at its end, without times."""
    with opened(folder, name) as web:
        web.inject(server.web.seeds())
        web.run(rounds=2)
    found = records_of(CrawlDir(str(folder / name)))
    return sorted([url, record.status.name, record.score] for url, record in found.items())


def at_once(folder: Path, server: WebServer, names: list[str]) -> list[object]:
    """The outcomes of crawls in threads that begin at the same moment."""
    start = threading.Barrier(len(names))
    outcomes: dict[str, object] = {}

    def work(name: str) -> None:
        try:
            start.wait(_PATIENCE_S)
            outcomes[name] = outcome(folder, server, name)
        except BaseException as error:
            outcomes[name] = repr(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_PATIENCE_S)
    return [outcomes.get(name) for name in names]


def active_context() -> Any:
    from pyspark import SparkContext

    return SparkContext._active_spark_context


def refusal(work: Callable[[], object]) -> list[object]:
    try:
        work()
    except CrawlError as error:
        return [type(error).__name__, error.exit_code, str(error)]
    return ["not refused"]


def two_opened(folder: Path) -> dict[str, object]:
    with opened(folder, "d") as one, opened(folder, "e") as other:
        one.inject(["http://a.org/"])
        other.inject(["http://a.org/"])
        with opened(folder, "f", spark__locality__wait="1s") as third:
            refused = refusal(lambda: third.inject(["http://a.org/"]))
        return {"other settings": refused, "killed": killed(one, other)}


def killed(one: crawl.Crawl, other: crawl.Crawl) -> list[object]:
    """The JVM dies between two phases of two crawls: their next ones have a new one."""
    process = active_context()._gateway.proc
    process.kill()
    process.wait()
    died = [refusal(partial(web.inject, ["http://b.org/"]))[0] for web in (one, other)]
    return [died, [web.inject(["http://b.org/"]).db_urls for web in (one, other)]]


def other_memory(folder: Path) -> list[object]:
    """Of a JVM that this process has started for a session before."""
    with opened(folder, "g", spark__driver__memory="600m") as web:
        return refusal(lambda: web.inject(["http://a.org/"]))


def speculation(folder: Path) -> list[object]:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    spark = builder.master("local[2]").config("spark.speculation", "true").getOrCreate()
    with opened(folder, "h") as web:
        refused = refusal(lambda: web.inject(["http://a.org/"]))
    refused.append(spark.range(3).count())
    spark.stop()
    del builder._options["spark.speculation"]
    return refused


def borrowed(folder: Path) -> dict[str, object]:
    """A plain session of a notebook."""
    from pyspark.sql import SparkSession

    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("crawl.spark").addHandler(handler)
    builder: Any = SparkSession.builder
    plain = {  # the JVM was started with settings of ours, which it would have otherwise
        "spark.serializer": "org.apache.spark.serializer.JavaSerializer",
        "spark.shuffle.sort.bypassMergeThreshold": "200",
        "spark.sql.execution.arrow.pyspark.enabled": "false",
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }
    spark = builder.master("local[2]").config(map=plain).getOrCreate()
    spark.sparkContext.setJobGroup("cell 7", "their own")
    with opened(folder, "i", spark__locality__wait="1s") as web:
        web.inject(["http://a.org/"])
        told = list(lines)
        web.inject(["http://b.org/"])
    with opened(folder, "i", spark__locality__wait="1s") as web:
        web.inject(["http://c.org/"])
    logging.getLogger("crawl.spark").removeHandler(handler)
    group = spark.sparkContext.getLocalProperty("spark.jobGroup.id")
    still = spark.range(3).count()
    spark.stop()
    return {"told": told, "told again": lines[len(told) :], "group": group, "count": still}


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable  # for the sessions that are not our own
    print("RESULT", json.dumps(main(Path(sys.argv[1]))))
