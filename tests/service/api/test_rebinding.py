"""A name that leads elsewhere each time it is looked up."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from crawl.clock import SystemClock
from crawl.net import dns
from crawl.net.addresses import AddressPolicy
from crawl.service.callers.settings_access import WebhookSettings
from crawl.service.webhooks.endpoint import EndpointRules
from crawl.service.webhooks.sender import CurlSender, SendResult
from crawl.service.webhooks.values import Delivery, Webhook
from tests.service.api.served import confined
from tests.service.webhooks.receiver import running_receiver


class Turning:
    """A resolver that says a public address at first, and loopback from then on."""

    def __init__(self) -> None:
        self.calls = count()

    def __call__(self, host: str) -> list[str]:
        return ["93.184.216.34"] if next(self.calls) == 0 else ["127.0.0.1"]


def test_the_fetcher_connects_to_the_very_address_that_was_judged(tmp_path: Path) -> None:
    config = confined(tmp_path, "http.filter.ipaddress.allow.private=false", "http.dns.ttl=0s")
    resolver = dns.HostResolver(config, Turning())
    first = resolver.locate("turning.example.invalid")
    assert first.addresses == ("93.184.216.34",)
    second = resolver.locate("turning.example.invalid")
    assert not second.addresses and second.kind.value == "address_refused"


def test_a_delivery_does_not_follow_a_name_to_loopback() -> None:
    rules = EndpointRules(AddressPolicy(), Turning())
    sender = CurlSender(WebhookSettings(), rules, SystemClock())
    with running_receiver() as receiver:
        url = f"http://turning.example.invalid:{receiver.port}/ok"
        endpoint = rules.check(url)  # the registration, when it led to a public address
        outcome = sender.send(_webhook(endpoint.url), _delivery())
        assert outcome.result is SendResult.ADDRESS
        assert not receiver.received


@pytest.mark.parametrize("secret", ["whsec_x\r\nX-Evil: 1", "whsec_" + "A" * 32 + "\n"])
def test_a_secret_cannot_become_a_header(secret: str) -> None:
    rules = EndpointRules(AddressPolicy(allow_private=True))
    sender = CurlSender(WebhookSettings(), rules, SystemClock())
    with running_receiver() as receiver, pytest.raises(Exception, match="secret"):
        sender.send(_webhook(receiver.url("/ok"), secret=secret), _delivery())


def _webhook(url: str, **values: Any) -> Webhook:
    given = {"secret": "whsec_" + "A" * 43 + "=", **values}
    return Webhook(id="wh_1", url=url, events=("*",), owner="k", created_ms=1, **given)


def _delivery() -> Delivery:
    return Delivery(
        key="k",
        id="msg_1",
        webhook="wh_1",
        event="e",
        body=b"{}",
        created_ms=1,
        due_ms=1,
        version=1,
    )
