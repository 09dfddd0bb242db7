"""Index writers that come along."""
