"""The sentence about hosts that are left alone for now, for commands that are not derived yet."""

from crawl.operations.shown import waiting_hosts_note, waiting_hosts_text

__all__ = ["waiting_hosts_note", "waiting_hosts_text"]
