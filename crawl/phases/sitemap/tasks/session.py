"""What one task asks for, and in which order: the robots.txt of its sites, the sitemaps that
they name, and what indexes list.

It is the engine's OutputPort and some of its hooks: whatever it wants to have asked next goes
to the engine as links to follow, and so into the queue of its server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from crawl.config import properties
from crawl.fetcher.values.item import FollowedUrl, FoundLinks
from crawl.fetcher.values.output_port import NullOutput
from crawl.fetcher.values.record import FetchRecord
from crawl.model.answer_keys import PROTOCOL_STATUS_KEY
from crawl.model.content import Content
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.parsing.formats.sitemaps import Sitemap, SitemapKind
from crawl.parsing.sitemap_body import NoSitemap, sitemap_of_body
from crawl.phases.sitemap.tasks.rows import ListedRows
from crawl.phases.sitemap.tasks.values import (
    SitemapFindings,
    SitemapJob,
    SitemapSource,
    SitemapTask,
    SiteState,
    SiteUsage,
    SourceKind,
)
from crawl.robots.rules import RobotRules
from crawl.robots.stored import StoredAnswer
from crawl.storage.robots_store import write_answers
from crawl.tables.samples import Samples
from crawl.urls.parse import authority_of, host_of

ROBOTS_READ = "robots_read"
"""Why the engine is kept from asking for a robots.txt as if it were a page."""
_ROBOTS_BYTES = 16 << 20
"""Of answers for robots.txt that may wait to be written."""
_REDIRECTS = (Status.FETCH_REDIR_TEMP, Status.FETCH_REDIR_PERM)


class SitemapSession(NullOutput):
    """Takes what the engine fetches, and gives it what to fetch next."""

    parses_pages = True

    def __init__(self, job: SitemapJob, task: SitemapTask, owns_url: Callable[[str], bool]) -> None:
        """`owns_url` returns whether this task may ask the server of a URL."""
        super().__init__()
        self._job, self._config, self._owns_url = job, job.config, owns_url
        self._samples = Samples(job.config[properties.REPORT_SAMPLES])
        self._sources = {source.url: source for source in task.sources}
        self._sites = {source.site for source in task.sources}
        self._answered_urls: set[str] = set()
        self._usage = dict(task.usage)
        self._unasked_targets: list[SitemapSource] = []
        """Targets of redirects that the engine has given up."""
        self._new_sources: list[SitemapSource] = []
        self._redirecting: SitemapSource | None = None
        self._robots: list[StoredAnswer] = []
        self._robots_bytes = 0
        self.rows = ListedRows(job, self.counters, self._samples)
        self.samples = self._samples.by_reason
        self.findings = SitemapFindings()

    def listed(self) -> Iterator[tuple[str, CrawlDatum]]:
        """The task's sources as the engine's list."""
        for url in list(self._sources):
            yield url, self._datum()

    # the engine's hooks

    def accept_target(self, url: str) -> tuple[str | None, str]:
        """A redirect's target, or why it is dropped."""
        is_wanted = self._is_wanted_host(url, host_of(url) or "")
        return (url, "") if is_wanted else (None, "filtered")

    def why_left_out(self, url: str, rules: RobotRules) -> str:
        """Has what a robots.txt names asked for, instead of the robots.txt itself."""
        source = self._sources.get(url)
        if source is None or source.kind is SourceKind.SITEMAP:
            return ""
        self._answered_urls.add(url)
        self.counters["hosts_asked"] += 1
        host = host_of(url) or ""
        self.findings.robots_read.add(host)
        self.findings.named += [(host, sitemap) for sitemap in rules.sitemaps]
        if source.kind is SourceKind.SITE:
            self._tell(source, SiteState())
            for sitemap in rules.sitemaps:
                self._offer(SitemapSource(sitemap, source.site, scopes=frozenset((host,))))
            if not rules.sitemaps and self._config[properties.SITEMAP_URL_DEFAULT_SITEMAP_XML]:
                self.counters["hosts_without_sitemap_line"] += 1
                self._offer(SitemapSource(f"{authority_of(url)}/sitemap.xml", source.site))
        return ROBOTS_READ

    # the engine's output

    def add(self, record: FetchRecord) -> None:
        source, status = self._sources.get(record.url), record.datum.status
        if status is Status.LINKED:
            self._leave(record.url, source)
            return
        if source is None:
            return
        self._answered_urls.add(record.url)
        if status in _REDIRECTS:
            self._redirecting = source
            self.counters["sitemaps_redirected"] += 1
        elif status is Status.FETCH_SUCCESS and record.content is not None:
            self._read(source, record.content)
        else:
            label = record.datum.metadata.get(PROTOCOL_STATUS_KEY, "").partition("(")[0]
            self._fail(source, label or status.label)

    def add_followed(self, followed: FollowedUrl) -> None:
        source = self._sources.get(followed.came_by[-1])
        if source is not None:
            url = followed.url
            self._sources[url] = replace(source, url=url, scopes=source.all_scopes)
            self._link(source, url)

    def add_robots(self, answer: StoredAnswer) -> None:
        self._robots.append(answer)
        self._robots_bytes += len(answer.body)
        if self._robots_bytes > _ROBOTS_BYTES:
            self._write_robots()

    def _write_robots(self) -> None:
        if self._robots:
            self.findings.robots.append(write_answers(self._job.scratch, 0, self._robots))
        self._robots, self._robots_bytes = [], 0

    def found_links(self) -> Iterable[FoundLinks]:
        sources, self._new_sources = self._new_sources, []
        return [FoundLinks(source.depth + 1, [(source.url, self._datum())]) for source in sources]

    def awaits_links(self) -> bool:
        return bool(self._new_sources)

    # the end

    def finish(self, cross_part_authorities: Iterable[str]) -> SitemapFindings:
        """The findings of the whole task. Authorities whose robots.txt is on a server of another
        task are asked when no other task runs."""
        self.rows.flush()
        self._write_robots()
        authorities = frozenset(cross_part_authorities)
        for source in self._unasked_targets:
            if authority_of(source.url) not in authorities:
                self._fail(source, "not_asked")
        findings = self.findings
        for url, source in self._sources.items():
            if url in self._answered_urls:
                if source.kind is SourceKind.SITEMAP:
                    findings.scopes[url] = source.all_scopes
            elif authority_of(url) in authorities:
                findings.cross_part.append(source)
            elif source.kind is not SourceKind.ROBOTS:
                self._tell(source, SiteState(trouble="not_asked"))
        findings.unproved, findings.usage = self.rows.unproved, self._usage
        return findings

    def _read(self, source: SitemapSource, content: Content) -> None:
        used = self._usage.get(source.site, SiteUsage())
        max_urls = min(
            self._config[properties.SITEMAP_MAX_URLS],
            self._config[properties.SITEMAP_MAX_URLS_PER_HOST] - used.urls,
        )
        if max_urls <= 0:
            self._fail(source, "too_many_urls")
            return
        sitemap = self._sitemap(content, max_urls)
        if isinstance(sitemap, NoSitemap):
            self._fail(source, sitemap.reason)
            return
        entries = sitemap.entries
        self.counters["sitemaps_read"] += 1
        self.counters[f"sitemaps_read.{sitemap.kind}"] += 1
        if sitemap.cut or content.truncated:
            self._count("sitemaps_cut", source.url)
        is_index = sitemap.kind is SitemapKind.INDEX
        self._tell(source, SiteState(read=1, urls=0 if is_index else len(entries)))
        self._count_dropped(is_index, "no_url", sitemap.bad)
        self._count_dropped(is_index, "over_limit", sitemap.over_limit)
        self._usage[source.site] = replace(used, urls=used.urls + len(entries))
        if is_index:
            for entry in entries:
                self._offer(_child(source, entry.url), source)
        else:
            self.rows.add(source, entries)

    def _sitemap(self, content: Content, max_urls: int) -> Sitemap | NoSitemap:
        url, body, max_bytes = content.url, content.body, self._config[properties.SITEMAP_SIZE_MAX]
        try:
            return sitemap_of_body(
                url, body, content.content_type, most=max_urls, max_bytes=max_bytes
            )
        except Exception:  # what one stranger wrote must not cost the sitemaps of all others
            return NoSitemap("reader_error")

    def _count(self, reason: str, url: str) -> None:
        """Counts a reason, with the URL as an example."""
        self.counters[reason] += 1
        self._samples.add(reason, url)

    def _count_dropped(self, is_index: bool, reason: str, count: int) -> None:
        """Counts entries that were left out: sitemaps of an index, URLs of anything else."""
        if count and is_index:
            self.counters[f"sitemaps_dropped.{reason}"] += count
        elif count:
            self.counters["urls_listed"] += count
            self.counters[f"urls_dropped.{reason}"] += count

    def _offer(self, source: SitemapSource, parent: SitemapSource | None = None) -> None:
        """Has a sitemap asked for, by this task or another; or counts why not."""
        url = source.url
        earlier = self._sources.get(url)
        if earlier is not None:
            self._link(parent, url)
            self.counters["sitemaps_repeated"] += 1
            # a host's own sitemap is read on its behalf, whoever else names it first
            is_own = source.site == host_of(url) and url not in self._answered_urls
            site = source.site if is_own else earlier.site
            self._sources[url] = replace(earlier, site=site, scopes=earlier.scopes | source.scopes)
            return
        if reason := self._why_not(source):
            self._count(f"sitemaps_dropped.{reason}", url)
            return
        self._link(parent, url)
        used = self._usage.get(source.site, SiteUsage())
        self._usage[source.site] = replace(used, sitemaps=used.sitemaps + 1)
        if self._owns_url(url):
            self._sources[url] = source
            self._new_sources.append(source)
        else:
            self.findings.elsewhere.append(source)

    def _link(self, source: SitemapSource | None, url: str) -> None:
        if source is not None:
            self.findings.links.add((source.url, url))

    def _why_not(self, source: SitemapSource) -> str:
        host = host_of(source.url)
        if not host or not source.url.startswith(("http://", "https://")):
            return "no_url"
        if source.depth > self._config[properties.SITEMAP_MAX_DEPTH]:
            return "too_deep"
        used = self._usage.get(source.site, SiteUsage())
        if used.sitemaps >= self._config[properties.SITEMAP_MAX_SITEMAPS_PER_HOST]:
            return "too_many"
        return "" if self._is_wanted_host(source.url, host) else "filtered"

    def _is_wanted_host(self, url: str, host: str) -> bool:
        """Whether sitemaps may be asked of a host: one of the sites, or one whose front page the
        filters accept. They keep a crawl to its hosts; what they say of file names is meant for
        pages."""
        filters = self._job.filters
        if filters is None or host in self._sites:
            return True
        return filters.rejection(f"{authority_of(url)}/", self.counters) is None

    def _leave(self, url: str, source: SitemapSource | None) -> None:
        """Hands on a redirect's target that the engine has not asked for."""
        redirecting, self._redirecting = self._redirecting, None
        if source is not None:
            self._unasked_targets.append(source)
        elif redirecting is not None and not self._owns_url(url):
            self._offer(_child(redirecting, url), redirecting)
        else:
            self.counters["sitemaps_dropped.too_many_redirects"] += 1

    def _fail(self, source: SitemapSource, reason: str) -> None:
        is_sitemap = source.kind is SourceKind.SITEMAP
        if source.kind is not SourceKind.ROBOTS:
            self._tell(source, SiteState(failed=int(is_sitemap), trouble=reason))
        self._count(f"{'sitemaps' if is_sitemap else 'hosts'}_failed.{reason}", source.url)

    def _tell(self, source: SitemapSource, state: SiteState) -> None:
        """Adds to what is known of the site on whose behalf a source was asked for."""
        states = self.findings.states
        states[source.site] = states.get(source.site, SiteState()) + state

    def _datum(self) -> CrawlDatum:
        return CrawlDatum(Status.DB_UNFETCHED, self._job.now_ms, score=1.0)


def _child(parent: SitemapSource, url: str) -> SitemapSource:
    """A sitemap that an index lists, or that a URL redirects to."""
    return SitemapSource(url, parent.site, depth=parent.depth + 1, scopes=parent.all_scopes)
