"""What every scoring filter must keep to; subclass it in your own tests:

class TestMine(ScoringFilterContract):
    plugin_class = MyScoring
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa

from crawl.interfaces.scoring import ScoringFilter
from crawl.model.datum import CrawlDatum
from crawl.model.records import to_table
from crawl.testing.odd_datums import odd_datums
from crawl.testing.plugin_contract import PluginContract

URL = "http://example.com/"


class ScoringFilterContract(PluginContract[ScoringFilter]):
    """Tests for pytest; override `config` and `samples` to reach your plugin's own cases."""

    interface = "scoring"

    def samples(self) -> list[CrawlDatum]:
        """Records that matter to the plugin, beside the odd ones."""
        return []

    def datums(self) -> list[CrawlDatum]:
        return [*self.samples(), *odd_datums()]

    def test_it_builds_on_the_interface(self) -> None:
        """The chain sees by the interface's methods which moments the plugin has a say in."""
        assert ScoringFilter in self.plugin_class.__mro__

    def test_a_url_that_enters_gets_a_finite_score_and_nothing_else(self) -> None:
        plugin = self.make()
        for datum in self.datums():
            for after in (plugin.injected_score(URL, datum), plugin.initial_score(URL, datum)):
                assert math.isfinite(after.score)
                assert _beside_score_and_metadata(after) == _beside_score_and_metadata(datum)

    def test_a_rank_is_a_number(self) -> None:
        plugin = self.make()
        for datum in self.datums():
            rank = plugin.sort_value(URL, datum, 1.0)
            assert isinstance(rank, float)
            assert not math.isnan(rank)
            assert plugin.sort_value(URL, datum, 1.0) == rank

    def test_the_column_agrees_with_the_row(self) -> None:
        plugin = self.make()
        # stored scores have 32 bits
        datums = [replace(datum, score=float(np.float32(datum.score))) for datum in self.datums()]
        whole = to_table((URL, "example.com", datum) for datum in datums)
        values = np.resize(np.array([1.0, 0.5, 2.0], dtype=np.float32), len(datums))
        for start, length in ((0, len(datums)), (1, 3), (2, 0)):
            rows = slice(start, start + length)
            table = whole.slice(start, length)
            chunked = pa.concat_tables([table.slice(0, 2), table.slice(2)])
            expected = np.array(
                [
                    plugin.sort_value(URL, datum, float(value))
                    for datum, value in zip(datums[rows], values[rows], strict=True)
                ],
                dtype=np.float64,
            )
            for given in (table, chunked, table.drop_columns(["url"])):
                column = plugin.sort_values(given, pa.array(values[rows]))
                if column is not None:
                    assert len(column) == length
                    assert column.null_count == 0
                    with np.errstate(over="ignore"):
                        found = np.asarray(column.cast(pa.float32()).to_pylist(), np.float32)
                        np.testing.assert_allclose(found, expected.astype(np.float32), rtol=1e-5)

    def test_a_filter_ranks_by_column_always_or_never(self) -> None:
        """generate reads the URLs only where the method is not overridden."""
        if self.plugin_class.sort_values is not ScoringFilter.sort_values:
            table = to_table([(URL, "example.com", datum) for datum in self.datums()])
            ones = pa.array(np.ones(table.num_rows, dtype=np.float32))
            assert self.make().sort_values(table, ones) is not None

    def test_an_executor_builds_the_same_plugin_from_its_name(self) -> None:
        here, there = self.make(), self.make_elsewhere()
        for datum in self.datums():
            assert there.sort_value(URL, datum, 1.0) == here.sort_value(URL, datum, 1.0)


def _beside_score_and_metadata(datum: CrawlDatum) -> CrawlDatum:
    return replace(datum, score=0.0, metadata={})
