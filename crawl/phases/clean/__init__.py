"""clean: stale documents leave the index."""
