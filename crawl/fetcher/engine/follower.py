"""URLs that a fetch takes on beyond its list: targets of redirects and links of pages.

Each waits in its own server's queue and under its own rules, as the URLs of the list do.
Where that cannot be, it is left for a later round, with a counted reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from crawl.fetcher.engine.core import EngineCore
from crawl.fetcher.values.item import FetchItem, FollowedUrl
from crawl.fetcher.values.record import inherited, linked_record
from crawl.interfaces.protocol import Response
from crawl.interfaces.scoring import Target
from crawl.model.status import Status
from crawl.rules.redirect import redirect_target, representative
from crawl.urls.parse import host_of


class Follower:
    """Decides which redirects and links are followed within the fetch."""

    def __init__(self, engine: EngineCore) -> None:
        self._engine = engine
        self._hooks = engine.hooks
        self.open_targets: dict[str, FollowedUrl] = {}
        """Targets of redirects that were queued and have no record so far, by URL."""

    def follow_redirect(self, item: FetchItem, answer: Response, *, temporary: bool) -> None:
        """Queues the target of a redirect, leaves it for a later round, or drops it."""
        engine, hooks, settings = self._engine, self._hooks, self._engine.settings
        counters = engine.counters
        target = redirect_target(item.url, answer.header("location"))
        if target is None:
            counters["redirects_dropped.no_target"] += 1
            return
        accepted, reason = hooks.accept_target(target)
        if accepted is None:
            counters[f"redirects_dropped.{reason}"] += 1
            return
        if accepted == item.url or accepted in item.came_by:
            counters["redirects_dropped.loop"] += 1
            return
        dropped = hooks.why_redirect_dropped(item.url, accepted)
        if dropped:
            counters[f"redirects_dropped.{dropped}"] += 1
            return
        shown = representative(item.representative or item.url, accepted, temporary=temporary)
        host = host_of(accepted) or ""
        is_too_many = len(item.came_by) >= settings.redirect_max
        may_add = not engine.stopped and not engine.seen_urls.is_full
        if may_add and not is_too_many and hooks.owns_server(hooks.key_of(host)):
            self._queue_target(item, accepted, shown)
        elif is_too_many and settings.redirect_max and settings.redirect_exceeded_skip:
            counters["redirects_dropped.too_many"] += 1
        else:
            counters["redirects_left_for_later"] += 1
            engine.emit(linked_record(accepted, host, item, shown))

    def _queue_target(self, item: FetchItem, target: str, shown: str) -> None:
        """Queues a redirect's target at its own server, under its own rules."""
        engine = self._engine
        if not engine.seen_urls.is_new(target):
            engine.counters["redirects_dropped.already_fetched"] += 1
            return
        metadata = inherited(item.datum.metadata)  # the source's ETag is not the target's
        datum = replace(item.datum, modified_time=0, signature=None, metadata=metadata)
        target_item = engine.item_of(target, datum)
        if target_item is None:
            engine.counters["redirects_dropped.no_host"] += 1
            return
        engine.counters["redirects_followed"] += 1
        came_by = (*item.came_by, item.url)
        target_item = replace(target_item, came_by=came_by, representative=shown, depth=item.depth)
        self.open_targets[target_item.url] = followed = FollowedUrl.of(target_item)
        engine.output.add_followed(followed)
        engine.enqueue(target_item)

    def follow_links(self, targets: Iterable[Target], depth: int) -> None:
        """Queues links of a page. The CrawlDb hears of those that cannot be followed by the
        page's parse."""
        engine, hooks = self._engine, self._hooks
        for url, datum in targets:
            host = host_of(url) or ""
            if hooks.is_fetched(url):
                reason = "already_fetched"
            elif engine.stopped or engine.seen_urls.is_full:
                reason = engine.stopped or "too_many"
            elif not hooks.owns_server(hooks.key_of(host)):
                reason = "server_of_another_part"
            elif not engine.seen_urls.is_new(url):
                reason = "already_fetched"
            elif (item := engine.item_of(url, replace(datum, status=Status.DB_UNFETCHED))) is None:
                reason = "no_host"
            else:
                engine.counters["outlinks_followed"] += 1
                engine.enqueue(replace(item, depth=depth))
                continue
            engine.counters[f"outlinks_not_followed.{reason}"] += 1

    def resume(self, waiting: Iterable[FollowedUrl]) -> None:
        """Queues what a task before this one had taken on and not fetched."""
        engine, hooks = self._engine, self._hooks
        for each in waiting:
            key = hooks.key_of(each.host)
            is_ours = hooks.owns_server(key)
            if not (is_ours or each.came_by) or not engine.seen_urls.is_new(each.url):
                continue  # a link that was not taken on, and counted then
            if not is_ours and hooks.is_other_parts_server(key):
                # of a task that might leave its lists, as this one might not
                engine.counters["redirects_left_for_later"] += 1
                engine.emit(
                    linked_record(each.url, each.host, each, each.representative or each.url)
                )
                continue
            item = engine.item_of(each.url, each.datum)
            if item is None:
                continue
            if each.came_by:
                self.open_targets[each.url] = each
            engine.counters["followed_again"] += 1
            came_by, shown = each.came_by, each.representative
            engine.enqueue(replace(item, came_by=came_by, representative=shown, depth=each.depth))

    def leave_open_targets(self) -> None:
        """Leaves targets for a later round that have no record at the end: their requests hang."""
        for target in list(self.open_targets.values()):
            shown = target.representative or target.url
            self._engine.emit(linked_record(target.url, target.host, target, shown))
