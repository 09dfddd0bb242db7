from __future__ import annotations

import tracemalloc

import pytest

from crawl.interfaces.protocol import Truncation
from crawl.plugins.protocol.shared.body import Body


@pytest.mark.parametrize("limit", [1, 999, 100_000])
@pytest.mark.parametrize("size", [1, 7, 5000])
def test_pieces_of_any_size_become_the_body(size: int, limit: int) -> None:
    body, sent = Body(limit), bytes(range(256)) * 40
    assert body.begin("")
    pieces = [sent[at : at + size] for at in range(0, len(sent), size)]
    wanted = all(body.write(piece) for piece in pieces)
    body.end()
    assert body.content() == sent[:limit]
    assert wanted is (limit >= len(sent))
    assert body.truncated is (Truncation.WHOLE if wanted else Truncation.LENGTH)


def test_crumbs_take_no_more_memory_than_a_loaf() -> None:
    body = Body(1 << 20)
    tracemalloc.start()
    for number in range(200_000):
        body.write(bytes((number % 256, 7)))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(body.content()) == 400_000
    assert held < 800_000
