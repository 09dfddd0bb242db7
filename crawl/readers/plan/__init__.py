"""What a crawl of a given size needs and costs."""
