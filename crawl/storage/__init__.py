"""State on disk: folders over fsspec, snapshot datasets, segments, locks.

Nothing here needs Spark, an atomic rename or a listing that sees the last write: a
dataset is published by one small write, and readers follow names, never listings.
"""
