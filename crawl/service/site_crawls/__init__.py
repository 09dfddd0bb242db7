"""Sites that are crawled at once: links found are decided and queued as their pages come."""
