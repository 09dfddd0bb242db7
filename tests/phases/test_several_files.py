"""The tests of the phases again, on CrawlDbs whose buckets have several files: what a phase does
must not hang on how a bucket is cut."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.phases import test_reservations
from tests.phases.generate import test_generate, test_generate_marks
from tests.phases.inject import test_inject
from tests.phases.rebucket import test_rebucket
from tests.phases.sitemap import test_sitemap_records
from tests.phases.small_files import collected_from, small_files
from tests.phases.updatedb import test_updatedb, test_updatedb_by_rules

_MODULES = (
    test_generate,
    test_generate_marks,
    test_inject,
    test_rebucket,
    test_reservations,
    test_sitemap_records,
    test_updatedb,
    test_updatedb_by_rules,
)

pytestmark = pytest.mark.exhaustive
globals().update(collected_from(*_MODULES))


@pytest.fixture(autouse=True, scope="module")
def _small_files() -> Iterator[None]:
    with small_files(3):
        yield
