"""The documents that a page would give."""
