"""Crawls of the synthetic web that are killed again and again, at random: the same command
goes on each time, and what it comes to is held against the web itself and its server's log.

A crawl runs all phases of rounds until nothing is due; `random_phase_kills.py` has the others. Its
fetches follow redirects, some of them over several hosts; every third crawl also parses as it
fetches and follows links, and of every third rounds overlap. Most die in a process of their own
without a JVM: at the n-th write, in the middle of it or after it (`killed.py`), or by SIGKILL
from outside. The others are `crawl run` on Spark, of whose processes one is killed, or all.
"""

from __future__ import annotations

import random
import shutil
import time
from collections import Counter
from enum import StrEnum
from functools import partial
from pathlib import Path

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.model.arrow import strings
from crawl.model.status import Status
from crawl.phases.gc.run import collect_garbage
from crawl.rounds.state import segment_states
from crawl.rounds.steps import RoundOptions, build_round, next_step
from crawl.storage.checking import check
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.parquet import open_table
from crawl.storage.segments import CONTENT, FETCH, PARSE_DATA, PARSED, Segment
from crawl.synthetic.web import PageKind, Settings, Web, WebServer, running
from tests.phases.fetch_commands import Command, pages_asked, write_conf
from tests.phases.kill_tally import SITES, Tally
from tests.phases.killed import run_killed, run_killed_after
from tests.phases.made import records_of
from tests.phases.round_jobs import run_following_rounds
from tests.phases.webs import AGENT, fetched
from tests.synthetic.web.reach import reachable

WEB = Settings.plain(
    SITES,
    50,
    odd=0.6,
    kinds=(PageKind.TOUR, PageKind.CHAIN, PageKind.AWAY, PageKind.MOVED),
    fanout=3,
    size=400,
    latency=0.004,
)
_MAX_WRITES = 140
"""More than any step needs, so that a crawl gets on whatever the dice say."""
_LONGEST_S = 3.0
_MAX_LIVES = 300
_COMMAND_S = (4.0, 14.0)
"""A JVM takes some seconds to start."""

WRITE, MOMENT, WORKER, JVM, DRIVER, GROUP = "write", "moment", "worker", "jvm", "driver", "group"
_EXPECTED_STATUSES: dict[int, tuple[Status, ...]] = {
    200: (Status.DB_FETCHED, Status.DB_NOTMODIFIED),
    **dict.fromkeys((301, 308), (Status.DB_REDIR_PERM,)),
    **dict.fromkeys((302, 303, 307), (Status.DB_REDIR_TEMP,)),
}
"""What the CrawlDb may say of an answer: a page that redirects of two rounds lead to is
fetched in both, and the second finds it as it was."""


class Rounds(StrEnum):
    """How a crawl goes, by its seed."""

    PLAIN = "rounds"
    LINKS = "rounds that follow links"
    OVERLAPPED = "overlapped rounds"


def kill_at_random(tally: Tally, folder: Path, kills: int, seed: int) -> None:
    """Crawls without a JVM, of successive seeds, until there were so many kills."""
    wanted = tally.deaths + kills
    while tally.deaths < wanted:
        _kill_crawl(tally, folder, wanted, seed)
        seed += 1


def _kill_crawl(tally: Tally, folder: Path, wanted: int, seed: int) -> None:
    chance = random.Random(seed)
    kind = list(Rounds)[seed % len(Rounds)]
    # another web each time
    web = Web(Settings.from_json({**WEB.as_json(), "seed": chance.randrange(10**6)}))
    with running(web) as server:
        directory, seeds = _begun(folder, server)
        before = tally.deaths
        for hours in range(_MAX_LIVES):
            settings = server.web.settings
            arguments = (hours, directory.address, str(seeds), settings, kind == Rounds.LINKS)
            job = partial(run_following_rounds, overlap=kind == Rounds.OVERLAPPED)
            if tally.deaths >= wanted:
                job(*arguments)
                break
            way = chance.choice((WRITE, MOMENT))
            if way == WRITE:
                died = run_killed(job, *arguments, at=chance.randint(1, _MAX_WRITES))
            else:
                seconds = chance.uniform(0.05, _LONGEST_S)
                died = run_killed_after(job, *arguments, seconds=seconds)
            if not died:
                break
            tally.kills[f"{kind}: {_due(directory)}", way] += 1
        else:
            raise AssertionError("the crawl does not get on")
        _audit(tally, directory, server, tally.deaths - before, f"seed {seed}, {kind}")
    shutil.rmtree(directory.address)


