"""A server that does to a fetcher whatever can be done to one; see `routes`."""
