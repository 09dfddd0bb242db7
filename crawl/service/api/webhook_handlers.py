"""Requests about webhooks: registered, looked at, paused, and their dead letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.requests import Request
from starlette.responses import Response

from crawl.errors import UsageError
from crawl.service.api.bodies import Tags, Url, Word, read_body
from crawl.service.api.gate import Refused, json_response
from crawl.service.api.handlers import Handlers
from crawl.service.callers.access import Caller
from crawl.service.event_filter import EventFilter
from crawl.service.telling.notifier import FINISHED
from crawl.service.webhooks.assembly import Webhooks
from crawl.service.webhooks.values import Webhook

_MAX_LETTERS = 100
_LONGEST_KEY = 253
_LONGEST_SECRET = 1000


class WebhookWish(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An address that is to be told of finished URLs."""

    url: Url
    events: Annotated[tuple[Word, ...], Meta(min_length=1, max_length=10)] = (FINISHED,)
    secret: Annotated[str, Meta(max_length=_LONGEST_SECRET)] | None = None
    hosts: Annotated[tuple[Word, ...], Meta(max_length=100)] = ()
    crawl: Annotated[str, Meta(max_length=253)] = ""
    tags: Tags = ()


@dataclass(frozen=True, slots=True)
class WebhookHandlers:
    """Handlers of /v1/webhooks."""

    handlers: Handlers
    webhooks: Webhooks

    async def add(self, request: Request, caller: Caller) -> Response:
        """Registers an endpoint; the secret is told this once."""
        wish: WebhookWish = read_body(await self.handlers.gate.body(request), WebhookWish)
        wanted = EventFilter(hosts=wish.hosts, crawl=wish.crawl, tags=wish.tags)

        def add() -> Webhook:
            return self.webhooks.registrations.add(
                caller.id,
                wish.url,
                wish.events,
                secret=wish.secret,
                filter=wanted,
                is_of_all=caller.sees_all,
            )

        try:
            webhook = await self.handlers.in_thread(add)
        except UsageError as error:
            raise Refused(422, "not_registered", str(error)) from None
        see = (("Location", f"/v1/webhooks/{webhook.id}"),)
        return json_response({**_view(webhook), "secret": webhook.secret}, 201, see)

    async def list(self, request: Request, caller: Caller) -> Response:
        """The caller's webhooks."""
        owner = None if caller.sees_all else caller.id
        webhooks = await self.handlers.in_thread(lambda: self.webhooks.registrations.list(owner))
        return json_response({"webhooks": [_view(each) for each in webhooks]})

    async def get(self, request: Request, caller: Caller) -> Response:
        """One of them."""
        return json_response(_view(await self._own(request, caller)))

    async def remove(self, request: Request, caller: Caller) -> Response:
        """Forgets one, with its dead letters; what waits for it is not delivered."""
        webhook = await self._own(request, caller)

        def remove() -> None:
            self.webhooks.registrations.remove(webhook.id)
            self.webhooks.outbox.purge(webhook.id)

        await self.handlers.in_thread(remove)
        return Response(status_code=204)

    async def resume(self, request: Request, caller: Caller) -> Response:
        """Delivers again to one that was paused."""
        webhook = await self._own(request, caller)
        await self.handlers.in_thread(lambda: self.webhooks.registrations.resume(webhook.id))
        return json_response(_view(await self._own(request, caller)))

    async def dead_letters(self, request: Request, caller: Caller) -> Response:
        """Deliveries that were given up."""
        webhook = await self._own(request, caller)
        after = request.query_params.get("after")
        if after is not None and not 1 <= len(after) <= _LONGEST_KEY:
            raise UsageError(f"after: expected from 1 to {_LONGEST_KEY} characters")
        letters = await self.handlers.in_thread(
            lambda: self.webhooks.outbox.dead(webhook.id, after or "", _MAX_LETTERS)
        )
        return json_response({"dead": [msgspec.to_builtins(each) for each in letters]})

    async def redeliver(self, request: Request, caller: Caller) -> Response:
        """Tries all dead letters again."""
        webhook = await self._own(request, caller)
        count = await self.handlers.in_thread(lambda: self.webhooks.outbox.redeliver(webhook.id))
        return json_response({"redelivered": count}, 202)

    async def purge(self, request: Request, caller: Caller) -> Response:
        """Forgets all dead letters."""
        webhook = await self._own(request, caller)
        count = await self.handlers.in_thread(lambda: self.webhooks.outbox.purge(webhook.id))
        return json_response({"purged": count})

    async def _own(self, request: Request, caller: Caller) -> Webhook:
        owner = None if caller.sees_all else caller.id
        webhook_id = request.path_params["webhook"]
        webhook = await self.handlers.in_thread(
            lambda: self.webhooks.registrations.get(webhook_id, owner)
        )
        if webhook is None:
            raise Refused(404, "not_found", "there is no such webhook")
        return webhook


def _view(webhook: Webhook) -> dict[str, Any]:
    """Without the secret."""
    view: dict[str, Any] = msgspec.to_builtins(webhook)
    del view["secret"]
    return view
