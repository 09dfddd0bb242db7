from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as some

from crawl.model.status import Status
from crawl.service.telling.page_json import page_json
from crawl.service.values import Hop, Page, Timings

WORDS = some.text(some.characters(exclude_categories=["Cs"]), max_size=20)
CARDS = some.one_of(
    some.just(b""),
    some.sampled_from([b"{}", b"null", b"[]", b"{", b'{"a":', b"\xff", b' {"title": "x"} ']),
    some.dictionaries(
        some.one_of(WORDS, some.sampled_from(["url", "title", "status", "markdown", "image"])),
        some.one_of(WORDS, some.integers(), some.dictionaries(WORDS, WORDS, max_size=2)),
        max_size=4,
    ).map(lambda card: json.dumps(card).encode()),
)


@given(
    status=some.sampled_from([int(each) for each in Status if each.is_fetch] + [0x7F]),
    asked=WORDS,
    url=WORDS,
    reason=WORDS,
    redirect=WORDS,
    card=CARDS,
    text=WORDS,
    markdown=some.booleans(),
    hops=some.integers(0, 2),
    queue=some.none() | some.floats(0, 1e6),
)
def test_what_is_written_directly_is_what_it_means(
    status: int,
    asked: str,
    url: str,
    reason: str,
    redirect: str,
    card: bytes,
    text: str,
    markdown: bool,
    hops: int,
    queue: float | None,
) -> None:
    page = Page(
        url=url,
        status=status,
        reason=reason,
        redirect=redirect,
        card=card,
        markdown=text,
        timings=Timings(queue=queue),
        changed_ms=5,
    )
    chain = [Hop(f"http://hop/{number}", 0x22, 301, number) for number in range(hops)]
    view = json.loads(page_json(page, asked, chain, markdown=markdown))
    assert (view["url"], view["final_url"]) == (asked, url)
    assert [each["url"] for each in view["chain"]] == [hop.url for hop in chain]
    assert view.get("redirect", "") == redirect
    assert ("changed_ms" in view) is page.is_page
    assert view.get("markdown") == (text if markdown and page.is_page else None)
    expected = {} if queue is None else {"queue": round(queue, 1)}
    assert view["timings_ms"] == expected
    try:
        said = json.loads(card) if card else {}
    except ValueError:
        said = {}
    if page.is_page and isinstance(said, dict):
        own = {"url", "status", "markdown"}
        assert all(view[name] == value for name, value in said.items() if name not in own)


def test_the_same_name_is_never_there_twice() -> None:
    card = b'{"url": "http://forged/", "title": "t"}'
    page = Page(url="http://a/", status=int(Status.FETCH_SUCCESS), card=card)
    raw = page_json(page, "http://a/")
    assert raw.count(b'"url"') == 1 and b"forged" not in raw and b'"title":"t"' in raw
