"""The image that stands for a page, fetched for a job that wants it: the job goes on with the URL
of the image, through the queue of that host, and ends with the page once it is known what came.

An image that is known and fresh, such as a logo that all pages of a site name, is not asked for
again, and one that fails is told with its reason: the page is there all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from crawl.clock import Clock
from crawl.counters import Counters
from crawl.model.status import Status
from crawl.service.cards import image_url_of
from crawl.service.intake.admission import Admission
from crawl.service.intake.decide import Checked
from crawl.service.intake.freshness import Freshness
from crawl.service.pages import Pages
from crawl.service.values import FetchedImage, Job, Page


@dataclass(frozen=True, slots=True)
class RelatedImages:
    """Decides what of images is asked for, and notes with pages what came."""

    admission: Admission
    pages: Pages
    freshness: Freshness
    clock: Clock
    counters: Counters
    is_usual: bool
    """Whether they are fetched where a wish does not say it."""

    def is_wanted(self, job: Job, page: Page) -> bool:
        """Whether a job whose page has come waits for its image, too."""
        wish = job.wish.image
        return page.is_page and (self.is_usual if wish is None else wish)

    def next_of(self, page: Page) -> Page | Checked:
        """The page with its image, where nothing has to be asked for; else the image's URL."""
        if not (url := image_url_of(page)):
            return page
        checked = self.admission.check_image(url)
        if checked.refusal:
            return self._noted(page, FetchedImage(url=url, reason=checked.refusal))
        (known,) = self.pages.resolve([checked.url])
        if known is None or not self.freshness.is_fresh(
            known.page, checked.host, None, self.clock.now_ms()
        ):
            return checked
        return self._noted(page, image_of(known.page, url))

    def end(self, job: Job, image: Page | None, reason: str) -> Page | None:
        """The page of a job with what became of its image; None where the page is gone."""
        (page,) = self.pages.get([job.image_of])
        if page is None:
            return None
        url = image_url_of(page) or job.url
        found = FetchedImage(url=url) if image is None else image_of(image, url)
        if reason:
            found = msgspec.structs.replace(found, reason=reason)
        return self._noted(page, found)

    def _noted(self, page: Page, image: FetchedImage) -> Page:
        self.counters[f"images.{'fetched' if image.type else image.reason or 'failed'}"] += 1
        return msgspec.structs.replace(page, image=image)


def image_of(page: Page, url: str) -> FetchedImage:
    """What a page tells as an image, under the URL by which it was named."""
    if page.image is not None and page.image.url == page.url:
        return msgspec.structs.replace(page.image, url=url)
    is_there = page.status == Status.FETCH_SUCCESS
    return FetchedImage(
        url=url,
        status=page.status,
        code=page.code,
        reason="no_image" if is_there else page.reason,
        fetched_ms=page.fetched_ms,
    )
