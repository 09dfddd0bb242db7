"""Statistics of a crawl: names, answers by code, links, and pictures of them."""
