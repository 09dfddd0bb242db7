from __future__ import annotations

from collections.abc import Iterator

import pytest

from crawl.synthetic.wicked import WickedServer, running_wicked


@pytest.fixture(scope="module")
def wicked() -> Iterator[WickedServer]:
    with running_wicked() as server:
        yield server
