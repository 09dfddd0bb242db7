"""What comes along to try the crawler on: a demo, and webs that are made up, as operations."""
