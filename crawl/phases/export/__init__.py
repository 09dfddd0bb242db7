"""export: pages become records of a dataset."""
