"""Stores that are servers of their own: Redis or Valkey, Cassandra."""
