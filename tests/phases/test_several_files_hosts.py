"""The tests of hosts in trouble again, where a host's URLs are in several files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.phases import test_dead_hosts
from tests.phases.small_files import collected_from, small_files

pytestmark = pytest.mark.exhaustive
globals().update(collected_from(test_dead_hosts))


@pytest.fixture(autouse=True, scope="module")
def _small_files() -> Iterator[None]:
    with small_files(2):
        yield
