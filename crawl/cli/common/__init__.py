"""What several commands share: options, output, views and displays."""
