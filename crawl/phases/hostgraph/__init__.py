"""hostgraph: the link graph's hosts, or registered domains, with their links and ranks."""
