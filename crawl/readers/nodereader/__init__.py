"""One page of the link graph."""
