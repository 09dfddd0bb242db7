"""Built-in exemptions from ignored external links."""
