"""Waves of reading sitemaps: a task asks none but its own servers, and what it finds named on
others is read by the next wave.

Sources go from task to task (tasks/deal.py); here are names of files and counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nlargest

import numpy as np

from crawl.config.properties import REPORT_SAMPLES, SITEMAP_MAX_CROSS_HOSTS
from crawl.fetcher.values.politeness import Politeness
from crawl.model.report import Report
from crawl.phases.fetch.tasks import HandOverTask
from crawl.phases.sitemap.tasks import deal, proof
from crawl.phases.sitemap.tasks.hosts import FindSitesJob, HostCut, SitesTally, cut_of
from crawl.phases.sitemap.tasks.task import read_sitemaps
from crawl.phases.sitemap.tasks.values import SitemapJob, SitemapTaskResult, SourceKind, site_source
from crawl.tables.bucket_files import largest_first
from crawl.tables.runner import Runner


@dataclass(slots=True)
class SitemapWaves:
    """Reads sources in waves, until no task names a sitemap on another's server."""

    runner: Runner
    job: SitemapJob
    num_tasks: int
    report: Report
    _results: list[SitemapTaskResult] = field(default_factory=list)

    def handed_over_tasks(self) -> list[HandOverTask]:
        """Files of robots.txt answers and of pauses, for later fetches."""
        scratch = self.job.scratch
        return [HandOverTask(scratch, each.robots, scratch, each.servers) for each in self._results]

    def state_files(self) -> list[str]:
        """The files of states of sites, in the order in which they were written."""
        return [each.states for each in self._results if each.states is not None]

    def read(self, first: Sequence[deal.DealTask], find: FindSitesJob | None = None) -> None:
        """Reads what the tasks deal and all that it leads to: no more waves than there may be
        indexes below each other, and one for robots.txt files that are on servers of other
        tasks."""
        tasks, is_alone = [*first, *self._earlier()], False
        while tasks:
            wave = self._wave(tasks, find, is_alone=is_alone)
            self._results += wave
            find, is_alone = None, any(each.has_cross_part for each in wave)
            onward = [each for each in wave if each.sources is not None]
            tasks = self._earlier(onward) if onward else []

    def prove(self) -> None:
        """Asks hosts for their robots.txt whose URLs are listed by sitemaps elsewhere."""
        if not any(each.unproved_hosts for each in self._results):
            return
        job, max_hosts = self._proof(), self.job.config[SITEMAP_MAX_CROSS_HOSTS]
        step = "sitemap: hosts to prove"
        sent = self.runner.exchange(
            partial(proof.send_unproved_hosts, job), self._notes(), job.destinations, step
        )
        results = sent.run(partial(proof.unproved_hosts, max_hosts), _each(job.destinations), step)
        hosts = nlargest(max_hosts, (host for each in results for host in each.hosts))
        self.report.counters["hosts_left_out.cross"] += sum(each.count for each in results) - len(
            hosts
        )
        if hosts:
            sources = [site_source(origin, host, SourceKind.ROBOTS) for _, host, origin in hosts]
            self.read([deal.GivenSources(tuple(sources))])

    def files(self) -> list[str]:
        """The files of rows for the CrawlDb; what no sitemap may list is counted and not there."""
        proved = [name for each in self._results for name in each.files]
        unproved = [name for each in self._results for name in each.unproved_files]
        if not unproved:
            return proved
        job, step = self._proof(), "sitemap: scopes"
        count, everywhere = job.destinations, _each(job.destinations)
        spread = partial(proof.spread_scopes, job)
        noted = self.runner.exchange(partial(proof.send_scopes, job), self._notes(), count, step)
        spreading = noted.send(spread, everywhere, count, step)
        while any(spreading.results()):
            spreading = spreading.send(spread, everywhere, count, step)
        scopes = spreading.run(partial(proof.write_scopes, job), everywhere, step)
        step = "sitemap: prove"
        sent = self.runner.exchange(partial(proof.send_unproved, job), unproved, count, step)
        numbers = np.flatnonzero(sent.row_counts()).tolist()
        tasks = [(number, scopes[number]) for number in numbers]
        results = sent.run(partial(proof.permit_rows, job), tasks, step)
        self._count(results)
        return proved + [name for result in results for name in result.files]

    def _count(self, results: Iterable[SitemapTaskResult | proof.PermitTaskResult]) -> None:
        for result in results:
            self.report.counters += result.counters
            self.report.add_samples(result.samples, self.job.config[REPORT_SAMPLES])

    def _proof(self) -> proof.ProofJob:
        samples = self.job.config[REPORT_SAMPLES]
        return proof.ProofJob(self.job.scratch, max(1, self.num_tasks), samples)

    def _notes(self) -> list[str]:
        return [each.notes for each in self._results if each.notes is not None]

    def _earlier(self, onward: Sequence[SitemapTaskResult] = ()) -> list[deal.DealTask]:
        """All that was done, and what of it is to be read."""
        unread = {id(each) for each in onward}
        return [
            deal.EarlierTask(each.notes, each.servers, each.sources if id(each) in unread else None)
            for each in self._results
        ]

    def _wave(
        self, tasks: Sequence[deal.DealTask], find: FindSitesJob | None, *, is_alone: bool
    ) -> list[SitemapTaskResult]:
        """Deals the sources and reads them; in one task where no other may run."""
        config, scratch = self.job.config, self.job.scratch
        # with a pause for each address, no task knows what another asks of it
        is_alone = is_alone or Politeness.of(config).ip_delay_s > 0
        count = 1 if is_alone else max(1, self.num_tasks)
        dealing = deal.DealJob(config, scratch, count, find)
        sent = self.runner.exchange(partial(deal.deal, dealing), tasks, count, "sitemap: deal")
        tallies = [each for each in sent.results() if each is not None]
        cut = HostCut() if find is None else self._cut(tallies, find.max_hosts)
        numbers = np.flatnonzero(sent.row_counts()).tolist()
        addressed = [(number, number) for number in numbers]
        lists = sent.run(partial(deal.write_list, scratch, cut), addressed, "sitemap: lists")
        self.report.counters["sitemaps_repeated"] += sum(each.repeated for each in lists)
        pauses = {each.number: each.servers for each in lists}
        job = replace(
            self.job,
            lists=tuple(each for each in lists if each.rows),
            pauses=tuple(pauses.get(number) for number in range(count)),
        )
        results = self.runner.run(
            partial(read_sitemaps, job), largest_first(job.lists), "sitemap: read"
        )
        self._count(results)
        return results

    def _cut(self, tallies: Sequence[SitesTally], max_hosts: int) -> HostCut:
        """Which hosts of the CrawlDb are asked; the others are counted."""
        cut, count = cut_of(tallies, max_hosts)
        counters = self.report.counters
        counters["hosts_chosen"] = count
        counters["hosts_left_out.too_many"] = sum(each.hosts for each in tallies) - count
        counters["hosts_left_out.waiting"] = sum(each.waiting for each in tallies)
        return cut


def _each(destinations: int) -> list[tuple[int, int]]:
    """A task for every destination: the number is both."""
    return [(number, number) for number in range(destinations)]
