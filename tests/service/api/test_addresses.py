"""Private addresses, in every form and on every way that leads to a request."""

from __future__ import annotations

import pytest

from tests.service.api.served import Running, wait_until
from tests.service.api.small_site import SmallSite

pytestmark = pytest.mark.slow(seconds=20)

FORMS = [
    "http://127.0.0.1/",
    "http://127.1/",
    "http://0x7f.1/",
    "http://0177.0.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://[::1]/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://169.254.169.254/latest/meta-data/",
    "http://[fd00:ec2::254]/",
    "http://10.0.0.1/",
    "http://172.16.3.4/",
    "http://192.168.1.1/",
    "http://100.64.0.1/",
    "http://0.0.0.0/",
    "http://0/",
    "http://[fc00::1]/",
    "http://[fe80::1]/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://localhost/",
    "http://LOCALHOST./",
    "http://a.localhost/",
    "http://metadata.google.internal/",
    "http://127。0。0。1/",
    "http://１２７.0.0.1/",
    "http://user@127.0.0.1/",
    "http://127.0.0.1%2f@169.254.169.254/",
]
NAMES = ["http://site.test/", "http://private.test/", "http://cloud.test/", "http://mapped.test/"]
"""That lead to such addresses, as a resolver says it."""


@pytest.mark.parametrize("url", FORMS)
def test_an_address_is_refused_in_every_form(strict: Running, url: str) -> None:
    (job,) = strict.submit(url, max_age=0)
    assert job["state"] == "refused", job
    # by the rule of addresses, or by a URL filter before it
    assert job["reason"] == "address" or job["reason"].startswith(("filtered.", "malformed"))
    assert job["id"] is None and job["message"]


@pytest.mark.parametrize("url", FORMS)
def test_a_webhook_is_not_registered_there(strict: Running, url: str) -> None:
    answer = strict.ask("POST", "/v1/webhooks", {"url": url})
    assert (answer.status, answer.code) == (422, "not_registered")


@pytest.mark.parametrize("url", NAMES)
def test_a_name_is_judged_by_the_address_at_the_connection(strict: Running, url: str) -> None:
    before = strict.crawl.service.counters["refused.address"]
    answer = strict.ask("POST", "/v1/fetch?wait=60s", {"url": url, "max_age": 0})
    assert (answer.status, answer.code) == (422, "address")
    message = answer.value["error"]["message"]
    assert "http.filter.ipaddress.allow.private" in message
    for told in ("10.0.0.7", "169.254", "127.0.0.1"):
        assert told not in answer.body.decode()
    assert strict.crawl.service.counters["refused.address"] == before + 1
    assert strict.ask("POST", "/v1/webhooks", {"url": url}).status == 422


def test_refused_addresses_are_counted_for_whoever_watches(strict: Running) -> None:
    strict.submit("http://10.1.2.3/")
    text = strict.ask("GET", "/metrics").body.decode()
    (line,) = [each for each in text.splitlines() if 'reason="address"' in each]
    assert line.startswith("nutria_service_refusals_total") and float(line.split()[-1]) >= 1


def test_a_crawl_does_not_begin_there(strict: Running) -> None:
    for url in ("http://127.1/", "http://[::1]/", "http://169.254.169.254/"):
        answer = strict.ask("POST", "/v1/crawls", {"seeds": [url]})
        assert (answer.status, answer.code) == (422, "not_started"), url


def test_a_crawl_whose_seed_leads_there_ends_without_a_page(strict: Running) -> None:
    made = strict.ask("POST", "/v1/crawls", {"seeds": ["http://private.test/"]})
    assert made.status == 201
    path = f"/v1/crawls/{made.value['id']}"
    wait_until(lambda: bool(strict.ask("GET", path).value["state"] == "finished"))
    told = strict.ask("GET", path).value
    assert (told["pages"], told["failed"]) == (0, 1)


@pytest.mark.parametrize(
    "target",
    [
        "http://169.254.169.254/latest/",
        "http://cloud.test/latest/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://0xa9fea9fe/",
    ],
)
def test_a_redirect_does_not_lead_to_a_clouds_metadata(
    service: Running, site: SmallSite, target: str
) -> None:
    """Also where private addresses are allowed."""
    answer = service.fetch(site.to(target), max_age=0)
    assert answer.status == 422, answer
    assert answer.code in ("redirect.address", "redirect.filtered.regex", "address")
    assert not [each for each in site.asked if "latest" in each]


def test_what_is_written_as_a_private_address_is_asked_where_the_operator_allows_it(
    service: Running, site: SmallSite
) -> None:
    answer = service.fetch(f"http://127.1:{site.port}/p/allowed", max_age=0)
    assert answer.status == 200 and answer.value["title"] == "Page allowed"
    answer = service.fetch(f"http://site.test:{site.port}/p/named", max_age=0)
    assert answer.status == 200 and answer.value["title"] == "Page named"
