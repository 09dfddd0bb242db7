"""index: pages become documents, and documents reach the index writers."""
