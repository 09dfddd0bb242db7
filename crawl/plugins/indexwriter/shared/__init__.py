"""What several index writers have in common."""
