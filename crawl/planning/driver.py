"""How many bytes pass the driver in a run of a phase: the tasks that it sends out and what they
return, which are names of files, sums and counts, never rows. So they grow with tasks and buckets.

The tests hold these sums against what their runner counts at two sizes.
"""

from __future__ import annotations

JOB_BYTES = 10_000
"""The functions of all steps of a phase, with their settings."""
SENT_FILE_BYTES = 300
"""A file of a segment that a task reads and sends to buckets: 275 were counted."""
WRITTEN_FILE_BYTES = 800
"""A file of the CrawlDb that a task reads and writes anew, its hosts' with it: 730 were counted."""
GENERATE_FILE_BYTES = 1_500
"""The same in the four steps of generate that have a task for it: 1,440 were counted."""
LIST_BYTES = 300
"""A part of a fetch list: 271 were counted."""
CHAIN_BYTES = 50
"""A host that the driver deals to a part by its name, or a slot of short ones."""
CHAINS_TOLD = 200_000
"""Hosts that are dealt one by one at the most; the others in slots."""
SLOTS_PER_PART = 64
KEY_BYTES = 8
KEYS_TOLD = 1_000_000
"""Keys of URLs that the driver is told at a time, at the most, to find the cut: roughly, and then
among those for which one of these stands in each task."""
PIECE_BYTES = 170
"""A file that a task of fetch or parse has read or written: 160 were counted."""
MEMORY_PER_BYTE = 5
"""Bytes of memory for every byte that passes: itself, and what Python makes of it. Measured: 3.7
of what a task of updatedb returns."""


def inject_bytes(files: float) -> float:
    return JOB_BYTES + files * WRITTEN_FILE_BYTES


def generate_bytes(urls: float, files: float, pages: float, hosts: float, parts: float) -> float:
    """Where so many pages of so many hosts are selected."""
    chains = min(hosts, CHAINS_TOLD)
    if hosts > CHAINS_TOLD:
        chains += SLOTS_PER_PART * parts
    selection_bytes = (
        _keys_told(urls, files, pages) * KEY_BYTES + chains * CHAIN_BYTES + parts * LIST_BYTES
    )
    return JOB_BYTES + files * GENERATE_FILE_BYTES + selection_bytes


def _keys_told(urls: float, files: float, pages: float) -> float:
    """In all looks for the cut, each of which leaves few keys to the next."""
    step = max(1.0, urls // KEYS_TOLD)
    keys = urls / step
    while step > 1:
        inside = min(pages, files * step)
        step = max(1.0, 2 * files * step // KEYS_TOLD)
        keys += inside / step
    return keys


def updatedb_bytes(sent_files: float, files: float) -> float:
    return JOB_BYTES + sent_files * SENT_FILE_BYTES + files * WRITTEN_FILE_BYTES


def segment_bytes(pieces: float) -> float:
    """Of a fetch or a parse, which writes so many files into its segment."""
    return JOB_BYTES + pieces * PIECE_BYTES
