from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from crawl.clock import SystemClock
from crawl.config import Config
from crawl.service.callers.settings_access import WebhookSettings
from crawl.service.webhooks.endpoint import EndpointRules
from crawl.service.webhooks.sender import CurlSender, SendOutcome, SendResult
from crawl.service.webhooks.signing import is_genuine
from crawl.service.webhooks.values import Delivery, Webhook
from tests.service.webhooks.receiver import Receiver, running_receiver

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SETTINGS = WebhookSettings(connect_timeout_s=30, timeout_s=60)


class Names:
    """A resolver that says something else each time, and the last for ever."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked = 0

    def __call__(self, host: str) -> list[str]:
        self.asked += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


def sender(
    *, settings: WebhookSettings = SETTINGS, resolve: Names | None = None, private: bool = True
) -> CurlSender:
    config = Config.of({"service.webhooks.allow.private": private})
    rules = EndpointRules.of(config, resolve or Names(["127.0.0.1"]))
    return CurlSender(settings, rules, SystemClock())


def webhook(url: str) -> Webhook:
    return Webhook(id="wh_1", url=url, events=("*",), secret=SECRET, owner="k", created_ms=0)


def delivery(body: bytes = b'{"a":"\\u0000"}', attempts: int = 0) -> Delivery:
    return Delivery(
        key="1",
        id="msg_1",
        webhook="wh_1",
        event="finished",
        body=body,
        created_ms=0,
        due_ms=0,
        version=0,
        attempts=attempts,
    )


def sent(receiver: Receiver, path: str) -> SendOutcome:
    return sender().send(webhook(receiver.url(path)), delivery())


def test_what_arrives_is_whole_and_signed(receiver: Receiver) -> None:
    body = b'{"title": "\x00\xff"}' * 1_000
    outcome = sender().send(webhook(receiver.url("/ok")), delivery(body))
    assert outcome == SendOutcome(SendResult.DELIVERED, 200, "answered 200")
    [received] = receiver.received
    assert received.body == body
    headers = {name.lower(): value for name, value in received.headers.items()}
    assert headers["content-type"] == "application/json"
    assert headers["webhook-id"] == "msg_1"
    assert "expect" not in headers
    assert is_genuine(
        SECRET,
        headers["webhook-id"],
        headers["webhook-timestamp"],
        headers["webhook-signature"],
        body,
        now_ms=SystemClock().now_ms(),
    )


@pytest.mark.parametrize(
    ("path", "result", "status"),
    [
        ("/status/204", SendResult.DELIVERED, 204),
        ("/status/410", SendResult.GONE, 410),
        ("/status/400", SendResult.REFUSED, 400),
        ("/status/500", SendResult.REFUSED, 500),
        ("/redirect", SendResult.REDIRECTED, 302),
        ("/endless", SendResult.DELIVERED, 200),
        ("/provisional", SendResult.DELIVERED, 204),
        ("/close", SendResult.DISCONNECTED, 0),
        ("/half-head", SendResult.DISCONNECTED, 0),
        ("/no-http", SendResult.OTHER, 0),
        ("/long-head", SendResult.OTHER, 0),
    ],
)
def test_answers(receiver: Receiver, path: str, result: SendResult, status: int) -> None:
    outcome = sent(receiver, path)
    assert (outcome.result, outcome.status) == (result, status)
    assert outcome.message.isprintable()
    assert receiver.of("/target") == []


def test_an_endpoint_says_how_long_to_wait(receiver: Receiver) -> None:
    assert sent(receiver, "/status/429").retry_after_seconds == 77
    assert sent(receiver, "/status/500").retry_after_seconds is None


@pytest.mark.parametrize(
    ("value", "least", "most"),
    [("Fri, 01 Jan 2999 00:00:00 GMT", 1e9, 1e11), ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 0)],
)
def test_or_until_when(receiver: Receiver, value: str, least: float, most: float) -> None:
    def answer(handler: object) -> None:
        handler.send_response(503)  # type: ignore[attr-defined]
        handler.send_header("Retry-After", value)  # type: ignore[attr-defined]
        handler.end_headers()  # type: ignore[attr-defined]

    receiver.answers["/later"] = answer
    seconds = sent(receiver, "/later").retry_after_seconds
    assert seconds is not None
    assert least <= seconds <= most


def test_a_slow_endpoint_is_given_up(receiver: Receiver) -> None:
    quick = sender(settings=replace(SETTINGS, timeout_s=0.2))
    outcome = quick.send(webhook(receiver.url("/wait")), delivery())
    assert outcome.result is SendResult.TIMEOUT


def test_nobody_listens() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        outcome = sender().send(webhook(f"http://127.0.0.1:{held.getsockname()[1]}/"), delivery())
    assert outcome.result is SendResult.CONNECT


def test_tls_that_is_none(receiver: Receiver) -> None:
    outcome = sender().send(webhook(f"https://127.0.0.1:{receiver.port}/"), delivery())
    assert outcome.result is SendResult.TLS


def test_a_name_that_leads_elsewhere_later_is_refused_then(receiver: Receiver) -> None:
    names = Names(["93.184.216.34"], ["127.0.0.1"])
    rules = EndpointRules.of(Config.of({}), names)
    url = f"http://hook.example:{receiver.port}/ok"
    rules.check(url)  # as it is registered
    outcome = CurlSender(SETTINGS, rules, SystemClock()).send(webhook(url), delivery())
    assert outcome.result is SendResult.ADDRESS
    assert "loopback" in outcome.message
    assert receiver.received == []


def test_the_connection_goes_to_the_judged_address(receiver: Receiver) -> None:
    """A second look-up would find another address, or, by the system, none at all."""
    names = Names(["127.0.0.1"], ["192.0.2.1"])
    url = f"http://hook.invalid:{receiver.port}/ok"
    outcome = sender(resolve=names).send(webhook(url), delivery())
    assert outcome.result is SendResult.DELIVERED
    assert names.asked == 1
    assert receiver.received[0].headers["Host"] == f"hook.invalid:{receiver.port}"


def test_a_kept_connection_is_to_the_address_that_was_judged(receiver: Receiver) -> None:
    names = Names(["127.0.0.1"], ["93.184.216.34", "10.0.0.1"])
    rules = EndpointRules.of(Config.of({"service.webhooks.allow.private": True}), names)
    kept = CurlSender(replace(SETTINGS, timeout_s=0.3), rules, SystemClock())
    url = f"http://hook.example:{receiver.port}/ok"
    assert kept.send(webhook(url), delivery()).result is SendResult.DELIVERED
    kept.send(webhook(url), delivery(attempts=1))  # to 10.0.0.1, where nobody is
    assert len(receiver.received) == 1


def test_an_unknown_host() -> None:
    def nowhere(host: str) -> list[str]:
        raise OSError(-2, "Name or service\x1b not known")

    rules = EndpointRules.of(Config.of({}), nowhere)
    outcome = CurlSender(SETTINGS, rules, SystemClock()).send(
        webhook("https://hook.example/"), delivery()
    )
    assert outcome.result is SendResult.NO_HOST
    assert outcome.message.isprintable()


def test_no_proxy_of_the_environment_is_asked(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert sent(receiver, "/ok").result is SendResult.DELIVERED


def test_what_is_under_way_is_broken_off_at_the_end(receiver: Receiver) -> None:
    stopping = sender()
    outcomes: list[SendOutcome] = []

    def send() -> None:
        outcomes.append(stopping.send(webhook(receiver.url("/wait")), delivery()))

    thread = threading.Thread(target=send)
    thread.start()
    receiver.wait_for("/wait", 1)
    stopping.stop()
    thread.join()
    assert outcomes == [SendOutcome(SendResult.STOPPED)]
