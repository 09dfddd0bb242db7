"""How far the segments of a crawl are, and what its phases cost."""
