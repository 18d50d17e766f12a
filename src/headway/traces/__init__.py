"""Workloads and profiles: the built-in catalogue, and one importer a file."""
