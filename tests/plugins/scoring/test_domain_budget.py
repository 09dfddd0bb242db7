from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawl.config import Config
from crawl.errors import ConfigError
from crawl.model.datum import CrawlDatum
from crawl.model.status import Status
from crawl.plugins.scoring.domain_budget import DOMAINS_KEY, FROM_KEY, DomainBudgetScoring
from crawl.plugins.scoring.domain_sketch import count, domain_hash, merged
from tests.examples import scaled
from tests.plugins.scoring.pages import linked, shared

BUDGET = DomainBudgetScoring(Config.of())
HOME = "http://www.site.co.uk/"


def vouched(*domains: str) -> list[CrawlDatum]:
    """Links from pages of these domains, as updatedb meets them."""
    page = CrawlDatum(Status.DB_FETCHED, 5, score=50.0)
    return [shared(BUDGET, f"http://www.{domain}/x", page, [HOME])[0][1] for domain in domains]


def updated(old: CrawlDatum | None, inlinks: list[CrawlDatum]) -> CrawlDatum:
    datum = old or BUDGET.initial_score(HOME, inlinks[0])
    return BUDGET.update_score(HOME, old, datum, inlinks, 0)


def test_a_seed_brings_the_base_budget() -> None:
    assert BUDGET.injected_score(HOME, CrawlDatum(Status.INJECTED, 5, score=2.0)).score == 20.0


def test_a_foreign_domain_counts_once() -> None:
    first = updated(None, vouched("one.org", "one.org"))
    assert first.score == 10.0
    assert FROM_KEY not in first.metadata
    again = updated(first, vouched("one.org"))
    assert again == first
    assert updated(first, vouched("two.org", "three.com", "one.org")).score == 30.0


def test_a_farm_on_one_domain_makes_no_budget() -> None:
    farm = CrawlDatum(Status.DB_FETCHED, 5, score=0.0)
    pages = [
        shared(BUDGET, f"http://h{n}.farm.com/", farm, ["http://farm.com/"])[0][1]
        for n in range(100)
    ]
    assert updated(None, pages).score == 0.0
    assert all(FROM_KEY not in page.metadata for page in pages)


def test_a_page_keeps_one_and_divides_the_rest_within_its_domain() -> None:
    page = CrawlDatum(Status.DB_FETCHED, 5, score=9.0)
    links = shared(BUDGET, HOME, page, ["http://a.site.co.uk/", HOME + "x", "http://other.co.uk/"])
    assert [datum.score for _, datum in links] == [4.0, 4.0, 0.0]
    assert [FROM_KEY in datum.metadata for _, datum in links] == [False, False, True]


def test_a_url_keeps_the_most_that_it_was_given() -> None:
    page = updated(None, [linked(3.0), linked(4.0), linked(4.0)])
    assert page.score == 4.0
    assert updated(page, [linked(2.0)]).score == 4.0
    assert updated(page, [linked(2.0), *vouched("one.org")]).score == 10.0


def test_pages_of_a_domain_that_reach_1_are_no_more_than_its_budget() -> None:
    score = {HOME: 30.0}
    frontier = [HOME]
    while frontier:  # a tree of three links a page
        url = frontier.pop()
        page = CrawlDatum(Status.DB_FETCHED, 5, score=score[url])
        for link, datum in shared(BUDGET, url, page, [f"{url}{n}/" for n in range(3)]):
            if datum.score >= 1:
                score[link] = datum.score
                frontier.append(link)
    assert 10 <= len(score) <= 30


def test_the_budget_has_an_end() -> None:
    assert BUDGET.budget(0) == 0.0
    assert BUDGET.budget(1) == 10.0
    assert BUDGET.budget(5000) == 10000.0
    with pytest.raises(ConfigError, match=r"scoring.domain.budget.base is more than"):
        DomainBudgetScoring(Config.of({"scoring.domain.budget.max": 5}))


def test_a_sketch_is_exact_while_it_has_room_and_near_beyond() -> None:
    sketch = ""
    for number in range(63):
        sketch = merged(sketch, [domain_hash(f"d{number}.com")] * 2, 64)
        assert count(sketch, 64) == number + 1
    sketch = merged(sketch, [domain_hash(f"d{number}.com") for number in range(5000)], 64)
    assert len(sketch) == 64 * 8
    assert 3500 < count(sketch, 64) < 6500


def test_what_is_no_sketch_counts_for_nothing() -> None:
    for text in ("x", "????", "ü" * 8, "AAAA", "=" * 8):
        assert count(text, 64) == 0.0
        assert merged(text, [text], 64) == ""


@given(st.lists(st.lists(st.sampled_from("abcdefghij"), max_size=8), max_size=4))
@settings(max_examples=scaled(50))
def test_the_order_in_which_domains_come_does_not_matter(rounds: list[list[str]]) -> None:
    step_by_step = ""
    for names in rounds:
        step_by_step = merged(step_by_step, [domain_hash(name) for name in names], 4)
    at_once = merged("", [domain_hash(name) for names in rounds for name in names], 4)
    assert step_by_step == at_once


def test_the_sketch_stays_with_the_record_when_the_page_is_fetched() -> None:
    known = updated(None, vouched("one.org"))
    fetched = CrawlDatum(Status.DB_FETCHED, 9, score=1.0, metadata=known.metadata)
    after = BUDGET.update_score(HOME, known, fetched, [], 0)
    assert after.score == 10.0
    assert after.metadata[DOMAINS_KEY] == known.metadata[DOMAINS_KEY]


def test_a_fetch_does_not_take_back_what_was_heard_since_its_list_was_made() -> None:
    listed = updated(None, vouched("one.org"))
    known = updated(listed, vouched("two.org"))
    assert BUDGET.update_score(HOME, known, listed, [], 0).metadata == known.metadata
