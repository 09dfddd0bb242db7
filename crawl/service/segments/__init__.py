"""The segments that the service writes, which all phases take like any other."""
