"""Selectors that are compared; each turns a problem into a candidate."""
