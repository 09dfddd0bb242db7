"""Which URLs a robots.txt allows."""
