"""What becomes of pages: documents, the indexes that they are delivered to, and search."""
