"""nodedumper: the largest pages, hosts or domains of the link graph."""
