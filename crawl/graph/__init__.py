"""Graphs as arrays: node numbers, edges bucket by bucket, and what is computed from them. Knows
neither Spark nor storage; a driver elsewhere runs the steps over buckets that lie on disk."""
