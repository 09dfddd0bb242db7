"""The Python client of a crawl service (`crawl serve`).

    service = crawl.connect("http://127.0.0.1:8199")
    page = service.fetch("https://example.org/", wait="20s")
    for event in service.events(): ...

What is asked and what the answers mean is said once and without any network: `requests` makes
requests and reads answers, `calls` and `streams` say which of them follow each other, when
something is asked again and when not. Two drivers carry that out: `blocking` (`Client`) and
`awaiting` (`AsyncClient`). Both send by urllib3, which every installation has (the fetcher's
`http-requests` needs it), which several threads may share, and whose answers can be ended from
another thread; the second does so in threads, which spares a second HTTP library.
"""

from crawl.service.client.awaiting import AsyncClient, AsyncSiteCrawl, connect_async
from crawl.service.client.blocking import Client, SiteCrawl, connect
from crawl.service.client.results import (
    CrawlState,
    CrawlStatus,
    Finished,
    Job,
    JobState,
    Page,
    SearchHit,
)

__all__ = [
    "AsyncClient",
    "AsyncSiteCrawl",
    "Client",
    "CrawlState",
    "CrawlStatus",
    "Finished",
    "Job",
    "JobState",
    "Page",
    "SearchHit",
    "SiteCrawl",
    "connect",
    "connect_async",
]
