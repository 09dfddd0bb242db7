"""Processor time of inject, generate and updatedb on a made CrawlDb, in this process: what a
record, a seed, a selected URL, a page, a link and a bucket cost."""

from __future__ import annotations

import os
import resource
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import crawldb_data
from crawldb_data import Made
from crawldb_shape import BenchClock, Shape

from crawl.config import Config
from crawl.phases.generate import run as generate
from crawl.phases.generate.options import GenerateOptions
from crawl.phases.inject import run as inject
from crawl.phases.inject.options import InjectOptions
from crawl.phases.updatedb import run as updatedb
from crawl.phases.updatedb.options import UpdateDbOptions
from crawl.planning import capacity
from crawl.planning.capacity import PhaseWork
from crawl.planning.costs import Costs, MeasuredCost
from crawl.planning.demand import Demand
from crawl.storage.crawl_dir import CrawlDir
from crawl.storage.segments import GENERATE
from crawl.tables.runner import InProcess

BUCKETS = 64
"""With so many updatedb sends what it is told to its buckets, as it does in large crawls."""
_HOSTS = 1_000
"""At the least: no bucket may be without one."""
PHASES = ("inject", "generate", "updatedb")


@dataclass(frozen=True, slots=True)
class Run:
    """One phase, as it was."""

    phase: str
    shape: Shape
    selected: int
    cpu_s: float
    peak_bytes: float
    """Of memory, beyond what there was before."""
    largest: int
    """Rows of the largest bucket."""
    record_bytes: float
    """Of a URL of the CrawlDb on disk, before the run."""
    listed_bytes: float
    """Of a URL of the fetch list."""

    @property
    def demand(self) -> Demand:
        """The same in the model's words."""
        pages = self.selected if self.phase == "generate" else self.shape.fetched
        return Demand(
            urls=self.shape.urls,
            hosts=self.shape.hosts,
            pages_per_day=pages,
            rounds_per_day=1,
            links=self.shape.links / self.shape.fetched,
            seeds=self.shape.seeds,
            buckets=self.shape.buckets,
        )

    def predicted(self, costs: Costs) -> PhaseWork:
        """What the model says of it; it ran in this process, without what Spark adds."""
        costs = replace(costs, exchange_row_us=0, exchange_task_us=0)
        if self.phase == "inject":
            return capacity.inject(self.demand, costs, known_urls=self.shape.urls)
        if self.phase == "generate":
            return capacity.generate(self.demand, costs)
        return capacity.updatedb(self.demand, costs)


