"""What asks servers: the engine of the batch crawl, fed from the queue."""
