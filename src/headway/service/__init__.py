"""The round loop on a real clock, its store and its REST API."""
