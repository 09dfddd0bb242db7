"""Who may ask for what: keys, scopes, quotas."""
