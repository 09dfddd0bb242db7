"""Kernels: what one step of an algorithm does to one bucket of edges, and the loop over all of
them in this process."""