def kill_commands_at_random(tally: Tally, folder: Path, kills: int, seed: int) -> None:
    """`crawl run` on Spark, until there were so many kills."""
    chance = random.Random(seed)
    wanted = tally.deaths + kills
    while tally.deaths < wanted:
        with running(Web(WEB)) as server:
            directory, seeds = _begun(folder, server)
            conf = write_conf(folder / f"conf-{tally.crawls}", server)
            with (conf / "crawl-site.toml").open("a") as opened:
                opened.write('"http.redirect.max" = 3\n"crawldb.buckets" = 2\n')
            line = ("run", directory.address, "--until-empty", "--seeds", seeds, "--conf", conf)
            options = ("--top-n", 12, "--num-fetchers", 2, "--master", "local[2]")
            before = tally.deaths
            for _ in range(_MAX_LIVES):
                command = Command(*line, *options)
                while tally.deaths < wanted and _sleeps(command, chance.uniform(*_COMMAND_S)):
                    way = chance.choice((WORKER, JVM, DRIVER, GROUP))
                    if _killed(command, way):
                        tally.kills[f"crawl run: {_due(directory)}", way] += 1
                        if way != WORKER:
                            break
                code = command.end()
                # the one before may have died when all was done
                if code == 0 or (code == 1 and "nothing is due, nothing was done" in command.err):
                    break
                assert code != 1 and "Traceback" not in command.err, command.err
            else:
                raise AssertionError("the crawl does not get on")
            where = f"seed {seed}, crawl run"
            _audit(tally, directory, server, tally.deaths - before, where)
        shutil.rmtree(directory.address)


def _begun(folder: Path, server: WebServer) -> tuple[CrawlDir, Path]:
    seeds = folder / "seeds.txt"
    seeds.write_text("\n".join(server.web.seeds()))
    return CrawlDir(str(folder / "crawl")), seeds


def _sleeps(command: Command, seconds: float) -> bool:
    """Waits so long; whether the command goes on then."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if not command.is_running:
            return False
        time.sleep(0.02)
    return command.is_running


def _killed(command: Command, way: str) -> bool:
    """Kills a process of the command; False where there is none of the kind now."""
    try:
        if way == WORKER:
            command.kill(command.workers[0])
        elif way == JVM:
            command.kill(command.jvm)
        elif way == DRIVER:
            command.kill(command.pid)
        else:
            command.kill_group()
    except (ValueError, IndexError, ProcessLookupError):
        return False
    return True


def _due(directory: CrawlDir) -> str:
    """The phase that a crawl died in: the one that is due."""
    if directory.crawldb.current() is None:
        return "inject"
    return next_step(segment_states(directory), build_round(RoundOptions())).step.name


def _audit(tally: Tally, directory: CrawlDir, server: WebServer, kills: int, where: str) -> None:
    """Adds up what the crawl lost, doubled and asked for again, and what is damaged."""
    tally.crawls += 1
    known = records_of(directory)
    codes = reachable(server.web, AGENT).codes
    for url, code in codes.items():
        if url not in known or known[url].status not in _EXPECTED_STATUSES[code]:
            status = known[url].status.label if url in known else "-"
            tally.lost.append(f"{where}: {url}: {code}, {status}")
    tally.doubled += [f"{where}: CrawlDb: {url}" for url in known.keys() - codes.keys()]
    faults = check(directory, deep=True).faults
    if faults:  # a copy that is behind, perhaps: the next command that writes there mends it
        collect_garbage(directory, Config(), SystemClock(), None, steal_lock=False)
        faults = check(directory, deep=True).faults
    tally.damaged += [f"{where}: {fault.path}: {fault.fault}" for fault in faults]
    answers = 0
    for segment in directory.segments.generated():
        rows = fetched(directory, segment.name)
        pages = Counter(url for url, datum in rows if datum.status is not Status.LINKED)
        answers += pages.total()
        doubled = {FETCH: pages, CONTENT: _urls(segment, CONTENT)}
        doubled |= {PARSE_DATA: _urls(segment, PARSE_DATA)} if segment.is_done(PARSED[0]) else {}
        for table, urls in doubled.items():
            tally.doubled += [
                f"{where}: {table}: {url}" for url, count in urls.items() if count > 1
            ]
        fetched_well = {url for url, datum in rows if datum.status is Status.FETCH_SUCCESS}
        tally.lost += [
            f"{where}: content of {url}" for url in fetched_well - doubled[CONTENT].keys()
        ]
    again = pages_asked(server) - answers
    tally.asked_again += again
    tally.most_asked_again = max(tally.most_asked_again, again / max(1, kills))


def _urls(segment: Segment, table: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for file in segment.require(table).files:
        with open_table(segment.part_folder(table), file.path) as source:
            found.update(strings(source.read(["url"])["url"]))
    return found
