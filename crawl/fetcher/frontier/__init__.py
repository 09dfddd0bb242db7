"""What waits to be fetched: a queue for every server, its pauses and its robots.txt."""
