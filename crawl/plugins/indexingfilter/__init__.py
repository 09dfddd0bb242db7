"""Indexing filters that come along."""
