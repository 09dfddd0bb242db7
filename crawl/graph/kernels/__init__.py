"""Kernels: what one step of an algorithm does to one bucket of edges."""
