"""Loaded once by the server that kill tests' children are forked from: all that a job would
import for itself, which takes longer than most jobs last."""

from __future__ import annotations

import fsspec.implementations.local  # noqa: F401, TID251 - opened by name at the first write
import numpy.ma  # noqa: F401 - loaded when first used
import pyarrow.compute
import pyarrow.parquet  # noqa: F401
import rich.console  # of the benchmark, whose file each child reads anew
import rich.table  # noqa: F401

import tests.no_power_cut  # noqa: F401 - by being loaded
from crawl.interfaces.registry import plugin_properties
from tests.phases import (  # noqa: F401
    every_phase,
    fetch_jobs,
    kill_jobs,
    parse_jobs,
    random_kills,
    random_phase_kills,
    round_jobs,
)

list(plugin_properties([]))  # imports every plugin
