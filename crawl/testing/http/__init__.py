"""The parts of the HTTP contract: requests, connections and responses."""