def shape_of(urls: int, **others: int) -> Shape:
    """As the benchmark `crawldb` has it, unless told otherwise."""
    amounts = {"seeds": urls // 40, "fetched": urls // 40, "links": urls // 4}
    shape = {"hosts": max(_HOSTS, urls // 400), "buckets": BUCKETS, "seed": 7, **amounts, **others}
    return Shape(urls=urls, **shape)


def measure(work: Path, shape: Shape, phases: dict[str, int], rounds: int) -> dict[str, Run]:
    """The phases on a CrawlDb of this shape, the best of some rounds each; generate selects
    the number beside its name."""
    folder = work / "crawldb"
    made = crawldb_data.make(folder, shape, os.cpu_count() or 1)
    try:
        best: dict[str, Run] = {}
        for _ in range(rounds):
            for phase, selected in phases.items():
                run = _run(made, shape, phase, selected)
                if phase not in best or run.cpu_s < best[phase].cpu_s:
                    best[phase] = run
        return best
    finally:
        shutil.rmtree(folder)


def _run(made: Made, shape: Shape, phase: str, selected: int) -> Run:
    crawl, config, clock, runner = CrawlDir(made.crawl), Config.of({}), BenchClock(), InProcess()
    with crawl.writing_crawldb("bench", config, clock) as transaction:
        if transaction.timeline.current != 1:
            transaction.roll_back(1)
        transaction.keep_newest(1)
    crawl.folder.delete("segments")
    if phase == "updatedb":
        shutil.copytree(made.segments, f"{made.crawl}/segments", copy_function=os.link)
    records = crawl.require_crawldb().files
    resident = _forget_peak()
    before = resource.getrusage(resource.RUSAGE_SELF)
    listed = 0.0
    if phase == "inject":
        inject.run(runner, crawl, config, InjectOptions((made.seeds,)), clock)
    elif phase == "updatedb":
        updatedb.run(runner, crawl, config, UpdateDbOptions(), clock)
    else:
        options = GenerateOptions(top_n=selected, num_fetchers=2)
        generate.run(runner, crawl, config, options, clock, resolver=lambda host: None)
    after = resource.getrusage(resource.RUSAGE_SELF)
    peak = _memory("VmHWM") - resident
    if phase == "generate":
        (segment,) = crawl.segments.generated()
        files = segment.require(GENERATE).files
        listed = sum(file.bytes for file in files) / max(1, sum(file.rows for file in files))
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    largest = max(file.rows for file in crawl.require_crawldb().files)
    stored = sum(file.bytes for file in records) / shape.urls
    return Run(phase, shape, selected, cpu_s, peak, largest, stored, listed)


def costs(work: Path, urls: int, rounds: int) -> dict[str, MeasuredCost]:
    """By differences of runs that differ in one amount."""
    few, many = max(BUCKETS * 4, urls // 2000), urls // 5
    least = urls // 5
    small = measure(
        work,
        shape_of(least, seeds=few, fetched=few, links=few),
        {"inject": 0, "generate": 1, "updatedb": 0},
        rounds,
    )
    base = measure(
        work,
        shape_of(urls, seeds=few, fetched=few, links=few),
        {"inject": 0, "generate": 1, "updatedb": 0},
        rounds,
    )
    more = measure(
        work,
        shape_of(urls, seeds=many, fetched=urls // 10, links=few),
        {"inject": 0, "generate": urls // 10, "updatedb": 0},
        rounds,
    )
    # as many pages, that is files, as before: what updatedb is told is split in both
    linked = measure(work, shape_of(urls, fetched=urls // 10, links=urls), {"updatedb": 0}, rounds)
    wide = measure(work, shape_of(urls, buckets=2), {"generate": urls // 20, "updatedb": 0}, 1)
    found: dict[str, MeasuredCost] = {}
    size = f"{urls:,} URLs in {BUCKETS} buckets"
    for phase in PHASES:
        record = max(0.0, base[phase].cpu_s - small[phase].cpu_s) / (urls - least)
        task = max(0.0, small[phase].cpu_s - least * record) / BUCKETS
        told = f"{phase} that does little, {least:,} and {urls:,} URLs in {BUCKETS} buckets"
        found[f"{phase}_task_us"] = MeasuredCost(1e6 * task, told)
        found[f"{phase}_record_us"] = MeasuredCost(1e6 * record, told)
    units = {
        "inject_seed_us": (base, more, "inject", many - few),
        "generate_selected_us": (base, more, "generate", urls // 10 - 1),
        "updatedb_page_us": (base, more, "updatedb", urls // 10 - few),
        "updatedb_link_us": (more, linked, "updatedb", urls - few),
    }
    for name, (less, runs, phase, amount) in units.items():
        each = max(0.0, runs[phase].cpu_s - less[phase].cpu_s) / amount
        found[name] = MeasuredCost(1e6 * each, f"{phase} with {amount:,} more, {size}")
    peak = max(run.peak_bytes / run.largest for run in wide.values())
    largest = max(run.largest for run in wide.values())
    found["memory_bucket_record"] = MeasuredCost(peak, f"peak with a bucket of {largest:,} URLs")
    found["disk_record"] = MeasuredCost(base["inject"].record_bytes, f"CrawlDb of {size}")
    listed = more["generate"].listed_bytes
    found["disk_listed"] = MeasuredCost(listed, f"fetch list of {urls // 10:,} URLs")
    return found


def _forget_peak() -> int:
    """The memory that this process has; its peak is counted from now on."""
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
